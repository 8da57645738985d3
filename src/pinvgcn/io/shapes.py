"""Shapes of the arrays of a file, by letters: what is called alike must be equally long."""

from __future__ import annotations

import numpy as np

from pinvgcn.errors import ModelFileError


class Shapes:
    """Sizes by name. ``Shapes(n=5)("basis", array, "n k")`` wants (5, k), and fixes k for all that follow."""

    def __init__(self, **known: int) -> None:
        self.known = known

    def __call__(self, name: str, array: np.ndarray, letters: str) -> np.ndarray:
        """The array, if its shape is that of the letters, which are names or numbers."""
        wanted = [int(word) if word.isdecimal() else self.known.get(word, word) for word in letters.split()]
        fits = array.ndim == len(wanted) and all(
            isinstance(size, str) or size == there for size, there in zip(wanted, array.shape, strict=True)
        )
        if not fits:
            shown = ", ".join(str(size) for size in wanted)
            raise ModelFileError(
                f"its array {name!r} must have the shape ({shown}{',' if len(wanted) == 1 else ''}). "
                f"Got {array.shape} instead; save the model again."
            )
        for word, size in zip(letters.split(), array.shape, strict=True):
            if not word.isdecimal() and self.known.setdefault(word, size) != size:  # n × n, both new
                raise ModelFileError(
                    f"its array {name!r} must be as wide as it is high. Got {array.shape} instead; save the "
                    "model again."
                )
        return array
