"""Why a row of a file gets its class from a saved model of a table."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.checks import check_count
from pinvgcn.errors import DataError, ParameterError, UnseenValueWarning
from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.features import ColumnRecipe
from pinvgcn.fitting.explanation import RowExplanation
from pinvgcn.fitting.mixed_rows import known_rows, table_nodes
from pinvgcn.io import TableSource, open_table
from pinvgcn.tables.predict import ROWS, TableModel
from pinvgcn.wording import counted, verb


@dataclass(frozen=True)
class ExplainedRow:
    """A row of a file, by its number, and why it gets its class."""

    row: int  # the first below the names of the columns is 1
    target: str  # the column that is predicted
    given: str | None  # what stands in that column, if it is there and filled in
    explanation: RowExplanation  # with values as they stand in the file
    ignored: tuple[str, ...]  # columns whose value training never saw, or which is no number or date

    def as_dict(self) -> dict[str, Any]:
        return {
            "row": self.row,
            "target": self.target,
            "given": self.given,
            **self.explanation.as_dict(),
            "ignored_values": list(self.ignored),
        }


def explain_table_row(
    model: PinvGCNClassifier, source: TableSource | str | Path, row: int, *, random_state: int = 0
) -> ExplainedRow:
    """Why the model, which ``pinvgcn classify`` has saved, answers as it does at one row of a table.

    Rows are counted as people count them: 1 is the first below the names of the columns.
    """
    check_count("row", row)
    if not isinstance(source, TableSource):
        source = open_table(source)
    table = TableModel.of(model)
    target, recipe = table.target, table.recipe
    for plan in recipe.used:
        source.column(plan.name)
    chunk, place = _found(source, row)
    made = recipe.apply(chunk)
    applied = made.frame.iloc[[place]]
    cells = chunk.iloc[[place]]
    nodes = table_nodes(model.fitted_)
    if not (made.shared[place] and known_rows(nodes, applied)[0]):
        raise DataError(
            f"Row {row} of {source.path} has no value that the model knows: there is no answer to explain."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenValueWarning)  # reported as ``ignored``
        (found,) = model.explain(applied, sources=recipe.sources, random_state=random_state)
    values = tuple(replace(value, value=_cell(cells[value.column].iloc[0])) for value in found.values)
    named = target.classes[model.classes_.tolist().index(found.answer)]
    given = target.codes_of(cells[target.name])[0] if target.name in cells else -1
    return ExplainedRow(
        row,
        target.name,
        target.classes[given] if given >= 0 else None,
        replace(found, answer=named, values=values),
        _ignored(nodes.encoder.transform(applied)[1], recipe, cells),
    )


def _found(source: TableSource, row: int) -> tuple[pd.DataFrame, int]:
    """The chunk that has this row, and its place there."""
    before = 0
    for chunk in source.chunks(ROWS):
        if row <= before + len(chunk):
            return chunk, row - before - 1
        before += len(chunk)
    raise ParameterError(
        f"There is no row {row:,} in {source.path}: it has {counted(before, 'row')} below the names of the "
        f"columns, and the first {verb(before, 'is', 'of them is')} 1."
    )


def _ignored(unseen: dict[str, int], recipe: ColumnRecipe, cells: pd.DataFrame) -> tuple[str, ...]:
    """Columns whose cell is filled in but says nothing."""
    met = {plan.name for plan in recipe.used if any(unseen[name] for name in plan.made)}
    unread = recipe.apply(cells).unread
    return tuple(plan.name for plan in recipe.used if plan.name in met or plan.name in unread)


def _cell(value: Any) -> Any:
    """As it stands in the file, in the types of JSON; None where it is missing."""
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return None
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str):
        return plain.strip()
    return plain if isinstance(plain, bool | int | float) else str(plain)
