"""Three tables as hypergraphs: the tables of data-set statistics and of results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinvgcn.experiments.methods import paper_baseline, plain_baselines
from pinvgcn.experiments.methods.pinvgcn import pinv
from pinvgcn.experiments.reproduce.document import Block, Cell, Heading, Table
from pinvgcn.experiments.reproduce.experiment import Entry, Experiment
from pinvgcn.experiments.reproduce.paper import Reported, paper
from pinvgcn.experiments.reproduce.result_tables import (
    CAPTION,
    NONE,
    Row,
    cells_of,
    entries_of,
    head_of,
    reported_of,
)
from pinvgcn.experiments.reproduce.results import Results
from pinvgcn.experiments.reproduce.task_specs import TABLES, TITLES, TaskSpec

LABELS = 10  # per class
SPECS = {name: TaskSpec(name, LABELS) for name in TABLES}
REMARK = (
    " Without high-pass the paper's text fixes β = γ, so that the filter is the whole pseudoinverse. With "
    "γ = 0 the third part is left out instead: compared with the paper's row, but not counted as it."
)


def rows() -> list[Row]:
    """In the paper's order, then its last row in another reading, then what the paper lacked."""
    theirs = {row["method"]: row for row in paper()["table_hypergraphs"]["rows"]}
    without = theirs["PinvGCN without high-pass"]
    ours = {
        "PinvGCN": Row("PinvGCN, full rank", pinv(), theirs["PinvGCN"]),
        "PinvGCN without high-pass": Row(
            "PinvGCN without high-pass, β = γ", pinv(filters="no-high-pass"), without
        ),
    }
    return [
        *(ours.get(name) or _baseline(row) for name, row in theirs.items()),
        Row("PinvGCN without high-pass, γ = 0", pinv(filters="low-rank"), without, counts=False),
        Row("PinvGCN, defaults of this package", pinv("default")),
        *(Row(method.title, method) for method in plain_baselines("table")),
    ]


def _baseline(row: Mapping[str, Any]) -> Row:
    method = paper_baseline(row["method"], knn=row.get("knn"))
    return Row(f"10-NN: {row['method']}" if "knn" in row else row["method"], method, row)


def entries() -> list[Entry]:
    """Row by row."""
    return entries_of(rows(), SPECS)


def reported(results: Results) -> list[tuple[Entry, Reported]]:
    """The paper's rows."""
    return reported_of(rows(), SPECS, results)


def otherwise(results: Results) -> list[tuple[Entry, Reported]]:
    """The other reading of the last row."""
    return reported_of(rows(), SPECS, results, otherwise=True)


def blocks(results: Results) -> list[Block]:
    """Both tables."""
    return [
        Heading("Hypergraph datasets"),
        _information(results),
        Heading("Results for categorical data with 10 training samples per class"),
        _results(results),
    ]


def _information(results: Results) -> Table:
    lines = []
    for name in TABLES:
        theirs = paper()["table_hypergraph_info"][name]
        ours = results.statistics(SPECS[name])
        of = (ours or {}).get
        cells = [Cell(TITLES[name])]
        for key, name_there in (("nodes", "n"), ("hyperedges", "hyperedges"), ("classes", "classes")):
            cells.append(Cell(NONE if ours is None else f"{ours[key]:,}", f"{theirs[name_there]:,}"))
        cells.append(Cell(NONE if ours is None else f"{ours['eigengap']:.4f}", f"{theirs['eigengap']:.2f}"))
        cells.append(Cell(str(of("largest_rank", NONE)), f"|E| − 1 = {theirs['hyperedges'] - 1}"))
        lines.append(cells)
    head = ["Name", "n", "|E|", "Classes", "λ₁", "Full rank"]
    caption = (
        "Ours above, the paper's below. The incidence matrix of categories has not full rank: more "
        "eigenvectors than the last column says do not exist."
    )
    return Table(head, lines, caption)


def _results(results: Results) -> Table:
    lines = [[Cell(row.label), *cells_of(results, row, SPECS)] for row in rows()]
    return Table(["Method", *head_of(SPECS)], lines, CAPTION + REMARK)


HYPERGRAPHS = Experiment(
    "hypergraphs", "Hypergraphs", entries, blocks, tuple(SPECS.values()), reported, otherwise
)
