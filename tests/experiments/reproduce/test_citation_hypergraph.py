"""A citation network as a hypergraph, against the dense formula."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

from pinvgcn.datasets import Dataset
from pinvgcn.errors import ParameterError
from pinvgcn.experiments.reproduce.experiment import citation_hypergraph

# a path 0 – 1 – 2 and a lonely node 3; three words, of which nobody has the last
A = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], dtype=float)
X = np.array([[0.5, 0, 0], [0, 0, 0], [2, 1, 0], [0, 3, 0]])
H = np.array([[1, 1, 0, 0, 1, 0], [1, 1, 1, 0, 0, 0], [0, 1, 1, 0, 1, 1], [0, 0, 0, 1, 0, 1]], dtype=float)


def test_one_hyperedge_a_paper_and_one_a_word() -> None:
    graph = citation_hypergraph(sp.csr_matrix(A), sp.csr_matrix(X), regularization=0.2)
    np.testing.assert_array_equal(graph.incidence.toarray(), H)
    np.testing.assert_array_equal(graph.weights, [1, 1, 1, 1, 0.2, 0.2])


@pytest.mark.parametrize("R", [0.01, 0.2, 5.0])
def test_its_laplacian_is_the_formula(R: float) -> None:
    w = np.array([1, 1, 1, 1, R, R])
    D, B = H @ w, H.sum(axis=0)
    adjacency = (H * w / B) @ H.T / np.sqrt(np.outer(D, D))
    graph = citation_hypergraph(sp.csr_matrix(A), sp.csr_matrix(X), regularization=R)
    np.testing.assert_allclose(graph.normalized_adjacency @ np.eye(4), adjacency, atol=1e-14)
    expected = np.sort(1 - np.linalg.eigvalsh(adjacency))
    spectrum = graph.spectrum()
    np.testing.assert_allclose(spectrum.values, expected[1:][expected[1:] < 1 - 1e-9], atol=1e-12)


def test_the_eigengap_grows_with_the_factor() -> None:
    gaps = [
        citation_hypergraph(sp.csr_matrix(A), sp.csr_matrix(X), regularization=R).spectrum().eigengap
        for R in (0.01, 0.1, 1.0)
    ]
    assert gaps == sorted(gaps)


def test_a_real_network(data_set: Callable[[str], Dataset]) -> None:
    cora = data_set("cora")
    graph = citation_hypergraph(cora.adjacency, cora.X, regularization=0.1)
    assert graph.incidence.shape == (2708, 2708 + 1432)  # one of its 1,433 words has no paper
    # each paper belongs to the hyperedges of itself, of its 5,278 · 2 links, and of its words
    assert graph.incidence.sum() == 2708 + 2 * 5278 + cora.X.nnz


def test_a_factor_that_is_none() -> None:
    with pytest.raises(ParameterError, match="regularization must be"):
        citation_hypergraph(sp.csr_matrix(A), sp.csr_matrix(X), regularization=0.0)
