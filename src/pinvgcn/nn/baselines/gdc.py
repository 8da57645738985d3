"""Graph diffusion: another graph for a GCN."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from pinvgcn.errors import MissingDependencyError
from pinvgcn.nn.baselines.network import geometric
from pinvgcn.parallel import ranges

AT_A_TIME = 4_096  # nodes: the lists that come back for them are large


def diffusion(adjacency: Any, *, alpha: float = 0.05, top: int = 64, epsilon: float = 1e-4) -> sp.csr_array:
    """The largest entries of each row of Σ_k α (1 − α)^k T^k, T = D̂^(−1/2) (A + I) D̂^(−1/2), divided by their sum,
    from "Diffusion Improves Graph Learning" (Klicpera, Weißenberger and Günnemann, 2019), equations 1 and 2
    with the coefficients of personalised PageRank and the sparsification "top k": (n, n).

    By PyTorch Geometric's local approximation ("inexact"), which needs numba and disregards edge weights:
    what has not spread yet is below α ε d̂_j at each node j. Its own class ends there with one threshold for
    all nodes; the ``top`` entries of each node are taken here, as for its exact version.
    """
    geometric()
    from torch_geometric.utils import get_ppr

    A = sp.csr_array(adjacency, copy=True)
    A.data[:] = 1
    A = sp.csr_array(A + sp.eye_array(A.shape[0])).tocoo()
    n = A.shape[0]
    degrees = np.bincount(A.row, minlength=n).astype(np.float64)
    edges = torch.from_numpy(np.stack([A.row, A.col]).astype(np.int64))
    parts = []
    for part in ranges(n, AT_A_TIME):
        targets = torch.arange(part.start, part.stop)
        try:
            index, value = get_ppr(edges, alpha=alpha, eps=epsilon, target=targets, num_nodes=n)
        except ImportError:
            raise MissingDependencyError(
                "Graph diffusion needs numba, which is not installed: pip install 'pinvgcn[pyg]'"
            ) from None
        i, j = index.numpy()
        # of the random walk D̂⁻¹Â: change to the symmetric T
        weight = value.numpy().astype(np.float64) * np.sqrt(degrees[i] / degrees[j])
        parts.append(_largest(i - part.start, j, weight, (len(targets), n), top))
    S = sp.csr_array(sp.vstack(parts))
    return sp.csr_array(sp.diags_array(1 / np.asarray(S.sum(axis=1)).ravel()) @ S)


def _largest(
    i: np.ndarray, j: np.ndarray, weight: np.ndarray, shape: tuple[int, int], top: int
) -> sp.csr_array:
    """The largest entries of each row; of equal ones, those that come first."""
    order = np.lexsort((j, -weight, i))
    i, j, weight = i[order], j[order], weight[order]
    place = np.arange(len(i)) - np.searchsorted(i, i)
    keep = place < top
    return sp.csr_array((weight[keep], (i[keep], j[keep])), shape=shape)
