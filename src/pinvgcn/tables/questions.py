"""The rows of a table whose label would help most.

Rows that are equal in all that the model sees are one question. Their doubt Σ (1 − confidence) over those
without a label is how many of them are expected to be wrong. The largest is taken, and the doubt of all
others shrinks by how like the taken one they are: to nothing for its equals, and not at all where rows share
no more values with it than rows do on average.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from pinvgcn.checks import UNLABELLED
from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.errors import TableFileError
from pinvgcn.graphs import Hypergraph
from pinvgcn.graphs.distinct import row_hashes
from pinvgcn.io import TableSource
from pinvgcn.io.atomic import check_output
from pinvgcn.io.tables import parts_of
from pinvgcn.jobs.files import COUNT, expected_wrong, write_question_file
from pinvgcn.tables.classify import Classified
from pinvgcn.wording import counted

COLUMNS = (
    "number", "file", "row", "label", "predicted", "confidence", "runner_up", "runner_up_probability", "rows",
    "why",
)  # fmt: skip


@dataclass(frozen=True)
class RowQuestion:
    """What is this row?"""

    number: int  # from 1 on
    file: str
    row: int  # in its file, from 1 on, without the line of names
    predicted: str
    confidence: float
    runner_up: str
    runner_up_probability: float
    rows: int  # without a label that are equal to it, itself among them
    wrong: float  # of these, expected to be
    cells: dict[str, str]  # as they stand in the file, but for the target

    @property
    def why(self) -> str:
        wrong, rows = expected_wrong(self.wrong), counted(self.rows, "row")
        return f"{wrong} of {rows} with its values expected to be wrong"

    def as_list(self) -> list[Any]:
        """A line of the file; ``label`` is empty, for the answer."""
        return [*(getattr(self, name, None) for name in COLUMNS), *self.cells.values()]


def row_questions(result: Classified, *, count: int = COUNT) -> list[RowQuestion]:
    """The questions, best first; fewer than ``count`` where no others are in doubt. Every process has all."""
    started = time.perf_counter()
    plan, group, graph = result.plan, result.plan.group, result.model.graph_
    assert isinstance(graph, Hypergraph)
    number = np.flatnonzero(plan.known)  # of the rows of the graph, in the table
    free = np.flatnonzero(plan.codes[number] == UNLABELLED)
    same = graph.distinct.inverse[free]
    own = np.bincount(same, minlength=len(graph.distinct.first))
    first = np.full(len(own), -1)
    first[same[::-1]] = free[::-1]  # of several rows for one place the first stays
    first, own = first[own > 0], own[own > 0]
    H = sp.csr_array(graph.incidence)[first]
    rows, here = _of_all(row_hashes(H), own, group)
    P = result.proba[number[first]]
    doubt = rows * (1 - P.max(axis=1, initial=0.0)) * here
    chosen = spread_over_rows(doubt, H, rows * here, count, group)
    mine = {place: at for place, (rank, at) in enumerate(chosen) if rank == group.rank}
    order = np.argsort(-P, axis=1, kind="stable")
    with together(group):
        cells = _cells(
            plan.source, plan.target.name, plan.lengths, [int(number[first[at]]) for at in mine.values()]
        )
    found = []
    for (place, at), (file, row, values) in zip(mine.items(), cells, strict=True):
        best, second = order[at, :2]
        found.append(
            {
                "number": place + 1,
                "file": file,
                "row": row,
                "predicted": plan.target.classes[best],
                "confidence": round(float(P[at, best]), 4),
                "runner_up": plan.target.classes[second],
                "runner_up_probability": round(float(P[at, second]), 4),
                "rows": int(rows[at]),
                "wrong": float(doubt[at]),
                "cells": values,
            }
        )
    everywhere = [RowQuestion(**one) for part in group.values(found) for one in part]
    result.seconds["questions"] = time.perf_counter() - started
    return sorted(everywhere, key=lambda question: question.number)


def spread_over_rows(
    doubt: np.ndarray, H: sp.csr_array, rows: np.ndarray, count: int, group: Group = ALONE
) -> list[tuple[int, int]]:
    """Process rank and place of the largest doubts (m,), one after the other, with shrinking as above.

    H (m, |E|) are the values of the rows, and ``rows`` (m,) how many are equal to each.
    """
    left, total = doubt.copy(), group.sum(float(rows.sum()))
    shared, size = sp.csr_array((np.ones(H.nnz), H.indices, H.indptr), shape=H.shape), np.diff(H.indptr)
    chosen: list[tuple[int, int]] = []
    while len(chosen) < count:
        at = int(left.argmax()) if len(left) else -1
        told = group.values(float(left[at]) if at >= 0 else 0.0)
        if max(told) <= 0:
            break
        rank = told.index(max(told))
        mine = rank == group.rank
        told = group.values([at, H[[at]].indices.tolist()] if mine else None)
        place, has = told[rank]
        chosen.append((rank, place))
        values = np.zeros(H.shape[1])
        values[has] = 1
        like = shared @ values / np.maximum(size, len(has))
        usual = group.sum(float((rows * like).sum())) / total
        left *= 1 - np.clip((like - usual) / max(1 - usual, np.finfo(float).eps), 0, 1)
        if mine:
            left[at] = 0
    return chosen


def _of_all(hashes: np.ndarray, own: np.ndarray, group: Group) -> tuple[np.ndarray, np.ndarray]:
    """How many rows of all processes equal each of these (m,), and whether no earlier process has it."""
    start, _ = group.offset(len(hashes))
    found, first, place = np.unique(group.rows(hashes), return_index=True, return_inverse=True)
    total = np.bincount(place, group.rows(own), minlength=len(found))
    mine = place[start : start + len(hashes)]
    return total[mine], first[mine] == start + np.arange(len(hashes))


def _cells(
    source: TableSource, target: str, lengths: Sequence[int], rows: Sequence[int]
) -> list[tuple[str, int, dict[str, str]]]:
    """File, row in it and cells of some rows of this process."""
    ends = np.cumsum(lengths)
    places = [int(np.searchsorted(ends, row, side="right")) for row in rows]
    found: dict[int, tuple[str, int, dict[str, str]]] = {}
    for place, part in enumerate(parts_of(source)):
        begin = int(ends[place]) - lengths[place]
        wanted = sorted(row - begin for row, at in zip(rows, places, strict=True) if at == place)
        start = 0
        for chunk in part.chunks() if wanted else ():
            while wanted and wanted[0] < start + len(chunk):
                row = wanted.pop(0)
                cells = chunk.iloc[row - start]
                texts = {name: _as_text(cells[name]) for name in part.columns if name != target}
                found[begin + row] = part.path.name, row + 1, texts
            start += len(chunk)
            if not wanted:
                break
    return [found[row] for row in rows]


def _as_text(cell: Any) -> str:
    return "" if pd.api.types.is_scalar(cell) and pd.isna(cell) else str(cell)


def write_questions(
    found: Sequence[RowQuestion], result: Classified, path: Path, *, force: bool = False
) -> None:
    """As CSV: the question, and the row's own cells, so that it can be answered.

    Cells are separated and decimals written as in the table, so that one program opens both.
    """
    group, target = result.plan.group, result.plan.target.name
    with together(group):
        if group.rank == 0:
            path = check_output(path, force=force)
            names = [name for name in result.plan.source.columns if name != target]
            own = [f"{name} (table)" if name in COLUMNS else name for name in names]
            lines = [question.as_list() for question in found]
            separator = result.plan.source.separator
            tabs_in_csv = separator == "\t" and path.suffix == ".csv"
            write_question_file(
                path,
                [*COLUMNS, *own],
                lines,
                error=TableFileError,
                separator="," if separator is None or tabs_in_csv else separator,
                decimal=result.plan.recipe.decimal,
            )
