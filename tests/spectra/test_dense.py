"""The oracle against numpy's own eigendecomposition, where a part of the spectrum is easily lost."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from oracles import departure, gaussian_adjacency, normalised, residuals
from pinvgcn import GaussianGraph
from pinvgcn.errors import ParameterError, PinvGCNWarning
from pinvgcn.spectra.eigenpairs import dense_eigenpairs, largest_eigenpairs


@pytest.mark.parametrize("n", [2, 7, 40, 150])
@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_all_pairs_of_a_multiple_eigenvalue(n: int, rank: int) -> None:
    """The graph of n pieces: N = I, whose eigenvalue 1 is there n times."""
    rank = min(rank, n - 1)
    u0 = np.full((n, 1), n**-0.5)
    mu, U = dense_eigenpairs(np.eye(n), rank, deflate=u0)
    np.testing.assert_allclose(mu, np.ones(rank), atol=1e-14)
    np.testing.assert_allclose(U.T @ U, np.eye(rank), atol=1e-13)
    np.testing.assert_allclose(u0.T @ U, np.zeros((1, rank)), atol=1e-13)


@pytest.mark.parametrize("rank", [1, 40, None])
@pytest.mark.parametrize("loops", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("sigma", [0.3, 3**0.5])
@pytest.mark.parametrize("solver", ["auto", "dense", "cutoff", "taylor", "fourier", "krylov"])
def test_clouds_of_repeated_points(solver: str, sigma: float, loops: float, rank: int | None) -> None:
    """All of their eigenvalues but a few are one and the same, for which a part of a spectrum is no part."""
    for places, times in ((np.eye(3), 33), (np.array([[0.0, 0, 0], [1, 1, 1]]), 75), (np.zeros((1, 3)), 90)):
        points = np.repeat(places, times, axis=0)
        graph = GaussianGraph(points, sigma, loops=loops)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PinvGCNWarning)
            try:
                spectrum = graph.spectrum(rank, solver=solver)
            except ParameterError:
                assert solver == "fourier"  # which takes no more modes than so many
                continue
        N = normalised(gaussian_adjacency(points, sigma, loops))
        assert departure(spectrum.basis) < 1e-8
        assert residuals(N, spectrum.values, spectrum.vectors).max(initial=0) < 1e-6
        smooth = len(places) - spectrum.components  # functions of position: as many as places
        if rank is None or rank >= len(places):
            assert spectrum.rank >= smooth
        np.testing.assert_allclose(spectrum.extend(points), spectrum.vectors, atol=1e-12)


def test_the_largest_of_a_random_matrix() -> None:
    A = np.random.default_rng(0).normal(size=(30, 30))
    A += A.T
    values, vectors = largest_eigenpairs(A, 4)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[:-5:-1], rtol=1e-12)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-12)
