"""The prediction sets of a scan's points: what can be promised, and how a file says it.

Files of numbers hold a set as an unsigned whole number whose bit i, from the least, stands for the i-th class
in ascending order; text holds the classes themselves, as ``2|6``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pinvgcn.errors import LabelError, ParameterError
from pinvgcn.fitting.conformal import check_coverage
from pinvgcn.fitting.prediction_sets import MOST, as_words, check_words, from_bits
from pinvgcn.fitting.settings import MEMBERS

SET = "set"


def check_labels(
    coverage: float, counts: np.ndarray, classes: Sequence[Any], *, settings: Mapping[str, Any]
) -> None:
    """Raise, before there is work to lose, what sets would raise after a fit to so many labels (classes,)."""
    check_members(settings)
    check_coverage(coverage, np.repeat(np.arange(len(classes)), counts), classes)


def check_members(settings: Mapping[str, Any]) -> None:
    """That labels are held out from some network."""
    if settings.get("members") == 1:
        raise ParameterError(
            "Prediction sets need labels that some network has not seen: members must be 2 or more. "
            "Got members=1; leave it 'auto'."
        )


def with_members(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a classifier that can make sets: "auto" is one network for scans without local shapes."""
    several = {"members": MEMBERS} if settings.get("members", "auto") == "auto" else {}
    return {**settings, **several}


def column_type(format: str, classes: Sequence[Any]) -> np.dtype:
    """In which a file of this format holds sets; an error where it cannot."""
    if format == "text":
        check_words(classes)
    most = 32 if format in ("ply", "pcd") else MOST
    if len(classes) > most:
        raise LabelError(
            f"The sets of a scan in {format.upper()} hold {most} classes at most. Got {len(classes)}; "
            "leave --sets out."
        )
    if format == "text":
        return np.dtype(object)
    return np.dtype(np.uint32 if len(classes) <= 32 else np.uint64)


def column(bits: np.ndarray, absent: np.ndarray, classes: Sequence[Any], dtype: np.dtype) -> np.ndarray:
    """Sets as they are written; 0 or no text where they are ``absent`` (m,)."""
    if dtype.kind != "O":
        return bits.astype(dtype)
    return np.where(absent, "", as_words(from_bits(bits, len(classes)), classes))


def explained(classes: Sequence[Any], format: str) -> str:
    """How to read the column, in one line."""
    if format == "text":
        return f"the classes themselves, such as {as_words(np.ones((1, 2), dtype=bool), classes[:2])[0]}"
    shown = ", ".join(f"{2**place} for {name}" for place, name in enumerate(classes[:8]))
    return f"the sum of {shown}{' and so on' if len(classes) > 8 else ''}"
