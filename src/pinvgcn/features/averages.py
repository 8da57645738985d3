"""local_average: what is known of the points of a cloud, averaged over those nearest to a place."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from pinvgcn.checks import as_matrix, as_points, check_count, check_rows
from pinvgcn.errors import DataError
from pinvgcn.features.neighbours import Places, distinct
from pinvgcn.parallel import cores

CHUNK = 2048  # points that a thread takes at a time


def local_average(points: Any, values: Any, *, cloud: Any = None, neighbours: int = 10) -> np.ndarray:
    """Σ_j w_j v_j / k over the k points of ``cloud`` nearest to each of ``points``: (n, c).

    ``values`` (m, c) belong to the points of the cloud, which are ``points`` themselves by default. Weights
    are those of `local_geometry` (`docs/maths.md`, 7.1): points at the k-th distance share what the nearer
    ones leave of k, so that no order of the points enters. A cloud of fewer than k points is averaged whole.
    """
    return average_and_reach(points, values, cloud=cloud, neighbours=neighbours)[0]


def average_and_reach(
    points: Any,
    values: Any,
    *,
    cloud: Any = None,
    neighbours: int = 10,
    heard: Callable[[int], None] = lambda count: None,
) -> tuple[np.ndarray, np.ndarray]:
    """`local_average` (n, c), and the distance (n,) to the k-th point, infinite where there are fewer;
    ``heard`` is told how many points are done."""
    k = check_count("neighbours", neighbours)
    here = as_points(points, "points")
    among = here if cloud is None else as_points(cloud, "cloud")
    if here.shape[1] != among.shape[1]:
        raise DataError(
            f"points must have {among.shape[1]} coordinates as the cloud has. "
            f"Got {here.shape[1]} columns instead."
        )
    known = as_matrix(values, "values")
    check_rows(known, len(among), "values", "points of the cloud")
    places, counts, inverse = distinct(among)
    # equal points are one place, at which their values are averaged
    at_places = np.stack([np.bincount(inverse, column) for column in known.T], axis=1) / counts[:, None]
    near = Places(places, counts, (k,))
    result = np.empty((len(here), known.shape[1]))
    reach = np.full(len(here), np.inf)

    def fill(start: int) -> None:
        chunk = slice(start, start + CHUNK)
        size, out = int(near.sizes[0]), result[chunk]
        for rows, index, distance, r in near.nearest(here[chunk]):
            w = near.weights(index, distance, r[:, 0], size) / size
            out[rows] = np.einsum("mr,mrc->mc", w, at_places[index])
            if size == k:
                reach[start + rows] = r[:, 0]

    with ThreadPoolExecutor(cores()) as threads:
        starts = range(0, len(here), CHUNK)
        for start, _ in zip(starts, threads.map(fill, starts), strict=True):  # raises what a thread raised
            heard(min(start + CHUNK, len(here)))
    return result, reach
