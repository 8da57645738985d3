"""The pages of ``pinvgcn segment --report`` and ``classify --report``.

They say what was read, what came out, and how far it can be trusted.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.graphs import Graph, Hypergraph
from pinvgcn.io.atomic import check_output, write_text
from pinvgcn.io.las import class_name
from pinvgcn.jobs import Progress, silent
from pinvgcn.jobs.files import expected_wrong
from pinvgcn.report import figures
from pinvgcn.report.figures.model import learned_filters
from pinvgcn.report.held_out import (
    OURS,
    SCAN_FOLDS,
    TABLE_FOLDS,
    HeldOut,
    estimate_notes,
    held_out_of_scan,
)
from pinvgcn.report.page import render
from pinvgcn.scans import ScanResult
from pinvgcn.scans.labels import name_of
from pinvgcn.spectra import IncidenceExtension, Spectrum
from pinvgcn.tables import Classified
from pinvgcn.tables.questions import RowQuestion
from pinvgcn.wording import cut

QUESTIONS = 10  # places or rows where a label would help
IN_MATRIX = 12  # classes of the confusion matrix of a table
ROOM = 10  # characters of their names there
DRAWN = 20  # columns in the figure of what they are worth
VALUES = 90  # characters of a row's cells


def write_scan_report(
    result: ScanResult, path: Path, *, random_state: int = 0, tell: Progress = silent
) -> HeldOut | None:
    """Test the model on held-out labels and write the page; returns how the methods did."""
    assert result.sample is not None
    started = time.perf_counter()

    def progress(title: str, fold: int, folds: int) -> None:
        if title == OURS:  # the others take little time
            tell("Holding out labels", fold - 1, folds)

    heldout = held_out_of_scan(
        result.model,
        np.maximum(result.sample.codes, -1),
        columns=result.sample.columns,
        random_state=random_state,
        progress=progress,
    )
    tell("Holding out labels", SCAN_FOLDS, SCAN_FOLDS)
    result.seconds["holding out labels"] = time.perf_counter() - started
    tell("Drawing the report", 0, 1)
    started = time.perf_counter()
    write_text(path, scan_page(result, heldout))
    result.seconds["report"] = time.perf_counter() - started
    return heldout


def scan_page(result: ScanResult, heldout: HeldOut | None) -> str:
    assert result.sample is not None
    started = time.perf_counter()
    prior = result.counts / max(int(result.counts.sum()), 1)
    names = [name_of(value, asprs=result.asprs) for value in result.classes]
    recall = np.full(len(names), np.nan) if heldout is None else heldout.ours.recall
    drawn = _scan_figures(result, heldout)
    return render(
        "segment.html",
        result=result,
        heldout=heldout,
        prior=prior,
        classes=list(zip(names, result.given, result.counts, prior, recall, strict=True)),
        shown=len(result.sample.points),
        places=result.questions[:QUESTIONS],
        figures=drawn,
        stages={**result.seconds, "report": time.perf_counter() - started},
    )


def _scan_figures(result: ScanResult, heldout: HeldOut | None) -> dict[str, str]:
    assert result.sample is not None
    model = result.model
    names = tuple(class_name(c) if result.asprs and isinstance(c, int) else str(c) for c in result.classes)
    found = {
        "views": figures.views(result.sample.points, model.transduction_proba_.argmax(axis=1), names),
        **_network(model, "scan", "Scan"),
    }
    if result.confidence_map is not None:
        places = [(one.x, one.y) for one in result.questions[:QUESTIONS]]
        found["plan"] = figures.plan(result.confidence_map, places)
    if heldout is not None:
        broken = [name.replace(" ", "\n") for name in names]
        found["confusion"] = figures.confusion(heldout.ours.confusion, broken, "scan")
    return found


def _network(model: PinvGCNClassifier, kind: str, title: str) -> dict[str, str]:
    """What the network has learned, for both pages."""
    return {
        "filters": figures.filters(learned_filters(model), kind),
        "training": figures.training([(title, np.asarray(model.spectrum_.values), model.loss_curve_)]),
    }


def write_table_report(
    result: Classified,
    heldout: HeldOut | None,
    path: str | Path,
    *,
    out: Path | None = None,
    questions: Sequence[RowQuestion] = (),
    question_file: Path | None = None,
    force: bool = False,
) -> None:
    """Write the page, whole or not at all; ``question_file`` has all ``questions``."""
    path = check_output(path, force=force)
    started = time.perf_counter()
    write_text(path, table_page(result, heldout, out=out, questions=questions, question_file=question_file))
    result.seconds["report"] = time.perf_counter() - started


def table_page(
    result: Classified,
    heldout: HeldOut | None,
    *,
    out: Path | None = None,
    questions: Sequence[RowQuestion] = (),
    question_file: Path | None = None,
) -> str:
    started = time.perf_counter()
    plan = result.plan
    used = [column.name for column in plan.recipe.used]
    drawn = _table_figures(result, heldout)
    classes = _classes(result, heldout)
    drawing = time.perf_counter() - started
    stages = {**result.seconds, "report": drawing}
    stages["all"] = stages.pop("all", sum(result.seconds.values())) + drawing
    return render(
        "classify.html",
        result=result,
        heldout=heldout,
        folds=TABLE_FOLDS,
        to_predict=sum(one["predicted"] for one in classes),
        lines=[*result.notes, *estimate_notes(result, heldout)],
        classes=classes,
        largest={name: max(1, *(one[name] for one in classes)) for name in ("labelled", "predicted")},
        in_matrix=IN_MATRIX,
        questions=[(one, _values(one, used)) for one in questions[:QUESTIONS]],
        count_questions=len(questions),
        question_file=question_file,
        several_files=len({one.file for one in questions}) > 1,
        expected_wrong=expected_wrong,
        figures=drawn,
        out=out,
        stages=stages,
    )


def _classes(result: Classified, heldout: HeldOut | None) -> list[dict[str, Any]]:
    """For each class: labels, predicted rows without a label, their mean probability, recall at held-out
    labels."""
    rows = []
    for code, name in enumerate(result.plan.target.classes):
        mine = (result.plan.codes < 0) & (result.answers == code)
        scores = () if heldout is None else (heldout.ours, heldout.best_simple)
        rows.append(
            {
                "name": name,
                "labelled": int(result.plan.class_counts[code]),
                "predicted": int(mine.sum()),
                "confidence": float(np.mean(result.proba[mine].max(axis=1))) if mine.any() else np.nan,
                "recalls": [score.recall[code] for score in scores],
            }
        )
    return rows


def _table_figures(result: Classified, heldout: HeldOut | None) -> dict[str, str]:
    plan, model, names = result.plan, result.model, result.plan.target.classes
    found = {**_network(model, "table", plan.target.name), "map": ""}
    if heldout is not None:
        sizes = heldout.ours.confusion.sum(axis=1)
        shown = np.sort(np.argsort(-sizes, kind="stable")[:IN_MATRIX])
        counts = heldout.ours.confusion[np.ix_(shown, shown)]
        found["confusion"] = figures.confusion(counts, [cut(names[code], ROOM) for code in shown], "table")
    if result.importance is not None:
        found["importance"] = figures.importance(result.importance.columns[:DRAWN])
    if model.spectrum_.rank >= 2:
        assert model.graph_ is not None
        places = _places(model.spectrum_, model.graph_)
        found["map"] = figures.row_map(places, result.answers[plan.known], plan.codes[plan.known], names)
    return found


def _places(spectrum: Spectrum, graph: Graph) -> np.ndarray:
    """The first two eigenvectors at all rows, over √degree: of a large table they are those of a subsample,
    with the others between them: (n, 2)."""
    assert isinstance(graph, Hypergraph)
    assert isinstance(spectrum.extension, IncidenceExtension)
    two = spectrum.extension.coefficients[:, spectrum.components :][:, :2]
    places: np.ndarray = spectrum.extension.factor(graph.incidence) @ two
    return places / np.sqrt(graph.degrees)[:, None]


def _values(question: RowQuestion, used: Sequence[str]) -> str:
    """The first cells of a row, as far as there is room."""
    return cut(", ".join(f"{name} {question.cells[name]}" for name in used if question.cells[name]), VALUES)
