"""Two laser scans: the tables of data-set statistics and of results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pinvgcn.experiments.methods import paper_baseline, plain_baselines
from pinvgcn.experiments.reproduce.blocks import Block, Cell, Heading, Table
from pinvgcn.experiments.reproduce.cells import CAPTION, NONE, compared
from pinvgcn.experiments.reproduce.entry import Entry
from pinvgcn.experiments.reproduce.experiment import Experiment
from pinvgcn.experiments.reproduce.paper import Reported, paper
from pinvgcn.experiments.reproduce.pinv import Setting, pinv
from pinvgcn.experiments.reproduce.question import CLOUDS, TITLES, Question
from pinvgcn.experiments.reproduce.results import Results
from pinvgcn.experiments.task import Method

LABELS = 100  # per class
QUESTIONS = {name: Question(name, LABELS) for name in CLOUDS}
CORRECTED = "Corrected PinvGCN"
RANK, SIGMA = 100, 100.0  # where the filter is varied


@dataclass(frozen=True)
class Row:
    """A line of the table, with the paper's own where it has one."""

    label: str
    sigma: str
    method: Method
    reported: dict[str, Any]  # by data set


def rows() -> list[Row]:
    """In the paper's order, then PinvGCN as it is corrected here, then what the paper lacked."""
    theirs = [
        Row(
            f"{row['knn']}-NN: {row['method']}",
            NONE if row["sigma"] is None else str(row["sigma"]),
            paper_baseline(row["method"], knn=row["knn"], sigma=row["sigma"]),
            row,
        )
        for row in paper()["table_oakland"]["rows"]
        if row["method"] != "PinvGCN"
    ]
    defaults = Row("PinvGCN, defaults of this package, coordinates alone", "auto", pinv("default"), {})
    plain = [Row(method.title, NONE, method, {}) for method in plain_baselines("points")]
    return [
        *theirs,
        *_pinv_rows("paper", "PinvGCN"),
        *_pinv_rows("corrected", CORRECTED),
        defaults,
        *plain,
    ]


def _pinv_rows(setting: Setting, name: str) -> list[Row]:
    """The paper's rows in a setting, and one without high-pass."""
    found = [
        Row(
            f"{name}, r = {row['rank']}",
            str(row["sigma"]),
            pinv(setting, sigma=float(row["sigma"]), rank=row["rank"]),
            row,
        )
        for row in paper()["table_oakland"]["rows"]
        if row["method"] == "PinvGCN"
    ]
    without = pinv(setting, sigma=SIGMA, rank=RANK, high_pass=False)
    return [*found, Row(f"{name}, r = {RANK}, without high-pass", f"{SIGMA:g}", without, {})]


def entries() -> list[Entry]:
    """Row by row."""
    return [Entry(QUESTIONS[name], row.method) for row in rows() for name in CLOUDS]


def reported() -> list[tuple[Entry, Reported]]:
    """The paper's rows in the paper's setting."""
    found = [
        (Entry(QUESTIONS[name], row.method), Reported.of(row.reported.get(name)))
        for row in rows()
        for name in CLOUDS
        if not row.label.startswith(CORRECTED)
    ]
    return [(entry, cell) for entry, cell in found if cell is not None and cell.accuracy is not None]


def blocks(results: Results) -> list[Block]:
    """Both tables."""
    return [
        Heading("Information on the Oakland point clouds"),
        _information(results),
        Heading("Average results on Oakland datasets"),
        _results(results),
    ]


def _information(results: Results) -> Table:
    lines = []
    for name in CLOUDS:
        theirs = paper()["table_oakland_info"][name]
        ours = results.statistics(QUESTIONS[name])
        cells = [Cell(TITLES[name])]
        for key, form in (("nodes", ","), ("classes", "d"), ("label_rate", ".2f"), ("diameter", ".1f")):
            cells.append(Cell(NONE if ours is None else format(ours[key], form), format(theirs[key], form)))
        for sigma in ("10", "100"):
            value = NONE if ours is None else f"{ours['eigengap'][sigma]:.4f}"
            cells.append(Cell(value, f"{theirs['eigengap'][sigma]:.3f}"))
        lines.append(cells)
    head = ["Name", "Nodes", "Classes", "Label rate (%)", "Diameter", "Eigengap λ₁, σ = 10", "σ = 100"]
    return Table(head, lines, "Ours above, the paper's below.")


def _results(results: Results) -> Table:
    lines = []
    for row in rows():
        cells = [Cell(row.label), Cell(row.sigma)]
        for name in CLOUDS:
            cells += compared(
                results, Entry(QUESTIONS[name], row.method), Reported.of(row.reported.get(name))
            )
        lines.append(cells)
    head = ["Method", "σ"]
    for name in CLOUDS:
        head += [f"{TITLES[name]}: time", "Accuracy (%)", "Difference"]
    corrected = (
        " Corrected: loops of weight 1, centred coordinates, accurate eigenvectors, and beside the paper's "
        "row of the same σ and rank."
    )
    return Table(head, lines, CAPTION + corrected)


OAKLAND = Experiment("oakland", "Point clouds", entries, blocks, tuple(QUESTIONS.values()), reported)
