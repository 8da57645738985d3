"""``pinvgcn compare``: from what was asked for to its numbers, its chart and its page."""

from __future__ import annotations

import json
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from pinvgcn.checks import check_choice, check_positive
from pinvgcn.errors import LabelError, ParameterError, TrainingError
from pinvgcn.experiments.comparison import BUDGET, Comparison, compare_isolated
from pinvgcn.experiments.methods import BASELINES, OF_TABLES, RIVALS
from pinvgcn.experiments.methods.pinvgcn import OURS, PinvMethod
from pinvgcn.experiments.task import Method, Sink, Task, load_task
from pinvgcn.io.atomic import atomic_file, write_text
from pinvgcn.report import figures
from pinvgcn.report.figures.drawing import inline_svg, write_png
from pinvgcn.report.figures.methods import MethodRuns, method_chart
from pinvgcn.report.page import environment, render

ALL = (OURS, *RIVALS, *OF_TABLES)


@dataclass(frozen=True)
class CompareRequest:
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
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def method_of(name: str) -> Method:
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
    start = time.perf_counter()
    methods = methods_for(request, task)
    comparison = compare_isolated(
        task, methods, seeds=request.seeds, budget=request.budget, progress=progress
    )
    if not comparison.scores:
        reasons = "; ".join(f"{m.title}: {comparison.failures[m.name]}" for m in methods)
        raise TrainingError(f"No method came through. {reasons}.")
    return ComparedMethods(comparison, request.command, time.perf_counter() - start)


FILES = ("results.json", "comparison.png", "report.html")
MEASURES = {"accuracy": "Accuracy", "macro_f1": "Macro F1"}


@dataclass(frozen=True)
class ComparedMethods:
    """A comparison, and how it came about."""

    comparison: Comparison
    command: str
    seconds: float


def results(compared: ComparedMethods) -> dict[str, Any]:
    return {
        "format": 1,
        "command": compared.command,
        "seconds": compared.seconds,
        "environment": environment(),
        "comparison": compared.comparison.as_dict(),
        "margins": {measure: _margin_numbers(compared.comparison, measure) for measure in MEASURES},
    }


def _margin_numbers(comparison: Comparison, measure: str) -> dict[str, Any] | None:
    margin = comparison.margin(OURS, measure) if comparison.of(OURS) else None
    return None if margin is None else {key: value for key, value in vars(margin).items() if key != "method"}


def margin_lines(comparison: Comparison) -> list[str]:
    """By how much ours is ahead of the best other method, in words."""
    titles = {method.name: method.title for method in comparison.methods}
    lines = []
    for measure, name in MEASURES.items():
        margin = comparison.margin(OURS, measure) if comparison.of(OURS) else None
        if margin is not None:
            error = "" if margin.standard_error is None else f" ± {100 * margin.standard_error:.2f}"
            place = "ahead of" if margin.difference >= 0 else "behind"
            lines.append(
                f"{name}: PinvGCN is {100 * abs(margin.difference):.2f}{error} points {place} the best other "
                f"method, {titles[margin.other]}"
            )
    return lines


def write_comparison(compared: ComparedMethods, folder: Path) -> dict[str, Any]:
    """Write all files into the folder; returns the content of ``results.json``."""
    numbers = results(compared)
    write_text(folder / "results.json", json.dumps(numbers, indent=1, allow_nan=False) + "\n")
    with atomic_file(folder / "comparison.png") as picture:
        write_png(chart(compared.comparison), picture)
    write_text(folder / "report.html", comparison_page(compared))
    return numbers


def comparison_page(compared: ComparedMethods) -> str:
    comparison = compared.comparison
    alternative = "Accuracy, macro F1, time and memory of each method."
    drawn = {"chart": inline_svg(chart(comparison), "chart", alternative), "confusion": ""}
    if comparison.of(OURS):
        drawn["confusion"] = figures.confusion(
            comparison.confusion(OURS), comparison.task.class_names, "ours"
        )
    return render(
        "compare.html",
        comparison=comparison,
        margins=margin_lines(comparison),
        titles={method.name: method.title for method in comparison.methods},
        command=compared.command,
        seconds=compared.seconds,
        figures=drawn,
    )


def chart(comparison: Comparison) -> Figure:
    """All methods, the most accurate first."""
    task = comparison.task
    methods = [
        MethodRuns(
            line.title,
            line.method == OURS,
            [100 * score.accuracy for score in comparison.of(line.method)],
            [100 * score.macro_f1 for score in comparison.of(line.method)],
            [score.total_seconds for score in comparison.of(line.method)],
            None if line.memory is None else line.memory / 1e6,
        )
        for line in comparison.summaries()
    ]
    title = f"{task.title}: {task.rows:,} {task.noun}, {len(task.class_names)} classes, {task.amount}"
    return method_chart(methods, title)
