"""The figure of citation networks as hypergraphs, over the weight R of their words."""

from __future__ import annotations

from pinvgcn.experiments.methods.pinvgcn import pinv
from pinvgcn.experiments.reproduce.document import Block, Cell, Figure, Table
from pinvgcn.experiments.reproduce.experiment import Entry, Experiment
from pinvgcn.experiments.reproduce.paper import Reported, paper
from pinvgcn.experiments.reproduce.result_tables import BOLD, brief, our_curve
from pinvgcn.experiments.reproduce.results import Results
from pinvgcn.experiments.reproduce.task_specs import NETWORKS, TaskSpec
from pinvgcn.experiments.task import TITLES
from pinvgcn.report.figures.curves import Curve, Line, Look, Panel, Scale, draw
from pinvgcn.report.figures.drawing import BLUE, VERMILLION

FACTORS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
LOOKS = {200: Look("PinvGCN, rank 200", BLUE, "s"), 500: Look("PinvGCN, rank 500", VERMILLION, "D")}
TICKS = (0.01, 0.1, 1, 10)
RANGES = {"citeseer": (55.0, 75.0), "cora": (65.0, 85.0), "pubmed": (65.0, 85.0)}
CAPTION = (
    "Accuracy on the standard split against the regularization factor R. Dotted: GCN, as the paper's table "
    "reports it (its figure draws the line of Cora at 80.18)."
)


def entry(data: str, R: float, rank: int) -> Entry:
    """One point of the figure."""
    return Entry(TaskSpec(data, regularization=R), pinv("paper", rank=rank))


def entries() -> list[Entry]:
    """Network by network, both ranks of a factor together: they share the hypergraph."""
    return [entry(data, R, rank) for data in NETWORKS for R in FACTORS for rank in LOOKS]


def reported(results: Results) -> list[tuple[Entry, Reported]]:
    """The points of the paper's curves."""
    curves = paper()["figure_categorical_regularization"]
    return [
        (entry(data, R, rank), Reported(accuracy))
        for data in NETWORKS
        for rank in LOOKS
        for R, accuracy in curves[data][f"rank{rank}"]
    ]


def blocks(results: Results) -> list[Block]:
    """The figure and its numbers."""
    panels = [_panel(results, data) for data in NETWORKS]
    alternative = (
        "Accuracy against the regularization factor on three citation networks, ours and the paper's."
    )
    return [Figure("regularization", draw(panels), CAPTION, alternative), _numbers(results)]


def _panel(results: Results, data: str) -> Panel:
    curves = []
    for rank, look in LOOKS.items():
        theirs = paper()["figure_categorical_regularization"][data][f"rank{rank}"]
        curves.append(Curve(look, [(R, accuracy) for R, accuracy in theirs]))
        curves.append(our_curve(look, results, {R: entry(data, R, rank) for R in FACTORS}))
    gcn = Line("GCN, reported", paper()["table_citation"][data]["GCN"])
    scale = Scale("Regularization factor R", "Accuracy (%)", log_x=True, x_ticks=TICKS, y_range=RANGES[data])
    return Panel(TITLES[data], scale, curves, [gcn])


def _numbers(results: Results) -> Table:
    rows = []
    for data in NETWORKS:
        for rank in LOOKS:
            theirs = paper()["figure_categorical_regularization"][data][f"rank{rank}"]
            cells = [brief(results, entry(data, R, rank), accuracy, 1) for R, accuracy in theirs]
            rows.append([Cell(f"{TITLES[data]}, rank {rank}"), *cells])
    head = ["Network and rank", *(f"R = {R:g}" for R in FACTORS)]
    caption = (
        "Accuracy in percent: ours above; below the paper's and, in brackets, the difference in standard "
        f"errors (our standard deviation for both sides) and the number of our runs. {BOLD}"
    )
    return Table(head, rows, caption)


REGULARIZATION = Experiment(
    "regularization", "Categorical regularization", entries, blocks, reported=reported
)
