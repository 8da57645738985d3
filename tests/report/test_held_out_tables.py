"""Held-out labels of a table: how many folds, and the simple methods."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.distributed.group import ALONE
from pinvgcn.report.held_out import folds_of, simple_methods


def test_how_many_folds() -> None:
    assert folds_of(4) == (2, 2)
    assert folds_of(100) == (5, 5)
    assert folds_of(40_000) == (5, 1)


def test_simple_methods_on_missing_values_and_text() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    frame = pd.DataFrame(
        {
            "number": np.where(rng.random(80) < 0.2, np.nan, y + 0.1 * rng.normal(size=80)),
            "empty here": np.where(np.arange(80) < 60, np.nan, 1.0),
            "text": pd.Categorical(np.where(rng.random(80) < 0.3, None, np.where(y == 1, "u", "v"))),
        }
    )
    labels = np.where(np.arange(80) < 60, y, -1)
    plan: Any = SimpleNamespace(frame=frame, group=ALONE)
    for title, method in simple_methods(plan, np.arange(80), "balanced").items():
        assert (method(labels, 0)[title] == y)[60:].mean() > 0.8
    assert frame["text"].isna().any()  # what was given is not changed
