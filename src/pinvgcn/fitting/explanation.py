"""Which columns a model of a table uses, and how much each value of a row moved its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control
from scipy.stats import t as student

from pinvgcn.checks import check_count
from pinvgcn.errors import ColumnError, DataError, ParameterError
from pinvgcn.fitting.fitted_model import FittedModel
from pinvgcn.fitting.mixed_rows import (
    ROUNDING,
    Sources,
    known_rows,
    pieces,
    probabilities_at,
    sources_of,
    table_nodes,
)
from pinvgcn.fitting.plain_rows import PlainRows
from pinvgcn.fitting.shapley import game_of
from pinvgcn.graphs.cells import as_frame

ROWS = 20_000  # that are asked together, about
PAIRS = 4  # of orders at least, for a standard error; wide tables are compared with fewer rows instead
FEWEST = 10  # rows to compare with
TINY = 1e-300  # probabilities have a logarithm


@dataclass(frozen=True)
class MovedValue:
    """One value of a row."""

    column: str
    value: Any  # None where the cell is missing
    moved: float  # the log-odds of the answer, by so much
    error: float  # its standard error; 0 where all ways to fill in the row were tried

    @property
    def words(self) -> str:
        """``odor = foul``, or ``odor is missing``."""
        return f"{self.column} is missing" if self.value is None else f"{self.column} = {self.value}"


@dataclass(frozen=True)
class RowExplanation:
    """Why a row got its class: base + Σ moved = log_odds.

    Log-odds are log p/(1 − p) of the class that was answered. ``base`` is their mean over other rows of the
    table; from there each value of this row moved them by its Shapley value.
    """

    answer: Any  # the class
    probability: float
    log_odds: float
    base: float
    compared: int  # rows that the base is the mean of
    values: tuple[MovedValue, ...]  # in the order of the columns

    @property
    def exact(self) -> bool:
        """Whether all ways to fill in the row were tried, or some were drawn."""
        return all(value.error == 0 for value in self.values)

    @property
    def ranked(self) -> tuple[MovedValue, ...]:
        """The values, that which moved the answer most first."""
        return tuple(sorted(self.values, key=lambda value: -abs(value.moved)))

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON; the value that moved the answer most first."""
        return {
            "answer": self.answer,
            "probability": self.probability,
            "log_odds": self.log_odds,
            "base": self.base,
            "compared_with_rows": self.compared,
            "exact": self.exact,
            "values": [vars(value) for value in self.ranked],
        }


def explain_rows(
    fitted: FittedModel,
    X: Any,
    *,
    classes: Sequence[Any] | np.ndarray | None = None,
    background: Any = None,
    sources: Sources | None = None,
    random_state: int = 0,
) -> list[RowExplanation]:
    """How much each value of each row of X moved the answer there.

    The answer is compared with that at the rows of a ``background``. Its cells are replaced by those of the
    row, one after the other, until the row is complete; a value is credited with what changes when it comes,
    in the mean over all orders: its Shapley value. With few columns this is exact. With more, orders are
    drawn in pairs, one the reverse of the other, and the standard error is given; the sum is exact always.

    Parameters
    ----------
    X : DataFrame, one row of it (a Series), or array
        Rows with the columns of ``fit``. About 20,000 rows are asked to explain one.
    classes : sequence, optional
        What the classes are called.
    background : DataFrame or array, optional
        Rows to compare with; by default up to 50 rows of training, which the model keeps.
    sources : dict, optional
        Columns of X that count as one, as those made of one date: the name of their source, and their names.
    """
    nodes = table_nodes(fitted)
    parts = sources_of(nodes, sources)
    named = np.asarray(fitted.classes if classes is None else classes, dtype=object)
    names = list(nodes.encoder.columns)
    frame = _frame(X, names)
    if background is not None:
        compared = PlainRows.of(_frame(background, names), names)
    elif nodes.background is None:
        raise ParameterError(
            "The model has kept no rows to compare with. Pass some of training as background=, or fit again."
        )
    else:
        compared = nodes.background
    known = known_rows(nodes, frame)
    if not known.all():
        raise DataError(
            f"Row {int(np.flatnonzero(~known)[0])} of X has no value that training knew: there is no answer "
            "to explain."
        )
    fitted.place(frame)  # warns of values that were ignored
    rows = PlainRows.of(frame, names)
    most = max(FEWEST, ROWS // (2 * PAIRS * len(parts)))
    if background is None and len(compared) > most:
        compared = compared.take(np.arange(most) * len(compared) // most)
    return [
        _explained(fitted, rows.take(np.array([i])), compared, parts, named, random_state)
        for i in range(len(rows))
    ]


def _explained(
    fitted: FittedModel,
    row: PlainRows,
    background: PlainRows,
    parts: dict[str, tuple[str, ...]],
    classes: np.ndarray,
    seed: int,
) -> RowExplanation:
    names = list(parts.values())
    count, width = len(background), len(names)
    rows = background.followed_by(row)  # the last is the row
    cells = np.column_stack([rows.cells(part) for part in names])
    differ = cells[:-1] != cells[-1]  # (count, parts): the other cells have nothing to change
    P = probabilities_at(fitted, rows.mixed(names, np.full((1, width), count)))[0]
    code = int(P.argmax())
    pairs = max(2, ROWS // max(2 * int(differ.sum()), 1))
    games, sources = [], []
    for b in range(count):
        players = np.flatnonzero(differ[b])
        # each game draws anew, whatever the others have drawn
        game = game_of(len(players), pairs, np.random.default_rng([seed, b]))
        source = np.full((len(game.sets), width), b)
        source[:, players] = np.where(game.sets, count, b)
        games.append((game, players))
        sources.append(source)
    asked = np.concatenate(sources)
    v = np.empty(len(asked))
    for piece in pieces(len(asked), sum(map(len, names))):
        v[piece] = _log_odds(probabilities_at(fitted, rows.mixed(names, asked[piece])), code)
    moved, squared, base = np.zeros(width), np.zeros(width), 0.0
    ends = np.cumsum([len(source) for source in sources])
    for (game, players), own in zip(games, np.split(v, ends[:-1]), strict=True):
        shares, errors = game.shares(own)
        moved[players] += shares / count
        squared[players] += errors / count**2
        base += own[0] / count  # of no cell of the row: the other row itself
    moved[np.abs(moved) < ROUNDING] = 0.0
    values = tuple(
        MovedValue(source, _value(row, part), float(shift), float(np.sqrt(square)))
        for source, part, shift, square in zip(parts, names, moved, squared, strict=True)
    )
    odds = float(_log_odds(P[None], code)[0])
    return RowExplanation(classes.tolist()[code], float(P[code]), odds, base, count, values)


def _log_odds(P: np.ndarray, code: int) -> np.ndarray:
    """log p/(1 − p) of one class (m,), with 1 − p as the sum of the others."""
    others = np.delete(P, code, axis=1).sum(axis=1)
    odds: np.ndarray = np.log(np.maximum(P[:, code], TINY)) - np.log(np.maximum(others, TINY))
    return odds


def _value(row: PlainRows, part: tuple[str, ...]) -> Any:
    """What stands in the cell; of several cells in all of them."""
    cells = [None if own.codes[0] < 0 else own.values[own.codes[0]] for own in (row.columns[n] for n in part)]
    if len(cells) == 1 or all(cell is None for cell in cells):
        return cells[0]
    return ", ".join("missing" if cell is None else str(cell) for cell in cells)


def _frame(X: Any, names: list[str]) -> pd.DataFrame:
    """Rows with the columns of training, in order."""
    frame, named = as_frame(X.to_frame().T.infer_objects() if isinstance(X, pd.Series) else X)
    if not named and frame.shape[1] == len(names):
        frame.columns = pd.Index(names)
    absent = [name for name in names if name not in frame.columns]
    if absent:
        raise ColumnError(
            f"The table must have every column of the training rows. Missing: {absent[0]!r}"
            f"{f' and {len(absent) - 1} more' if len(absent) > 1 else ''}."
        )
    return frame[names]


MOST_LABELS = 500
FEW_LABELS = 50  # that wide tables get along with
FEWEST_ORDERS = 2  # permutations: labels differ more than these do
WRONG = 0.05  # of the columns that are said to have an effect, the expected share of those without one


@dataclass(frozen=True)
class ColumnImportance:
    """What a model loses at held-out labels when the cells of one column are permuted among them."""

    column: str
    log_likelihood: float  # lost by a label, in the mean over labels and permutations
    error: float  # its standard error, by how labels differ, which is that of other labels as well
    spread: float  # its standard deviation over permutations
    accuracy: float  # the share of labels lost, in the mean over permutations
    accuracy_spread: float  # its standard deviation over permutations
    clear: bool  # whether the loss of log-likelihood can be told from none


@dataclass(frozen=True)
class TableImportance:
    """The columns of a table, that with the largest loss of log-likelihood first."""

    labels: int  # that were asked
    permutations: int
    columns: tuple[ColumnImportance, ...]

    @property
    def clear(self) -> tuple[ColumnImportance, ...]:
        """The columns whose effect can be told from none."""
        return tuple(column for column in self.columns if column.clear)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        columns = [asdict(column) for column in self.columns]
        return {"labels": self.labels, "permutations": self.permutations, "columns": columns}


def expert_shares(fitted: FittedModel) -> dict[str, float]:
    """The weight of each expert as a share of the sum, the largest first."""
    weights = fitted.ensemble.weights
    total = sum(weights.values())
    shares = {name: weight / total if total > 0 else 1 / len(weights) for name, weight in weights.items()}
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def column_importance(
    fitted: FittedModel,
    X: Any,
    *,
    sources: Sources | None = None,
    permutations: int = 10,
    random_state: int = 0,
) -> TableImportance:
    """What each column of the table is worth to the model.

    Every held-out label is asked of the member that has not seen it, as it stands and with the cell of one
    column from another label's row. All that was made of the column moves with it. Whether a loss can be told
    from none is decided by Student's t over labels, such that of the columns with an effect 5 % are expected
    to have none (Benjamini and Hochberg; docs/maths.md, 9.9).

    Parameters
    ----------
    X : DataFrame or array
        The rows that the model was fitted to; with several processes those of this one, on all of them.
    sources : dict, optional
        Columns of X that are permuted together, as those made of one date: the name of their source, and
        their names. By default each column is its own.
    permutations : int
        Of each column. Many columns or labels get fewer, two at least; wide tables also fewer labels.
    """
    check_count("permutations", permutations)
    nodes = table_nodes(fitted)
    parts = sources_of(nodes, sources)
    held = fitted.conformal
    if held is None or held.rows is None:
        told = "labels of which none was held out" if held is None else "a model from a file"
        raise ParameterError(
            "The importance of columns needs labels that some member has not seen, and their rows: ask the "
            f"model that was just fitted with members=5. Got {told}."
        )
    rng = np.random.default_rng(random_state)
    some = len(held.rows)
    most = max(FEW_LABELS, min(MOST_LABELS, ROWS // (FEWEST_ORDERS * len(parts))))
    chosen = np.arange(some) if some <= most else rng.permutation(some)[:most]
    chosen = chosen[np.argsort(held.rows[chosen], kind="stable")]
    rows = PlainRows.of_all(X, held.rows[chosen], fitted.group)
    if len(rows) != len(chosen):
        raise DataError(
            f"X must be the rows that the model was fitted to. Got no row {int(held.rows[chosen][-1])}."
        )
    codes, members, n = held.codes[chosen], held.members[chosen], len(chosen)
    count = min(permutations, max(FEWEST_ORDERS, ROWS // (n * len(parts))))
    orders = np.stack([rng.permutation(n) for _ in range(count)])  # (r, n)
    names = list(parts.values())

    def asked(label: np.ndarray, part: np.ndarray, donor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log p of the true class, and whether it is the answer, for labels (m,) with one part of a donor."""
        logs, right = np.empty(len(label)), np.empty(len(label))
        for piece in pieces(len(label), len(nodes.encoder.columns)):
            i, at = label[piece], np.arange(len(label[piece]))
            source = np.repeat(i[:, None], len(names), axis=1)
            source[at, part[piece]] = donor[piece]
            P = probabilities_at(fitted, rows.mixed(names, source), members=True)[at, members[i]]
            logs[piece] = np.log(np.maximum(P[at, codes[i]], TINY))
            right[piece] = P.argmax(axis=1) == codes[i]
        return logs, right

    own = np.arange(n)
    base_logs, base_right = asked(own, np.zeros(n, dtype=np.int64), own)
    # a column with few values has few pairs of a row and another value: each is asked once
    pairs = [_pairs(rows.cells(part), orders) for part in names]
    label, donor = (np.concatenate([pair[k] for pair in pairs]) for k in (0, 1))
    part = np.repeat(np.arange(len(names)), [len(pair[0]) for pair in pairs])
    logs, right = asked(label, part, donor)
    lost_logs, lost_right = base_logs[label] - logs, base_right[label] - right
    lost_logs[np.abs(lost_logs) < ROUNDING] = 0.0
    ends = np.cumsum([len(pair[0]) for pair in pairs])
    found = []
    for name, (own_label, _, place), end in zip(parts, pairs, ends, strict=True):
        here = slice(end - len(own_label), end)
        losses = np.append(lost_logs[here], 0.0)[place]  # (r, n)
        shares = np.append(lost_right[here], 0.0)[place].mean(axis=1)
        found.append((name, losses, shares))
    return TableImportance(n, count, _judged(found, fitted.ensemble.members))


def _pairs(cells: np.ndarray, orders: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The labels (m,) and donors (m,) of permutations (r, n) that change a cell, each pair of a label and a
    value once; and for each of (r, n) its place among them, −1 where nothing changes."""
    n = len(cells)
    first = np.unique(cells, return_index=True)[1]  # a row with each value
    keys = np.where(cells[orders] == cells, -1, np.arange(n) * len(first) + cells[orders])
    used, place = np.unique(keys, return_inverse=True)
    place = place.reshape(keys.shape)
    if len(used) and used[0] == -1:
        used, place = used[1:], place - 1
    return used // len(first), first[used % len(first)], place


def _judged(found: list[tuple[str, np.ndarray, np.ndarray]], members: int) -> tuple[ColumnImportance, ...]:
    """The columns in order, from losses of log-likelihood (r, n) and of accuracy (r,).

    A label that is held out of one member has taught the others, so that labels err together: Nadeau and
    Bengio's correction of the variance, for ``members`` folds.
    """
    chances, columns = [], []
    dependent = np.sqrt(1 + members / max(members - 1, 1))
    for name, losses, shares in found:
        r, n = losses.shape
        mean, each = float(losses.mean()), losses.mean(axis=0)
        error = float(dependent * each.std(ddof=1) / np.sqrt(n)) if n > 1 else np.inf
        chances.append(float(student.sf(mean / error, n - 1)) if n > 1 and error > 0 else 1.0 - (mean > 0))
        ddof = 1 if r > 1 else 0
        columns.append(
            ColumnImportance(
                name, mean, error if n > 1 else 0.0, float(losses.mean(axis=1).std(ddof=ddof)),
                float(shares.mean()), float(shares.std(ddof=ddof)), False,
            )
        )  # fmt: skip
    clear = false_discovery_control(chances) <= WRONG if found[0][1].shape[1] > 1 else np.zeros(len(found))
    judged = [
        ColumnImportance(**{**asdict(column), "clear": bool(some)})
        for column, some in zip(columns, clear, strict=True)
    ]
    return tuple(sorted(judged, key=lambda column: -column.log_likelihood))
