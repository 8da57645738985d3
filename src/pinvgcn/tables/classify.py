"""Classify the rows of a table from the classes of some of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.checks import UNLABELLED
from pinvgcn.compute.interrupts import stopped_by_interrupts
from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.fitting.conformal import SetSizes, check_coverage, check_words
from pinvgcn.fitting.importance import TableImportance, expert_shares
from pinvgcn.fitting.prepared import MOST, Prepared
from pinvgcn.graphs.distinct import count_distinct
from pinvgcn.io import TableSource
from pinvgcn.io.atomic import check_output
from pinvgcn.io.tables import parts_of
from pinvgcn.repeated_fits import SharedRows
from pinvgcn.tables.plan import BINNING, TablePlan, Target

ABOUT = "table"  # what a saved model of a table says that it is
ROWS = 100_000  # that are written at a time
STEPS = 3  # of classify_table
Tell = Callable[[str], None]


@dataclass(frozen=True)
class ClassifyRequest:
    """What is asked for beside the table itself."""

    class_weight: str | None = None
    random_state: int = 0
    probabilities: bool = False  # a column for each class too
    sets: float | None = None  # coverage of prediction sets; None for no column of them

    def new_columns(self, target: Target) -> list[str]:
        """The names of the columns that are added to a table."""
        return target.new_columns(probabilities=self.probabilities, sets=self.sets is not None)


@dataclass(frozen=True, eq=False)
class Classified:
    """The model, what it says of each row, and how far that can be trusted."""

    plan: TablePlan
    request: ClassifyRequest
    model: PinvGCNClassifier
    answers: np.ndarray  # (n,) code of the predicted class of this process's rows, -1 where there is none
    proba: np.ndarray  # (n, m), NaN where there is no prediction
    predicted: np.ndarray  # (m,) rows of each predicted class, of all processes
    new: np.ndarray  # (m,) of these, the rows that had no class
    rows: SharedRows  # to fit to other labels of the same rows
    seconds: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sets: np.ndarray | None = None  # (n, m), a mask
    set_sizes: SetSizes | None = None  # of the rows of all processes that have a prediction
    importance: TableImportance | None = None  # of the columns; None where no label was held out of a member

    @property
    def experts(self) -> dict[str, float]:
        """The shares of the experts in the answer, by name."""
        return expert_shares(self.model.fitted_)

    @property
    def columns(self) -> list[str]:
        return self.request.new_columns(self.plan.target)

    def write(self, copies: Mapping[str, str | Path], *, force: bool = False) -> None:
        """Copies of this process's files with the new columns; labelled rows have the model's answer too.

        ``copies`` has a path by the name of each file that is to be copied.
        """
        started, start = time.perf_counter(), 0
        for part, rows in zip(parts_of(self.plan.source), self.plan.lengths, strict=True):
            if part.path.name in copies:
                self._write(part, Path(copies[part.path.name]), start, start + rows, force)
            start += rows
        if copies:
            self.seconds["writing"] = time.perf_counter() - started

    def _write(self, source: TableSource, out: Path, first: int, end: int, force: bool) -> None:
        target, each = self.plan.target, self.request.probabilities
        with source.writer(out, self.columns, force=force, decimal=self.plan.recipe.decimal) as writer:
            for start in range(first, end, ROWS):
                part = slice(start, min(start + ROWS, end))
                sets = None if self.sets is None else self.sets[part]
                writer.write(target.answers(self.answers[part], self.proba[part], sets, probabilities=each))

    def as_dict(self) -> dict[str, Any]:
        plan, source, told = self.plan, self.plan.source, self.plan.as_dict()
        where = {"path": str(source.path), "format": source.format, "encoding": source.encoding}
        return {
            "table": {**where, "rows": told.pop("rows")},
            **told,
            "predicted_per_class": self.predicted.tolist(),
            "predicted_per_class_of_unlabelled": self.new.tolist(),
            "without_prediction": plan.rows - int(self.predicted.sum()),
            "columns": [
                {"name": c.name, "kind": c.kind, "becomes": c.becomes, "missing": c.missing, "note": c.note}
                for c in plan.recipe.plans
            ],
            "experts": self.experts,
            "column_importance": None if self.importance is None else self.importance.as_dict(),
            "new_columns": self.columns,
            "sets": None if self.set_sizes is None else self.set_sizes.as_dict(),
            "seed": self.request.random_state,
            "seconds": self.seconds,
            "notes": list(self.notes),
        }


def classify_table(
    plan: TablePlan, request: ClassifyRequest | None = None, *, progress: Tell = lambda line: None
) -> Classified:
    """Fit to all rows and predict all. ``progress`` is called with STEPS lines."""
    request = ClassifyRequest() if request is None else request
    check_request(plan, request)
    model = PinvGCNClassifier(graph="categorical", binning=BINNING, class_weight=request.class_weight)
    group, codes = plan.group, plan.codes[plan.known]
    with warnings.catch_warnings(record=True, action="always") as caught, stopped_by_interrupts():
        progress("Graph and spectrum")
        rows = SharedRows(model, plan.frame, process_group=group)
        progress("PinvGCN on all labels")
        fitted = rows.fit(codes, random_state=request.random_state)
    seconds = {stage: float(fitted.timings_[stage]) for stage in ("graph", "spectrum", "training")}
    names = np.array(plan.target.classes, dtype=object)
    trained = time.perf_counter()
    progress("What the columns are worth")
    importance = None
    if fitted.fitted_.conformal is not None:
        importance = fitted.column_importance(plan.frame, sources=plan.recipe.sources)
    seconds["column importance"] = time.perf_counter() - trained
    answers = np.full(len(plan.codes), UNLABELLED)
    proba = np.full((len(plan.codes), len(names)), np.nan)
    answers[plan.known] = np.asarray(fitted.transduction_, dtype=np.int64)
    proba[plan.known] = fitted.transduction_proba_
    sets = sizes = None
    if request.sets is not None:
        sets = np.zeros(proba.shape, dtype=bool)
        sets[plan.known] = fitted.transduction_set(coverage=request.sets)
        own = SetSizes.of(request.sets, sets[plan.known])
        sizes = SetSizes(request.sets, group.sum(own.counts))
    fitted.classes_ = names  # it learned codes: a class may be called -1
    fitted.transduction_ = names[answers[plan.known]]
    said = answers >= 0
    predicted, new = (
        group.sum(np.bincount(answers[some], minlength=len(names)))
        for some in (said, said & (plan.codes == UNLABELLED))
    )
    told = dict.fromkeys(" ".join(str(w.message).split()) for w in caught)
    notes = [*plan.notes(), *subsample_notes(rows.prepared), *told]
    return Classified(
        plan, request, fitted, answers, proba, predicted, new, rows, seconds, tuple(notes), sets, sizes,
        importance,
    )  # fmt: skip


def subsample_notes(prepared: Prepared) -> list[str]:
    """Where experts that need a graph learn from some of the rows: a line that says so."""
    total = count_distinct(prepared.keys, prepared.nodes.group)
    joins = prepared.neighbour_graph
    learn_from = {
        "the network": total if prepared.subsample is None else MOST,
        "the diffusion": total if joins is None else len(joins.anchors),
    }
    some = [f"{name} ({rows:,})" for name, rows in learn_from.items() if rows < total]
    what = f"what learns from some of the {total:,} different rows: {', '.join(some)}; all are classified"
    return [what] if some else []


def check_request(plan: TablePlan, request: ClassifyRequest) -> None:
    """Raise, before there is work to lose, what new columns and prediction sets would raise later."""
    coverage, target = request.sets, plan.target
    plan.source.check_new(request.new_columns(target))
    if coverage is not None:
        check_words(target.classes)
        codes = plan.codes[plan.known]
        own = np.bincount(codes[codes != UNLABELLED], minlength=len(target.classes))
        check_coverage(coverage, plan.group.sum(own), target.classes)


def save_model(
    result: Classified, path: str | Path, *, about: dict[str, Any] | None = None, force: bool = False
) -> None:
    """The model with all that ``predict_table`` needs for other files, and what is known ``about`` it."""
    path = check_output(path, force=force or result.plan.group.rank > 0)  # the first process writes it
    known = {
        "kind": ABOUT,
        "target": result.plan.target.to_dict(),
        "recipe": result.plan.recipe.to_dict(),
        "rows": result.plan.rows,
        "labelled": result.plan.labelled,
    }
    result.model.save(path, about=known | (about or {}))
