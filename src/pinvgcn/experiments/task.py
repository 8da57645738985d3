"""A task that methods are compared on, made of a data set or of a file; and a method's answer to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
import pandas as pd
from sklearn.metrics import confusion_matrix

from pinvgcn.checks import UNLABELLED, check_count
from pinvgcn.datasets import Dataset, Split, dataset_names, load_dataset, random_split
from pinvgcn.errors import LabelError, ParameterError
from pinvgcn.features import ColumnRecipe
from pinvgcn.io import open_scan, open_table
from pinvgcn.io.las import NOISE, UNCLASSIFIED, class_name
from pinvgcn.scans.frame import candidates

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
        return len(self.y)

    @property
    def noun(self) -> str:
        return NOUNS[self.kind]

    @property
    def class_sizes(self) -> np.ndarray:
        return np.bincount(self.y[self.y != UNLABELLED], minlength=len(self.class_names))

    @property
    def sized_classes(self) -> list[str]:
        """The names of the classes, each with its number of rows."""
        return [f"{name} ({size:,})" for name, size in zip(self.class_names, self.class_sizes, strict=True)]

    @property
    def given(self) -> int:
        if self.per_class is not None:
            return self.per_class * len(self.class_names)
        assert self.split is not None
        return len(self.split.train)

    @property
    def amount(self) -> str:
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
    one_adam: Any = None  # for all runs: each begins where the one before it ended

    def answer(self, labels: np.ndarray, seed: int) -> Answer:
        return self.reply(self.task, labels, seed)


PER_CLASS: dict[Kind, int] = {"table": 10, "points": 100}
DATASETS = tuple(
    name for name in dataset_names() if name not in ("cora", "citeseer", "pubmed")
)  # no networks


def load_task(
    data: str,
    *,
    labels: str | None = None,
    target: str | None = None,
    unlabelled: tuple[str, ...] = (),
    per_class: int | None = None,
) -> Task:
    """The task of a named data set, of a scan whose field ``labels`` holds classes, or of a table whose
    column ``target`` does: 10 labels a class of a table, 100 of a scan, unless told otherwise.

    ``unlabelled`` are values that mean no class.
    """
    if labels is not None and target is not None:
        raise ParameterError(
            f"--labels is for scans and --target for tables. Got both, {labels!r} and {target!r}; "
            "leave out one."
        )
    if labels is None and target is None:
        return named_task(data, per_class=per_class, unlabelled=unlabelled)
    if data in DATASETS and not Path(data).exists():
        option = "--labels" if target is None else "--target"
        raise ParameterError(
            f"{option} belongs to a file. Got the data set {data!r}, whose classes are known."
        )
    if labels is not None:
        return scan_task(Path(data), labels, unlabelled, per_class=_count("points", per_class))
    assert target is not None
    return table_task(Path(data), target, unlabelled, per_class=_count("table", per_class))


def named_task(name: str, *, per_class: int | None = None, unlabelled: tuple[str, ...] = ()) -> Task:
    if name not in DATASETS:
        if Path(name).exists():
            raise ParameterError(
                f"It must be known where the classes of {name} are. Got neither --labels FIELD, for a scan, "
                "nor --target COLUMN, for a table."
            )
        raise ParameterError(
            f"DATA must be a file that exists, or one of {', '.join(DATASETS)}. Got {name!r} instead."
        )
    if unlabelled:
        raise ParameterError(
            f"--unlabelled belongs to a file. Got the data set {name!r}, all of it labelled."
        )
    return task_of(load_dataset(name), TITLES[name], per_class=per_class)


def task_of(dataset: Dataset, title: str, *, per_class: int | None = None) -> Task:
    """The task of points or rows whose classes are known."""
    kind: Kind = "table" if hasattr(dataset.X, "columns") else "points"
    return Task(
        name=dataset.name,
        title=title,
        kind=kind,
        X=dataset.X,
        y=dataset.y,
        class_names=tuple(dataset.target_names),
        per_class=_count(kind, per_class),
        extra=dataset.features,
        surroundings=kind == "points",
    )


def _count(kind: Kind, per_class: int | None) -> int:
    return PER_CLASS[kind] if per_class is None else check_count("per_class", per_class)


MOST = 256  # classes; a field with more values is a measurement


def scan_task(path: Path, field: str, unlabelled: tuple[str, ...], *, per_class: int) -> Task:
    """The points of a scan; those without a class are there to learn from, and are not scored."""
    source = open_scan(path)
    source.known_field(field)
    extra = candidates(source, None, besides=field)
    scan = source.read(fields=[*extra, field])
    las = source.format in ("las", "laz") and field == "classification"
    if las:  # as for segment: 0, 1 and noise are no classes, whether the file has them or not
        there = set(map(str, np.unique(scan.fields[field]).tolist()))
        usual = tuple(map(str, (*UNCLASSIFIED, *NOISE)))
        meant = dict.fromkeys((*(unlabelled or usual), *map(str, NOISE)))
        unlabelled = tuple(word for word in meant if word in there or word not in usual)
    y, names = classes_of(pd.Series(scan.fields[field]), field, unlabelled, name=class_name if las else None)
    columns = [np.asarray(scan.fields[name], dtype=np.float64) for name in extra]
    telling = [column for column in columns if np.isfinite(column).all() and np.ptp(column) > 0]
    return Task(
        name=path.stem,
        title=path.name,
        kind="points",
        X=scan.points,
        y=y,
        class_names=names,
        per_class=per_class,
        extra=np.column_stack(telling) if telling else None,
        surroundings=True,
    )


def table_task(path: Path, column: str, unlabelled: tuple[str, ...], *, per_class: int) -> Task:
    """The rows of a table, its columns cleaned; those without a class are learned from, and not scored."""
    source = open_table(path)
    source.column(column)
    frame = source.frame()
    y, names = classes_of(frame[column], column, unlabelled)
    recipe = ColumnRecipe.learn(frame, exclude=[column], separator=source.separator)
    X = recipe.apply(frame).frame.reset_index(drop=True)
    return Task(
        name=path.stem, title=path.name, kind="table", X=X, y=y, class_names=names, per_class=per_class
    )


def classes_of(
    values: pd.Series,
    field: str,
    unlabelled: tuple[str, ...],
    *,
    name: Callable[[int], str] | None = None,
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Codes (n,) of the classes, -1 for missing ones and those called ``unlabelled``; and their names."""
    known = values.notna().to_numpy()
    found, inverse = np.unique(values[known].to_numpy(), return_inverse=True)
    texts = [_text(value) for value in found.tolist()]
    strange = [value for value in unlabelled if value not in texts]
    if strange:
        raise ParameterError(
            f"--unlabelled must be values of {field!r}. Got {strange[0]!r}, which no row has; it has "
            f"{', '.join(texts[:10])}{' and others' if len(texts) > 10 else ''}."
        )
    kept = [place for place, text in enumerate(texts) if text not in unlabelled]
    if len(kept) < 2 or len(kept) > MOST:
        raise LabelError(
            f"{field!r} must hold 2 to {MOST} classes. Got {len(kept):,} "
            f"({', '.join(texts[place] for place in kept[:5])}{', …' if len(kept) > 5 else ''}); "
            "name another column, or with --unlabelled the values that mean none."
        )
    codes = np.full(len(texts), UNLABELLED)
    codes[kept] = np.arange(len(kept))
    y = np.full(len(values), UNLABELLED)
    y[known] = codes[inverse]
    names = [texts[place] if name is None else name(int(found[place])) for place in kept]
    return y, tuple(names)


def _text(value: Any) -> str:
    """A class as people type it: 2 for 2.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
