"""The graph that HyperGCN puts in the place of a hypergraph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinvgcn.checks import check_rows
from pinvgcn.compute.parallel import ranges, share_out
from pinvgcn.datasets.splits import as_generator
from pinvgcn.graphs.hypergraph import Hypergraph

ENTRIES = 2**22  # of a block of distances
ROUNDING = 1e-5  # distances in single precision that differ by less are equal


@dataclass(frozen=True, eq=False)
class Mediators:
    """Each hyperedge e becomes the edges from its two farthest nodes i, j to all its nodes (the mediators)

        w_ij = w_iu = w_ju = w_e / (2|e| − 3)    for u ∈ e other than i and j,

    from "HyperGCN" (Yadati et al., 2019), 10.7 of docs/maths.md, where i, j have the largest |x_i − x_j|; the
    weights of several hyperedges add up. With the given features, not those of a hidden layer, this is
    FastHyperGCN: one graph for all of training. Hyperedges of one node join nothing.
    """

    graph: Hypergraph
    X: sp.csr_array  # (n, f)
    farthest: tuple[np.ndarray, ...]  # for each hyperedge, the nodes that are an end of its longest distance

    @classmethod
    def of(cls, graph: Hypergraph, features: Any = None) -> Mediators:
        """Find the longest distance in each hyperedge, by comparing all pairs of different nodes.

        ``features`` (n, f), dense or sparse; the incidences by default.
        """
        X = sp.csr_array(graph.incidence if features is None else features, dtype=np.float32)
        check_rows(X, graph.n_nodes, "features", "nodes")
        members = sp.csc_array(graph.incidence)
        # equal nodes of a hyperedge (by default, equal rows) have equal distances: one of them is enough
        if features is None:
            first, kind, _ = graph.distinct
        else:
            first = kind = np.arange(graph.n_nodes)
        dense = X[first].toarray()  # (m, f)
        squares = np.einsum("ij,ij->i", dense, dense)

        def ends(e: int) -> np.ndarray:
            nodes = members.indices[members.indptr[e] : members.indptr[e + 1]]
            kinds = np.unique(kind[nodes])
            P, s = dense[kinds], squares[kinds]
            longest = np.empty(len(kinds), dtype=np.float32)
            for part in ranges(len(kinds), max(1, ENTRIES // len(kinds))):
                longest[part] = (s[part, None] + s - 2 * (P[part] @ P.T)).max(axis=1)
            is_end = np.zeros(len(first), dtype=bool)
            is_end[kinds[longest >= longest.max() - ROUNDING * max(1.0, s.max())]] = True
            return nodes[is_end[kind[nodes]]]

        return cls(graph, X, tuple(share_out(ends, range(graph.n_hyperedges))))

    def adjacency(self, random_state: int | np.random.Generator = 0) -> sp.csr_array:
        """The graph's adjacency matrix (n, n); which of equally distant pairs is taken is drawn at random."""
        generator = as_generator(random_state)
        members = sp.csc_array(self.graph.incidence)
        n = self.graph.n_nodes
        rows: list[Any] = []
        columns: list[Any] = []
        weights: list[Any] = []
        for e, weight in enumerate(self.graph.weights):
            nodes = members.indices[members.indptr[e] : members.indptr[e + 1]]
            if len(nodes) < 2:
                continue
            i = generator.choice(self.farthest[e])
            j = generator.choice(self._farthest_from(i, nodes))
            others = nodes[(nodes != i) & (nodes != j)]
            rows += [[i], np.full(len(others), i), np.full(len(others), j)]
            columns += [[j], others, others]
            weights.append(np.full(2 * len(nodes) - 3, weight / (2 * len(nodes) - 3)))
        edges = (np.concatenate(rows or [[]]).astype(int), np.concatenate(columns or [[]]).astype(int))
        A = sp.csr_array((np.concatenate(weights or [[]]), edges), shape=(n, n))
        return sp.csr_array(A + A.T)

    def _farthest_from(self, i: int, nodes: np.ndarray) -> np.ndarray:
        """The nodes at the longest distance from node i, without i."""
        others = nodes[nodes != i]
        x = self.X[[i]].toarray().ravel()
        P = self.X[others]
        squares = np.asarray(P.multiply(P).sum(axis=1)).ravel()
        distance = squares - 2 * (P @ x)
        return others[distance >= distance.max() - ROUNDING * max(1.0, squares.max())]
