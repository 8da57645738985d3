"""local_geometry: what surrounds a point, as numbers that a classifier can use."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from pinvgcn.checks import as_points
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.errors import DataError, ParameterError
from pinvgcn.features.cell_size import cell_size
from pinvgcn.features.lattice import LEVELS, Lattice
from pinvgcn.features.pyramid import Pyramid


def local_geometry(
    points: Any,
    cloud: Any = None,
    *,
    cell: float | str = "auto",
    levels: int = LEVELS,
    up: int = 2,
) -> np.ndarray:
    """Features (n, f) of the surroundings of ``points`` (n, 3) within ``cloud``, by default themselves.

    Space is cut into cubic cells of side s, for ``levels`` sizes s of which each is twice the one before.
    Around a point the eight nearest cells are blended, which is what lies within about 1.5 s of it. With
    λ₁ ≥ λ₂ ≥ λ₃ and e₁, e₂, e₃ the eigenvalues and eigenvectors of its covariance and z the height, there are
    for each s (`docs/maths.md`, 7)::

        linearity_s       (λ₁ − λ₂)/λ₁     1 along a line
        planarity_s       (λ₂ − λ₃)/λ₁     1 on a plane
        scattering_s      λ₃/λ₁            1 in a ball
        verticality_s     1 − (e₃)_z²      sin² of the tilt of the normal: 0 on the ground, 1 on walls
        steepness_s       (e₁)_z²          sin² of the slope of the main direction: 1 along a post
        extent_s          √λ₁/s            how far what is there reaches
        thickness_s       √λ₃/s            how thick it is: small on a roof, large in a tree
        lift_s            z − mean z
        above_lowest_s    z − min z
        below_highest_s   max z − z

    and for two of the sizes, over the four columns of cells around the point in plan::

        ground_s          z − min z
        top_s             max z − z

    The first ten are given once more for three sizes that follow the density of points (``near0``, ``near1``,
    ``near2``): s is the smallest at which a point has four points in its blend, and the next two.

    ``cell`` is the smallest s, a power of two in the unit of the points. "auto" takes half of the size at
    which the median point has eight points around it (`pinvgcn.features.cell_size`). A model keeps the cells
    of its training cloud: sizes mean the same in every scan, counts of neighbours would not.

    Cells lie at absolute coordinates. A point has the same features, to the last bit, in whatever file, tile
    or order it comes. They do change a little when a cloud is turned, or moved by less than a cell.
    ``up`` is the column that holds the height, 0, 1 or 2. `geometry_names` names the columns.
    """
    if isinstance(up, bool) or not isinstance(up, numbers.Integral) or up not in (0, 1, 2):
        raise ParameterError(f"up must be the column that holds the height, 0, 1 or 2. Got {up!r} instead.")
    axes = [axis for axis in range(3) if axis != up] + [up]
    here = in_space(points, "points")[:, axes]
    among = here if cloud is None else in_space(cloud, "cloud")[:, axes]
    return Pyramid.of(among, lattice_for(among, cell, levels)).shapes(here)


def geometry_names(cell: float, *, levels: int = LEVELS) -> list[str]:
    """The names of the columns of `local_geometry`, such as ``"planarity_0.5"``."""
    return Lattice(cell, levels).names


def lattice_for(
    cloud: np.ndarray, cell: float | str = "auto", levels: int = LEVELS, *, group: Group = ALONE
) -> Lattice:
    """The lattice that suits a cloud (n, 3), of which each process has a part."""
    if isinstance(cell, str):
        if cell != "auto":
            raise ParameterError(f"cell must be a power of two or 'auto'. Got {cell!r} instead.")
        cell = cell_size(lambda: [cloud], group.sum(len(cloud)), group=group) / 2
    return Lattice(cell, levels)


def in_space(values: Any, name: str) -> np.ndarray:
    """Points with x, y and z: (n, 3)."""
    points = as_points(values, name)
    if points.shape[1] != 3:
        raise DataError(
            f"{name} must have three columns, x, y and z. Got {points.shape[1]} instead; "
            "a flat map needs a third column of zeros."
        )
    return points
