"""A task that methods are compared on, and a method's answer to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from sklearn.metrics import confusion_matrix

from pinvgcn.checks import UNLABELLED
from pinvgcn.datasets import Split, random_split

Kind = Literal["points", "table", "network"]
Sink = Callable[[str], None]  # receives one line of progress

TITLES = {  # of data sets
    "mushroom": "Mushroom", "covertype": "Covertype", "covertype45": "Covertype45",
    "covertype67": "Covertype67", "oakland1": "Oakland 1", "oakland2": "Oakland 2", "lidar": "Aerial scan",
    "ign1": "Survey, labelled tile", "ign2": "Survey, next tile",
    "street": "Street scan", "citeseer": "Citeseer", "cora": "Cora", "pubmed": "Pubmed",
}  # fmt: skip
NOUNS: dict[Kind, str] = {"points": "points", "table": "rows", "network": "nodes"}


Made = TypeVar("Made")
KEPT = 5  # things that methods share


class Shared:
    """What several methods need of the same rows, made once: neighbours, spectra. The latest are kept.

    ``wall`` and ``cpu`` are the seconds that this has saved: a method on its own would need them.
    """

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0
        self._made: dict[Any, tuple[Any, float, float]] = {}

    def __call__(self, key: Any, make: Callable[[], Made]) -> Made:
        """What ``make`` returns, the first time that there is this key."""
        if key in self._made:
            found, wall, cpu = self._made[key] = self._made.pop(key)
            self.wall, self.cpu = self.wall + wall, self.cpu + cpu
            return found
        wall, cpu = time.perf_counter() + self.wall, time.process_time() + self.cpu
        found = make()  # for which other things may have been there
        self._made[key] = found, time.perf_counter() + self.wall - wall, time.process_time() + self.cpu - cpu
        if len(self._made) > KEPT:
            del self._made[next(iter(self._made))]
        return found


@dataclass(frozen=True, eq=False)
class Task:
    """Data whose rows have a true class, of which the methods see some labels.

    Either ``per_class`` random labels a class, and the answers count on all other rows whose class is known;
    or, where that is None, the labels of the standard ``split``, and the answers count on its test rows.
    """

    name: str
    title: str
    kind: Kind
    X: Any  # (n, 3) coordinates, a DataFrame of categories, or the (n, f) features of a network's nodes
    y: np.ndarray  # (n,) the true class of each row, as an index into class_names; -1 where nobody knows it
    class_names: tuple[str, ...]
    per_class: int | None
    # What joins the rows. A network has a SparseGraph or a Hypergraph of its nodes; a table has a Hypergraph,
    # whose incidences are then its features, where its hyperedges are not the classifier's own; else None.
    graph: Any = None
    split: Split | None = None
    extra: np.ndarray | None = None  # (n, f) what else is known of each point: intensity, colour
    # Of points: whether the methods see the local shapes of the classifier's defaults beside coordinates, and
    # their probabilities are averaged over the same neighbours.
    surroundings: bool = False
    shared: Shared = field(default_factory=Shared, init=False, repr=False)

    @property
    def rows(self) -> int:
        """How many rows or points there are."""
        return len(self.y)

    @property
    def noun(self) -> str:
        """What its rows are called."""
        return NOUNS[self.kind]

    @property
    def class_sizes(self) -> np.ndarray:
        """How many rows each class is known to have."""
        return np.bincount(self.y[self.y != UNLABELLED], minlength=len(self.class_names))

    @property
    def sized_classes(self) -> list[str]:
        """The names of the classes, each with its number of rows."""
        return [f"{name} ({size:,})" for name, size in zip(self.class_names, self.class_sizes, strict=True)]

    @property
    def given(self) -> int:
        """How many labels the methods see."""
        if self.per_class is not None:
            return self.per_class * len(self.class_names)
        assert self.split is not None
        return len(self.split.train)

    @property
    def amount(self) -> str:
        """How many labels the methods see, in words."""
        if self.per_class is not None:
            return f"{self.per_class} labels per class" if self.per_class else "no label"
        return f"{self.given} labels of the standard split"

    def take(self, rows: np.ndarray) -> Any:
        """Some rows of ``X``, by a boolean mask."""
        return self.X.loc[rows] if hasattr(self.X, "loc") else self.X[rows]

    def with_labels(self, per_class: int | None) -> Task:
        """The same rows, of which other labels are seen: what is made of the rows serves both."""
        task = replace(self, per_class=per_class)
        object.__setattr__(task, "shared", self.shared)
        return task

    def labels(self, seed: int) -> np.ndarray:
        """What the methods see (n,): the true class, or -1. The standard split is the same for every seed."""
        if self.per_class is not None:
            return np.asarray(random_split(self.y, per_class=self.per_class, random_state=seed))
        assert self.split is not None
        labels = np.full(self.rows, UNLABELLED)
        labels[self.split.train] = self.y[self.split.train]
        return labels

    def asked(self, labels: np.ndarray) -> np.ndarray:
        """On which rows the answers count, as a mask (n,)."""
        if self.per_class is not None:
            return (labels == UNLABELLED) & (self.y != UNLABELLED)
        assert self.split is not None
        mask = np.zeros(self.rows, dtype=bool)
        mask[self.split.test] = True
        return mask

    def confusion(self, labels: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Counts (m, m) of true class against answer, over the rows on which the answers count."""
        asked = self.asked(labels)
        found: np.ndarray = confusion_matrix(self.y[asked], codes[asked], labels=range(len(self.class_names)))
        return found


@dataclass(frozen=True)
class Answer:
    """A class for every row of a task, and where the seconds went."""

    codes: np.ndarray  # (n,)
    seconds: dict[str, float]
    model: Any = field(default=None, repr=False)
    facts: dict[str, Any] = field(default_factory=dict)  # plain numbers about the model, to be kept


class PreparedMethod(Protocol):
    """A method that has seen a task's rows, but no labels yet: what it has set up serves all its answers."""

    @property
    def seconds(self) -> dict[str, float]:
        """What the set-up took, by stage; a run on its own would take these and those of its answer."""

    def answer(self, labels: np.ndarray, seed: int) -> Answer:
        """Classify every row; ``labels`` is the true class, or -1 where the method may not know it."""


class Method(Protocol):
    """Anything that can answer a task from the labels that it is given."""

    @property
    def name(self) -> str:
        """The key of the method in results: what it is, then its settings, as in ``gcn k=10 sigma=100``."""

    @property
    def title(self) -> str:
        """The name of the method in tables."""

    @property
    def description(self) -> str:
        """One sentence for a reader who has never heard of it."""

    def prepare(self, task: Task) -> PreparedMethod:
        """Do what does not depend on labels: neighbour graphs, spectra, encodings."""


@dataclass(frozen=True)
class Ready:
    """Of a method that sets nothing up: each answer begins with the task."""

    task: Task
    reply: Callable[[Task, np.ndarray, int], Answer]
    seconds: dict[str, float] = field(default_factory=dict)
    edges: Any = None  # (n, n), along which labels travel

    def answer(self, labels: np.ndarray, seed: int) -> Answer:
        """The method's reply."""
        return self.reply(self.task, labels, seed)
