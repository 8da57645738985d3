"""What is made of each column of a table: learned once, written down, applied to any other file alike.

==========  ==================================================  ============================================
kind        columns                                             become
==========  ==================================================  ============================================
category    text, booleans, whole numbers with few values       text; rare values together are one
number      other numbers, 1.234,5 and 1,234.5 too              numbers, which the graph puts into bins
date        dates, with or without a time                       year, month and weekday
left out    constant, empty, free text, identifiers, excluded   nothing, and ``reason`` says why
==========  ==================================================  ============================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.errors import ColumnError, ModelFileError
from pinvgcn.features.table_cells import as_text, cells_of, parse_dates, parse_numbers, whole_text
from pinvgcn.features.table_plans import (
    FIELDS,
    KINDS,
    PARTS,
    ColumnCounts,
    ColumnPlan,
    count_cells,
    plan_of,
    rare_below,
)

RARE = "(rare)"  # the value that all rare ones become
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
WORDS: dict[str, Callable[[int], str]] = {
    "year": str,
    "month": lambda month: MONTHS[month - 1],
    "weekday": lambda day: WEEKDAYS[day],
}


@dataclass(frozen=True)
class Applied:
    """A table as the graph takes it."""

    frame: pd.DataFrame  # text as pandas categories, numbers in double precision
    shared: np.ndarray  # (n,) whether a row has a number, a date, or a value that another row of training had
    unread: dict[str, int] = field(default_factory=dict)  # cells that are no number or date, by column


@dataclass(frozen=True)
class ColumnRecipe:
    """A plan for each column of a table, in order."""

    plans: tuple[ColumnPlan, ...]

    @classmethod
    def learn(
        cls,
        frame: pd.DataFrame | Sequence[pd.DataFrame],
        *,
        columns: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        separator: str | None = None,
        group: Group = ALONE,
    ) -> ColumnRecipe:
        """Decide for each column of ``frame`` by its values.

        ``columns`` are kept if they can be, near-unique or not; all others, and ``exclude``, are left out.
        ``separator`` is the file's: where numbers can be read either way, ";" speaks for decimal commas.
        A table may be in parts, one below the other, which the ranks of a ``group`` share out: a rank may
        have none.
        """
        parts = [frame] if isinstance(frame, pd.DataFrame) else list(frame)
        told = group.values([list(map(str, part.columns)) for part in parts[:1]])
        names: list[str] = next((own[0] for own in told if own), [])
        asked, rare = columns is not None, rare_below(group.sum(sum(len(part) for part in parts)))
        plans: list[ColumnPlan] = []
        unsure: dict[int, ColumnCounts] = {}
        for name in names:
            if name in exclude or (columns is not None and name not in columns):
                plans.append(ColumnPlan(name, "left out", "excluded" if name in exclude else "not chosen"))
                continue
            cells = count_cells([part[name] for part in parts], group=group)
            plan, ambiguous = plan_of(name, cells, rare, asked=asked)
            if ambiguous:
                unsure[len(plans)] = cells
            plans.append(plan)
        commas = sum(plan.decimal == "," for plan in plans)
        dots = sum(
            plan.decimal == "."
            and place not in unsure
            and bool(group.largest(int(any(_has_point(part[plan.name]) for part in parts))))
            for place, plan in enumerate(plans)
        )
        if commas > dots or (commas == dots == 0 and separator == ";"):
            for place, cells in unsure.items():
                plans[place], _ = plan_of(plans[place].name, cells, rare, asked=asked, decimal=",")
        recipe = cls(tuple(plans))
        if not recipe.used:
            told_why = "; ".join(f"{plan.name!r}: {plan.reason}" for plan in plans[:10])
            raise ColumnError(f"No column of the table can be used. {told_why or 'It has no other column'}.")
        return recipe

    @property
    def used(self) -> tuple[ColumnPlan, ...]:
        """The columns that are not left out."""
        return tuple(plan for plan in self.plans if plan.kind != "left out")

    @property
    def sources(self) -> dict[str, tuple[str, ...]]:
        """The columns that are not left out, each with the names of those made of it."""
        return {plan.name: plan.made for plan in self.used}

    @property
    def decimal(self) -> str:
        """The decimal sign of the table's numbers."""
        return "," if any(plan.decimal == "," for plan in self.plans) else "."

    def apply(self, frame: pd.DataFrame) -> Applied:
        """The columns that the plans make of these rows, in the same order for every file."""
        absent = [plan.name for plan in self.used if plan.name not in frame.columns]
        if absent:
            raise ColumnError(
                f"The table must have every column that the model was trained on. "
                f"Missing: {', '.join(map(repr, absent[:10]))}."
            )
        made: dict[str, Any] = {}
        unread: dict[str, int] = {}
        shared = np.zeros(len(frame), dtype=bool)
        for plan in self.used:
            codes, values = cells_of(frame[plan.name])
            new, known, common = _made(plan, values)
            shared |= np.append(common, False)[codes]
            lost = int((~known[codes[codes >= 0]]).sum())
            if lost:
                unread[plan.name] = lost
            made |= {name: _spread(column, codes) for name, column in new.items()}
        return Applied(pd.DataFrame(made, index=frame.index), shared, unread)

    def to_dict(self) -> dict[str, Any]:
        """In the types that JSON keeps."""
        return {"plans": [asdict(plan) for plan in self.plans]}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> ColumnRecipe:
        """The recipe that ``to_dict`` described."""
        known = {entry.name for entry in fields(ColumnPlan)}
        plain: list[dict[str, Any]] = [
            {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items() if k in known}
            for entry in state["plans"]
        ]
        plans = [ColumnPlan(**entry) for entry in plain]
        if not all(
            isinstance(plan.name, str)
            and plan.kind in KINDS
            and plan.decimal in ("", ".", ",")
            and set(plan.parts) <= set(PARTS)
            for plan in plans
        ):
            raise ModelFileError("the recipe of a table's columns has an unknown plan")
        return cls(tuple(plans))


def _made(plan: ColumnPlan, values: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """The new columns at the distinct values, text as objects; which values could be read; and which of these
    are not those of a single row of training."""
    if plan.kind == "date":
        new, known = _parts(plan, values)
        return new, known, known
    if plan.kind == "number" or plan.whole:
        x = _as_numbers(values, plan.decimal)
        known = np.isfinite(x)
        if not plan.whole:
            return {plan.name: x}, known, known
        texts = [whole_text(v) if ok else None for v, ok in zip(x, known, strict=True)]
    else:
        texts = [as_text(value) for value in values]
        known = np.array([text is not None for text in texts], dtype=bool)
    rare, alone = set(plan.rare), set(plan.alone)
    pooled = [RARE if text in rare else text for text in texts]
    common = known & np.array([text not in alone for text in texts], dtype=bool)
    return {plan.name: np.array(pooled, dtype=object)}, known, common


def _parts(plan: ColumnPlan, values: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
    if values.dtype.kind == "M":
        dates = pd.DatetimeIndex(values)
    else:
        dates = parse_dates(_texts(values), plan.form or "%Y-%m-%d")  # or learned from dates, met as text
    known = np.asarray(dates.notna())
    made: dict[str, np.ndarray] = {}
    for part in plan.parts:
        numbers_ = np.asarray(getattr(dates, FIELDS[part]), dtype=np.float64)
        if part == "year" and plan.years == "number":
            made[f"{plan.name} year"] = np.where(known, numbers_, np.nan)
            continue
        column = [WORDS[part](int(x)) if ok else None for x, ok in zip(numbers_, known, strict=True)]
        made[f"{plan.name} {part}"] = np.array(column, dtype=object)
    return made, known


def _spread(column: np.ndarray, codes: np.ndarray) -> Any:
    """Values of distinct cells at every row: numbers, or a pandas categorical."""
    if column.dtype.kind == "f":
        return np.append(column, np.nan)[codes]
    place, names = pd.factorize(column)
    return pd.Categorical.from_codes(np.append(place, -1)[codes], categories=pd.Index(names, dtype=object))


def _as_numbers(values: np.ndarray, decimal: str) -> np.ndarray:
    if values.dtype.kind == "f":
        return values
    if values.dtype.kind == "M":
        return np.full(len(values), np.nan)
    return parse_numbers(_texts(values), decimal or ".")


def _texts(values: np.ndarray) -> np.ndarray:
    return np.array([as_text(value) or "" for value in values], dtype=object)


def _has_point(series: pd.Series) -> bool:
    return series.dtype == "string" and bool(series.str.contains(".", regex=False).any())
