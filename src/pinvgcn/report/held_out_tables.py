"""Held-out labels of a table: the model's settings and simple methods, fitted without each fold in turn."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pinvgcn.checks import UNLABELLED
from pinvgcn.compute.interrupts import stopped_by_interrupts
from pinvgcn.distributed.rows import in_subsample
from pinvgcn.report.held_out import OURS, Answerer, HeldOut, held_out
from pinvgcn.tables import Classified, TablePlan

FOLDS = 5
ALL_FOLDS = 20_000  # labelled rows; of more, one fold of a subsample of about as many is enough
FEW = 10  # labels of a class, which are not thinned out


def folds_of(labelled: int) -> tuple[int, int]:
    """Into how many folds so many labels are dealt, and how many of these are predicted."""
    folds = min(FOLDS, max(2, labelled // 2))
    return folds, 1 if labelled > ALL_FOLDS else folds


def steps(labelled: int) -> int:
    """How many lines of progress ``held_out_of_table`` gives for so many labels, at most."""
    return 3 * folds_of(labelled)[1]


def held_out_of_table(
    result: Classified, *, progress: Callable[[str], None] = lambda line: None
) -> HeldOut | None:
    """All methods on the labelled rows, or on a subsample of very many; every process has the result."""
    started = time.perf_counter()
    plan, request, group = result.plan, result.request, result.plan.group
    codes, classes = plan.codes[plan.known], len(plan.target.classes)
    mine = sampled(plan)
    start, _ = group.offset(len(mine))

    def ours(labels: np.ndarray, seed: int) -> dict[str, np.ndarray]:
        seen = np.full(len(codes), UNLABELLED)
        seen[mine] = labels[start : start + len(mine)]
        # they warn as the first fit did
        with warnings.catch_warnings(record=True, action="always"), stopped_by_interrupts():
            said = result.rows.fit(seen, random_state=seed).transduction_
        return {OURS: group.rows(np.asarray(said, dtype=np.int64)[mine])}

    asked = group.rows(codes[mine])
    labelled = int((asked != UNLABELLED).sum())
    found = held_out(
        asked,
        classes,
        {OURS: ours, **simple_methods(plan, mine, request.class_weight)},
        folds=folds_of(labelled)[0],
        most=folds_of(max(labelled, plan.labelled))[1],
        random_state=request.random_state,
        progress=lambda title, fold, folds: progress(f"{title}, held-out part {fold} of {folds}"),
    )
    usable = group.sum(int((codes != UNLABELLED).sum()))
    if found is not None and found.labels < usable:
        found = replace(found, of_labels=usable)
    result.seconds["held-out estimate"] = time.perf_counter() - started
    return found


def simple_methods(plan: TablePlan, mine: np.ndarray, class_weight: Any) -> dict[str, Answerer]:
    """Methods that learn from the labelled rows ``mine`` alone, on the same columns.

    Numbers are scaled, with the median where one is missing; categories are one-hot. Where processes share
    the rows, the first one does it, with those of all.
    """
    rows, group = _of_all(plan, mine), plan.group
    numbers = [name for name in rows if rows[name].dtype.kind == "f"]
    categories = [name for name in rows if name not in numbers]
    for name in categories:
        column = rows[name].astype(object)
        rows[name] = column.where(column.notna(), "")
    encoder = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), categories),
    )

    def method(title: str, classifier: Any) -> Answerer:
        def answer(labels: np.ndarray, seed: int) -> dict[str, np.ndarray]:
            said = np.empty(0, dtype=np.int64)
            if group.rank == 0:
                given = labels != UNLABELLED
                model = make_pipeline(encoder, classifier(seed))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # iterations; columns that are empty in few labels
                    said = np.asarray(model.fit(rows[given], labels[given]).predict(rows))
            return {title: said if group.alone else group.first(said)}

        return answer

    return {
        title: method(title, classifier)
        for title, classifier in {
            "Logistic regression": lambda seed: LogisticRegression(max_iter=1000, class_weight=class_weight),
            "Random forest": lambda seed: RandomForestClassifier(
                300, class_weight=class_weight, random_state=seed
            ),
        }.items()
    }


def _of_all(plan: TablePlan, mine: np.ndarray) -> pd.DataFrame:
    """The rows of this process, and those of all others."""
    frame, group = plan.frame.iloc[mine], plan.group
    if group.alone:
        return frame.copy(deep=False)
    columns: dict[str, Any] = {}
    for name in frame:
        if frame[name].dtype.kind == "f":
            columns[str(name)] = group.rows(frame[name].to_numpy())
            continue
        cells = [None if pd.isna(cell) else str(cell) for cell in frame[name].astype(object)]
        columns[str(name)] = pd.Series([cell for part in group.values(cells) for cell in part], dtype=object)
    return pd.DataFrame(columns)


def sampled(plan: TablePlan) -> np.ndarray:
    """Which of the rows of this process that have a label take part: about 20,000 of those of all processes.

    They are chosen class by class and by their places alone.
    """
    codes, classes, group = plan.codes[plan.known], len(plan.target.classes), plan.group
    own = np.bincount(codes[codes != UNLABELLED], minlength=classes)
    everywhere = np.stack(group.parts(own))
    before, counts = everywhere[: group.rank].sum(axis=0), everywhere.sum(axis=0)
    share = ALL_FOLDS / max(int(counts.sum()), 1)
    rows = [np.empty(0, dtype=np.int64)]
    for code in range(classes):
        most = max(FEW, int(np.ceil(share * counts[code])))
        chosen = in_subsample(int(before[code]), int(own[code]), int(counts[code]), most=most)
        rows.append(np.flatnonzero(codes == code)[chosen])
    return np.sort(np.concatenate(rows))


def estimate_notes(result: Classified, found: HeldOut | None) -> list[str]:
    """What deserves attention in the estimate, in lines."""
    if found is None:
        return ["no class has two labels: how well this works cannot be estimated"]
    plan, notes = result.plan, []
    if found.alone:
        alone = ", ".join(repr(plan.target.classes[code]) for code in found.alone[:5])
        notes.append(f"only one row is labelled {alone}: how well such rows are found cannot be estimated")
    ours, best = found.ours, found.best_simple
    if best.accuracy > ours.accuracy:
        notes.append(
            f"{best.title.lower()} found more of the held-out labels than {OURS}: "
            f"{100 * best.accuracy:.1f} % against {100 * ours.accuracy:.1f} %"
        )
    if found.of_labels is not None:
        some = f"{found.labels:,} of the {found.of_labels:,} labels"
        notes.append(f"how well each method works was estimated with {some}")
    return notes
