"""A data set by name, or a file, becomes a task."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.checks import UNLABELLED, check_count
from pinvgcn.datasets import Dataset, dataset_names, load_dataset
from pinvgcn.errors import LabelError, ParameterError
from pinvgcn.experiments.task import TITLES, Kind, Task
from pinvgcn.features import ColumnRecipe
from pinvgcn.io import open_scan, open_table
from pinvgcn.io.asprs import NOISE, UNCLASSIFIED, class_name
from pinvgcn.scans.frame import candidates

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
    """The task of a named data set."""
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
