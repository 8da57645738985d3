"""A whole comparison, from what was asked for to its files."""

from __future__ import annotations

import time
from dataclasses import dataclass

from pinvgcn.checks import check_choice, check_positive
from pinvgcn.errors import LabelError, ParameterError
from pinvgcn.experiments.contest.apart import BUDGET, compare_apart
from pinvgcn.experiments.contest.data import named_task
from pinvgcn.experiments.contest.report import OURS, Contest, margin_lines, write_contest
from pinvgcn.experiments.methods import BASELINES, RIVALS
from pinvgcn.experiments.ours import Pinv
from pinvgcn.experiments.task import Method, Sink, Task

__all__ = ["Request", "count", "load_task", "margin_lines", "parse_methods", "run", "write_contest"]

ALL = (OURS, *RIVALS)


@dataclass(frozen=True)
class Request:
    """What was asked for."""

    data: str
    per_class: int | None = None
    seeds: tuple[int, ...] = (0, 1, 2)
    methods: tuple[str, ...] = ALL
    budget: float = BUDGET

    @property
    def command(self) -> str:
        """What to type to get the same numbers again."""
        words = ["pinvgcn compare", self.data, f"--seeds {len(self.seeds)}"]
        if self.per_class is not None:
            words.append(f"--per-class {self.per_class}")
        if self.seeds[0]:
            words.append(f"--seed-start {self.seeds[0]}")
        if self.methods != ALL:
            words.append(f"--methods {','.join(self.methods)}")
        return " ".join(words)


def parse_methods(text: str | None) -> tuple[str, ...]:
    """The methods of a list with commas, each once; all of them for None."""
    if text is None:
        return ALL
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ParameterError(
            f"--methods must name one method at least. Got {text!r}; choose from {', '.join(ALL)}."
        )
    return tuple(dict.fromkeys(check_choice("--methods", name, ALL) for name in names))


def method_of(name: str) -> Method:
    """A method by its name."""
    return Pinv() if name == OURS else BASELINES[name]


def load_task(request: Request) -> Task:
    """Read the data, and see that every class has labels to show and one more to score."""
    check_positive("--budget", request.budget)
    task = named_task(request.data, per_class=request.per_class)
    assert task.per_class is not None
    least = int(task.class_sizes.argmin())
    size = int(task.class_sizes[least])
    if size <= task.per_class:
        raise LabelError(
            f"Every class must have more than {task.per_class} labelled {task.noun}: so many are shown to "
            f"the methods, and the others are scored. Got {size:,} of class {task.class_names[least]}; "
            "lower --per-class."
        )
    return task


def count(request: Request) -> int:
    """How many lines of progress ``run`` reports."""
    return len(request.methods) * len(request.seeds)


def run(request: Request, task: Task, *, progress: Sink = lambda line: None) -> Contest:
    """Let every method answer."""
    start = time.perf_counter()
    methods = [method_of(name) for name in request.methods]
    comparison = compare_apart(task, methods, seeds=request.seeds, budget=request.budget, progress=progress)
    return Contest(comparison, request.command, time.perf_counter() - start)
