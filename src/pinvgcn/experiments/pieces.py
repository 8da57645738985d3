"""Pieces that the reports of comparisons share."""

from __future__ import annotations

from html import escape

from pinvgcn.experiments.comparison import Comparison, Summary
from pinvgcn.report.page import cell, table


def recall_table(comparison: Comparison) -> str:
    """The share found of each class, by method."""
    task = comparison.task
    rows = [
        [cell(escape(line.title)), *(cell(percent(share), shade=float(share)) for share in line.recall)]
        for line in comparison.summaries()
    ]
    sizes = [f"{name} ({size:,})" for name, size in zip(task.class_names, task.class_sizes, strict=True)]
    return table([task.title, *sizes], rows)


def name_cell(line: Summary) -> str:
    """A method, and what it does."""
    return cell(f"{escape(line.title)}<small>{escape(line.description)}</small>")


def share_cell(share: float, spread: float | None = None) -> str:
    """A share of all rows as a number over a bar, with its standard deviation where there is one."""
    more = "" if spread is None else f" ± {100 * spread:.1f}"
    return cell(f"{percent(share)}{more}", bar=share)


def seconds_cell(line: Summary) -> str:
    """Seconds, and where they went; a stage and its number stay on one line."""
    stages = " · ".join(
        f"{stage}\N{NO-BREAK SPACE}{seconds:.2f}"
        for stage, seconds in line.seconds.items()
        if seconds >= 0.005
    )
    return cell(f"{line.total_seconds:.2f} s<small>{escape(stages)}</small>")


def percent(share: float) -> str:
    """As people read it."""
    return f"{100 * share:.1f} %"
