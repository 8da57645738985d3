"""An order of places in space that keeps neighbours together."""

from __future__ import annotations

import numpy as np

BITS = 62  # of a whole number, with room for a sign
FINEST = 20  # bits of one axis


def along_curve(places: np.ndarray) -> np.ndarray:
    """The rows of places (n, d) in the order in which Morton's curve comes through them.

    The bits of the coordinates, in steps of one common width, interleaved, are a row's place on the curve.
    """
    axes = places[:, :BITS]
    bits = min(FINEST, BITS // axes.shape[1])
    low = axes.min(axis=0)
    width = (axes.max(axis=0) - low).max()
    code = np.zeros(len(axes), dtype=np.int64)
    for axis, x in enumerate((axes - low).T):
        cells = (x / width * (2**bits - 1) if width else x).astype(np.int64)
        for bit in range(bits):
            code |= (cells >> bit & 1) << (bit * axes.shape[1] + axis)
    return np.argsort(code, kind="stable")
