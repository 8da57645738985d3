"""The rows of a table of results, and which of the paper's accuracies they have to agree with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pinvgcn.experiments.reproduce.blocks import Cell
from pinvgcn.experiments.reproduce.cells import compared
from pinvgcn.experiments.reproduce.entry import Entry
from pinvgcn.experiments.reproduce.paper import Reported
from pinvgcn.experiments.reproduce.question import TITLES, Question
from pinvgcn.experiments.reproduce.results import Results
from pinvgcn.experiments.task import Method

Questions = Mapping[str, Question]  # by data set


@dataclass(frozen=True)
class Row:
    """A line of the table, with the paper's own where it has one."""

    label: str
    method: Method
    theirs: Mapping[str, Any] = field(default_factory=dict)  # cells of ``paper.json`` by data set
    counts: bool = True  # False: it is computed otherwise, and stands beside the paper's only to be compared
    sigma: str = ""

    def reported(self, data: str) -> Reported | None:
        """What the paper has in this line."""
        return Reported.of(self.theirs.get(data))


def entries_of(rows: Sequence[Row], questions: Questions) -> list[Entry]:
    """Row by row."""
    return [Entry(question, row.method) for row in rows for question in questions.values()]


def reported_of(
    rows: Sequence[Row], questions: Questions, results: Results, *, otherwise: bool = False
) -> list[tuple[Entry, Reported]]:
    """The paper's accuracies that were computed as the paper says; or those that were computed otherwise, to
    which a rank belongs that fewer eigenvectors were used for."""
    beside = [
        (row.counts, Entry(question, row.method), cell)
        for row in rows
        for data, question in questions.items()
        if (cell := row.reported(data)) is not None and cell.accuracy is not None
    ]
    return [
        (entry, cell)
        for counts, entry, cell in beside
        if (counts and not results.short_of(entry, entry.rank)) is not otherwise
    ]


def head_of(questions: Questions) -> list[str]:
    """The names of the columns that ``cells_of`` fills."""
    return [name for data in questions for name in (f"{TITLES[data]}: time", "Accuracy (%)", "Difference")]


def cells_of(results: Results, row: Row, questions: Questions) -> list[Cell]:
    """Time, accuracy and difference on each data set."""
    return [
        cell
        for data, question in questions.items()
        for cell in compared(results, Entry(question, row.method), row.reported(data))
    ]
