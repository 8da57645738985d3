"""Writes the saved models that ``test_estimator_files.py`` reads: python tests/files/make_models.py

Run it only when a new file format is made; files of a released format never change.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import load_dataset, random_split
from pinvgcn.io.tensors import FORMAT

FOLDER = Path(__file__).parent
SMALL: dict[str, Any] = {"epochs": 20, "members": 2, "trees": 3, "hidden": 4, "rank": 5, "random_state": 0}


def scan() -> tuple[PinvGCNClassifier, Any]:
    """Points of the generated street."""
    street = load_dataset("street")
    rows = np.concatenate([np.flatnonzero(street.y == c)[::40][:40] for c in np.unique(street.y)])
    X, y = street.X[rows], random_split(street.y[rows], per_class=8, random_state=0)
    return PinvGCNClassifier(graph="gaussian", geometry=True, **SMALL).fit(X, y), X[:5] + 0.1


def table() -> tuple[PinvGCNClassifier, Any]:
    """Words and numbers, with gaps."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], 200),
            "size": rng.choice(["small", "large"], 200),
            "length": np.round(rng.normal(10, 3, 200), 1),
        }
    )
    truth = np.where((frame["colour"] == "red") | (frame["length"] > 12), "yes", "no").astype(object)
    frame.loc[frame.index % 17 == 0, "size"] = None
    y = np.where(np.arange(200) % 5 == 0, truth, None)
    return PinvGCNClassifier(graph="categorical", **SMALL).fit(frame, y), frame.iloc[:5]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for make in (scan, table):
        model, rows = make()
        shown = rows.astype(object).where(rows.notna(), None) if isinstance(rows, pd.DataFrame) else rows
        asked = shown.to_dict("list") if isinstance(shown, pd.DataFrame) else shown.tolist()
        about = {"rows": asked, "probabilities": model.predict_proba(rows).tolist()}
        model.save(FOLDER / f"{make.__name__}-{FORMAT}.safetensors", about=about)
