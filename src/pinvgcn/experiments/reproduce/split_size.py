"""The figure of the misclassification rate over the number of labels."""

from __future__ import annotations

import math

from pinvgcn.experiments.figures.drawing import BLUE, GREEN, ORANGE, VERMILLION
from pinvgcn.experiments.methods import paper_baseline
from pinvgcn.experiments.reproduce.blocks import Block, Cell, Figure, Table
from pinvgcn.experiments.reproduce.cells import NONE, noteworthy, signed
from pinvgcn.experiments.reproduce.curves import Curve, Look, Panel, Scale, draw
from pinvgcn.experiments.reproduce.entry import Entry
from pinvgcn.experiments.reproduce.experiment import Experiment
from pinvgcn.experiments.reproduce.paper import Reported, paper
from pinvgcn.experiments.reproduce.pinv import pinv
from pinvgcn.experiments.reproduce.question import TABLES, TITLES, Question
from pinvgcn.experiments.reproduce.results import Results
from pinvgcn.experiments.task import Method

SIZES = (5, 10, 20, 50)  # labels per class
LOOKS = {
    "GDC": Look("GDC", GREEN, "s"),
    "ARMA": Look("ARMA", VERMILLION, "X"),
    "HGNN*": Look("HGNN*", ORANGE, "^"),
    "PinvGCN": Look("PinvGCN, full rank", BLUE, "o"),
}
SCALE = Scale("Training samples per class", "Misclassification rate (%)", log_y=True, x_ticks=SIZES)
CAPTION = (
    "Misclassification rate against the number of labels per class. The paper gives no standard deviations "
    "here: the difference in standard errors takes ours for both sides."
)


def methods() -> dict[str, Method]:
    """By the name that the paper's figure gives them, PinvGCN first."""
    return {
        "PinvGCN": pinv("paper"),
        "HGNN*": paper_baseline("HGNN*"),
        "ARMA": paper_baseline("ARMA", knn=10),
        "GDC": paper_baseline("GDC", knn=10),
    }


def entries() -> list[Entry]:
    """Method by method."""
    return [
        Entry(Question(data, size), method)
        for method in methods().values()
        for data in TABLES
        for size in SIZES
    ]


def reported() -> list[tuple[Entry, Reported]]:
    """The points of the paper's curves, as accuracies."""
    return [
        (Entry(Question(data, int(size)), method), Reported(100 - 100 * rate))
        for name, method in methods().items()
        for data in TABLES
        for size, rate in paper()["figure_split_size"][data][name]
    ]


def blocks(results: Results) -> list[Block]:
    """The figure and its numbers."""
    panels = [_panel(results, data) for data in TABLES]
    drawing = draw(panels)
    alternative = (
        "Misclassification rate against labels per class on three hypergraphs, ours and the paper's."
    )
    return [Figure("split-size", drawing, CAPTION, alternative), _numbers(results)]


def _panel(results: Results, data: str) -> Panel:
    curves = []
    for name, method in methods().items():
        theirs = paper()["figure_split_size"][data][name]
        curves.append(Curve(LOOKS[name], [(size, 100 * rate) for size, rate in theirs]))
        points, errors = [], []
        for size in SIZES:
            summary = results.summary(Entry(Question(data, size), method))
            if summary is not None and summary.accuracy < 100:  # no place for zero on a logarithmic axis
                points.append((float(size), 100 - summary.accuracy))
                errors.append(summary.sd / math.sqrt(summary.runs))
        curves.append(Curve(LOOKS[name], points, errors))
    return Panel(TITLES[data], SCALE, curves)


def _numbers(results: Results) -> Table:
    rows = []
    for data in TABLES:
        for name, method in methods().items():
            cells = [Cell(f"{TITLES[data]}: {name}")]
            for (_, rate), size in zip(paper()["figure_split_size"][data][name], SIZES, strict=True):
                entry = Entry(Question(data, size), method)
                summary = results.summary(entry)
                if summary is None:
                    cells.append(Cell(results.why_not(entry) or NONE, f"{100 * rate:.2f}"))
                else:
                    errors = summary.against(Reported(100 - 100 * rate))
                    # more errors than the paper are a negative difference in accuracy: told as a rate
                    shown = signed(None if errors is None else -errors)
                    cells.append(
                        Cell(
                            f"{100 - summary.accuracy:.2f}",
                            f"{100 * rate:.2f} ({shown}; {summary.runs})",
                            strong=noteworthy(errors),
                        )
                    )
            rows.append(cells)
    head = ["Data set and method", *(f"{size} labels" for size in SIZES)]
    caption = (
        "Misclassification rate in percent: ours above; below the paper's and, in brackets, ours minus the "
        "paper's in standard errors and the number of our runs. Bold: beyond two standard errors."
    )
    return Table(head, rows, caption)


SPLIT_SIZE = Experiment("split-size", "Split size", entries, blocks, reported=reported)
