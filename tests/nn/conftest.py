"""Spectra with their dense oracles: every convolution matrix of the paper, formed by numpy alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from pinvgcn import GaussianGraph, Hypergraph, SparseGraph, Spectrum

# Each choice as the combinations of 𝒦^(1), 𝒦^(2), 𝒦^(3) that it means in the paper.
CHOICES: list[tuple[Any, list[tuple[float, float, float]]]] = [
    ("three-part", [(1, 0, 0), (0, 1, 0), (0, 0, 1)]),
    ("no-zero-impulse", [(0, 1, 0), (0, 0, 1)]),
    ("no-high-pass", [(1, 0, 0), (0, 1, 1)]),
    ("low-rank", [(1, 0, 0), (0, 1, 0)]),
    ("pseudoinverse", [(0, 1, 0)]),
    ((0.3, -1.5, 2.0), [(0.3, -1.5, 2.0)]),
]


@dataclass(frozen=True)
class Case:
    """A spectrum and the Laplacian that it belongs to."""

    spectrum: Spectrum
    laplacian: np.ndarray
    incidence: sp.csr_array | None = None

    @property
    def n(self) -> int:
        return len(self.laplacian)

    def matrices(self) -> list[np.ndarray]:
        """𝒦^(1), 𝒦^(2), 𝒦^(3) of eq:pgcn:threeconvmatrices, from numpy's eigendecomposition of L.

        u₀u₀ᵀ is the projection onto the whole null space, since a graph may have several components.
        """
        lam, U = np.linalg.eigh(self.laplacian)
        k, r = self.spectrum.null_vectors.shape[1], self.spectrum.rank
        U0, Ur, lam_r = U[:, :k], U[:, k : k + r], lam[k : k + r]
        eigengap = lam_r[0] if r else 1.0
        return [
            U0 @ U0.T,
            eigengap * Ur @ np.diag(1 / lam_r) @ Ur.T,
            eigengap * (np.eye(self.n) - U0 @ U0.T - Ur @ Ur.T),
        ]

    def convolutions(self, parts: list[tuple[float, float, float]]) -> torch.Tensor:
        """The matrices of the chosen basis: (K, n, n)."""
        K = np.stack(self.matrices())
        return torch.from_numpy(np.einsum("kp,pij->kij", np.array(parts, dtype=float), K))


def _gaussian() -> Case:
    points = np.random.default_rng(0).normal(size=(40, 3))
    graph = GaussianGraph(points, sigma=1.5, loops=1.0)
    squared = ((points[:, None] - points) ** 2).sum(axis=2)
    return Case(graph.spectrum(7), _laplacian(np.exp(-squared / 1.5**2)))


def _components() -> Case:
    """A sparse graph of three components."""
    rng = np.random.default_rng(1)
    blocks = []
    for size in (13, 9, 6):
        A = np.triu(rng.random((size, size)) * (rng.random((size, size)) < 0.4), 1)
        A[np.arange(size - 1), np.arange(1, size)] += 0.5  # a path keeps each block in one piece
        blocks.append(A + A.T)
    A = sp.block_diag(blocks).toarray()
    graph = SparseGraph(A)
    spectrum = graph.spectrum(6)
    assert spectrum.null_vectors.shape[1] == 3
    return Case(spectrum, _laplacian(A))


def _incidence(weights: np.ndarray | None, components: int) -> Case:
    rng = np.random.default_rng(2)
    blocks = []
    for _ in range(components):
        attributes = rng.integers(0, 3, size=(18, 3))
        blocks.append(np.hstack([attributes[:, [j]] == np.arange(3) for j in range(3)]).astype(float))
    H = sp.block_diag(blocks).toarray()
    w = np.ones(H.shape[1]) if weights is None else weights
    graph = Hypergraph(H, weights=weights)
    A = H @ np.diag(w / H.sum(axis=0)) @ H.T
    np.testing.assert_allclose(A.sum(axis=1), H @ w)
    return Case(graph.spectrum(), _laplacian(A), sp.csr_array(H))


def _rank_zero() -> Case:
    """One hyperedge that holds everything: every eigenvalue but the first is 1, and none is known."""
    H = np.ones((8, 1))
    spectrum = Hypergraph(H).spectrum()
    assert spectrum.rank == 0
    return Case(spectrum, _laplacian(np.full((8, 8), 1 / 8)), sp.csr_array(H))


def _laplacian(A: np.ndarray) -> np.ndarray:
    scale = 1 / np.sqrt(A.sum(axis=1))
    return np.eye(len(A)) - scale[:, None] * A * scale


_CASES = {
    "gaussian": _gaussian,
    "components": _components,
    "hypergraph": lambda: _incidence(None, 1),
    "weighted-hypergraph": lambda: _incidence(np.linspace(0.5, 2, 9), 1),
    "hypergraph-components": lambda: _incidence(None, 2),
    "rank-zero": _rank_zero,
}
HYPERGRAPHS = [name for name in _CASES if "hypergraph" in name or name == "rank-zero"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``case`` runs over every graph, ``hypergraph`` over hypergraphs, ``choice`` over every filter space."""
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", list(_CASES), indirect=True)
    if "hypergraph" in metafunc.fixturenames:
        metafunc.parametrize("hypergraph", HYPERGRAPHS, indirect=True)
    if "choice" in metafunc.fixturenames:
        metafunc.parametrize("choice", CHOICES, ids=[str(name) for name, _ in CHOICES])


@pytest.fixture(scope="session")
def case(request: pytest.FixtureRequest) -> Case:
    return _CASES[request.param]()


@pytest.fixture(scope="session")
def hypergraph(request: pytest.FixtureRequest) -> Case:
    return _CASES[request.param]()


@pytest.fixture(scope="session")
def components() -> Case:
    return _components()


@pytest.fixture(scope="session")
def gaussian() -> Case:
    return _gaussian()


@pytest.fixture
def random() -> torch.Generator:
    return torch.Generator().manual_seed(0)
