"""Sparse graphs in place of dense ones, for methods that cannot work on these.

Each node is joined to the k nearest points, or to the k nodes that share most with it; ``Mediators`` is the
graph that HyperGCN puts in the place of a hypergraph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from pinvgcn.checks import as_points, check_count, check_positive, check_rows
from pinvgcn.compute.parallel import ranges, share_out
from pinvgcn.datasets.splits import as_generator
from pinvgcn.distributed.rows import STEP, mixed
from pinvgcn.errors import GraphError
from pinvgcn.graphs.hypergraph import Hypergraph

ENTRIES = 2**24  # of a block of counts: 64 MB
DISTANCES = 2**22  # of a block
ROUNDING = 1e-5  # distances in single precision that differ by less are equal


def nearest_points(points: Any, k: int) -> sp.csr_array:
    """D_ij = |x_i − x_j| where x_j is one of the k points nearest to x_i, other than x_i: (n, n).

    Not symmetric, and a distance of zero is stored where two points coincide. See ``undirected``.
    """
    x = as_points(points)
    n = len(x)
    _check_enough(n, k, "points")
    distance, index = cKDTree(x).query(x, k + 1, workers=-1)
    # a point is its own nearest; where others coincide with it, it may come later, or not at all
    itself = index == np.arange(n)[:, None]
    itself[~itself.any(axis=1), -1] = True
    keep = ~itself
    return sp.csr_array(
        (distance[keep], index[keep].astype(np.int32), np.arange(n + 1, dtype=np.int64) * k), shape=(n, n)
    )


def sharing_most(graph: Hypergraph, k: int) -> sp.csr_array:
    """C_ij: how many hyperedges i and j share, where j is one of the k nodes that share most with i: (n, n).

    Equal counts are many. Which of them are taken is decided by a hash of the contents of both rows: not by
    the order of the rows, and not the same few for everybody, which would make hubs of them. (Rows that are
    equal can only be told apart by which comes first.) Counts of some rows at a time: never n × n.
    """
    n = graph.n_nodes
    _check_enough(n, k, "nodes")
    first, kind, counts = graph.distinct
    many = counts.astype(np.int64)
    members = np.argsort(kind, kind="stable")  # the nodes of each kind of row, one kind after the other
    start = np.cumsum(many) - many
    H = sp.csr_array(graph.incidence[first], dtype=np.float32)
    H.data[:] = 1
    dense = H.toarray()  # (m, |E|)
    name = _names(graph)
    enough = min(k + 1, len(first))  # kinds that hold k nodes beside the node itself

    def rows(part: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Neighbours of all nodes of some kinds."""
        shared = dense[part] @ dense.T  # whole numbers: exact
        least = np.partition(shared, len(first) - enough, axis=1)[:, len(first) - enough]
        a, b = np.nonzero(shared >= least[:, None])
        order = np.lexsort((-shared[a, b], a))
        a, b = a[order], b[order]
        # of kinds in falling order, those that are as good as the one that makes k full
        total = np.cumsum(many[b])
        total -= np.concatenate([[0], total])[np.searchsorted(a, a)]
        full = np.searchsorted(a * (n + 1) + total, np.arange(len(shared)) * (n + 1) + k + 1)
        keep = shared[a, b] >= shared[a, b][full][a]
        a, b = a[keep], b[keep]
        # from kinds to nodes: every node of kind a meets every node of kind b
        i, pair = _spread(start[a + part.start], many[a + part.start])
        j, meeting = _spread(start[b[pair]], many[b[pair]])
        i, j, count = members[i[meeting]], members[j], shared[a, b][pair[meeting]]
        other = i != j
        i, j, count = i[other], j[other], count[other]
        order = np.lexsort((_mix(name[i], name[j]), -count, i))
        i, j, count = i[order], j[order], count[order]
        best = np.arange(len(i)) - np.searchsorted(i, i) < k
        return i[best], j[best], count[best]

    found = list(share_out(rows, ranges(len(first), max(1, ENTRIES // len(first)))))
    i, j, shared = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return sp.csr_array((shared.astype(np.float64), (i, j)), shape=(n, n))


def undirected(neighbours: sp.csr_array, *, sigma: float | None = None) -> sp.csr_array:
    """A_ij of an edge wherever i is a neighbour of j or j of i: 1, or exp(−D_ij²/σ²) of their distance."""
    D = neighbours.copy()
    D.data = (
        np.ones_like(D.data) if sigma is None else np.exp(-((D.data / check_positive("sigma", sigma)) ** 2))
    )
    return sp.csr_array(D.maximum(D.T))


def _check_enough(n: int, k: int, noun: str) -> None:
    check_count("k", k)
    if k >= n:
        raise GraphError(f"k must be less than the number of {noun}, {n}. Got {k} instead; lower it.")


def _spread(start: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of all ranges start … start + length, and which range each is from."""
    which = np.repeat(np.arange(len(length)), length)
    return np.arange(len(which)) - (np.cumsum(length) - length - start)[which], which


def _names(graph: Hypergraph) -> np.ndarray:
    """A 64-bit number for each node, from its hyperedges and its place among the nodes equal to it: (n,)."""
    _, kind, counts = graph.distinct
    edges = _mix(np.arange(graph.n_hyperedges, dtype=np.uint64), STEP)
    content = np.zeros(graph.n_nodes, dtype=np.uint64)
    H = graph.incidence
    np.add.at(content, np.repeat(np.arange(H.shape[0]), np.diff(H.indptr)), edges[H.indices])
    together = np.argsort(kind, kind="stable")
    starts = np.cumsum(counts).astype(np.int64) - counts.astype(np.int64)
    place = np.empty(graph.n_nodes, dtype=np.uint64)
    place[together] = (np.arange(graph.n_nodes) - starts[kind[together]]).astype(np.uint64)
    return _mix(content, place)


def _mix(a: np.ndarray, b: Any) -> np.ndarray:
    """A hash of the two numbers, in this order."""
    with np.errstate(over="ignore"):
        return mixed(a * STEP + b)


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
            for part in ranges(len(kinds), max(1, DISTANCES // len(kinds))):
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
