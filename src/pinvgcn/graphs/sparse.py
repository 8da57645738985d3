"""Ordinary graphs with few edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator

from pinvgcn.checks import check_choice, check_count, check_non_negative, check_positive
from pinvgcn.errors import GraphError
from pinvgcn.graphs.base import (
    DENSE_NODES,
    Graph,
    SymmetricMap,
    announced,
    as_numbers,
    as_sparse,
    resolve_rank,
)
from pinvgcn.spectra import Spectrum, dense_eigenpairs, heat_eigenpairs
from pinvgcn.spectra.spectrum import count_zeros, orient

SOLVERS = ("auto", "krylov", "dense")


class SparseGraph(Graph):
    """A graph given by its symmetric, non-negative adjacency matrix, with A_ii = loops.

    Parameters
    ----------
    adjacency : scipy sparse matrix or array, (n, n)
        Edge weights. ``SparseGraph.from_edge_index`` takes the PyTorch Geometric form.
    loops : float or "keep"
        The weight of the edge from each node to itself, whatever the diagonal holds; "keep" leaves the
        diagonal as it is.
    """

    def __init__(self, adjacency: Any, loops: float | str = 0.0) -> None:
        A = _as_adjacency(adjacency)
        if isinstance(loops, str):
            check_choice("loops", loops, ("keep",))
        else:
            weight = check_non_negative("loops", loops)
            A = A - sp.diags_array(A.diagonal()) + weight * sp.eye_array(A.shape[0])
            A = sp.csr_array(A)
            A.eliminate_zeros()
        self.loops = loops
        self.adjacency: sp.csr_array = A
        self.n_nodes = self.n_total = A.shape[0]
        self._degrees = np.asarray(A.sum(axis=1)).ravel()
        self.check_joined(~(self._degrees > 0), "remove them or set loops=1")
        scale = sp.diags_array(1 / np.sqrt(self._degrees))
        self._normalized: sp.csr_array = sp.csr_array(scale @ A @ scale)

    @classmethod
    def from_edge_index(
        cls, edge_index: Any, edge_weight: Any = None, *, n_nodes: int | None = None, loops: float | str = 0.0
    ) -> SparseGraph:
        """A graph from pairs of node numbers (2, edges), each undirected edge listed both ways."""
        edges = np.asarray(edge_index)
        if edges.ndim != 2 or edges.shape[0] != 2 or edges.dtype.kind not in "iu":
            raise GraphError(
                "edge_index must be whole numbers of shape (2, edges). "
                f"Got shape {edges.shape} and dtype {edges.dtype} instead."
            )
        edges = edges.astype(np.int64)
        count = int(edges.max(initial=-1)) + 1 if n_nodes is None else check_count("n_nodes", n_nodes)
        if edges.size and (edges.min() < 0 or edges.max() >= count):
            raise GraphError(
                f"edge_index must name nodes from 0 to {count - 1}. Got {edges.min()} to {edges.max()}."
            )
        weight = np.ones(edges.shape[1])
        if edge_weight is not None:
            weight = as_numbers(edge_weight, "edge_weight").ravel()
        if len(weight) != edges.shape[1]:
            raise GraphError(
                f"edge_weight must have one entry for each of the {edges.shape[1]} edges. Got {len(weight)}."
            )
        return cls(sp.coo_array((weight, (edges[0], edges[1])), shape=(count, count)), loops=loops)

    def __repr__(self) -> str:
        edges = (self.adjacency.nnz + np.count_nonzero(self.adjacency.diagonal())) // 2
        return f"SparseGraph({self.n_nodes} nodes, {edges} edges, loops={self.loops!r})"

    @property
    def degrees(self) -> np.ndarray:
        """d_i = Σ_j A_ij: (n,)."""
        return self._degrees

    @property
    def normalized_adjacency(self) -> LinearOperator:
        """D^(−1/2) A D^(−1/2): (n, n)."""
        return SymmetricMap(self.n_nodes, self._normalized.__matmul__)

    def spectrum(
        self, rank: int | None = None, *, solver: str = "auto", tolerance: float = 1e-6, random_state: int = 0
    ) -> Spectrum:
        """One null vector per connected component, and the smallest λ > 0 of L.

        Parameters
        ----------
        rank : int
            How many pairs; 100 by default.
        solver : {"auto", "krylov", "dense"}
            "krylov" (block Lanczos with the null vectors deflated) needs sparse products only; "dense"
            is exact; "auto" takes "dense" up to 1,000 nodes.
        tolerance : float
            The largest |L u − λ u| that is accepted ("krylov").
        """
        check_choice("solver", solver, SOLVERS)
        check_positive("tolerance", tolerance)
        pieces, piece = connected_components(self.adjacency, directed=False)
        null = np.zeros((self.n_nodes, pieces))
        null[np.arange(self.n_nodes), piece] = np.sqrt(self._degrees)  # on each component
        null /= np.linalg.norm(null, axis=0)
        if solver == "auto":
            solver = "dense" if self.n_nodes <= DENSE_NODES else "krylov"
        while True:
            wanted = resolve_rank(rank, 100, self.n_nodes - null.shape[1])
            if wanted == 0:
                mu, U = np.zeros(0), np.zeros((self.n_nodes, 0))
            elif solver == "dense":
                mu, U = dense_eigenpairs(self._normalized.toarray(), wanted, deflate=null)
            else:
                found = heat_eigenpairs(
                    self._normalized.__matmul__, self.n_nodes, wanted, deflate=null, tolerance=tolerance,
                    neighbours=self._normalized.nnz / self.n_nodes, random_state=random_state,
                )  # fmt: skip
                mu, U = found.values, found.vectors
            U = U * orient(U)
            zeros = count_zeros(1 - mu)
            if not zeros:
                break
            null = np.hstack([null, U[:, :zeros]])  # pieces that hardly touch: find the rank beside them
        residuals = np.linalg.norm(self._normalized @ U - U * mu, axis=0)
        spectrum = Spectrum(np.hstack([null, U]), 1 - mu, residuals, solver)
        why = f"{self.n_nodes} nodes in {null.shape[1]} components"
        return announced(spectrum, rank, why, tolerance=tolerance if solver == "krylov" else None)


def _as_adjacency(adjacency: Any) -> sp.csr_array:
    """A square, symmetric, finite, non-negative sparse matrix in double precision."""
    A = as_sparse(adjacency, "adjacency")
    if A.shape[0] != A.shape[1]:
        raise GraphError(f"adjacency must be square. Got shape {A.shape} instead.")
    difference = abs(A - A.T)
    if difference.nnz and difference.max() > 1e-10 * max(A.data.max(initial=0.0), 1e-300):
        entry = difference.tocoo()
        worst = int(entry.data.argmax())
        i, j = int(entry.row[worst]), int(entry.col[worst])
        raise GraphError(
            f"adjacency must be symmetric. Got A[{i}, {j}] = {A[i, j]:g} and A[{j}, {i}] = {A[j, i]:g}; "
            "pass (A + A.T) / 2, or list each edge both ways."
        )
    return A
