"""The ``results.json``, ``comparison.png`` and ``report.html`` of a comparison."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from pinvgcn.experiments.comparison import Comparison
from pinvgcn.experiments.methods.pinvgcn import OURS
from pinvgcn.io.atomic import atomic_file, write_text
from pinvgcn.report import figures
from pinvgcn.report.figures.drawing import inline_svg, write_png
from pinvgcn.report.figures.methods import MethodRuns, method_chart
from pinvgcn.report.page import environment, render

FILES = ("results.json", "comparison.png", "report.html")
MEASURES = {"accuracy": "Accuracy", "macro_f1": "Macro F1"}


@dataclass(frozen=True)
class ComparedMethods:
    """A comparison, and how it came about."""

    comparison: Comparison
    command: str
    seconds: float


def results(compared: ComparedMethods) -> dict[str, Any]:
    """Every number, as plain data."""
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
    """The whole page."""
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
