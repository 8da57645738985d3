"""A saved model of a table on another table, chunk by chunk: memory does not grow with the file."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.errors import ModelFileError, UnseenValueWarning
from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.features import ColumnRecipe
from pinvgcn.features.table_cells import as_text, cells_of
from pinvgcn.fitting.nodes import TableNodes
from pinvgcn.fitting.prediction_sets import SetSizes, check_words
from pinvgcn.io import TableSource, open_table
from pinvgcn.tables.classify import ABOUT, answer_columns, new_columns
from pinvgcn.tables.target import Target

ROWS = 20_000  # of a chunk


@dataclass(frozen=True)
class Predicted:
    """What was met and what was said of it."""

    rows: int
    classes: tuple[str, ...]
    counts: np.ndarray  # (m,) rows of each predicted class
    without: int  # rows with no value that training had: no prediction
    unseen: dict[str, int]  # cells with values that training never saw, by column
    unread: dict[str, int]  # cells that are no number or date, by column
    right: int  # of the rows whose target is filled in ...
    checked: int  # ... of which there are so many
    notes: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    sets: SetSizes | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {
            "rows": self.rows,
            "classes": list(self.classes),
            "predicted_per_class": self.counts.tolist(),
            "without_prediction": self.without,
            "unseen_values": self.unseen,
            "unread_cells": self.unread,
            "agree_with_target": self.right,
            "rows_with_target": self.checked,
            "notes": list(self.notes),
            "seconds": self.seconds,
            "sets": None if self.sets is None else self.sets.as_dict(),
        }


def merged(results: Sequence[dict[str, Any]], *, seconds: float) -> Predicted:
    """The parts of one table, each as ``as_dict`` has it."""
    unseen: Counter[str] = Counter()
    unread: Counter[str] = Counter()
    for result in results:
        unseen.update(result["unseen_values"])
        unread.update(result["unread_cells"])

    def total(name: str) -> int:
        return sum(result[name] for result in results)

    sets = [result["sets"] for result in results if result["sets"] is not None]
    sizes = SetSizes(sets[0]["coverage"], np.sum([one["sizes"] for one in sets], axis=0)) if sets else None

    return Predicted(
        total("rows"),
        tuple(results[0]["classes"]),
        np.sum([result["predicted_per_class"] for result in results], axis=0),
        total("without_prediction"),
        dict(unseen),
        dict(unread),
        total("agree_with_target"),
        total("rows_with_target"),
        tuple(dict.fromkeys(note for result in results for note in result["notes"])),
        {"all": seconds},
        sizes,
    )


def is_table_model(model: PinvGCNClassifier) -> bool:
    """Whether the model was saved by ``pinvgcn classify``."""
    return isinstance(model.about_, dict) and model.about_.get("kind") == ABOUT


def predict_table(
    model: PinvGCNClassifier,
    source: TableSource | str | Path,
    out: str | Path,
    *,
    force: bool = False,
    probabilities: bool = False,
    sets: float | None = None,
    rows: int = ROWS,
    progress: Callable[[int, float | None], None] = lambda rows, share: None,
) -> Predicted:
    """Write ``source`` to ``out`` with the classes that the model predicts, and their probabilities; with a
    coverage as ``sets`` also with the sets of ``predict_set``.

    Values that training never saw are ignored, and counted; a row that has no other gets no prediction.
    ``progress`` hears how many rows are done, and which share of the file that is, if known.
    """
    started = time.perf_counter()
    if not isinstance(source, TableSource):
        source = open_table(source)
    target, recipe, names = check_prediction(
        model, source, out, force=force, probabilities=probabilities, sets=sets
    )
    counts, without, checked, right, done = np.zeros(len(target.classes), dtype=np.int64), 0, 0, 0, 0
    unseen: Counter[str] = Counter()
    unread: Counter[str] = Counter()
    sizes = None if sets is None else SetSizes(sets, np.zeros(len(counts) + 1, dtype=np.int64))
    with source.writer(out, names, force=force, decimal=recipe.decimal) as writer:
        for chunk in source.chunks(rows):
            applied = recipe.apply(chunk)
            codes, proba, met = _answers(model, applied.frame)
            found = None if sets is None else _sets(model, applied.frame, codes >= 0, sets)
            writer.write(answer_columns(target, codes, proba, names, found))
            if sizes is not None and found is not None:
                sizes += SetSizes.of(sizes.coverage, found[codes >= 0])
            counts += np.bincount(codes[codes >= 0], minlength=len(counts))
            without += int((codes < 0).sum())
            unseen.update({name: count for name, count in met.items() if count})
            unread.update(applied.unread)
            if target.name in chunk:
                asked, agreed = _compared(target, chunk[target.name], codes)
                checked, right = checked + asked, right + agreed
            done += len(chunk)
            progress(done, source.share)
    seconds = {"all": time.perf_counter() - started}
    return Predicted(
        done,
        target.classes,
        counts,
        without,
        dict(unseen),
        dict(unread),
        right,
        checked,
        source.notes,
        seconds,
        sizes,
    )


def check_prediction(
    model: PinvGCNClassifier,
    source: TableSource,
    out: str | Path,
    *,
    force: bool,
    probabilities: bool,
    sets: float | None,
) -> tuple[Target, ColumnRecipe, list[str]]:
    """The target, the columns and the names of the new ones; all that can be refused before the work is."""
    found = check_table(model, source, probabilities=probabilities, sets=sets)
    source.check_copy(out, force=force)
    return found


def check_table(
    model: PinvGCNClassifier, source: TableSource, *, probabilities: bool, sets: float | None
) -> tuple[Target, ColumnRecipe, list[str]]:
    """The same, wherever the copy goes."""
    target, recipe = described(model)
    for plan in recipe.used:
        source.column(plan.name)
    names = new_columns(target.name, target.classes, probabilities, sets=sets is not None)
    source.check_new(names)
    if sets is not None:
        check_words(target.classes)
        model.fitted_.thresholds(sets, classes=target.classes)
    return target, recipe, names


def described(model: PinvGCNClassifier) -> tuple[Target, ColumnRecipe]:
    """What a model's file tells about its table."""
    if not is_table_model(model) or not isinstance(model.fitted_.nodes, TableNodes):
        raise ModelFileError(
            "The model must be one that pinvgcn classify has saved. Got a model without a table's columns."
        )
    assert model.about_ is not None
    try:
        target = Target.from_dict(model.about_["target"])
        recipe = ColumnRecipe.from_dict(model.about_["recipe"])
    except KeyError as error:
        raise ModelFileError(
            f"The model's description of its table is damaged: {error} is missing."
        ) from None
    if len(target.classes) != len(model.classes_):
        raise ModelFileError("The model's description of its table is damaged: it has other classes.")
    return target, recipe


def _sets(model: PinvGCNClassifier, frame: pd.DataFrame, known: np.ndarray, coverage: float) -> np.ndarray:
    """The sets (n, m) of the rows that are ``known``, as a mask."""
    sets = np.zeros((len(frame), len(model.classes_)), dtype=bool)
    if known.any():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenValueWarning)
            sets[known] = model.predict_set(frame[known], coverage=coverage)
    return sets


def _answers(model: PinvGCNClassifier, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, dict[str, int]]:
    """Codes (n,), -1 where nothing is known of a row, probabilities (n, m), and unseen cells by column."""
    assert isinstance(model.fitted_.nodes, TableNodes)
    H, unseen = model.fitted_.nodes.encoder.transform(frame)
    known = np.asarray(H.sum(axis=1)).ravel() > 0
    codes = np.full(len(frame), -1)
    proba = np.full((len(frame), len(model.classes_)), np.nan)
    if known.any():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenValueWarning)  # counted here, over all chunks
            proba[known] = model.predict_proba(frame[known])
        codes[known] = proba[known].argmax(axis=1)
    return codes, proba, unseen


def _compared(target: Target, series: pd.Series, codes: np.ndarray) -> tuple[int, int]:
    """How many rows have a class of the model's in their target column, and how many of these it said."""
    place, values = cells_of(series)
    number = {name: code for code, name in enumerate(target.classes)}
    true = np.array([number.get(as_text(value) or "", -1) for value in values] + [-1])[place]
    return int((true >= 0).sum()), int(((true == codes) & (true >= 0)).sum())
