"""Prediction sets as a column of a file, in bits or in words, and how large they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinvgcn.errors import LabelError

BETWEEN = "|"  # classes, in words
EMPTY = "{}"  # the set without a class, in words; no text is a row without a prediction
MOST = 64  # classes that have a bit


@dataclass(frozen=True)
class SetSizes:
    """How many rows have a set of 0, 1, 2, … classes, at this coverage."""

    coverage: float
    counts: np.ndarray  # (classes + 1,)

    @classmethod
    def of(cls, coverage: float, mask: np.ndarray) -> SetSizes:
        """From sets (m, classes) as a mask."""
        return cls(coverage, np.bincount(mask.sum(axis=1), minlength=mask.shape[1] + 1))

    def __add__(self, other: SetSizes) -> SetSizes:
        return SetSizes(self.coverage, self.counts + other.counts)

    @property
    def mean(self) -> float:
        """The mean size."""
        return float(self.counts @ np.arange(len(self.counts)) / self._all)

    @property
    def empty(self) -> float:
        """The share of rows that are unlike the labels of every class."""
        return float(self.counts[0] / self._all)

    @property
    def several(self) -> float:
        """The share of rows that may be of two classes or more."""
        return float(self.counts[2:].sum() / self._all)

    @property
    def _all(self) -> int:
        return max(int(self.counts.sum()), 1)

    def line(self) -> str:
        """For people."""
        return (
            f"Prediction sets of coverage {self.coverage:g}: {self.mean:.2f} classes on average; "
            f"{100 * self.several:.1f} % have several, {100 * self.empty:.1f} % none."
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {
            "coverage": self.coverage,
            "mean_size": self.mean,
            "share_empty": self.empty,
            "share_several": self.several,
            "sizes": self.counts.tolist(),
        }


def as_bits(mask: np.ndarray) -> np.ndarray:
    """Σ_c 2^c over the classes c of each set of a mask (m, classes): (m,)"""
    bits: np.ndarray = mask.astype(np.uint64) @ (np.uint64(1) << np.arange(mask.shape[1], dtype=np.uint64))
    return bits


def from_bits(bits: np.ndarray, classes: int) -> np.ndarray:
    """The mask (m, classes) that ``as_bits`` has taken."""
    each = np.arange(classes, dtype=np.uint64)
    mask: np.ndarray = (bits[:, None].astype(np.uint64) >> each & np.uint64(1)).astype(bool)
    return mask


def as_words(mask: np.ndarray, classes: Sequence[Any]) -> np.ndarray:
    """The names of each set's classes with ``|`` between them, ``{}`` where there is none: (m,)"""
    names = list(map(str, classes))
    sets, place = np.unique(mask, axis=0, return_inverse=True)
    texts = [BETWEEN.join(name for name, here in zip(names, s, strict=True) if here) or EMPTY for s in sets]
    words: np.ndarray = np.array(texts, dtype=object)[place.ravel()]
    return words


def check_words(classes: Sequence[Any]) -> None:
    """That sets of these classes can be read again from their words."""
    wrong = next((name for name in map(str, classes) if BETWEEN in name or name == EMPTY), None)
    if wrong is not None:
        raise LabelError(
            f"Sets are written with {BETWEEN!r} between the names of classes and as {EMPTY!r} without any: "
            f"no class may have {BETWEEN!r} in its name. Got {wrong!r}; rename the class."
        )
