"""local_average against the formula, and everything that must not change it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pinvgcn.errors import DataError, ParameterError
from pinvgcn.features import averages, local_average

# integer coordinates, so that distances tie and points coincide
GRIDS = arrays(np.int64, st.tuples(st.integers(1, 40), st.just(3)), elements=st.integers(0, 3)).map(
    lambda grid: grid.astype(float)
)


def by_hand(points: np.ndarray, values: np.ndarray, cloud: np.ndarray, k: int) -> np.ndarray:
    """Formula 7.1 of docs/maths.md, point after point."""
    k = min(k, len(cloud))
    means = []
    for x in points:
        distance = np.sqrt(((cloud - x) ** 2).sum(axis=1))
        r = np.sort(distance)[k - 1]
        at = np.isclose(distance, r, rtol=1e-7, atol=0)
        inside = (distance < r) & ~at
        w = inside + at * (k - inside.sum()) / at.sum()
        means.append(w @ values / k)
    return np.array(means)


@given(GRIDS, st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_the_formula(cloud, k, seed):
    rng = np.random.default_rng(seed)
    values = rng.random((len(cloud), 2))
    np.testing.assert_allclose(
        local_average(cloud, values, neighbours=k), by_hand(cloud, values, cloud, k), atol=1e-12
    )
    points = rng.uniform(-1, 4, (5, 3))
    np.testing.assert_allclose(
        local_average(points, values, cloud=cloud, neighbours=k),
        by_hand(points, values, cloud, k),
        atol=1e-12,
    )


@given(GRIDS, st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_no_order_enters(cloud, k, seed):
    rng = np.random.default_rng(seed)
    values, order = rng.random((len(cloud), 2)), rng.permutation(len(cloud))
    plain = local_average(cloud, values, neighbours=k)
    turned = local_average(cloud[order], values[order], neighbours=k)
    np.testing.assert_allclose(turned, plain[order], atol=1e-12)


def test_many_chunks(monkeypatch):
    rng = np.random.default_rng(0)
    cloud, values = rng.random((500, 3)), rng.random((500, 4))
    whole = local_average(cloud, values)
    monkeypatch.setattr(averages, "CHUNK", 7)
    np.testing.assert_array_equal(local_average(cloud, values), whole)


def test_bad_input():
    points = np.zeros((4, 3))
    with pytest.raises(ParameterError, match=r"neighbours must be a whole number, 1 or more\. Got 0"):
        local_average(points, points, neighbours=0)
    with pytest.raises(DataError, match=r"values must have one row for each of the 4 points of the cloud"):
        local_average(points, points[:3])
    with pytest.raises(DataError, match=r"points must have 2 coordinates as the cloud has\. Got 3 columns"):
        local_average(points, points, cloud=points[:, :2])
