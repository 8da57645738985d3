"""The cost model: what ``auto`` takes, why it says so, and what a solver that was asked for refuses."""

from __future__ import annotations

import re
import time
import warnings

import numpy as np
import pytest

from pinvgcn import GaussianGraph
from pinvgcn.errors import ParameterError, SlowWarning
from pinvgcn.graphs.base import DENSE_NODES
from pinvgcn.graphs.choice import FEW_MODES, MOST_FEATURES, MOST_NODES, KernelProblem, choose, refusal
from pinvgcn.graphs.gaussian import SOLVERS
from pinvgcn.kernels import Box, CutoffKernel, FourierKernel, TaylorKernel

FORCED = SOLVERS[1:]


def cloud(n: int, dimension: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, dimension))


def problem(n: int, dimension: int, sigma: float, rank: int = 10, precision: float = 1e-9) -> KernelProblem:
    points = cloud(n, dimension)
    return KernelProblem(points, Box.around(points), sigma, rank, precision)


CHOICES = {
    "small": (900, 2, 1.0, "dense"),
    "sigma about the size of the cloud": (1_200, 2, 20.0, "taylor"),
    "the same in five dimensions": (3_000, 5, 30.0, "taylor"),
    "smaller sigma": (8_000, 2, 0.3, "fourier"),
    "smaller sigma in space": (5_000, 3, 1.0, "fourier"),
    "sigma far below the scene": (6_000, 2, 0.02, "cutoff"),
    "sigma far below the scene, many points": (50_000, 3, 0.02, "cutoff"),
    "many dimensions": (4_000, 6, 1.0, "krylov"),
}


@pytest.mark.parametrize("case", CHOICES)
def test_auto_takes_what_costs_least(case: str) -> None:
    n, dimension, sigma, expected = CHOICES[case]
    here = problem(n, dimension, sigma, precision=1e-7)
    solver, reason = choose(here)
    assert solver == expected
    if n > DENSE_NODES:
        seconds = {estimate.solver: estimate.seconds for estimate in here.estimates()}
        assert set(seconds) == set(FORCED)
        assert min(seconds.values()) == seconds[solver] < np.inf
        # every solver is named with its size or its excuse, the chosen one first
        assert reason.startswith(f"{solver} about ")
        assert all(re.search(rf"\b{name} (about|no)\b", reason) for name in FORCED)
        assert "\n" not in reason


def test_the_reason_names_the_sizes() -> None:
    here = problem(1_500, 2, 20.0)
    reason = choose(here)[1]
    features = TaylorKernel.size(here.box, 20.0, 1e-10)
    assert f"({features:,} features)" in reason
    assert f"({FourierKernel.size(here.box, 20.0, here.fourier_precision):,.0f} modes)" in reason
    assert f"({CutoffKernel.count_pairs(here.points, 20.0, 1e-13):,.0f} pairs)" in reason
    assert "(1,500 nodes)" in reason
    assert f"up to {DENSE_NODES:,} nodes" in choose(problem(50, 2, 1.0))[1]


@pytest.mark.parametrize(
    ("sigma", "solver"),
    [(20.0, "taylor"), (0.4, "fourier"), (0.05, "cutoff")],
    ids=["taylor", "fourier", "cutoff"],
)
def test_the_spectrum_records_the_choice_and_the_reason(sigma: float, solver: str) -> None:
    graph = GaussianGraph(cloud(3_500, 2), sigma, loops=1.0)
    spectrum = graph.spectrum(3)
    assert spectrum.solver == solver
    assert spectrum.reason == choose(graph._problem(3, 1e-3))[1]
    assert spectrum.reason.startswith(f"{solver} about")
    asked = graph.spectrum(3, solver=solver)
    assert (asked.solver, asked.reason) == (solver, "asked for")
    assert asked.basis.tobytes() == spectrum.basis.tobytes()


def test_the_choice_does_not_depend_on_order_place_or_unit() -> None:
    points = cloud(2_000, 3)
    order = np.random.default_rng(1).permutation(2_000)
    for sigma in (0.05, 1.0, 10.0):
        chosen = {
            choose(KernelProblem(moved, Box.around(moved), sigma * unit, 10, 1e-9))[0]
            for moved, unit in ((points, 1.0), (points[order], 1.0), (points + 1e3, 1.0), (points * 1e3, 1e3))
        }
        assert len(chosen) == 1


@pytest.mark.alone
def test_the_model_is_quick() -> None:
    """It must not cost what it saves, however absurd the problem."""
    points = cloud(20_000, 3)
    box = Box.around(points)
    started = time.perf_counter()
    for sigma in (1e-300, 1e-3, 10.0, 1e300):
        solver, _ = choose(KernelProblem(points, box, sigma, 10, 1e-9))
        assert solver in FORCED
    assert time.perf_counter() - started < 8


REFUSALS = [
    (2_000, 2, 0.01, "taylor", f"sigma=0.01 needs more than {MOST_FEATURES:,} features"),
    (200, 3, 0.01, "fourier", f"sigma=0.01 needs more than {FEW_MODES:,} modes"),
    (2_000, 5, 1.0, "fourier", "5 dimensions, more than 3"),
    (8_000, 2, 5.0, "cutoff", "sigma=5 joins more than 40,000,000 pairs"),
    (MOST_NODES + 1, 1, 1.0, "dense", f"{MOST_NODES + 1:,} nodes, more than {MOST_NODES:,}"),
]


@pytest.mark.parametrize(("n", "dimension", "sigma", "solver", "why"), REFUSALS)
def test_a_solver_that_refuses_says_why_in_one_line(
    n: int, dimension: int, sigma: float, solver: str, why: str
) -> None:
    graph = GaussianGraph(cloud(n, dimension), sigma, loops=1.0)
    with pytest.raises(ParameterError) as caught:
        graph.spectrum(2, solver=solver)
    message = str(caught.value)
    assert message == f"solver={solver!r} does not take this graph: {why}; use solver='auto'."
    assert choose(graph._problem(2, 1e-3))[0] != solver


@pytest.mark.parametrize("dimension", [1, 3, 7])
@pytest.mark.parametrize("sigma", [1e-300, 1e-3, 1.0, 1e300])
def test_krylov_refuses_nothing(dimension: int, sigma: float) -> None:
    assert refusal(problem(1_500, dimension, sigma), "krylov") is None


def test_sizes_of_the_limits() -> None:
    """A refusal is about the problem itself: one step beside the limit it is gone."""
    for sigma in np.geomspace(0.05, 5, 25):
        here = problem(1_500, 3, float(sigma))
        features = TaylorKernel.size(here.box, here.sigma, 1e-10)
        assert (refusal(here, "taylor") is None) == (features <= MOST_FEATURES)
        assert (refusal(here, "fourier") is None) == (here.modes <= max(6_000, FEW_MODES))


def test_precision_follows_the_tolerance_where_it_costs() -> None:
    """The finest Fourier series while it is small; beyond that as fine as the residuals ask."""
    small, large = problem(500, 2, 2.0, precision=1e-6), problem(60_000, 3, 0.7, precision=1e-6)
    assert small.fourier_precision == small.kernel("fourier").precision == 1e-12
    assert large.fourier_precision == large.kernel("fourier").precision == 1e-6
    graph = GaussianGraph(cloud(4_000, 2), 1.0)
    assert graph._problem(5, 1e-3).precision > graph._problem(5, 1e-8).precision


def slow_warning(graph: GaussianGraph, **options: object) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        graph.spectrum(2, **options)  # type: ignore[arg-type]
    return [warning for warning in caught if warning.category is SlowWarning]


def test_a_long_time_is_said_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    many_dimensions = GaussianGraph(cloud(1_300, 6), 2.0, loops=1.0)
    assert slow_warning(many_dimensions, solver="krylov") == []
    monkeypatch.setattr("pinvgcn.graphs.gaussian.SLOW", 0.0)
    (warning,) = slow_warning(many_dimensions, solver="krylov")
    message = str(warning.message)
    assert re.match(r"This takes about \d+\.\d minutes: 1,300 points in 6 dimensions", message)
    assert "\n" not in message
    # linear work is not announced
    assert slow_warning(GaussianGraph(cloud(1_300, 2), 10.0, loops=1.0)) == []
    assert slow_warning(GaussianGraph(cloud(4_000, 2), 0.5, loops=1.0), solver="krylov") == []


def test_the_announcement_points_at_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinvgcn.graphs.gaussian.SLOW", 0.0)
    (warning,) = slow_warning(GaussianGraph(cloud(1_300, 6), 2.0, loops=1.0), solver="krylov")
    assert warning.filename == __file__


@pytest.mark.alone
def test_the_announced_time_is_about_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a factor of ten either way: it is measured, not looked up."""
    monkeypatch.setattr("pinvgcn.graphs.gaussian.SLOW", 0.0)
    seconds: list[float] = []
    monkeypatch.setattr(
        "pinvgcn.graphs.gaussian.warnings.warn",
        lambda message, *_, **__: seconds.append(60 * float(re.search(r"about (\S+) minutes", message)[1])),
    )
    graph = GaussianGraph(cloud(4_000, 6), 3.0, loops=1.0)
    _ = graph.degrees
    started = time.perf_counter()
    graph.spectrum(30, solver="krylov", tolerance=1e-2)
    taken = time.perf_counter() - started
    assert seconds[0] / 10 - 3 < taken < 10 * (seconds[0] + 3)  # announced in steps of six seconds
