"""Graphs that join each node to its k nearest ones: what methods need that cannot work on a dense graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from pinvgcn.checks import as_points, check_count, check_positive
from pinvgcn.errors import GraphError
from pinvgcn.graphs.hypergraph import Hypergraph
from pinvgcn.parallel import ranges, share_out

ENTRIES = 2**24  # of a block of counts: 64 MB
ODD = tuple(np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


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
    H = sp.csr_array(graph.incidence, dtype=np.float32)
    H.data[:] = 1
    dense = H.toarray()
    name = _names(graph)

    def rows(part: slice) -> tuple[np.ndarray, np.ndarray]:
        count = H[part] @ dense.T  # (m, n), whole numbers: exact
        own = np.arange(part.start, part.stop)
        count[np.arange(len(own)), own] = -1
        least = np.partition(count, n - k, axis=1)[:, n - k]
        i, j = np.nonzero(count >= least[:, None])
        order = np.lexsort((_mix(name[own[i]], name[j]), -count[i, j], i))
        first = np.searchsorted(i, np.arange(len(own)))  # i is ascending, in this order too
        chosen = order[(first[:, None] + np.arange(k)).ravel()]
        return j[chosen], count[i[chosen], j[chosen]]

    found = list(share_out(rows, ranges(n, max(1, ENTRIES // n))))
    index, counts = (np.concatenate(parts) for parts in zip(*found, strict=True))
    indptr = np.arange(n + 1, dtype=np.int64) * k
    result = sp.csr_array((counts.astype(np.float64), index.astype(np.int32), indptr), shape=(n, n))
    result.sort_indices()
    return result


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


def _names(graph: Hypergraph) -> np.ndarray:
    """A 64-bit number for each node, from its hyperedges and its place among the nodes equal to it: (n,)."""
    _, kind, counts = graph.distinct
    edges = _mix(np.arange(graph.n_hyperedges, dtype=np.uint64), ODD[0])
    content = np.zeros(graph.n_nodes, dtype=np.uint64)
    H = graph.incidence
    np.add.at(content, np.repeat(np.arange(H.shape[0]), np.diff(H.indptr)), edges[H.indices])
    together = np.argsort(kind, kind="stable")
    starts = np.cumsum(counts).astype(np.int64) - counts.astype(np.int64)
    place = np.empty(graph.n_nodes, dtype=np.uint64)
    place[together] = (np.arange(graph.n_nodes) - starts[kind[together]]).astype(np.uint64)
    return _mix(content, place)


def _mix(a: np.ndarray, b: Any) -> np.ndarray:
    """A hash of the two numbers, in this order (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        x = a * ODD[0] + b
        for shift, factor in ((30, ODD[1]), (27, ODD[2])):
            x ^= x >> np.uint64(shift)
            x *= factor
        return x ^ (x >> np.uint64(31))
