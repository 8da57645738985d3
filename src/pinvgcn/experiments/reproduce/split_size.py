"""The figure of the misclassification rate over the number of labels."""

from __future__ import annotations

from pinvgcn.experiments.methods import paper_baseline
from pinvgcn.experiments.methods.pinvgcn import pinv
from pinvgcn.experiments.reproduce.document import Block, Cell, Figure, Table
from pinvgcn.experiments.reproduce.experiment import Entry, Experiment
from pinvgcn.experiments.reproduce.paper import Reported, paper
from pinvgcn.experiments.reproduce.result_tables import BOLD, brief, our_curve
from pinvgcn.experiments.reproduce.results import Results
from pinvgcn.experiments.reproduce.task_specs import TABLES, TaskSpec
from pinvgcn.experiments.task import TITLES, Method
from pinvgcn.report.figures.curves import Curve, Look, Panel, Scale, draw, without_place
from pinvgcn.report.figures.drawing import BLUE, GREEN, ORANGE, VERMILLION

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
        Entry(TaskSpec(data, size), method)
        for method in methods().values()
        for data in TABLES
        for size in SIZES
    ]


def reported(results: Results) -> list[tuple[Entry, Reported]]:
    """The points of the paper's curves, as accuracies."""
    return [
        (Entry(TaskSpec(data, int(size)), method), Reported(100 - 100 * rate))
        for name, method in methods().items()
        for data in TABLES
        for size, rate in paper()["figure_split_size"][data][name]
    ]


def blocks(results: Results) -> list[Block]:
    """The figure and its numbers."""
    panels = [_panel(results, data) for data in TABLES]
    alternative = (
        "Misclassification rate against labels per class on three hypergraphs, ours and the paper's."
    )
    caption = CAPTION + without_place(panels)
    return [Figure("split-size", draw(panels), caption, alternative), _numbers(results)]


def _panel(results: Results, data: str) -> Panel:
    curves = []
    for name, method in methods().items():
        theirs = paper()["figure_split_size"][data][name]
        curves.append(Curve(LOOKS[name], [(size, 100 * rate) for size, rate in theirs]))
        entries = {float(size): Entry(TaskSpec(data, size), method) for size in SIZES}
        curves.append(our_curve(LOOKS[name], results, entries, rate=True))
    return Panel(TITLES[data], SCALE, curves)


def _numbers(results: Results) -> Table:
    rows = []
    for data in TABLES:
        for name, method in methods().items():
            theirs = paper()["figure_split_size"][data][name]
            cells = [
                brief(results, Entry(TaskSpec(data, int(size)), method), 100 * rate, 2, rate=True)
                for size, rate in theirs
            ]
            rows.append([Cell(f"{TITLES[data]}: {name}"), *cells])
    head = ["Data set and method", *(f"{size} labels" for size in SIZES)]
    caption = (
        "Misclassification rate in percent: ours above; below the paper's and, in brackets, ours minus the "
        f"paper's in standard errors and the number of our runs. {BOLD}"
    )
    return Table(head, rows, caption)


SPLIT_SIZE = Experiment("split-size", "Split size", entries, blocks, reported=reported)
