"""local_geometry: what surrounds a point, as numbers that a classifier can use; and how large cells must be.

The median place should have some eight points in the cells around it. A few points of the cloud, drawn by a
hash of their coordinates, ask how many points their eight cells hold, for several sizes at once. The counts
add over pieces, tiles and processes, and no order enters.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from pinvgcn.checks import as_points
from pinvgcn.compute.compiled import compiled
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.distributed.rows import hashed
from pinvgcn.errors import DataError, ParameterError
from pinvgcn.features.lattice import LEVELS, Lattice, find, grouped, share, tabulated
from pinvgcn.features.pyramid import Pyramid

ENOUGH = 8  # points in the blend of the median point
ASKED = 4_096  # points that are asked
FRACTION = 8  # bits of a position within the smallest cell that is tried
TRIED = 7  # sizes at a time
AWAY = 3 * (TRIED - 1)  # a size that is 2¹⁸ times what the spacing says comes of points in one place
RANGE = 50  # exponents of sizes that are tried: a lattice takes all of these
PRIMES = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def local_geometry(
    points: Any, cloud: Any = None, *, cell: float | str = "auto", levels: int = LEVELS, up: int = 2
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
        trace_s           (μ₁ − μ₂)/μ₁     μ₁ ≥ μ₂ of x and y alone: 1 on what is a line from above
        rise_s            var z/Σ λ        1 along a post, 0 on the ground

    for two of the sizes, over the four columns of cells around the point in plan::

        ground_s          z − min z
        top_s             max z − z

    and for four of them, with μ₁ ≥ μ₂ those of x and y over these columns, and the cells above and below the
    point in its own one::

        straightness_s    (μ₁ − μ₂)/μ₁     1 along a wall
        breadth_s         √μ₂/s            how broad it is, seen from above
        filled_below_s    the share of cells with points from the lowest one up to the point: 1 where none is
                          empty, as on a wall, little at a wire
        filled_above_s    the same from the point up to the highest one
        gap_below_s       the height of the empty cells right below the point's, 0 where nothing is below
        gap_above_s       the same above

    The first twelve are given once more for three sizes that follow the density of points (``near0``,
    ``near1``, ``near2``): s is the smallest at which a point has four points in its blend, and the next two.

    ``cell`` is the smallest s, a power of two in the unit of the points. "auto" takes half of the size at
    which the median point has eight points around it (``cell_size``). A model keeps the cells
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


def drawn(points: np.ndarray, total: int) -> np.ndarray:
    """About ``ASKED`` of the ``total`` points (n, 3) that these are some of: a mask, by coordinates."""
    if total <= ASKED:
        return np.ones(len(points), dtype=bool)
    mixed = np.zeros(len(points), dtype=np.uint64)
    for column, prime in zip(np.ascontiguousarray(points.T), PRIMES, strict=True):
        mixed ^= column.view(np.uint64) * np.uint64(prime)
    return hashed(mixed.view(np.int64), seed=0) / 2.0**64 < ASKED / total


def cell_size(
    pieces: Callable[[], Iterable[np.ndarray]], total: int, *, enough: float = ENOUGH, group: Group = ALONE
) -> float:
    """The smallest power of two at which the median place of a point has ``enough`` points in its blend, of
    those that lie in that very place one alone.

    ``pieces()`` gives the points of a cloud in arrays (k, ≤ 3), of which ``total`` are in all, each process
    its own; it is read twice, and again in the rare case that the size lies far from the first guess. Where
    there is no such size, as with few points or with many in each place, it is that guess, by the spacing.
    """
    some = [np.empty((0, 4))]
    for points in map(_in_space, pieces()):
        few = points[drawn(points, total)]
        some.append(_places(np.column_stack([few, np.ones(len(few))])))
    asked, often = np.split(_places(group.rows(_places(np.concatenate(some)))), [3], axis=1)
    if len(asked) < 2:  # one place, or so few that no hash came up
        return 1.0
    guess = _guess(asked, total, enough)
    if total <= enough:
        return math.ldexp(1.0, guess)
    start = first = guess - TRIED // 2
    while True:
        counter = _Counter(asked, first)
        for points in pieces():
            counter.add(_in_space(points))
        fits = np.median(counter.masses(often[:, 0] - 1, group), axis=1) >= enough
        if fits.any() and not fits[0]:
            return math.ldexp(1.0, first + int(fits.argmax()))
        first += 1 - TRIED if fits[0] else TRIED - 1
        if abs(first - start) > AWAY or abs(first) > RANGE:
            return math.ldexp(1.0, guess)


def _in_space(points: np.ndarray) -> np.ndarray:
    """With z = 0 where it is missing, and no negative zero."""
    given = np.asarray(points, dtype=np.float64)
    return np.pad(given, ((0, 0), (0, 3 - given.shape[1]))) + 0.0


def _places(counted: np.ndarray) -> np.ndarray:
    """Each place once, and how many points are there: (m, 4). A scan may have a million points in one, and
    all or none of them are drawn."""
    places, inverse = np.unique(counted[:, :3], axis=0, return_inverse=True)
    often = np.bincount(inverse.ravel(), counted[:, 3], minlength=len(places))
    return np.column_stack([places, often])


def _guess(asked: np.ndarray, total: int, enough: float) -> int:
    """The exponent of the size that a surface of even density would need."""
    scale = math.frexp(float(np.abs(asked).max()))[1]  # squares of distances then fit in double precision
    scaled = np.ldexp(asked, -scale)
    distance = cKDTree(scaled).query(scaled, max(2, min(math.ceil(enough), len(asked))))[0][:, -1]
    spacing = float(np.median(distance)) * math.sqrt(min(1.0, ASKED / total))
    exponent = round(math.log2(spacing)) + scale if spacing > 0 else -RANGE
    return min(max(exponent, -RANGE), RANGE)


class _Counter:
    """Counts of points in the cells around those that are asked, for sizes 2^first, 2^(first + 1), …"""

    def __init__(self, asked: np.ndarray, first: int) -> None:
        self.unit = math.ldexp(1.0, first - FRACTION)
        self.asked = self._positions(asked)
        self.sizes = []  # bits of a position within a cell; of those around: table, keys and counts
        corners = np.array([(s & 1, s >> 1 & 1, s >> 2) for s in range(8)]) - 1
        for bits in range(FRACTION, FRACTION + TRIED):
            around = ((self.asked + (1 << bits - 1)) >> bits)[:, None] + corners
            keys = grouped(around.reshape(-1, 3), np.arange(around.size // 3), 0)[1]
            self.sizes.append((bits, tabulated(keys), keys, np.zeros(len(keys), dtype=np.int64)))

    def _positions(self, points: np.ndarray) -> np.ndarray:
        # what is too far for whole numbers is far from everything
        most = math.ldexp(self.unit, 60)
        return np.rint(np.clip(points, -most, most) / self.unit).astype(np.int64)

    def add(self, points: np.ndarray) -> None:
        positions = self._positions(points)
        for size in self.sizes:
            _count(positions, *size)

    def masses(self, besides: np.ndarray, group: Group) -> np.ndarray:
        """Points in the blend of each place that was asked, but for ``besides`` (asked,) of those that are
        there, for each size: (sizes, asked)."""
        found = [
            _blended(self.asked, besides, bits, table, keys, group.sum(counts))
            for bits, table, keys, counts in self.sizes
        ]
        return np.stack(found)


@compiled
def _count(positions, bits, table, keys, counts):  # type: ignore[no-untyped-def]
    for i in range(len(positions)):
        row = find(table, keys, positions[i, 0] >> bits, positions[i, 1] >> bits, positions[i, 2] >> bits)
        if row >= 0:
            counts[row] += 1


@compiled
def _blended(positions, besides, bits, table, keys, counts):  # type: ignore[no-untyped-def]
    half, size = 1 << (bits - 1), float(1 << bits)
    out = np.zeros(len(positions))
    for i in range(len(positions)):
        x, y, z = positions[i, 0] + half, positions[i, 1] + half, positions[i, 2] + half
        vx, vy, vz = x >> bits, y >> bits, z >> bits
        tx, ty, tz = (x - (vx << bits)) / size, (y - (vy << bits)) / size, (z - (vz << bits)) / size
        own = (vx - (positions[i, 0] >> bits)) + 2 * (vy - (positions[i, 1] >> bits))
        own = 7 - own - 4 * (vz - (positions[i, 2] >> bits))  # which of the eight the place itself is in
        for s in range(8):
            row = find(table, keys, vx - 1 + (s & 1), vy - 1 + ((s >> 1) & 1), vz - 1 + (s >> 2))
            if row >= 0:
                out[i] += share(s, tx, ty, tz) * (counts[row] - (besides[i] if s == own else 0.0))
    return out


def cell_of(points: Any) -> float:
    """`cell_size` of a cloud in memory."""
    return cell_size(lambda: [points], len(points))
