"""A saved model of a table on another table, chunk by chunk: memory does not grow with the file."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.distributed.group import together
from pinvgcn.errors import ModelFileError, UnseenValueWarning
from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.features import ColumnRecipe
from pinvgcn.features.table_columns import Applied
from pinvgcn.fitting.conformal import SetSizes, check_words
from pinvgcn.fitting.table_nodes import TableNodes
from pinvgcn.io import TableSource, open_table
from pinvgcn.io.tensors import reading
from pinvgcn.jobs import Cost, Progress, fingerprint, silent
from pinvgcn.tables.classify import ABOUT
from pinvgcn.tables.files import Copies, TableFiles
from pinvgcn.tables.plan import Target, cost_of_prediction

ROWS = 20_000  # of a chunk
SUMMED = ("rows", "without_prediction", "agree_with_target", "rows_with_target")


@dataclass(frozen=True)
class TableModel:
    """A classifier that ``pinvgcn classify`` has saved, with what its file tells about its table."""

    classifier: PinvGCNClassifier
    target: Target
    recipe: ColumnRecipe

    @classmethod
    def of(cls, classifier: PinvGCNClassifier) -> TableModel:
        """By the description that the classifier was saved with."""
        if not is_table_model(classifier) or not isinstance(classifier.fitted_.nodes, TableNodes):
            raise ModelFileError(
                "The model must be one that pinvgcn classify has saved. Got a model without a table's "
                "columns."
            )
        assert classifier.about_ is not None
        with reading("The model's description of its table"):
            target = Target.from_dict(classifier.about_["target"])
            recipe = ColumnRecipe.from_dict(classifier.about_["recipe"])
        if len(target.classes) != len(classifier.classes_):
            raise ModelFileError("The model's description of its table is damaged: it has other classes.")
        return cls(classifier, target, recipe)

    def check(self, source: TableSource, *, probabilities: bool, sets: float | None) -> list[str]:
        """The names of the new columns; whatever can be refused before the work is."""
        for plan in self.recipe.used:
            source.column(plan.name)
        names = self.target.new_columns(probabilities=probabilities, sets=sets is not None)
        source.check_new(names)
        if sets is not None:
            check_words(self.target.classes)
            self.classifier.fitted_.thresholds(sets, classes=self.target.classes)
        return names

    def predict(
        self, applied: Applied, sets: float | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, dict[str, int]]:
        """Codes (n,), -1 where no value of a row is known; probabilities (n, m); with a coverage the sets, a
        mask (n, m); cells with values that training never saw, by column."""
        fitted = self.classifier.fitted_
        assert isinstance(fitted.nodes, TableNodes)
        H, unseen = fitted.nodes.encoder.transform(applied.frame)
        known = (np.asarray(H.sum(axis=1)).ravel() > 0) & applied.shared
        codes = np.full(len(known), -1)
        proba = np.full((len(known), len(self.target.classes)), np.nan)
        found = np.zeros(proba.shape, dtype=bool)
        if known.any():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnseenValueWarning)  # counted here, over all chunks
                rows = fitted.place(applied.frame[known])
            proba[known] = fitted.probabilities(rows)
            if sets is not None:
                found[known] = fitted.sets(rows, coverage=sets)
            codes[known] = proba[known].argmax(axis=1)
        return codes, proba, None if sets is None else found, unseen


@dataclass(frozen=True)
class Predicted:
    """How many rows were classified as what, and what was ignored."""

    rows: int
    classes: tuple[str, ...]
    counts: np.ndarray  # (m,) rows of each predicted class
    without: int  # rows with no value that training had: no prediction
    unseen: dict[str, int]  # cells with values that training never saw, by column
    unread: dict[str, int]  # cells that are no number or date, by column
    right: int  # rows that are predicted as ...
    checked: int  # ... their own target column says
    notes: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    sets: SetSizes | None = None

    def as_dict(self) -> dict[str, Any]:
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

    @classmethod
    def of_parts(cls, parts: Sequence[dict[str, Any]], *, seconds: float) -> Predicted:
        """Of one table, from the ``as_dict`` of each of its parts."""
        unseen: Counter[str] = Counter()
        unread: Counter[str] = Counter()
        for part in parts:
            unseen.update(part["unseen_values"])
            unread.update(part["unread_cells"])
        total = {name: sum(part[name] for part in parts) for name in SUMMED}
        sets = [part["sets"] for part in parts if part["sets"] is not None]
        return cls(
            total["rows"],
            tuple(parts[0]["classes"]),
            np.sum([part["predicted_per_class"] for part in parts], axis=0),
            total["without_prediction"],
            dict(unseen),
            dict(unread),
            total["agree_with_target"],
            total["rows_with_target"],
            tuple(dict.fromkeys(note for part in parts for note in part["notes"])),
            {"all": seconds},
            SetSizes(sets[0]["coverage"], np.sum([one["sizes"] for one in sets], axis=0)) if sets else None,
        )


def is_table_model(classifier: PinvGCNClassifier) -> bool:
    """Whether the classifier was saved by ``pinvgcn classify``."""
    return isinstance(classifier.about_, dict) and classifier.about_.get("kind") == ABOUT


def predict_table(
    model: PinvGCNClassifier,
    source: TableSource | str | Path,
    out: str | Path,
    *,
    force: bool = False,
    probabilities: bool = False,
    sets: float | None = None,
    rows: int = ROWS,
    progress: Progress = silent,
) -> Predicted:
    """Write ``source`` to ``out`` with the classes that the model predicts, and their probabilities; with a
    coverage as ``sets`` also with the sets of ``predict_set``.

    Values that training never saw are ignored and counted; a row that has no other gets no prediction.
    """
    started = time.perf_counter()
    table = TableModel.of(model)
    source = source if isinstance(source, TableSource) else open_table(source)
    target, recipe, parts, done = table.target, table.recipe, [], 0
    names = table.check(source, probabilities=probabilities, sets=sets)
    with source.writer(out, names, force=force, decimal=recipe.decimal) as writer:
        for chunk in source.chunks(rows):
            applied = recipe.apply(chunk)
            codes, proba, found, unseen = table.predict(applied, sets)
            writer.write(target.answers(codes, proba, found, probabilities=probabilities))
            said, true = codes >= 0, np.full(len(codes), -1)
            if target.name in chunk:
                true = target.codes_of(chunk[target.name])
            part = Predicted(
                rows=len(chunk),
                classes=target.classes,
                counts=np.bincount(codes[said], minlength=len(target.classes)),
                without=int((~said).sum()),
                unseen={name: count for name, count in unseen.items() if count},
                unread=applied.unread,
                right=int(((true == codes) & (true >= 0)).sum()),
                checked=int((true >= 0).sum()),
                notes=source.notes,
                sets=None if sets is None or found is None else SetSizes.of(sets, found[said]),
            )
            parts.append(part.as_dict())
            done += len(chunk)
            progress(source.path.name, done, round(done / source.share) if source.share else 0)
    return Predicted.of_parts(parts, seconds=time.perf_counter() - started)


@dataclass(frozen=True)
class PredictJob:
    """The files of a table that this process classifies, all of them checked."""

    model: TableModel
    files: TableFiles
    sources: tuple[TableSource, ...]
    copies: Copies
    wanted: dict[str, Any]

    def cost(self) -> Cost:
        """Of all processes, which do not wait for each other."""
        costs = [cost_of_prediction(source, len(self.model.recipe.used)) for source in self.sources]
        memory = self.files.group.largest(max((cost.memory for cost in costs), default=0.0))
        return Cost(memory, self.files.group.largest(sum((cost.seconds for cost in costs), 0.0)))

    def rows(self) -> int | None:
        """Of all processes; None where a file does not tell."""
        told = [count for one in self.files.group.values([s.count for s in self.sources]) for count in one]
        return None if None in told else sum(told)

    def run(self, progress: Progress = silent) -> Predicted:
        """Write the copies; every process has the sums over all."""
        started = time.perf_counter()
        self.copies.begin()
        own, classifier = [], self.model.classifier
        for source in self.sources:
            out = self.copies.left[source.path.name]
            force = self.files.force and not self.files.several  # in a folder, what was there is removed
            own.append(predict_table(classifier, source, out, force=force, progress=progress, **self.wanted))
        everywhere = self.files.group.values([one.as_dict() for one in own])
        parts = [part for one in everywhere for part in one]
        return Predicted.of_parts(parts, seconds=time.perf_counter() - started)


@contextmanager
def predict_job(
    model: TableModel,
    saved: Path,
    files: TableFiles,
    *,
    probabilities: bool = False,
    sets: float | None = None,
) -> Iterator[PredictJob]:
    """The files that a model, ``saved`` in a file, is to classify, shared by the processes of the group."""
    wanted: dict[str, Any] = {"probabilities": probabilities, "sets": sets}
    found = files.found()
    with files.copies(found, fingerprint({"predict": wanted}, [saved])) as copies:
        left = [path for path in found if path.name in copies.left]
        with together(files.group):
            sources = [open_table(left[place]) for place in files.of_process(left)]
            for source in sources:
                model.check(source, **wanted)
                if not files.several:
                    source.check_copy(copies.left[source.path.name], force=files.force)
        yield PredictJob(model, files, tuple(sources), copies, wanted)
