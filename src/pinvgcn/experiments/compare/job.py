"""A whole comparison, from what was asked for to its files."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinvgcn.checks import check_choice, check_positive
from pinvgcn.errors import LabelError, ParameterError, TrainingError
from pinvgcn.experiments.compare.isolated import BUDGET, compare_isolated
from pinvgcn.experiments.compare.report import FILES, ComparedMethods, margin_lines, write_comparison
from pinvgcn.experiments.compare.tasks import load_task
from pinvgcn.experiments.methods import BASELINES, OF_TABLES, RIVALS
from pinvgcn.experiments.methods.pinvgcn import OURS, PinvMethod
from pinvgcn.experiments.task import Method, Sink, Task

__all__ = [
    "FILES",
    "CompareRequest",
    "count",
    "margin_lines",
    "parse_list",
    "parse_methods",
    "plan_of",
    "run",
    "task_for",
    "write_comparison",
]

ALL = (OURS, *RIVALS, *OF_TABLES)


@dataclass(frozen=True)
class CompareRequest:
    """What was asked for."""

    data: str
    labels: str | None = None
    target: str | None = None
    unlabelled: tuple[str, ...] = ()
    per_class: int | None = None
    seeds: tuple[int, ...] = (0, 1, 2)
    methods: tuple[str, ...] = ALL
    budget: float = BUDGET

    @property
    def command(self) -> str:
        """What to type to get the same numbers again."""
        given = {
            "--labels": self.labels,
            "--target": self.target,
            "--unlabelled": ",".join(self.unlabelled) or None,
            "--per-class": self.per_class,
            "--seeds": len(self.seeds),
            "--seed-start": self.seeds[0] or None,
            "--methods": None if self.methods == ALL else ",".join(self.methods),
        }
        options = [
            str(word) for option, value in given.items() if value is not None for word in (option, value)
        ]
        return shlex.join(["pinvgcn", "compare", self.data, *options])


def parse_methods(text: str | None) -> tuple[str, ...]:
    """The methods of a list with commas, each once; all of them for None."""
    if text is None:
        return ALL
    names = parse_list(text)
    if not names:
        raise ParameterError(
            f"--methods must name one method at least. Got {text!r}; choose from {', '.join(ALL)}."
        )
    return tuple(dict.fromkeys(check_choice("--methods", name, ALL) for name in names))


def parse_list(text: str | None) -> tuple[str, ...]:
    """What stands between commas."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def method_of(name: str) -> Method:
    """A method by its name."""
    return PinvMethod() if name == OURS else BASELINES[name]


def methods_for(request: CompareRequest, task: Task) -> list[Method]:
    """The methods that were asked for; of all, those that are for such data."""
    names = request.methods
    if task.kind != "table" and names == ALL:
        names = tuple(name for name in names if name not in OF_TABLES)
    return [method_of(name) for name in names]


def task_for(request: CompareRequest) -> Task:
    """Read the data, and see that every class has labels to show and one more to score."""
    check_positive("--budget", request.budget)
    task = load_task(
        request.data,
        labels=request.labels,
        target=request.target,
        unlabelled=request.unlabelled,
        per_class=request.per_class,
    )
    if task.kind != "table" and request.methods != ALL:
        for name in OF_TABLES:
            if name in request.methods:
                raise ParameterError(
                    f"{name} is compared on tables. Got {task.title}, made of {task.noun}; leave it out of "
                    "--methods."
                )
    assert task.per_class is not None
    least = int(task.class_sizes.argmin())
    size = int(task.class_sizes[least])
    if size <= task.per_class:
        own = request.labels is not None or request.target is not None
        raise LabelError(
            f"Every class must have more than {task.per_class} labelled {task.noun}: so many are shown to "
            f"the methods, and the others are scored. Got {size:,} of class {task.class_names[least]}; "
            f"lower --per-class{', or leave out classes with --unlabelled' if own else ''}."
        )
    return task


def count(request: CompareRequest, task: Task) -> int:
    """How many lines of progress ``run`` reports."""
    return len(methods_for(request, task)) * len(request.seeds)


def plan_of(request: CompareRequest, task: Task, folder: Path) -> dict[str, Any]:
    """What ``run`` would do."""
    assert task.per_class is not None
    methods = methods_for(request, task)
    longest = request.budget * len(methods)
    return {
        "data": f"{task.title}: {task.rows:,} {task.noun}, {len(task.class_names)} classes",
        "methods": [method.title for method in methods],
        "choices_of_labels": len(request.seeds),
        "labels_per_class": task.per_class,
        "folder": str(folder),
        "seconds_at_most": longest,
    }


def run(request: CompareRequest, task: Task, *, progress: Sink = lambda line: None) -> ComparedMethods:
    """Let every method answer."""
    start = time.perf_counter()
    methods = methods_for(request, task)
    comparison = compare_isolated(
        task, methods, seeds=request.seeds, budget=request.budget, progress=progress
    )
    if not comparison.scores:
        reasons = "; ".join(f"{m.title}: {comparison.failures[m.name]}" for m in methods)
        raise TrainingError(f"No method came through. {reasons}.")
    return ComparedMethods(comparison, request.command, time.perf_counter() - start)
