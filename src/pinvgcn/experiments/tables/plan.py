"""A table as it will be used: which rows are labelled, and which columns and rows take part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pinvgcn.checks import UNLABELLED
from pinvgcn.errors import ColumnError, DataError, LabelError
from pinvgcn.experiments.tables.target import Target
from pinvgcn.features import ColumnRecipe
from pinvgcn.graphs import TableEncoder
from pinvgcn.graphs.distinct import distinct_rows
from pinvgcn.io import TableSource
from pinvgcn.words import counted, verb

BINNING = "quantile"  # of numbers: what a table has in its tails shall not decide about the bins


@dataclass(frozen=True, eq=False)
class TablePlan:
    """What a fit starts from. Rows without any value that another row shares take no part."""

    source: TableSource
    target: Target
    recipe: ColumnRecipe
    codes: np.ndarray  # (n,) class of each row, or -1
    known: np.ndarray  # (n,) whether the row takes part
    frame: pd.DataFrame  # the columns of the recipe, of the rows that take part
    distinct: int  # rows that differ, of those
    hyperedges: int
    unread: dict[str, int]

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return len(self.codes)

    @property
    def labelled(self) -> int:
        """How many of its rows have a class."""
        return int((self.codes != UNLABELLED).sum())

    @property
    def class_counts(self) -> np.ndarray:
        """Labelled rows of each class."""
        return np.bincount(self.codes[self.codes != UNLABELLED], minlength=len(self.target.classes))

    def notes(self) -> list[str]:
        """What the user should know about the table."""
        notes = list(self.source.notes)
        notes += [f"{plan.name!r}: {plan.note}" for plan in self.recipe.used if plan.note]
        without = int((~self.known).sum())
        if without:
            share, them = verb(without, "shares", "share"), verb(without, "it", "them")
            notes.append(
                f"{without:,} of {counted(self.rows, 'row')} {share} no value with another: "
                f"no prediction for {them}"
            )
        if self.labelled == self.rows:
            notes.append(
                f"every row has a class in {self.target.name!r} already: there is nothing to predict"
            )
        return notes


def plan_table(
    source: TableSource,
    target: str,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    progress: Callable[[int], None] = lambda rows: None,
) -> TablePlan:
    """Read the whole table and decide; ``progress`` hears how many rows have been read."""
    source.column(target)
    for name in (*(columns or ()), *exclude):
        source.column(name)
    if columns is not None and target in columns:
        raise ColumnError(f"The target {target!r} must not be one of the columns to predict it from.")
    chunks, read = [], 0
    wanted = [name for name in source.columns if columns is None or name in columns or name == target]
    for chunk in source.chunks():
        chunks.append(chunk[wanted])
        read += len(chunk)
        progress(read)
    table = pd.concat(chunks) if len(chunks) > 1 else chunks[0]
    goal, codes = Target.read(target, table[target])
    others = table.drop(columns=target)
    recipe = ColumnRecipe.learn(others, columns=columns, exclude=exclude, separator=source.separator)
    applied = recipe.apply(others)
    known, distinct, hyperedges = _known_rows(applied.frame)
    if len(np.unique(codes[known & (codes != UNLABELLED)])) < len(goal.classes):
        gone = [c for j, c in enumerate(goal.classes) if not (known & (codes == j)).any()]
        raise LabelError(
            f"Every class needs a labelled row with values that other rows share. Got none for {gone[0]!r}; "
            "use more columns."
        )
    return TablePlan(
        source, goal, recipe, codes, known, applied.frame[known], distinct, hyperedges, applied.unread
    )


def _known_rows(frame: pd.DataFrame) -> tuple[np.ndarray, int, int]:
    """Which rows share a value with another, how many of them differ, and how many values are shared.

    A row that goes may change the bins of the others, so that it takes turns.
    """
    known = frame.notna().any(axis=1).to_numpy()
    while known.any():
        H = TableEncoder(binning=BINNING).fit_transform(frame[known])
        joined = np.asarray(H.sum(axis=1)).ravel() > 0
        if joined.all():
            return known, len(distinct_rows(H).first), H.shape[1]
        known[np.flatnonzero(known)[~joined]] = False
    raise DataError("No two rows of the table share a value: nothing can be learned. Use more columns.")
