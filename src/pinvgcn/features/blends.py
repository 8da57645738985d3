"""Blends of the sums of cells around points, and what follows from them: eigenvalues, directions, heights.

Compiled loops over points in the order of a curve, for `pyramid.py` (`docs/maths.md`, 7.2 to 7.4a).
"""

from __future__ import annotations

import numpy as np

from pinvgcn.compute.compiled import compiled, inlined
from pinvgcn.features.lattice import ADAPTED, NAMES, find, share

IN_PLAN = (0, 1, 2, 4, 5, 7)  # of the sums of a cell: n, Σx, Σy, Σxx, Σxy, Σyy
ENOUGH = 4.0  # points in the blend of the first level that follows the density


@inlined
def eigenvalues(a, b, c, d, e, f):  # type: ignore[no-untyped-def]
    """λ₁ ≥ λ₂ ≥ λ₃ of the symmetric matrix with rows (a, b, c), (b, d, e), (c, e, f)."""
    q = (a + d + f) / 3
    aa, dd, ff = a - q, d - q, f - q
    off = b * b + c * c + e * e
    p = np.sqrt((aa * aa + dd * dd + ff * ff + 2 * off) / 6)
    if p <= 1e-14 * abs(q) or p == 0:
        first = second = third = q
    else:
        r = (aa * (dd * ff - e * e) - b * (b * ff - e * c) + c * (b * e - dd * c)) / (2 * p * p * p)
        angle = np.arccos(min(1.0, max(-1.0, r))) / 3
        first = q + 2 * p * np.cos(angle)
        third = q + 2 * p * np.cos(angle + 2 * np.pi / 3)
        second = 3 * q - first - third
    return first, second, third


@inlined
def upright(a, b, d, first, second, third):  # type: ignore[no-untyped-def]
    """The squared z of the unit eigenvectors of λ₁ and λ₃, from λ₁, λ₂, λ₃ and the minor (a, b), (b, d).

    z_i² ∏_{k≠i} (λ_i − λ_k) = ∏_k (λ_i − μ_k) with the eigenvalues μ of the minor. Where two eigenvalues
    coincide, any vector of their plane is one: z² is the mean over the plane.
    """
    trace, minor = a + d, a * d - b * b
    tiny = 1e-6 * first
    apart12, apart23 = first - second > tiny, second - third > tiny
    z1, z3 = 1 / 3, 1 / 3
    if apart12:
        z1 = (first * (first - trace) + minor) / ((first - second) * (first - third))
        z1 = min(1.0, max(0.0, z1))
    if apart23:
        z3 = (third * (third - trace) + minor) / ((third - first) * (third - second))
        z3 = min(1.0, max(0.0, z3))
    if apart12 and not apart23:
        z3 = (1 - z1) / 2
    if apart23 and not apart12:
        z1 = (1 - z3) / 2
    return z1, z3


@inlined
def in_plane(a, b, d):  # type: ignore[no-untyped-def]
    """μ₁ ≥ μ₂ of the symmetric matrix with rows (a, b), (b, d); 0 where they are nothing but rounding."""
    first = second = 0.0
    if a + d > 1e-12:
        apart = np.sqrt((a - d) * (a - d) / 4 + b * b)
        first = (a + d) / 2 + apart
        second = max((a + d) / 2 - apart, 0.0)
    return first, second


@inlined
def add_moved(out, n, x, y, z, xx, xy, xz, yy, yz, zz, dx, dy, dz):  # type: ignore[no-untyped-def]
    """Add to ``out`` (10,) the sums of a cell, about a centre from which its own one lies at dx, dy, dz."""
    out[0] += n
    out[1] += x + n * dx
    out[2] += y + n * dy
    out[3] += z + n * dz
    out[4] += xx + 2 * dx * x + n * dx * dx
    out[5] += xy + dx * y + dy * x + n * dx * dy
    out[6] += xz + dx * z + dz * x + n * dx * dz
    out[7] += yy + 2 * dy * y + n * dy * dy
    out[8] += yz + dy * z + dz * y + n * dy * dz
    out[9] += zz + 2 * dz * z + n * dz * dz


@compiled
def shapes(positions, rows, bits, unit, table, keys, sums, low, high, out, column, dense, level):  # type: ignore[no-untyped-def]
    """The features of one level, at the positions of ``rows``, into ``out`` from ``column`` on.

    ``dense`` (m,) becomes ``level`` where the blend has enough points.

    Positions come in the order of a curve: the eight cells around a corner of the lattice are looked up once
    for all points of a cell that are nearest to that corner, and their sums are moved to the corner.
    """
    half, size = 1 << (bits - 1), float(1 << bits)
    moved = np.empty((8, 8, 10))  # of each corner of the present cell: eight cells around it, their sums
    lows, highs = np.empty(8, np.int64), np.empty(8, np.int64)
    known = np.zeros(8, np.bool_)
    cx, cy, cz = 0, 0, 0
    blend = np.empty(10)
    for k in range(len(rows)):
        i = rows[k]
        x, y, z = positions[i, 0], positions[i, 1], positions[i, 2]
        qx, qy, qz = x >> bits, y >> bits, z >> bits
        if k == 0 or qx != cx or qy != cy or qz != cz:
            known[:] = False
            cx, cy, cz = qx, qy, qz
        vx, vy, vz = (x + half) >> bits, (y + half) >> bits, (z + half) >> bits
        corner = (vx - qx) + 2 * (vy - qy) + 4 * (vz - qz)
        if not known[corner]:
            known[corner] = True
            lowest, highest = np.int64(2**62), np.int64(-(2**62))
            for s in range(8):
                dx, dy, dz = (s & 1) - 0.5, ((s >> 1) & 1) - 0.5, (s >> 2) - 0.5
                j = find(table, keys, vx - 1 + (s & 1), vy - 1 + ((s >> 1) & 1), vz - 1 + (s >> 2))
                moved[corner, s] = 0.0
                if j < 0:
                    continue
                own = sums[j]
                add_moved(
                    moved[corner, s], float(own[0]), own[1] / size, own[2] / size, own[3] / size,
                    own[4] / size / size, own[5] / size / size, own[6] / size / size, own[7] / size / size,
                    own[8] / size / size, own[9] / size / size, dx, dy, dz,
                )  # fmt: skip
                lowest, highest = min(lowest, low[j]), max(highest, high[j])
            lows[corner], highs[corner] = lowest, highest
        tx = (x + half - (vx << bits)) / size
        ty = (y + half - (vy << bits)) / size
        tz = (z + half - (vz << bits)) / size
        blend[:] = 0.0
        for s in range(8):
            cell = moved[corner, s]
            if cell[0] > 0:
                weight = share(s, tx, ty, tz)
                for m in range(10):
                    blend[m] += weight * cell[m]
        n = blend[0]
        if n >= ENOUGH:
            dense[k] = level
        first = second = third = 0.0
        z1 = z3 = 1 / 3
        lift, rise = 0.0, 1 / 3
        wide = narrow = 0.0
        if n > 0:
            mx, my, mz = blend[1] / n, blend[2] / n, blend[3] / n
            a, b, c = blend[4] / n - mx * mx, blend[5] / n - mx * my, blend[6] / n - mx * mz
            d, e, f = blend[7] / n - my * my, blend[8] / n - my * mz, blend[9] / n - mz * mz
            lift = (tz - 0.5 - mz) * size * unit
            if a + d + f > 1e-12:
                first, second, third = eigenvalues(a, b, c, d, e, f)
                third = max(third, 0.0)
                second = max(second, third)
                first = max(first, second)
                z1, z3 = upright(a, b, d, first, second, third)
                wide, narrow = in_plane(a, b, d)
                rise = max(f, 0.0) / (a + d + f)
        scale = first if first > 0 else 1.0
        out[i, column] = (first - second) / scale
        out[i, column + 1] = (second - third) / scale
        out[i, column + 2] = third / scale
        out[i, column + 3] = 1 - z3
        out[i, column + 4] = z1
        out[i, column + 5] = np.sqrt(first)
        out[i, column + 6] = np.sqrt(third)
        out[i, column + 7] = lift
        out[i, column + 8] = max(z - lows[corner], 0) * unit
        out[i, column + 9] = max(highs[corner] - z, 0) * unit
        out[i, column + 10] = (wide - narrow) / (wide if wide > 0 else 1.0)
        out[i, column + 11] = rise


@compiled
def adapt(rows, dense, levels, out, column):  # type: ignore[no-untyped-def]
    """From ``column`` on, the features of each row's first ``dense`` level and of those after it."""
    width = len(NAMES)
    for k in range(len(rows)):
        i = rows[k]
        for number in range(ADAPTED):
            start = width * min(dense[k] + number, levels - 1)
            for m in range(width):
                out[i, column + number * width + m] = out[i, start + m]


@compiled
def in_plan(positions, rows, bits, unit, table, keys, sums, low, high, storeys, starts, out, column, heights):  # type: ignore[no-untyped-def]
    """Straightness and breadth of the four columns around each position, into ``out`` from ``column`` on, and
    how its own column is filled below and above it.

    From ``heights`` on, unless it is −1, how far the position is above the lowest and below the highest
    point of the four. As for cells, these are looked up once for all points that are nearest to a corner.
    """
    half, size = 1 << (bits - 1), float(1 << bits)
    moved = np.empty((4, 4, 10))  # of each corner of the present column: four columns around it, their sums
    lows, highs = np.empty(4, np.int64), np.empty(4, np.int64)
    known = np.zeros(4, np.bool_)
    cx, cy, first_storey, end_storey = 0, 0, 0, 0
    blend = np.empty(10)
    for k in range(len(rows)):
        i = rows[k]
        x, y, z = positions[i, 0], positions[i, 1], positions[i, 2]
        qx, qy = x >> bits, y >> bits
        if k == 0 or qx != cx or qy != cy:
            known[:] = False
            cx, cy = qx, qy
            own = find(table, keys, qx, qy, 0)
            first_storey, end_storey = (starts[own], starts[own + 1]) if own >= 0 else (0, 0)
        vx, vy = (x + half) >> bits, (y + half) >> bits
        corner = (vx - qx) + 2 * (vy - qy)
        if not known[corner]:
            known[corner] = True
            lowest, highest = np.int64(2**62), np.int64(-(2**62))
            for s in range(4):
                dx, dy = (s & 1) - 0.5, (s >> 1) - 0.5
                j = find(table, keys, vx - 1 + (s & 1), vy - 1 + (s >> 1), 0)
                moved[corner, s] = 0.0
                if j < 0:
                    continue
                these = sums[j]
                add_moved(
                    moved[corner, s], float(these[0]), these[1] / size, these[2] / size, 0.0,
                    these[3] / size / size, these[4] / size / size, 0.0, these[5] / size / size, 0.0, 0.0,
                    dx, dy, 0.0,
                )  # fmt: skip
                lowest, highest = min(lowest, low[j]), max(highest, high[j])
            lows[corner], highs[corner] = lowest, highest
        tx = (x + half - (vx << bits)) / size
        ty = (y + half - (vy << bits)) / size
        blend[:] = 0.0
        for s in range(4):
            there = moved[corner, s]
            if there[0] > 0:
                weight = (tx if s & 1 else 1 - tx) * (ty if s >> 1 else 1 - ty)
                for m in IN_PLAN:
                    blend[m] += weight * there[m]
        n = blend[0]
        first = second = 0.0
        if n > 0:
            mx, my = blend[1] / n, blend[2] / n
            a, b, d = blend[4] / n - mx * mx, blend[5] / n - mx * my, blend[7] / n - my * my
            first, second = in_plane(a, b, d)
        out[i, column] = (first - second) / (first if first > 0 else 1.0)
        out[i, column + 1] = np.sqrt(second)
        qz = z >> bits
        at, after = first_storey, end_storey  # of the first storey that is not below
        while at < after:
            middle = (at + after) // 2
            if storeys[middle] < qz:
                at = middle + 1
            else:
                after = middle
        above = at + 1 if at < end_storey and storeys[at] == qz else at  # of the first one that is above
        filled_below = filled_above = 1.0
        gap_below = gap_above = 0.0
        if at > first_storey:
            filled_below = (at - first_storey) / (qz - storeys[first_storey])
            gap_below = (qz - storeys[at - 1] - 1) * size * unit
        if above < end_storey:
            filled_above = (end_storey - above) / (storeys[end_storey - 1] - qz)
            gap_above = (storeys[above] - qz - 1) * size * unit
        out[i, column + 2], out[i, column + 3] = filled_below, filled_above
        out[i, column + 4], out[i, column + 5] = gap_below, gap_above
        if heights >= 0:
            out[i, heights] = max(z - lows[corner], 0) * unit
            out[i, heights + 1] = max(highs[corner] - z, 0) * unit
