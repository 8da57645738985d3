"""local_geometry: what surrounds a point, as numbers that a classifier can use."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from pinvgcn.checks import as_points, check_increasing
from pinvgcn.errors import DataError, ParameterError
from pinvgcn.features import columns as in_plan
from pinvgcn.features import shapes as in_space
from pinvgcn.features.neighbours import distinct
from pinvgcn.parallel import cores

CHUNK = 2048  # points that a thread takes at a time
FARTHEST = 1e100  # coordinates whose squares are still numbers


def local_geometry(
    points: Any,
    cloud: Any = None,
    *,
    neighbours: Sequence[int] = (10, 40, 150),
    columns: Sequence[int] = (50, 300),
    up: int = 2,
) -> np.ndarray:
    """Features (n, f) of the surroundings of ``points`` (n, 3) within ``cloud``, by default themselves.

    For each k of ``neighbours``, with λ₁ ≥ λ₂ ≥ λ₃ and e₁, e₂, e₃ the eigenvalues and eigenvectors of the
    covariance of the k nearest points, r the distance of the k-th and z the height (`docs/maths.md`, 7)::

        linearity_k     (λ₁ − λ₂)/λ₁              1 along a line
        planarity_k     (λ₂ − λ₃)/λ₁              1 on a plane
        scattering_k    λ₃/λ₁                     1 in a ball
        anisotropy_k    (λ₁ − λ₃)/λ₁              1 − scattering
        verticality_k   1 − (e₃)_z²               sin² of the tilt of the normal: 0 on the ground, 1 on walls
        steepness_k     (e₁)_z²                   sin² of the slope of the main direction: 1 along a post
        spacing_k       (4πr³/3k)^(1/3)           density^(−1/3), finite where points coincide
        height_k        z − min z                 above the lowest of the k
        range_k         max z − min z

    and for each k of ``columns``, over the k points nearest in plan::

        below_k         z − min z                 above the lowest of the column
        above_k         max z − z                 under the highest

    The first six have no unit; the others are lengths in the unit of the points. Nothing changes when the
    points are moved or turned about the axis ``up`` (0, 1 or 2): a normal has no sign and its compass bearing
    is no property of a thing.

    The features of a point depend on where it is and on the cloud, not on the other points that are asked for
    with it, nor on any order: points at the k-th distance all belong, with equal shares of what the nearer
    ones leave of k. A point is its own neighbour if and only if it is in the cloud, so a training point has
    the same features with ``cloud=training points`` as it had in training. A cloud of fewer than k points is
    one neighbourhood. `geometry_names` names the columns.
    """
    return geometry_and_reach(points, cloud, neighbours=neighbours, columns=columns, up=up)[0]


def geometry_and_reach(
    points: Any,
    cloud: Any = None,
    *,
    neighbours: Sequence[int] = (10, 40, 150),
    columns: Sequence[int] = (50, 300),
    up: int = 2,
    heard: Callable[[int], None] = lambda count: None,
) -> tuple[np.ndarray, np.ndarray]:
    """`local_geometry` (n, f), and how far away from each point it has looked: in space and in plan (n, 2).

    Points that are farther, in space and in plan, change nothing. The reach is infinite where the cloud has
    fewer points than were to be found. ``heard`` is told how many points are done.
    """
    neighbours, columns = _sizes(neighbours, columns)
    if isinstance(up, bool) or not isinstance(up, numbers.Integral) or up not in (0, 1, 2):
        raise ParameterError(f"up must be the column that holds the height, 0, 1 or 2. Got {up!r} instead.")
    axes = [axis for axis in range(3) if axis != up] + [up]
    here = _in_space(points, "points")[:, axes]
    among = here if cloud is None else _in_space(cloud, "cloud")[:, axes]
    where, _, inverse = distinct(here)
    parts: list[in_space.Shapes | in_plan.Columns] = []
    if neighbours:
        parts.append(in_space.Shapes(among, neighbours))
    if columns:
        parts.append(in_plan.Columns(among, columns))
    X = np.empty((len(where), len(geometry_names(neighbours=neighbours, columns=columns))))
    reach = np.zeros((2, len(where)))  # one row a part

    def fill(start: int) -> None:
        chunk = slice(start, start + CHUNK)
        found = [part(where[chunk], far[chunk]) for part, far in zip(parts, reach, strict=False)]
        np.concatenate(found, axis=1, out=X[chunk])

    with ThreadPoolExecutor(cores()) as threads:
        starts = range(0, len(where), CHUNK)
        for start, _ in zip(starts, threads.map(fill, starts), strict=True):  # raises what a thread raised
            heard(min(start + CHUNK, len(where)))
    if not neighbours:
        reach = reach[::-1]
    for far, sizes in zip(reach, (neighbours, columns), strict=True):
        if sizes and len(among) < sizes[-1]:
            far[:] = np.inf
    return X[inverse], reach.T[inverse]


def geometry_names(
    *, neighbours: Sequence[int] = (10, 40, 150), columns: Sequence[int] = (50, 300)
) -> list[str]:
    """The names of the columns of `local_geometry`, such as ``"planarity_40"``."""
    neighbours, columns = _sizes(neighbours, columns)
    return [f"{name}_{k}" for k in neighbours for name in in_space.NAMES] + [
        f"{name}_{k}" for k in columns for name in in_plan.NAMES
    ]


def _sizes(neighbours: Any, columns: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    neighbours = check_increasing("neighbours", neighbours, minimum=2)
    columns = check_increasing("columns", columns)
    if not neighbours and not columns:
        raise ParameterError(
            "neighbours or columns must hold a size. Got none instead; leave out one argument."
        )
    return neighbours, columns


def _in_space(values: Any, name: str) -> np.ndarray:
    """Coordinates (n, 3) whose squares are finite."""
    points = as_points(values, name)
    if points.shape[1] != 3:
        raise DataError(
            f"{name} must have three columns, x, y and z. Got {points.shape[1]} instead; "
            "a flat map needs a third column of zeros."
        )
    if np.abs(points).max() > FARTHEST:
        raise DataError(
            f"{name} must be coordinates of at most {FARTHEST:g}. Got {np.abs(points).max():g} instead; "
            "change the unit."
        )
    return points
