"""How much each value of a row of a table moved the answer of a model: Shapley values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.errors import ColumnError, DataError, ParameterError
from pinvgcn.fitting.fitted_model import FittedModel
from pinvgcn.fitting.mixed_rows import (
    ROUNDING,
    ROWS,
    TINY,
    Sources,
    known_rows,
    pieces,
    probabilities_at,
    sources_of,
    table_nodes,
)
from pinvgcn.fitting.table_nodes import PlainRows
from pinvgcn.graphs.cells import as_frame

PAIRS = 4  # of orders at least, for a standard error; wide tables are compared with fewer rows instead
FEWEST = 10  # rows to compare with


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
    Arguments are those of ``PinvGCNClassifier.explain``, and what the ``classes`` are called.
    """
    nodes = table_nodes(fitted)
    parts = sources_of(nodes, sources)
    named = np.asarray(fitted.classes if classes is None else classes, dtype=object)
    names = list(nodes.encoder.columns)
    frame = _frame(X, names)
    compared = nodes.background
    if background is not None:
        compared = PlainRows.of(_frame(background, names), names)
    if compared is None:
        raise ParameterError(
            "The model has kept no rows to compare with. Pass some of training as background=, or fit again."
        )
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
    each = [rows.take(np.array([i])) for i in range(len(rows))]
    return [_explained(fitted, row, compared, parts, named, random_state) for row in each]


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
    # each game draws anew, whatever the others have drawn
    everyone = [np.flatnonzero(own) for own in differ]
    games = [game_of(len(p), pairs, np.random.default_rng([seed, b])) for b, p in enumerate(everyone)]
    sources = [np.full((len(game.sets), width), b) for b, game in enumerate(games)]
    for b, (game, players) in enumerate(zip(games, everyone, strict=True)):
        sources[b][:, players] = np.where(game.sets, count, b)
    asked = np.concatenate(sources)
    v = np.empty(len(asked))
    for piece in pieces(len(asked), sum(map(len, names))):
        v[piece] = _log_odds(probabilities_at(fitted, rows.mixed(names, asked[piece])), code)
    moved, squared, base = np.zeros(width), np.zeros(width), 0.0
    ends = np.cumsum([len(source) for source in sources])
    for game, players, own in zip(games, everyone, np.split(v, ends[:-1]), strict=True):
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
    return np.log(np.maximum(P[:, code], TINY)) - np.log(np.maximum(others, TINY))


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


# In a game of d players a set S of them is worth v(S). Player j is worth the mean of v(S ∪ j) − v(S) over all
# orders in which the players may come, S being those who came before j: its Shapley value. These d numbers
# have the sum v(all) − v(none) in every single order, so also over some of them. A game says which ``sets``
# must be valued, as masks (s, d), and makes ``shares`` of the values v (s,): the Shapley values (d,), and
# their squared standard errors.


@dataclass(frozen=True)
class AllSets:
    """φ_j = Σ_{S ∌ j} (v(S ∪ j) − v(S))/(d · C(d − 1, |S|)), over all 2^d sets."""

    players: int

    @property
    def sets(self) -> np.ndarray:
        return (np.arange(2**self.players)[:, None] >> np.arange(self.players)) % 2 == 1

    def shares(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        d, sets = self.players, self.sets
        weights = np.array([1 / (d * comb(d - 1, size)) for size in range(d)])
        numbers, sizes = np.arange(len(sets)), sets.sum(axis=1)
        values = np.empty(d)
        for j in range(d):
            without = numbers[~sets[:, j]]
            values[j] = (weights[sizes[without]] * (v[without + 2**j] - v[without])).sum()
        return values, np.zeros(d)


@dataclass(frozen=True)
class DrawnOrders:
    """The mean over drawn orders, each beside its reverse: who comes early in one comes late in the other, so
    that their mean varies less. How pairs differ gives the standard error."""

    orders: np.ndarray  # (k, d)

    @classmethod
    def of(cls, players: int, pairs: int, rng: np.random.Generator) -> DrawnOrders:
        """``pairs`` of them."""
        return cls(np.stack([rng.permutation(players) for _ in range(pairs)]))

    @property
    def both(self) -> np.ndarray:
        """Orders and their reverses, one after the other: (2k, d)."""
        return np.stack([self.orders, self.orders[:, ::-1]], axis=1).reshape(-1, self.orders.shape[1])

    @property
    def sets(self) -> np.ndarray:
        """None, all, and after each arrival but the last those who are there: (2 + 2k(d − 1), d)."""
        orders = self.both
        d = orders.shape[1]
        arrival = np.argsort(orders, axis=1)  # (2k, d), of each player
        between = arrival[:, None, :] < np.arange(1, d)[:, None]
        return np.vstack([np.zeros(d, bool), np.ones(d, bool), between.reshape(-1, d)])

    def shares(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        orders = self.both
        n, d = orders.shape
        path = np.hstack([np.full((n, 1), v[0]), v[2:].reshape(n, d - 1), np.full((n, 1), v[1])])
        gains = np.empty((n, d))
        np.put_along_axis(gains, orders, np.diff(path, axis=1), axis=1)
        pairs = (gains[::2] + gains[1::2]) / 2
        k = len(pairs)
        return pairs.mean(axis=0), pairs.var(axis=0, ddof=1) / k if k > 1 else np.full(d, np.nan)


def game_of(players: int, pairs: int, rng: np.random.Generator) -> AllSets | DrawnOrders:
    """All sets where these are no more than those that so many pairs of orders would value."""
    if 2**players <= 2 + 2 * pairs * max(players - 1, 0):
        return AllSets(players)
    return DrawnOrders.of(players, pairs, rng)
