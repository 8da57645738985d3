"""Gaussian graphs against all n² weights: degrees, products, what cannot be a graph."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from oracles import gaussian_adjacency, normalised
from pinvgcn import GaussianGraph
from pinvgcn.errors import DataError, GraphError, ParameterError
from pinvgcn.graphs import automatic_sigma
from pinvgcn.kernels import ExactKernel, FourierKernel, TaylorKernel

every_loop = pytest.mark.parametrize("loops", [0.0, 0.5, 1.0, 2.0])
without_and_with_loops = pytest.mark.parametrize("loops", [0.0, 1.0])


def cloud(n: int, dimension: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, dimension))


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 5, 6])
@every_loop
def test_degrees_and_products(dimension: int, loops: float) -> None:
    points = cloud(300, dimension)
    A = gaussian_adjacency(points, 1.5, loops)
    graph = GaussianGraph(points, 1.5, loops=loops)
    np.testing.assert_allclose(graph.degrees, A.sum(axis=1), rtol=1e-9)
    N = normalised(A)
    operator = graph.normalized_adjacency
    assert operator.shape == (300, 300)
    np.testing.assert_allclose(operator @ np.eye(300), N, rtol=0, atol=1e-9)
    x = cloud(300, 1)[:, 0]
    np.testing.assert_allclose(operator @ x, N @ x, rtol=0, atol=1e-9)
    np.testing.assert_allclose(operator.rmatvec(x), N @ x, rtol=0, atol=1e-9)
    np.testing.assert_allclose(operator.T @ x, N @ x, rtol=0, atol=1e-9)
    assert len(graph) == graph.n_nodes == 300


@pytest.mark.parametrize(
    ("n", "dimension", "sigma", "kind"),
    [(800, 2, 30.0, TaylorKernel), (2_500, 2, 1.0, FourierKernel), (800, 4, 1.0, ExactKernel)],
)
@without_and_with_loops
def test_degrees_and_products_by_every_kernel(
    n: int, dimension: int, sigma: float, kind: type, loops: float
) -> None:
    points = cloud(n, dimension)
    graph = GaussianGraph(points, sigma, loops=loops)
    assert type(graph.kernel) is kind
    A = gaussian_adjacency(points, sigma, loops)
    np.testing.assert_allclose(graph.degrees, A.sum(axis=1), rtol=1e-9, atol=1e-9)
    x = cloud(n, 3, seed=1)
    np.testing.assert_allclose(graph.normalized_adjacency @ x, normalised(A) @ x, rtol=0, atol=1e-9)


def test_precision_is_not_given_away() -> None:
    """A less precise kernel serves where a better one would not fit, never to save a millisecond."""
    for n in (100, 300, 1_000, 2_000):
        for sigma in (0.5, 2.0, 6.0):
            kernel = GaussianGraph(cloud(n, 2), sigma).kernel
            assert kernel.precision <= 1e-11, (n, sigma, kernel)


# ----------------------------------------------------------------------------------- isolated nodes


@pytest.mark.parametrize("n", [30, 1_200, 3_000])
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_isolated_points_are_named_with_a_sigma_that_works(n: int, scale: float) -> None:
    points = cloud(n, 2) * scale
    points[7] = [1e3 * scale, 0]
    graph = GaussianGraph(points, 0.5 * scale)
    with pytest.raises(GraphError) as caught:
        graph.spectrum(2)
    message = str(caught.value)
    assert f"sigma={0.5 * scale:g}" in message
    if scale == 1:
        assert re.search(r"Got \d+ isolated nodes? \(first: node \d+\)", message)
    advised = float(re.search(r"Use sigma=(\S+) or more", message)[1])
    assert advised < 1e4 * scale
    assert (GaussianGraph(points, advised).degrees > 0).all()
    assert GaussianGraph(points, advised).spectrum(1, tolerance=0.1).rank == 1
    assert (GaussianGraph(points, 2 * advised).degrees > 0).all()
    assert (GaussianGraph(points, 0.5 * scale, loops=1.0).degrees >= 1 - 1e-9).all()


def test_no_isolated_point_hides_in_rounding() -> None:
    """Far from its centre a cloud's weights must still be 0 or 1: a loop of 1 − 1e-8 would be an edge."""
    points = np.concatenate([cloud(50, 2), [[1e5, 1e5], [1e5, -1e5]]])
    with pytest.raises(GraphError, match=r"Got 2 isolated nodes \(first: node 50\)"):
        _ = GaussianGraph(points, 1.0).degrees


def test_degrees_below_what_the_kernel_resolves() -> None:
    """Whatever is refused comes with advice that is larger than the sigma that failed."""
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 500, (2_000, 2))
    graph = GaussianGraph(points, 3.0)
    with pytest.raises(GraphError) as caught:
        _ = graph.degrees
    advised = float(re.search(r"Use sigma=(\S+) or more", str(caught.value))[1])
    assert advised > 3.0
    assert (GaussianGraph(points, advised).degrees > 0).all()


# ---------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("sigma", [0, 0.0, -1, -0.5, np.nan, np.inf, True, None, "wide", [1.0], 1j])
def test_sigma_that_is_none(sigma: Any) -> None:
    with pytest.raises(ParameterError, match=re.escape(repr(sigma))):
        GaussianGraph(cloud(5, 2), sigma)


@pytest.mark.parametrize("loops", [-1, np.nan, np.inf, True, None, "keep"])
def test_loops_that_are_none(loops: Any) -> None:
    with pytest.raises(ParameterError, match=re.escape(repr(loops))):
        GaussianGraph(cloud(5, 2), 1.0, loops=loops)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([[0.0, 1], [np.nan, 2], [3, 4]], "NaN in row 1"),
        ([[0.0, 1], [np.inf, 2], [-np.inf, 4]], "infinity in rows 1 and 2"),
        (np.zeros((0, 3)), r"0 sample\(s\)"),
        (np.zeros((3, 0)), r"0 feature\(s\)"),
        (np.zeros(5), r"shape \(5,\)"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        ([[1.0, 2]], "1 sample"),
        ([[1.0, 2], [3]], "must be numbers"),
        ([["a", "b"], ["c", "d"]], "must be numbers"),
        (np.eye(3) * 1j, "Complex"),
        ([[0.0, 1], [1.7976931348623157e308, 2]], r"1\.79769e\+308 .* missing data"),
    ],
)
def test_points_that_are_none(points: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        GaussianGraph(points, 1.0)


@pytest.mark.parametrize("rank", [0, -3, 2.5, True, "all", np.nan])
def test_rank_that_is_none(rank: Any) -> None:
    with pytest.raises(ParameterError, match=re.escape(f"Got {rank!r}")):
        GaussianGraph(cloud(5, 2), 1.0).spectrum(rank)


def test_solver_and_tolerance_that_are_none() -> None:
    graph = GaussianGraph(cloud(50, 2), 1.0)
    with pytest.raises(ParameterError, match="'lanczos'"):
        graph.spectrum(2, solver="lanczos")
    for tolerance in (0, -1e-3, np.nan, True):
        with pytest.raises(ParameterError, match="tolerance"):
            graph.spectrum(2, tolerance=tolerance)
    with pytest.raises(ParameterError, match=r"solver='taylor' .* sigma=0\.01 needs more than"):
        GaussianGraph(cloud(50, 2), 0.01, loops=1.0).spectrum(2, solver="taylor")


def test_points_are_not_changed() -> None:
    points = cloud(200, 2)
    before = points.copy()
    GaussianGraph(points, 1.0).spectrum(3, solver="krylov")
    np.testing.assert_array_equal(points, before)


def test_automatic_sigma() -> None:
    points = np.array([[0.0, 0], [3, 4], [-3, -4], [6, 8], [-6, -8]])  # at 0, 5, 5, 10, 10 from the median
    assert GaussianGraph(points).sigma == automatic_sigma(points)
    ratio = automatic_sigma(points) / 5
    assert automatic_sigma(np.vstack([points, points, [[1e6, 1e6]]])) < 3 * ratio * 10  # outliers move little
    mostly_equal = np.vstack([np.zeros((9, 2)), [[10.0, 0]]])
    assert automatic_sigma(mostly_equal) == pytest.approx(ratio * 1.0)  # the mean distance
    assert automatic_sigma(np.ones((4, 2))) == 1.0
    assert (GaussianGraph(cloud(50, 3)).degrees > 0).all()


def test_repr() -> None:
    text = repr(GaussianGraph(cloud(5, 2), 100.0, loops=1.0))
    assert text == "GaussianGraph(5 points in 2 dimensions, sigma=100, loops=1)"
