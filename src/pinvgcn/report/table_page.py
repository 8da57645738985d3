"""The page of ``pinvgcn classify --report``: what was read, what was predicted, how far it can be trusted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.graphs import Graph, Hypergraph
from pinvgcn.io.atomic import check_output, write_text
from pinvgcn.jobs.files import expected_wrong
from pinvgcn.report import figures
from pinvgcn.report.held_out import TABLE_FOLDS, HeldOut, estimate_notes
from pinvgcn.report.learned import learned_filters
from pinvgcn.report.page import render
from pinvgcn.spectra import IncidenceExtension, Spectrum
from pinvgcn.tables import Classified
from pinvgcn.tables.questions import RowQuestion
from pinvgcn.wording import cut

IN_MATRIX = 12  # classes of a confusion matrix
ROOM = 10  # characters of their names there
DRAWN = 20  # columns in the figure of what they are worth
QUESTIONS = 10  # that are shown
VALUES = 90  # characters of a row's cells there


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
    drawn = _figures(result, heldout)
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


def _figures(result: Classified, heldout: HeldOut | None) -> dict[str, str]:
    plan, model, names = result.plan, result.model, result.plan.target.classes
    found = {
        "filters": figures.filters(learned_filters(model), "table"),
        "training": figures.training(
            [(plan.target.name, np.asarray(model.spectrum_.values), model.loss_curve_)]
        ),
        "map": "",
    }
    if heldout is not None:
        sizes = heldout.ours.confusion.sum(axis=1)
        shown = np.sort(np.argsort(-sizes, kind="stable")[:IN_MATRIX])
        counts = heldout.ours.confusion[np.ix_(shown, shown)]
        found["confusion"] = figures.confusion(
            counts, tuple(cut(names[code], ROOM) for code in shown), "table"
        )
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
