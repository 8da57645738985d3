"""A question that methods are compared on, and a method's answer to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

Kind = Literal["points", "table"]
Sink = Callable[[str], None]  # receives one line of progress


@dataclass(frozen=True)
class Task:
    """Data whose every row has a true class, of which the methods see ``per_class`` labels a class."""

    name: str
    title: str
    kind: Kind
    X: Any  # (n, 3) coordinates, or a DataFrame of categories
    y: np.ndarray  # (n,) the true class of each row, as an index into class_names
    class_names: tuple[str, ...]
    per_class: int

    @property
    def rows(self) -> int:
        """How many rows or points there are."""
        return len(self.y)

    @property
    def noun(self) -> str:
        """What its rows are called."""
        return "points" if self.kind == "points" else "rows"

    @property
    def class_sizes(self) -> np.ndarray:
        """How many rows each class has."""
        return np.bincount(self.y, minlength=len(self.class_names))

    def take(self, rows: np.ndarray) -> Any:
        """Some rows of ``X``, by a boolean mask."""
        return self.X.loc[rows] if hasattr(self.X, "loc") else self.X[rows]


@dataclass(frozen=True)
class Answer:
    """A class for every row of a task, and where the seconds went."""

    codes: np.ndarray  # (n,)
    seconds: dict[str, float]
    model: Any = field(default=None, repr=False)


class Method(Protocol):
    """Anything that can answer a task from the labels that it is given."""

    @property
    def name(self) -> str:
        """The key of the method in results."""

    @property
    def title(self) -> str:
        """The name of the method in tables."""

    @property
    def description(self) -> str:
        """One sentence for a reader who has never heard of it."""

    def answer(self, task: Task, labels: np.ndarray, seed: int) -> Answer:
        """Classify every row; ``labels`` is the true class, or -1 where the method may not know it."""
