"""A name or a file becomes a task."""

from __future__ import annotations

from pathlib import Path

from pinvgcn.checks import check_count
from pinvgcn.datasets import Dataset, load_dataset
from pinvgcn.errors import ParameterError
from pinvgcn.experiments.task import Kind, Task

PER_CLASS: dict[Kind, int] = {"table": 10, "points": 100}
TITLES = {
    "mushroom": "Mushroom",
    "covertype45": "Covertype45",
    "covertype67": "Covertype67",
    "covertype": "Covertype",
    "oakland1": "Oakland 1",
    "oakland2": "Oakland 2",
    "lidar": "Aerial scan",
    "street": "Street scan",
}


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
    if data in TITLES and not Path(data).exists():
        option = "--labels" if target is None else "--target"
        raise ParameterError(
            f"{option} belongs to a file. Got the data set {data!r}, whose classes are known."
        )
    # the readers are loaded when there is something to read
    from pinvgcn.experiments.contest.files import scan_task, table_task

    if labels is not None:
        return scan_task(Path(data), labels, unlabelled, per_class=_count("points", per_class))
    assert target is not None
    return table_task(Path(data), target, unlabelled, per_class=_count("table", per_class))


def named_task(name: str, *, per_class: int | None = None, unlabelled: tuple[str, ...] = ()) -> Task:
    """The task of a named data set."""
    if name not in TITLES:
        if Path(name).exists():
            raise ParameterError(
                f"It must be known where the classes of {name} are. Got neither --labels FIELD, for a scan, "
                "nor --target COLUMN, for a table."
            )
        raise ParameterError(
            f"DATA must be a file that exists, or one of {', '.join(TITLES)}. Got {name!r} instead."
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
