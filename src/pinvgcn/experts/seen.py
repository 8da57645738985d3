"""What all experts have in common: what they see of rows, and their arrays in a saved model; and which
columns of a table tell classes apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from pinvgcn.distributed.rows import rows_of_all
from pinvgcn.nn import Basis

LEAST = 0.05  # the weight of a column that says nothing: by chance one may look so


class Seen(NamedTuple):
    """What experts see of m rows."""

    inputs: Any  # (m, N₀)
    basis: Basis  # (m, k + r)
    values: Any = None  # (m, v), what experts other than networks see: of scans, shapes without the place
    trust: np.ndarray | None = None  # (m,) from 0 to 1, how far the place of a row counts; None for fully

    def at(self, rows: np.ndarray) -> Seen:
        """Of some of the rows."""
        X, V, *others = self
        return Seen(X[rows], V[rows], *(None if some is None else some[rows] for some in others))

    def of_all(self) -> Seen:
        """Of the rows of all processes, each of which has a few; places all count fully."""
        group = self.basis.group
        values = None if self.values is None else rows_of_all(self.values, group)
        return Seen(rows_of_all(self.inputs, group), self.basis.of_all(), values)


def of_member(number: int) -> str:
    """The prefix of the names of a member's arrays; the first member has none."""
    return f"member{number}." if number else ""


def arrays_after(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays whose names begin with ``prefix``, by the rest of their names."""
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}


@dataclass(frozen=True)
class ByValues:
    """The models of all members, under the name of the expert: frozen dataclasses of arrays, whose
    ``log_proba`` tells log p of any rows (m, v)."""

    members: Sequence[Any]
    name: str

    def opinions(self, seen: Seen) -> Iterator[np.ndarray]:
        """log p of each member: (m, classes)."""
        for member in self.members:
            yield member.log_proba(seen.values)

    def state(self) -> dict[str, np.ndarray]:
        """The arrays of a file."""
        return {
            f"{of_member(number)}{self.name}.{name}": array
            for number, member in enumerate(self.members)
            for name, array in vars(member).items()
        }

    @classmethod
    def from_state(
        cls, arrays: dict[str, np.ndarray], made: Callable[..., Any], *, members: int, name: str
    ) -> Self | None:
        """Models ``made`` of what ``state`` gave; None if a file has none of this name."""
        found = [arrays_after(f"{of_member(number)}{name}.", arrays) for number in range(members)]
        return cls([made(**own) for own in found], name) if any(found) else None


class TableColumns(NamedTuple):
    """The columns of what is seen: 0 or 1 for each value of a category, or a number of spread 1."""

    table_column: np.ndarray  # (v,) which column of the table each belongs to
    number: np.ndarray  # (v,) whether it is a number

    def relevance(self, X: np.ndarray, codes: np.ndarray, classes: int) -> np.ndarray:
        """ω (v,), how much each column counts where distances or slopes are to be found from few labels.

        Of a category ω = max(0.05, 1 − f/G): G is the likelihood ratio of its table of values and classes,
        f its degrees of freedom, which G has in the mean where values say nothing. Of a number 1 − 1/F with
        the ratio F of variances between and within classes. X (m, v) are rows of class ``codes`` (m,).
        """
        members = np.zeros((len(codes), classes))
        members[np.arange(len(codes)), codes] = 1.0
        found = members.sum(axis=0) > 0
        members = members[:, found]
        weights = np.full(X.shape[1], LEAST)
        counts = X.T @ members  # (v, classes)
        for column in np.unique(self.table_column[~self.number]):
            own = (self.table_column == column) & ~self.number
            weights[own] = _of_category(counts[own], members.sum(axis=0))
        if self.number.any():
            weights[self.number] = _of_numbers(X[:, self.number], members)
        return weights


def _of_category(counts: np.ndarray, totals: np.ndarray) -> float:
    """From how many rows of each class (classes,) have each value (values, classes)."""
    table = np.vstack([counts, totals - counts.sum(axis=0)])  # the last has rows without any of the values
    table = table[table.sum(axis=1) > 0]
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    there = table > 0
    ratio = 2 * float((table[there] * np.log(table[there] / expected[there])).sum())
    freedom = (len(table) - 1) * (table.shape[1] - 1)
    return max(LEAST, 1 - freedom / ratio) if ratio > 0 else LEAST


def _of_numbers(X: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Of each column of X (m, q), for classes with ``members`` (m, classes)."""
    rows, classes = members.shape
    sizes = members.sum(axis=0)
    means = (members.T @ X) / sizes[:, None]
    within = ((X - members @ means) ** 2).sum(axis=0) / max(1, rows - classes)
    between = (sizes[:, None] * (means - X.mean(axis=0)) ** 2).sum(axis=0) / max(1, classes - 1)
    tells = between > within
    weights = np.full(X.shape[1], LEAST)
    weights[tells] = np.maximum(LEAST, 1 - within[tells] / between[tells])
    return weights
