"""A table as numbers, for methods that need them."""

from __future__ import annotations

from typing import Any

import pandas as pd


def encoded(frame: pd.DataFrame, *, dense: bool = False) -> Any:
    """The rows (n, f), sparse or an array: categories one-hot, numbers filled by their median and scaled.

    Booleans and missing categories are categories. Every value of a category has its column, and medians and
    scales are those of all rows, labelled or not.
    """
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    numbers = number_columns(frame)
    others = [name for name in frame if name not in set(numbers)]
    parts: list[Any] = []
    if len(others):
        one_hot = OneHotEncoder(sparse_output=not dense)
        parts.append((make_pipeline(FunctionTransformer(as_text), one_hot), others))
    if len(numbers):
        filled = SimpleImputer(strategy="median", keep_empty_features=True)
        parts.append((make_pipeline(filled, StandardScaler()), numbers))
    return make_column_transformer(*parts, sparse_threshold=0.0 if dense else 1.0).fit_transform(frame)


def number_columns(frame: pd.DataFrame) -> list[Any]:
    """The names of the columns of numbers, but for booleans."""
    return [
        name
        for name, dtype in frame.dtypes.items()
        if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
    ]


def as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Every cell as text, so that a column may mix types."""
    return frame.astype(object).where(frame.notna(), "").astype(str)
