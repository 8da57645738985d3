"""Three tables as hypergraphs: the tables of data-set statistics and of results."""

from __future__ import annotations

from pinvgcn.experiments.methods import paper_baseline, plain_baselines
from pinvgcn.experiments.reproduce.blocks import Block, Cell, Heading, Table
from pinvgcn.experiments.reproduce.cells import CAPTION, NONE
from pinvgcn.experiments.reproduce.entry import Entry
from pinvgcn.experiments.reproduce.experiment import Experiment
from pinvgcn.experiments.reproduce.paper import Reported, paper
from pinvgcn.experiments.reproduce.pinv import pinv
from pinvgcn.experiments.reproduce.question import TABLES, TITLES, Question
from pinvgcn.experiments.reproduce.results import Results
from pinvgcn.experiments.reproduce.rows import Row, cells_of, entries_of, head_of, reported_of
from pinvgcn.experiments.task import Method

LABELS = 10  # per class
QUESTIONS = {name: Question(name, LABELS) for name in TABLES}


def rows() -> list[Row]:
    """In the paper's order, then what the paper lacked."""
    found = []
    for row in paper()["table_hypergraphs"]["rows"]:
        if row["method"].startswith("PinvGCN"):
            full = row["method"] == "PinvGCN"
            method: Method = pinv("paper", high_pass=full)
            label = "PinvGCN, full rank" if full else "PinvGCN without high-pass"
        else:
            method = paper_baseline(row["method"], knn=row.get("knn"))
            label = f"10-NN: {row['method']}" if "knn" in row else row["method"]
        found.append(Row(label, method, row))
    return found + [Row(method.title, method) for method in plain_baselines("table")]


def entries() -> list[Entry]:
    """Row by row."""
    return entries_of(rows(), QUESTIONS)


def reported(results: Results) -> list[tuple[Entry, Reported]]:
    """The paper's rows."""
    return reported_of(rows(), QUESTIONS)


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
        ours = results.statistics(QUESTIONS[name])
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
    lines = [[Cell(row.label), *cells_of(results, row, QUESTIONS)] for row in rows()]
    return Table(["Method", *head_of(QUESTIONS)], lines, CAPTION)


HYPERGRAPHS = Experiment("hypergraphs", "Hypergraphs", entries, blocks, tuple(QUESTIONS.values()), reported)
