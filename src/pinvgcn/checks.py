"""Every check of shapes, types, ranges and labels, each with one clear message.

A check returns its argument in the form that the rest of the package works with, so that a
function's first lines read ``points = as_points(points)`` and nothing after them doubts its input.
Messages have three parts: what must hold, what was received, what to do.
"""

from __future__ import annotations

import numbers
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from pinvgcn.errors import ColumnError, DataError, DataTypeError, LabelError, ParameterError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

UNLABELLED = -1  # the code of a node without a label, in encoded labels and in integer labels
UNLABELLED_AS_TEXT = ("", "-1", "-1.0", "nan", "None", "<NA>")  # what numpy and pandas make of it beside text


def _describe_positions(mask: np.ndarray) -> str:
    """'row 4', 'rows 4, 7 and 12', 'rows 4, 7, 12 and 96 more' for a boolean mask over rows."""
    rows = np.flatnonzero(mask).tolist()
    shown = [*map(str, rows[:3]), *([f"{len(rows) - 3} more"] if len(rows) > 3 else [])]
    return f"row {shown[0]}" if len(rows) == 1 else f"rows {', '.join(shown[:-1])} and {shown[-1]}"


def as_matrix(values: Any, name: str, *, least: int = 1) -> np.ndarray:
    """A finite double precision array (n, d) of ``least`` rows or more; ``name`` is how messages call it."""
    if sp.issparse(values):
        raise DataError(
            f"{name} must be a dense array. Got a scipy sparse {type(values).__name__} instead; "
            f"pass {name}.toarray()."
        )
    try:
        raw = np.asarray(values)
        # rows in order: a frame and its array then give the same bits
        matrix = raw if raw.dtype.kind in "cmM" else np.asarray(raw, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        kind = DataTypeError if isinstance(error, TypeError) else DataError
        raise kind(
            f"{name} must be numbers. Got {error} instead; for categories use graph='categorical' or a "
            "HypergraphEigenmap."
        ) from None
    if matrix.dtype.kind == "c":
        raise DataError(f"Complex data not supported: {name} must be real. Got dtype {raw.dtype} instead.")
    if matrix.dtype.kind in "mM":
        raise DataError(f"{name} must be numbers. Got dates of dtype {raw.dtype} instead.")
    if matrix.ndim != 2:
        raise DataError(
            f"{name} must be a 2-dimensional array (rows, columns). Got shape {matrix.shape} instead. "
            "Reshape your data with array.reshape(-1, 1) for one column or array.reshape(1, -1) for one row."
        )
    if matrix.shape[0] < least:
        raise DataError(f"{name} has 0 sample(s) (shape={matrix.shape}) while a minimum of 1 is required.")
    if matrix.shape[1] == 0:
        raise DataError(f"{name} has 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required.")
    finite = np.isfinite(matrix).all(axis=1)
    if not finite.all():
        what = "NaN" if np.isnan(matrix).any() else "infinity"
        table = " A table may have gaps: graph='categorical'." if (name, what) == ("X", "NaN") else ""
        raise DataError(
            f"{name} must be finite. Got {what} in {_describe_positions(~finite)}; "
            f"remove these rows or fill them in.{table}"
        )
    return matrix


def as_points(values: Any, name: str = "points", *, least: int = 1) -> np.ndarray:
    """Coordinates (n, d), finite, in double precision."""
    return as_matrix(values, name, least=least)


def check_rows(matrix: Any, n: int, name: str, of: str) -> None:
    """``matrix`` has one row for each of the ``n`` things called ``of``."""
    rows = matrix.shape[0]
    if rows != n:
        raise DataError(f"{name} must have one row for each of the {n} {of}. Got {rows} rows instead.")


def check_columns(estimator: BaseEstimator, X: Any, *, reset: bool) -> None:
    """Remember the number and names of the columns of X, or compare with them, as scikit-learn does.

    What has no columns is refused where it is read.
    """
    from sklearn.utils.validation import validate_data

    if getattr(X, "ndim", 2) != 2:
        return
    try:
        validate_data(estimator, X, skip_check_array=True, reset=reset)
    except (TypeError, ValueError) as error:
        raise ColumnError(" ".join(str(error).split())) from None


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and value < np.inf


def _told(value: Any) -> str:
    """As people write it: 2, not np.int64(2)."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def check_positive(name: str, value: Any) -> float:
    """A finite number > 0."""
    if not (_is_real(value) and value > 0):
        raise ParameterError(f"{name} must be a positive, finite number. Got {_told(value)} instead.")
    return float(value)


def check_non_negative(name: str, value: Any) -> float:
    """A finite number >= 0."""
    if not (_is_real(value) and value >= 0):
        raise ParameterError(f"{name} must be a finite number, zero or more. Got {_told(value)} instead.")
    return float(value)


def check_fraction(name: str, value: Any) -> float:
    """A number in [0, 1)."""
    if not (_is_real(value) and 0 <= value < 1):
        raise ParameterError(f"{name} must be a number from 0 to below 1. Got {_told(value)} instead.")
    return float(value)


def check_count(name: str, value: Any, minimum: int = 1) -> int:
    """A whole number >= ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < minimum:
        raise ParameterError(f"{name} must be a whole number, {minimum} or more. Got {_told(value)} instead.")
    return int(value)


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """One of the given words."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ParameterError(f"{name} must be one of {listed}. Got {value!r} instead.")
    return value


def is_missing(values: np.ndarray | pd.Series) -> np.ndarray:
    """Where an array of any type holds None, NaN, NaT or pandas' NA."""
    return np.asarray(pd.isna(values), dtype=bool)


def encode_labels(y: Any, n: int, of: str = "rows of X") -> tuple[np.ndarray, np.ndarray]:
    """Labels as (classes, codes): ``codes[i]`` indexes ``classes`` or is ``UNLABELLED``.

    Unlabelled is -1 among numbers; None, NaN or NA among anything. At least two classes must be
    labelled. Where ``y`` is a pandas categorical, every category must have a labelled row: a class
    that was announced and has no example could never be predicted.
    """
    present, labelled, announced = read_labels(y, n, of)
    codes = np.full(n, UNLABELLED, dtype=np.int64)
    classes, codes[labelled] = classes_of(present, n, announced)
    return classes, codes


def classes_of(present: np.ndarray, n: int, announced: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The classes of the labels that are known among ``n`` rows, and each label's place among them."""
    if len(present) == 0:
        raise LabelError(
            f"y has no label at all: all {n} entries mean 'unlabelled' (-1, None or NaN). "
            "Label at least one row of each of two classes."
        )
    if present.dtype.kind == "f":
        whole = np.isfinite(present) & (present == np.round(present))
        if not whole.all():
            raise LabelError(
                f"Unknown label type: y must be classes. Got the continuous value {present[~whole][0]}; "
                "turn numbers into classes first."
            )
    classes, codes_present = np.unique(present, return_inverse=True)
    disguised = [label for label in classes.tolist() if label in UNLABELLED_AS_TEXT]
    if disguised:
        raise LabelError(
            f"Unlabelled rows beside text labels must be None. Got the text {disguised[0]!r} instead; "
            f"replace it, as with y.replace({disguised[0]!r}, None), or with dtype=object."
        )
    missing = [category for category in announced if category not in set(classes.tolist())]
    if missing:
        raise LabelError(
            f"Every class needs a labelled row. Got none for {missing[0]!r}; "
            "label one, or drop the category with y.cat.remove_unused_categories()."
        )
    if len(classes) < 2:
        raise LabelError(
            f"The number of classes has to be greater than one; got 1 class ({classes.tolist()[0]!r}). "
            "Label rows of at least two classes."
        )
    return classes, codes_present


def read_labels(y: Any, n: int, of: str = "rows of X") -> tuple[np.ndarray, np.ndarray, Sequence[Any]]:
    """The labels that are known, as an array; where: a mask (n,) without -1, None, NaN and NA; and the
    classes that a pandas categorical announces."""
    if y is None:
        raise LabelError(
            "requires y to be passed, but the target y is None: "
            "pass one label a row, -1 (or None for text labels) where it is unknown."
        )
    if isinstance(y, pd.DataFrame) and y.shape[1] == 1:
        y = y.iloc[:, 0]
    announced: Sequence[Any] = []
    if isinstance(getattr(y, "dtype", None), pd.CategoricalDtype):
        announced = [category for category in y.dtype.categories if not _is_minus_one(category)]
        y = y.astype(object)
    labels = np.asarray(y) if not isinstance(y, list | tuple) else _array_of(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        import warnings

        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Pass y.ravel() instead.",
            DataConversionWarning,
            stacklevel=4,
        )
        labels = labels.ravel()
    if labels.ndim != 1:
        raise LabelError(f"y should be a 1d array of labels. Got an array of shape {labels.shape} instead.")
    if len(labels) != n:
        raise LabelError(
            f"y must have one label for each of the {n} {of} (-1 or None for unlabelled). "
            f"Got inconsistent numbers of samples: {len(labels)} labels instead."
        )
    labelled = ~is_missing(labels)
    if labels.dtype.kind in "iuf":
        labelled &= labels != UNLABELLED
    elif labels.dtype.kind == "O":
        labelled &= np.array([not _is_minus_one(label) for label in labels], dtype=bool)
    return _of_one_kind(labels[labelled]), labelled, announced


def _array_of(labels: Sequence[Any]) -> np.ndarray:
    """A list of labels as an array, without numpy turning None or numbers beside text into text."""
    if any(isinstance(label, str) or label is None for label in labels):
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
        return array
    return np.asarray(labels)


def _of_one_kind(present: np.ndarray) -> np.ndarray:
    """Labels that came as objects: numbers as an array of numbers, text as it is, nothing mixed."""
    if present.dtype.kind != "O":
        return present
    kinds = {
        "text" if isinstance(label, str) else "numbers" if _is_number(label) else type(label).__name__
        for label in present
    }
    if len(kinds) > 1:
        raise LabelError(
            f"y must be labels of one kind, numbers or text. Got a mixture of {' and '.join(sorted(kinds))}."
        )
    return present if kinds == {"text"} else np.asarray(present.tolist())


def _is_number(label: Any) -> bool:
    return isinstance(label, numbers.Number) and not isinstance(label, bool)


def _is_minus_one(label: Any) -> bool:
    return _is_number(label) and bool(label == UNLABELLED)


def as_sample_weight(weights: Any, n: int) -> np.ndarray | None:
    """One finite weight >= 0 a row, or None."""
    if weights is None:
        return None
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight must be numbers. Got {error} instead.") from None
    if array.ndim == 0:
        array = np.full(n, float(array))
    if array.ndim != 1:
        raise DataError(f"Sample weights must be 1D array or scalar. Got shape {array.shape} instead.")
    if array.shape != (n,):
        raise DataError(f"sample_weight.shape == {array.shape}, expected {(n,)}: one weight for each row.")
    if not np.isfinite(array).all() or (array < 0).any():
        raise DataError(
            "sample_weight must be finite and zero or more. "
            f"Got {array[~(np.isfinite(array) & (array >= 0))][0]} instead."
        )
    return array
