"""Graph diffusion: another graph for a GCN."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from pinvgcn.compute.compiled import compiled
from pinvgcn.compute.parallel import ranges, share_out

AT_A_TIME = 512  # nodes a task


def diffusion(adjacency: Any, *, alpha: float = 0.05, top: int = 64, epsilon: float = 1e-3) -> sp.csr_array:
    """The ``top`` largest entries of each row of Σ_k α (1 − α)^k T^k, divided by their sum: (n, n), where
    T = D̂^(−1/2) (A + I) D̂^(−1/2) and edge weights are disregarded.

    From "Diffusion Improves Graph Learning" (Klicpera, Weißenberger and Günnemann, 2019): personalised
    PageRank, "top k", columns normalised; 10.5 of docs/maths.md. The sum is not exact ("inexact" in PyTorch
    Geometric): mass is pushed from node to node until less than α ε d̂_j/mean(d̂) waits at each node j (a
    bound without the mean degree, α 10⁻⁴ d̂_j as PyTorch Geometric recommends, stops before the first
    neighbour where nodes have a hundred of them). PyTorch Geometric's own push keeps all that it meets until
    the end, in lists of Python's numbers, and knows no "top k": here a row is cut before the next one begins.
    """
    A = sp.csr_array(adjacency, copy=True)
    A.data[:] = 1
    A = sp.csr_array(A + sp.eye_array(A.shape[0]))
    n = A.shape[0]
    bound = alpha * epsilon * n / A.nnz  # for each neighbour that a node has
    indptr, indices = A.indptr.astype(np.int64), A.indices.astype(np.int32)

    def rows(part: slice) -> sp.csr_array:
        index = np.full((part.stop - part.start, top), -1, dtype=np.int32)
        value = np.zeros((part.stop - part.start, top))
        _push(indptr, indices, part.start, part.stop, alpha, bound, index, value)
        found = index >= 0
        ends = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
        return sp.csr_array((value[found], index[found], ends), shape=(len(index), n))

    S = sp.csr_array(sp.vstack(list(share_out(rows, ranges(n, AT_A_TIME)))))
    S.sort_indices()
    return sp.csr_array(sp.diags_array(1 / np.asarray(S.sum(axis=1)).ravel()) @ S)


@compiled
def _push(
    indptr: np.ndarray,
    indices: np.ndarray,
    start: int,
    stop: int,
    alpha: float,
    bound: float,
    index: np.ndarray,
    value: np.ndarray,
) -> None:
    """Rows ``start`` … ``stop`` of the diffusion, their largest entries first; by a queue, oldest first."""
    n = len(indptr) - 1
    settled, waiting = np.zeros(n), np.zeros(n)
    queued = np.zeros(n, dtype=np.bool_)
    queue, met = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    seen = np.zeros(n, dtype=np.bool_)
    for i in range(start, stop):
        waiting[i] = alpha
        queue[0], met[0] = i, i
        queued[i] = seen[i] = True
        head, length, count = 0, 1, 1
        while length > 0:
            u = queue[head]
            head = head + 1 if head + 1 < n else 0
            length -= 1
            queued[u] = False
            mass = waiting[u]
            waiting[u] = 0.0
            settled[u] += mass
            mass *= (1 - alpha) / (indptr[u + 1] - indptr[u])
            for e in range(indptr[u], indptr[u + 1]):
                v = indices[e]
                waiting[v] += mass
                if not seen[v]:
                    seen[v] = True
                    met[count] = v
                    count += 1
                if not queued[v] and waiting[v] >= bound * (indptr[v + 1] - indptr[v]):
                    queued[v] = True
                    end = head + length
                    queue[end if end < n else end - n] = v
                    length += 1
        weight = np.empty(count)
        size = float(indptr[i + 1] - indptr[i])
        for k in range(count):
            v = met[k]
            # of the random walk D̂⁻¹Â, changed to the symmetric T
            weight[k] = settled[v] * np.sqrt(size / (indptr[v + 1] - indptr[v]))
            settled[v] = waiting[v] = 0.0
            seen[v] = False
        order = np.argsort(-weight)
        for k in range(min(count, index.shape[1])):
            if weight[order[k]] > 0:
                index[i - start, k] = met[order[k]]
                value[i - start, k] = weight[order[k]]
