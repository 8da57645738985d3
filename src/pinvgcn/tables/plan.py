"""A table as it will be used: its target, the rows and columns that take part, and what it will cost.

Bytes and seconds follow from constants that were measured once, on Mushroom and on random tables of 2,000 to
60,000 rows. They are meant to be right within a factor of two; seconds depend on the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from pandas.api.types import union_categoricals

from pinvgcn.checks import UNLABELLED
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.errors import ColumnError, DataError, LabelError, ModelFileError
from pinvgcn.features import ColumnRecipe
from pinvgcn.features.table_cells import as_text, cells_of
from pinvgcn.features.table_plans import count_cells
from pinvgcn.fitting.conformal import as_words
from pinvgcn.fitting.settings import MEMBERS
from pinvgcn.graphs import TableEncoder
from pinvgcn.graphs.distinct import count_distinct, distinct_rows, row_hashes
from pinvgcn.io import TableSource
from pinvgcn.io.tables import parts_of
from pinvgcn.jobs import Cost, Progress, silent
from pinvgcn.jobs.progress import LIBRARIES, START
from pinvgcn.wording import counted, verb

MANY = 20  # different values; a target with more, most of them once, is a measurement
KINDS = ("text", "whole", "number", "truth")
BINNING = "quantile"  # of numbers: a few extreme values must not decide about the bins

CELL = 50.0  # bytes: its text, its place in a hyperedge, and what is made of that
BASIS = 8.0 * 3  # bytes for each distinct row and eigenvector
READ = 4e-7  # seconds for each cell: reading and placing it
PREPARED = 2.7e-4  # seconds for each distinct row: spectrum, first products and like rows
FIT = 2.8  # seconds of one core for all members, and ...
STEP = 5e-6  # ... for each node of an epoch, and each of its values and hidden columns, in all epochs,
SUMMED = 6e-5  # ... and for each distinct row once
HIDDEN = 32
ALL_NODES, SOME_NODES = 32_768, 4_096  # how many nodes an epoch visits: see nodes_per_epoch
CHUNK = 20_000  # rows that a prediction holds at a time
PREDICTION, PREDICTED_CELL = 1.0, 3e-6  # seconds, and for each cell: reading, placing, predicting, writing
FOREST = 0.4  # seconds, and ...
FOREST_ROW, FOREST_LABEL = 2e-5, 2e-4  # ... for each row, and for each labelled one


@dataclass(frozen=True)
class Target:
    """A column's name, and its classes as text in the order of their codes."""

    name: str
    classes: tuple[str, ...]
    kind: str = "text"  # what the column held: text, or in Parquet whole numbers, numbers or truth values

    @classmethod
    def of_parts(
        cls, name: str, parts: Sequence[pd.Series], *, group: Group = ALONE
    ) -> tuple[Target, list[np.ndarray]]:
        """The target of a table in parts, which processes may share, and the code of each row of each part
        here, -1 where its cell is empty."""
        cells = count_cells(parts, group=group)
        texts = [as_text(value) for value in cells.values]
        if any(text is None for text in texts):
            raise LabelError(f"The target column {name!r} must hold classes. Got lists or bytes instead.")
        present, missing = int(cells.counts.sum()), cells.missing
        names = sorted({text for text in texts if text is not None}, key=_in_order)
        if len(names) == 0:
            raise LabelError(
                f"The target column {name!r} must hold the classes of some rows. "
                f"Got {counted(missing, 'empty cell')}."
            )
        if len(names) == 1:
            raise LabelError(
                f"The target column {name!r} must hold at least two classes. Got only {names[0]!r}, "
                f"in {counted(present, 'row')}."
            )
        if len(names) > max(MANY, present // 2):
            raise LabelError(
                f"The target column {name!r} must hold classes that repeat. Got {len(names):,} different "
                f"values in {present:,} rows; put numbers into a few groups first."
            )
        target = cls(name, tuple(names), _joint_kind(parts, group))
        return target, [target.codes_of(part) for part in parts]

    def codes_of(self, series: pd.Series) -> np.ndarray:
        """The code of each row (n,), -1 where its cell is empty or holds none of the classes."""
        codes, values = cells_of(series)
        number = {name: code for code, name in enumerate(self.classes)}
        place = [number.get(as_text(value) or "", UNLABELLED) for value in values]
        return np.array([*place, UNLABELLED])[codes]

    def column(self, codes: np.ndarray) -> Any:
        """Classes (n,) in the type that the column has, missing where the code is -1."""
        texts = pd.array([self.classes[c] if c >= 0 else None for c in codes], dtype="string")
        if self.kind == "whole":
            return pd.array([None if pd.isna(t) else int(t) for t in texts], dtype="Int64")
        if self.kind == "number":
            return pd.array([None if pd.isna(t) else float(t) for t in texts], dtype="Float64")
        if self.kind == "truth":
            return pd.array([None if pd.isna(t) else t == "True" for t in texts], dtype="boolean")
        return texts

    def new_columns(self, *, probabilities: bool, sets: bool) -> list[str]:
        """The names of the columns that are added to a table."""
        each = [f"probability_{name}" for name in self.classes] if probabilities else []
        return [f"predicted_{self.name}", "probability", *each, *([f"set_{self.name}"] if sets else [])]

    def answers(
        self, codes: np.ndarray, proba: np.ndarray, sets: np.ndarray | None, *, probabilities: bool
    ) -> pd.DataFrame:
        """These columns, for rows with predicted codes (n,), probabilities (n, m) and, if asked for, sets
        (n, m): all missing where the code is -1."""
        columns = [self.column(codes), proba.max(axis=1), *(proba.T if probabilities else [])]
        if sets is not None:
            words = as_words(sets, self.classes)
            words[codes < 0] = None
            columns.append(pd.array(words, dtype="string"))
        names = self.new_columns(probabilities=probabilities, sets=sets is not None)
        return pd.DataFrame(dict(zip(names, columns, strict=True)))

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "classes": list(self.classes), "kind": self.kind}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Target:
        try:
            target = cls(str(state["name"]), tuple(map(str, state["classes"])), state["kind"])
        except (KeyError, TypeError) as error:
            raise ModelFileError(f"The target of a saved model is damaged: {error!r}.") from None
        if target.kind not in KINDS:
            raise ModelFileError(f"The target of a saved model is damaged: its kind is {target.kind!r}.")
        return target


def _joint_kind(parts: Sequence[pd.Series], group: Group) -> str:
    """The kind that all parts share; numbers where some parts are whole numbers; else text."""
    own = {_kind(part) for part in parts if part.notna().any()}
    kinds = {kind for told in group.values(sorted(own)) for kind in told}
    if len(kinds) == 1:
        return kinds.pop()
    return "number" if kinds == {"whole", "number"} else "text"


def _kind(series: pd.Series) -> str:
    """Of a column of the file; text stays text, which keeps the notation of the file."""
    if pd.api.types.is_bool_dtype(series.dtype):
        return "truth"
    if pd.api.types.is_integer_dtype(series.dtype):
        return "whole"
    return "number" if pd.api.types.is_float_dtype(series.dtype) else "text"


def _in_order(text: str) -> tuple[int, float, str]:
    """The sort key of a class: numbers by their size, before text."""
    try:
        number = float(text)
    except ValueError:
        return 1, 0.0, text
    return (0, number, text) if number == number else (1, 0.0, text)


@dataclass(frozen=True, eq=False)
class TablePlan:
    """What a fit starts from. Rows without any value that another row shares take no part."""

    source: TableSource
    target: Target
    recipe: ColumnRecipe
    codes: np.ndarray  # (n,) class of each row of this process, or -1
    known: np.ndarray  # (n,) whether the row takes part
    frame: pd.DataFrame  # the columns of the recipe, of the rows that take part
    distinct: int  # rows that differ, of those of all processes
    hyperedges: int
    rows: int  # of all processes
    class_counts: np.ndarray  # (m,) labelled rows of each class
    without: int  # rows that take no part
    lengths: tuple[int, ...]  # rows of each part of this process

    @property
    def group(self) -> Group:
        return self.source.group

    @property
    def labelled(self) -> int:
        return int(self.class_counts.sum())

    def as_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "target": self.target.name,
            "classes": list(self.target.classes),
            "labelled": self.labelled,
            "unlabelled": self.rows - self.labelled,
            "labelled_per_class": self.class_counts.tolist(),
        }

    def notes(self) -> list[str]:
        """What the user should know about the table."""
        notes = list(self.source.notes)
        notes += [f"{plan.name!r}: {plan.note}" for plan in self.recipe.used if plan.note]
        if self.without:
            share, them = verb(self.without, "shares", "share"), verb(self.without, "it", "them")
            notes.append(
                f"{self.without:,} of {counted(self.rows, 'row')} {share} no value with another: "
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
    progress: Progress = silent,
) -> TablePlan:
    """Read the whole table and decide; where processes share its parts, the plan is that of all parts."""
    group = source.group
    source.column(target)
    for name in (*(columns or ()), *exclude):
        source.column(name)
    if columns is not None and target in columns:
        raise ColumnError(f"The target {target!r} must not be one of the columns to predict it from.")
    wanted = [name for name in source.columns if columns is None or name in columns or name == target]
    tables = []
    for part in parts_of(source):
        chunks, read = [], 0
        for chunk in part.chunks():
            chunks.append(chunk[wanted])
            read += len(chunk)
            progress(f"Reading {part.path.name}", read, round(read / part.share) if part.share else 0)
        tables.append(pd.concat(chunks) if len(chunks) > 1 else chunks[0])
    goal, each = Target.of_parts(target, [table[target] for table in tables], group=group)
    codes = np.concatenate([np.empty(0, dtype=np.int64), *each])
    others = [table.drop(columns=target) for table in tables]
    recipe = ColumnRecipe.learn(
        others, columns=columns, exclude=exclude, separator=source.separator, group=group
    )
    applied = [recipe.apply(table) for table in others]
    frame = joined([one.frame for one in applied]) if applied else _no_rows(recipe)
    shared = np.concatenate([np.empty(0, dtype=bool), *(one.shared for one in applied)])
    known, distinct, hyperedges = _known_rows(frame, shared, group)
    here = group.sum(np.bincount(codes[known & (codes != UNLABELLED)], minlength=len(goal.classes)))
    if not here.all():
        gone = goal.classes[int(np.flatnonzero(here == 0)[0])]
        raise LabelError(
            f"Every class needs a labelled row with values that other rows share. Got none for {gone!r}; "
            "use more columns."
        )
    counts = group.sum(np.bincount(codes[codes != UNLABELLED], minlength=len(goal.classes)))
    return TablePlan(
        source,
        goal,
        recipe,
        codes,
        known,
        frame[known],
        distinct,
        hyperedges,
        group.sum(len(codes)),
        counts,
        group.sum(int((~known).sum())),
        tuple(len(one) for one in each),
    )


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Frames of one recipe, one below the other; pandas would turn unlike categories into objects."""
    if len(frames) == 1:
        return frames[0]
    columns: dict[str, Any] = {}
    for name in frames[0]:
        parts = [frame[name] for frame in frames]
        categories = isinstance(parts[0].dtype, pd.CategoricalDtype)
        columns[str(name)] = (
            union_categoricals([part.array for part in parts])
            if categories
            else np.concatenate([part.to_numpy() for part in parts])
        )
    return pd.DataFrame(columns)


def _no_rows(recipe: ColumnRecipe) -> pd.DataFrame:
    """What the recipe makes of a table without rows, in a process that has no part."""
    return recipe.apply(pd.DataFrame({plan.name: pd.Series(dtype=object) for plan in recipe.used})).frame


def _known_rows(frame: pd.DataFrame, shared: np.ndarray, group: Group) -> tuple[np.ndarray, int, int]:
    """Which rows share a value with another, how many of them differ, and how many values are shared.

    Rare values count as one, but to have such values alone is nothing that rows have in common: ``shared``
    tells. Removing a row may change the bins of the others, so this is repeated until no row is removed.
    """
    known = shared.copy()
    while group.largest(int(known.any())):
        H = TableEncoder(binning=BINNING).fit_transform(frame[known], group)
        joins = np.asarray(H.sum(axis=1)).ravel() > 0
        if group.smallest(int(joins.all())):
            first = distinct_rows(H).first
            return known, count_distinct(row_hashes(H[first]), group), H.shape[1]
        known[np.flatnonzero(known)[~joins]] = False
    raise DataError("No two rows of the table share a value: nothing can be learned. Use more columns.")


def cost_of(plan: TablePlan, folds: int) -> Cost:
    """Of ``classify_table`` on this plan, and of so many ``folds`` of held-out labels."""
    columns = len(plan.frame.columns)
    cells = plan.rows * max(columns, len(plan.source.columns))
    memory = LIBRARIES + CELL * cells + BASIS * plan.distinct * plan.hyperedges
    nodes = plan.distinct if plan.distinct <= ALL_NODES else SOME_NODES
    fit = FIT + STEP * nodes * (columns + HIDDEN) + SUMMED * plan.distinct
    side_by_side = min(torch.get_num_threads(), MEMBERS)
    simple = folds * (FOREST + FOREST_ROW * plan.rows + FOREST_LABEL * plan.labelled)
    seconds = READ * cells + PREPARED * plan.distinct + (folds + 1) * fit / side_by_side + simple
    return Cost(memory, START + seconds)


def cost_of_prediction(source: TableSource, columns: int) -> Cost:
    """Of ``predict_table`` from so many columns of this file."""
    width = len(source.columns)
    rows = source.count or _about_rows(source)
    memory = LIBRARIES + 3 * CELL * min(rows, CHUNK) * width
    return Cost(memory, START + PREDICTION + PREDICTED_CELL * rows * max(columns, width))


def _about_rows(source: TableSource) -> float:
    """How many rows a text file has, by the part of it that its first ones take."""
    first = next(iter(source.chunks(CHUNK)))
    whole = len(first) < CHUNK
    return len(first) / (1.0 if whole or not source.share else source.share)
