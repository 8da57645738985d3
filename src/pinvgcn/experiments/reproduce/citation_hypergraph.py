"""A citation network as a hypergraph: H = [A + I, X ≠ 0] with weights w = (1, …, 1, R, …, R).

One hyperedge for each paper joins it to the papers that it is linked with; one for each word joins all
papers that have it, and weighs R, the regularization factor. A word that no paper has joins nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from pinvgcn.checks import check_positive
from pinvgcn.graphs import Hypergraph


def citation_hypergraph(adjacency: Any, features: Any, *, regularization: float) -> Hypergraph:
    """The hypergraph of a network with adjacency (n, n) and features (n, f), both sparse."""
    R = check_positive("regularization", regularization)
    around = sp.csr_array(sp.csr_array(adjacency) + sp.eye_array(adjacency.shape[0]))  # (n, n)
    words = sp.csr_array(sp.csr_array(features) != 0, dtype=np.float64)  # (n, f)
    words = words[:, words.sum(axis=0) > 0]
    around.data[:] = 1.0
    weights = np.concatenate([np.ones(around.shape[1]), np.full(words.shape[1], R)])
    return Hypergraph(sp.hstack([around, words], format="csr"), weights)
