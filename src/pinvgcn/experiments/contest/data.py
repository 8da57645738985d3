"""A name becomes a task."""

from __future__ import annotations

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
    "street": "Street scan",
}


def named_task(name: str, *, per_class: int | None = None) -> Task:
    """The task of a named data set: 10 labels a class of a table, 100 of a scan, unless told otherwise."""
    if name not in TITLES:
        raise ParameterError(
            f"DATA must be a file that exists, or one of {', '.join(TITLES)}. Got {name!r} instead."
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
        per_class=PER_CLASS[kind] if per_class is None else check_count("per_class", per_class),
        surroundings=kind == "points",
    )
