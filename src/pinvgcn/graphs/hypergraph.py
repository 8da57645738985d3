"""Hypergraphs, and the tables that they come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator

from pinvgcn.checks import check_choice, check_positive
from pinvgcn.compute.parallel import ranges
from pinvgcn.distributed.group import Group, together
from pinvgcn.errors import GraphError, PeerError
from pinvgcn.graphs.base import (
    Graph,
    SymmetricMap,
    announced,
    as_numbers,
    as_sparse,
    resolve_rank,
)
from pinvgcn.graphs.distinct import Distinct, distinct_rows
from pinvgcn.graphs.table import TableEncoder
from pinvgcn.spectra import IncidenceExtension, Spectrum, dense_eigenpairs, krylov_eigenpairs
from pinvgcn.spectra.spectrum import count_zeros, orient

SOLVERS = ("auto", "krylov", "dense")
DENSE_SIDE = 3_000  # the smaller side of H̃ up to which its Gram matrix is solved whole
BLOCK = 2**16  # rows whose vectors are multiplied at a time
NUMERICAL_RANK = 1e-11  # eigenvalues of H̃ᵀH̃ at or below this are zero but for rounding


class Hypergraph(Graph):
    """The clique expansion A = H W B⁻¹ Hᵀ of a hypergraph with incidence matrix H.

    L = I − H̃H̃ᵀ with H̃ = D^(−1/2) H W^(1/2) B^(−1/2) (Zhou, Huang and Schölkopf), where D_ii = Σ_e H_ie w_e
    and B_ee = Σ_i H_ie.

    Parameters
    ----------
    incidence : scipy sparse matrix or array, (n, |E|)
        H_ie = 1 where node i belongs to hyperedge e.
    weights : (|E|,) array, optional
        w, ones by default.
    process_group : optional
        Of ``torch.distributed``, whose ranks share out the nodes: each hands in its own rows of H, which may
        be none. Equal rows need not be on one rank.
    """

    encoder: TableEncoder | None = None

    def __init__(self, incidence: Any, weights: Any = None, *, process_group: Any = None) -> None:
        self.group = Group.of(process_group)
        with together(self.group):
            self._read(incidence, weights)
        edges = self.n_hyperedges
        widths = self.group.values(edges)
        if len(set(widths)) > 1:
            raise GraphError(f"incidence must have as many columns on every rank. Got {widths} instead.")
        if not (self.group.smallest(self.weights) == self.group.largest(self.weights)).all():
            raise GraphError("weights must be the same on every rank. Got others; hand in the same array.")
        self.start, self.n_total = self.group.offset(self.n_nodes)
        if self.n_total == 0:
            raise GraphError("incidence must have a row on some rank. Got none.")
        advice = "they belong to no hyperedge: remove them, or give them a value that other rows have"
        self.check_joined(~(self._degrees > 0), advice)
        self._sizes = self.group.sum(np.asarray(self.incidence.sum(axis=0)).ravel())  # B
        if not (self._sizes > 0).all():
            empty = int(np.flatnonzero(self._sizes <= 0)[0])
            raise GraphError(f"Every hyperedge must have a node. Got none in hyperedge {empty}; remove it.")

    def _read(self, incidence: Any, weights: Any) -> None:
        """This rank's rows, and what can be said of them alone."""
        H = as_sparse(incidence, "incidence", least=1 if self.group.alone else 0)
        self.incidence = H
        self.n_nodes, edges = H.shape
        self.weights = np.ones(edges) if weights is None else as_numbers(weights, "weights")
        if self.weights.shape != (edges,):
            raise GraphError(
                f"weights must have one entry for each of the {edges} hyperedges. "
                f"Got shape {self.weights.shape} instead."
            )
        if not (np.isfinite(self.weights).all() and (self.weights > 0).all()):
            bad = self.weights[~(np.isfinite(self.weights) & (self.weights > 0))][0]
            raise GraphError(f"weights must be positive and finite. Got {bad:g} instead.")
        self._degrees = H @ self.weights

    @classmethod
    def from_table(
        cls,
        frame: Any,
        *,
        bins: int = 10,
        binning: str = "width",
        missing: str = "ignore",
        min_size: int = 2,
        process_group: Any = None,
    ) -> Hypergraph:
        """Rows are nodes; rows that share a value share a hyperedge.

        Parameters
        ----------
        frame : pandas DataFrame or 2-dimensional array
            Categorical columns give one hyperedge per value, boolean ones a hyperedge for True,
            numeric ones a hyperedge per bin.
        bins : int
            How many bins a numeric column is cut into.
        binning : {"width", "quantile"}
            Bins that are equally wide, or that hold equally many rows as far as equal values allow.
        missing : {"ignore", "value"}
            A missing value belongs to no hyperedge, or is a value of its own.
        min_size : int
            Hyperedges with fewer rows are left out.
        process_group : optional
            Of ``torch.distributed``, whose ranks share out the rows: each hands in its own rows, which may be
            none, of the same columns. The hyperedges are those of all rows.
        """
        encoder = TableEncoder(bins, binning=binning, missing=missing, min_size=min_size)
        return cls.encoded(frame, encoder, Group.of(process_group))

    @classmethod
    def encoded(cls, frame: Any, encoder: TableEncoder, group: Group) -> Hypergraph:
        """The same by an encoder that has seen nothing yet."""
        graph = cls(encoder.fit_transform(frame, group), process_group=group)
        graph.encoder = encoder
        return graph

    def __repr__(self) -> str:
        return f"Hypergraph({self.n_nodes} nodes, {self.n_hyperedges} hyperedges)"

    @property
    def n_hyperedges(self) -> int:
        """|E|"""
        return int(self.incidence.shape[1])

    @property
    def degrees(self) -> np.ndarray:
        """d_i = Σ_e H_ie w_e: (n,)."""
        return self._degrees

    @cached_property
    def factor(self) -> sp.csr_array:
        """H̃: (n, |E|), with H̃H̃ᵀ the normalised adjacency."""
        left = sp.diags_array(1 / np.sqrt(self._degrees))
        return sp.csr_array(left @ self.incidence @ sp.diags_array(np.sqrt(self.weights / self._sizes)))

    @cached_property
    def distinct(self) -> Distinct:
        """The distinct rows of H on this rank: equal nodes have equal entries in every eigenvector that H̃
        knows of."""
        return distinct_rows(self.incidence)

    @property
    def normalized_adjacency(self) -> LinearOperator:
        """H̃H̃ᵀ: (n, n)."""
        factor = self.factor
        return SymmetricMap(self.n_nodes, lambda X: factor @ self.group.sum(factor.T @ X))

    def spectrum(
        self, rank: int | None = None, *, solver: str = "auto", tolerance: float = 1e-8, random_state: int = 0
    ) -> Spectrum:
        """The eigenvalues λ = 1 − σ̃² of L from the singular values σ̃ of H̃.

        The n × n or the |E| × |E| problem is solved, whichever is smaller, with equal rows of H as one node
        whose row of H̃ is multiplied by the root of their number; on several ranks always the latter, whose
        matrix H̃ᵀH̃ is a sum over nodes. All eigenvalues that are left out equal 1
        at full rank, and the eigenvectors of λ = 1 are arbitrary, so that the largest rank is rank(H̃) minus
        the number of components: that is the default.

        Parameters
        ----------
        rank : int, optional
            How many pairs; all that differ from λ = 1 by default.
        solver : {"auto", "krylov", "dense"}
            "dense" solves the whole small problem; "krylov" needs sparse products only. "auto" takes
            "dense" where the smaller side has up to 3,000 rows.
        tolerance : float
            The largest residual that is accepted ("krylov").
        """
        check_choice("solver", solver, SOLVERS)
        check_positive("tolerance", tolerance)
        roots = sp.diags_array(np.sqrt(self.distinct.counts))
        factor = sp.csr_array(roots @ self.factor[self.distinct.first])
        null_edges, null_coefficients = self._null_space()
        by_edges = self.n_hyperedges <= factor.shape[0] or not self.group.alone
        side = self.n_hyperedges if by_edges else factor.shape[0]
        rows = factor.shape[0] if self.group.alone else self.n_total
        wanted = resolve_rank(rank, side, min(side, rows) - null_edges.shape[1])
        if solver == "auto":
            solver = "dense" if side <= DENSE_SIDE else "krylov"
        deflate = null_edges if by_edges else factor @ null_edges
        F = factor if by_edges else sp.csr_array(factor.T)
        if wanted == 0:
            mu, X = np.zeros(0), np.zeros((side, 0))
        elif solver == "dense":
            gram = self.group.sum((F.T @ F).toarray())
            mu, X = self._led(lambda: dense_eigenpairs(gram, wanted, deflate=deflate))
        else:

            def iterate(product: Any) -> tuple[np.ndarray, np.ndarray]:
                found = krylov_eigenpairs(
                    product, side, wanted, deflate=deflate, tolerance=tolerance, random_state=random_state
                )
                return found.values, found.vectors

            mu, X = self._iterated(iterate, lambda block: F.T @ (F @ block))
        real = mu > NUMERICAL_RANK
        mu, X = mu[real], X[:, real]
        right = X / np.sqrt(mu) if by_edges else (factor.T @ X) / mu  # Ṽ Σ̃⁻¹: (|E|, r)
        Z = np.sqrt(self.weights / self._sizes)[:, None] * right
        spectrum = self._finish(null_coefficients, Z, factor, solver)
        why = "the rest of the spectrum is the single eigenvalue 1"
        return announced(spectrum, rank, why, tolerance=tolerance if solver == "krylov" else None)

    def spectrum_of(self, rows: np.ndarray, rank: int | None = None, **options: Any) -> Spectrum:
        """The ``spectrum`` of the hypergraph that some ``rows`` of this rank are, with its extension to any.

        A hyperedge without such a row has no part in it: its coefficients are 0.
        """
        H = self.incidence[rows]
        there = self.group.sum(np.asarray(H.sum(axis=0)).ravel()) > 0
        part = Hypergraph(H[:, np.flatnonzero(there)], self.weights[there], process_group=self.group)
        found = part.spectrum(rank, **options)
        assert isinstance(found.extension, IncidenceExtension)
        coefficients = np.zeros((self.n_hyperedges, found.basis.shape[1]))
        coefficients[there] = found.extension.coefficients
        return replace(found, extension=IncidenceExtension(self.weights, coefficients))

    def _led(self, solve: Callable[[], tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        """The eigenpairs that the first rank finds: the same bits on all, whatever machines they run on."""
        if self.group.alone:
            return solve()
        with together(self.group):
            mine = np.vstack(solve()) if self.group.rank == 0 else np.empty(0)
        found = self.group.first(mine)
        return found[0], found[1:]

    def _iterated(
        self,
        iterate: Callable[[Callable[[np.ndarray], np.ndarray]], tuple[np.ndarray, np.ndarray]],
        product: Callable[[np.ndarray], np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same by an iteration with Σ_p F_pᵀF_p: the others multiply what the first rank sends them,
        until it sends nothing."""
        group = self.group
        if group.alone:
            return iterate(product)

        def summed(block: np.ndarray) -> np.ndarray:
            part: np.ndarray = np.zeros_like(group.first(block))
            try:
                part = product(block)
            finally:  # the others wait for the sum, whatever happens
                part = group.sum(part)
            return part

        def solve() -> tuple[np.ndarray, np.ndarray]:
            try:
                found = iterate(summed)
            except PeerError:
                raise
            except BaseException:
                group.first(np.empty((0, 0)))
                raise
            group.first(np.empty((0, 0)))
            return found

        if group.rank:
            while (block := group.first(np.empty(0))).size:
                group.sum(product(block))
        return self._led(solve)

    def _null_space(self) -> tuple[np.ndarray, np.ndarray]:
        """Right singular vectors of H̃ for σ̃ = 1, one a component, and their coefficients Z: (|E|, k)."""
        count, component = self._components()
        edges = self.n_hyperedges
        member = np.zeros((edges, count))
        member[np.arange(edges), component] = 1
        vectors = np.sqrt(self.weights * self._sizes)[:, None] * member
        lengths = np.linalg.norm(vectors, axis=0)  # = |√d| on the component
        return vectors / lengths, self.weights[:, None] * member / lengths

    def _components(self) -> tuple[int, np.ndarray]:
        """How many connected components there are, and which one each hyperedge is in: (|E|,); in the order
        of their first nodes."""
        H = self.incidence[self.distinct.first].tocoo()
        n, edges = H.shape
        joined = (np.ones(H.nnz), (H.row, n + H.col))  # nodes, then hyperedges
        bipartite = sp.csr_array(joined, shape=(n + edges, n + edges))
        count, component = connected_components(bipartite, directed=False)
        if self.group.alone:
            return count, component[n:]
        # hyperedges that are joined on some rank are joined: ranks' components, then hyperedges
        parts = np.concatenate(self.group.parts(component[n:].astype(np.int64)))
        offsets = np.repeat(np.arange(self.group.size) * (self.n_total + edges), edges)
        _, place = np.unique(parts + offsets, return_inverse=True)
        several, edge = place.max() + 1, np.tile(np.arange(edges), self.group.size)
        pairs = (np.ones(len(place)), (place, several + edge))
        whole = sp.csr_array(pairs, shape=(several + edges, several + edges))
        count, found = connected_components(whole, directed=False)
        found = found[several:]
        first = np.full(count, self.n_total)
        np.minimum.at(first, found[H.col], self.start + self.distinct.first[H.row])
        place_of = np.empty(count, dtype=np.int64)
        place_of[np.argsort(self.group.smallest(first))] = np.arange(count)
        return count, place_of[found]

    def _finish(self, null: np.ndarray, Z: np.ndarray, factor: sp.csr_array, solver: str) -> Spectrum:
        """Vectors as values of the extension D^(−1/2) H Z, orthonormal, with the signs fixed.

        ``factor`` is H̃ of the distinct rows, each multiplied by the root of its count.
        """
        k = null.shape[1]
        first, inverse, counts = self.distinct
        rows, roots = self.incidence[first], np.sqrt(counts)[:, None]
        coefficients = np.hstack([null, Z])
        V = IncidenceExtension(self.weights, coefficients)(rows)
        gram = self._total_of(V, lambda some: V[some].T @ (counts[some, None] * V[some]))
        if np.abs(gram - np.eye(len(gram))).max(initial=0) > 1e-12:  # small σ̃ cost digits: win them back
            R = self._triangle(roots, V, gram)
            coefficients = scipy.linalg.solve_triangular(R, coefficients.T, trans="T").T
            coefficients = self.group.first(coefficients)
            extension = IncidenceExtension(self.weights, coefficients)
            for some in ranges(len(V), BLOCK):
                V[some] = extension(rows[some])
        signs = np.concatenate([np.ones(k), orient(V[:, k:], counts, group=self.group)])
        coefficients = coefficients * signs
        V *= signs
        mu, residuals = self._values(roots, V[:, k:], factor)
        extension = IncidenceExtension(self.weights, coefficients)
        zeros = count_zeros(1 - mu)
        vectors = V if len(first) == len(inverse) else V[inverse]  # in order: where each comes first
        return Spectrum(vectors, 1 - mu[zeros:], residuals[zeros:], solver, extension, group=self.group)

    def _values(
        self, roots: np.ndarray, V: np.ndarray, factor: sp.csr_array
    ) -> tuple[np.ndarray, np.ndarray]:
        """μ = uᵀH̃H̃ᵀu and |H̃H̃ᵀu − μu| for the vectors u = ``roots`` V (m, r), a block of rows at a time."""

        def vectors(rows: slice) -> np.ndarray:
            return roots[rows] * V[rows]

        edges = self._total_of(V, lambda rows: factor[rows].T @ vectors(rows))  # H̃ᵀu: (|E|, r)
        mu = self._total_of(V, lambda rows: np.einsum("ij,ij->j", vectors(rows), factor[rows] @ edges))
        squares = self._total_of(V, lambda rows: ((factor[rows] @ edges - vectors(rows) * mu) ** 2).sum(0))
        return mu, np.sqrt(squares)

    def _total_of(self, V: np.ndarray, part: Callable[[slice], np.ndarray]) -> np.ndarray:
        """The sum over all rows of V and of all ranks, of a block of rows at a time."""
        return self.group.sum(reduce(np.add, map(part, ranges(len(V), BLOCK) or [slice(0)])))

    def _triangle(self, roots: np.ndarray, V: np.ndarray, gram: np.ndarray) -> np.ndarray:
        """R of ``roots`` V = QR, with a positive diagonal. Of many rows it is found from ``gram`` = RᵀR, near
        the identity, so that no digits are lost."""
        if self.n_total > BLOCK:
            return scipy.linalg.cholesky(gram)
        R: Any = np.linalg.qr(roots * V, mode="r")
        if not self.group.alone:  # of the rows of all ranks
            R = np.linalg.qr(self.group.rows(R), mode="r")
        return R * np.sign(np.diag(R))[:, None]
