"""The ``results.json``, ``comparison.png`` and ``report.html`` of a comparison."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from pinvgcn.experiments.compare.chart import chart
from pinvgcn.experiments.comparison import Comparison
from pinvgcn.experiments.pieces import name_cell, recall_table, seconds_cell, share_cell
from pinvgcn.io.atomic import atomic_file, write_text
from pinvgcn.report.environment import environment
from pinvgcn.report.figures import confusion
from pinvgcn.report.figures.drawing import inline_svg, style
from pinvgcn.report.page import cell, definitions, document, figure, section, table

OURS = "pinvgcn"
FILES = ("results.json", "comparison.png", "report.html")
MEASURES = {"accuracy": "Accuracy", "macro_f1": "Macro F1"}

LEAD = Template("""<p class="lead">$rows $noun in $classes classes; each method was told the class of $amount,
chosen at random, and classified all others. $count, each the same for all methods.</p>""")

HOW = Template("""<p>All methods saw the same labels and the same features, and were scored on the $noun whose
class is known and was not told to them. $sight <em>Accuracy</em> is the share that got its true class.
<em>Macro F1</em> is the balance of finding a class and not mistaking others for it, averaged over the
classes, so that rare ones count as much as common ones. <em>Time</em> is what one choice of labels takes on
its own, with all that the runs share. <em>Memory</em> is the most that the method's own process held, beyond
the libraries and the data. The most accurate method is set in bold, whichever it is.</p>""")

SURROUNDINGS = """They saw coordinates, the local shapes of <code>local_geometry</code> and the extra columns
of the scan, as PinvGCN does, and the class probabilities of each were averaged in the same
way over what is around."""

CHART = """Large marks are means, small ones single choices of labels; PinvGCN is the blue disc. Time and
memory are on logarithmic scales."""


@dataclass(frozen=True)
class Contest:
    """A comparison, and how it came about."""

    comparison: Comparison
    command: str
    seconds: float


def results(contest: Contest, surroundings: dict[str, Any]) -> dict[str, Any]:
    """Every number, as plain data."""
    return {
        "format": 1,
        "command": contest.command,
        "seconds": contest.seconds,
        "environment": surroundings,
        "comparison": contest.comparison.as_dict(),
        "margins": {measure: _margin_numbers(contest.comparison, measure) for measure in MEASURES},
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
                f"{name}: PinvGCN is "
                f"{100 * abs(margin.difference):.2f}{error} points {place} the best other method, "
                f"{titles[margin.other]}"
            )
    return lines


def write_contest(contest: Contest, folder: Path) -> dict[str, Any]:
    """Write all files into the folder; returns the content of ``results.json``."""
    surroundings = environment()
    numbers = results(contest, surroundings)
    write_text(folder / "results.json", json.dumps(numbers, indent=1, allow_nan=False) + "\n")
    with style(), atomic_file(folder / "comparison.png") as picture:
        chart(contest.comparison, OURS).savefig(
            picture, format="png", dpi=160, facecolor="white", metadata={"Software": None}
        )
    write_text(folder / "report.html", html_report(contest, surroundings))
    return numbers


def html_report(contest: Contest, surroundings: dict[str, Any]) -> str:
    """The whole page."""
    comparison = contest.comparison
    version = surroundings["versions"]["pinvgcn"]
    parts = [
        _header(comparison, version),
        _results(comparison),
        _classes(comparison),
        _details(contest, surroundings),
    ]
    title = f"pinvgcn compare: {comparison.task.title}"
    return document(title, parts, generator=f"pinvgcn {version}")


def _header(comparison: Comparison, version: str) -> str:
    task = comparison.task
    count = len(comparison.seeds)
    lead = LEAD.substitute(
        rows=f"{task.rows:,}",
        noun=task.noun,
        classes=len(task.class_names),
        amount=f"{task.per_class} {task.noun} of each class",
        count="There was one choice of labels" if count == 1 else f"There were {count} choices of labels",
    )
    margins = "".join(f"<p><strong>{escape(line)}</strong></p>" for line in margin_lines(comparison))
    note = (
        '<p class="soft">The mean of the paired differences to the best other method by that measure, '
        "± its standard error.</p>"
        if margins and count > 1
        else ""
    )
    return (
        f'<header>\n<p class="eyebrow">pinvgcn {escape(version)} · comparison</p>\n'
        f"<h1>{escape(task.title)}: PinvGCN beside other methods</h1>\n{lead}\n{margins}{note}</header>"
    )


def _results(comparison: Comparison) -> str:
    task, several = comparison.task, len(comparison.seeds) > 1
    sight = SURROUNDINGS if task.surroundings else ""
    parts = [HOW.substitute(noun=task.noun, sight=sight)]
    lines = comparison.summaries()
    rows = [
        [
            name_cell(line),
            share_cell(line.accuracy, line.accuracy_sd if several else None),
            share_cell(line.macro_f1, line.macro_f1_sd if several else None),
            seconds_cell(line),
            cell(memory_text(line.memory)),
        ]
        for line in lines
    ]
    best = [number for number, line in enumerate(lines) if line.accuracy == lines[0].accuracy]
    head = ["Method", "Accuracy", "Macro F1", "Time", "Memory"]
    caption = "± is the standard deviation between choices of labels." if several else ""
    parts.append(table(head, rows, caption, best=best, kind="wide-bars"))
    svg = inline_svg(chart(comparison, OURS), "chart", "Accuracy, macro F1, time and memory of each method.")
    parts.append(figure(svg, CHART))
    titles = {method.name: method.title for method in comparison.methods}
    for name, reason in comparison.failures.items():
        parts.append(f'<p class="soft">Left out: {escape(titles[name])} ({escape(reason)}).</p>')
    notes = "".join(f"<li>{escape(note)}</li>" for note in comparison.notes())
    if notes:
        parts.append(f'<div class="soft"><p>What the methods warned about:</p><ul>{notes}</ul></div>')
    return section("How well each worked", *parts)


def _classes(comparison: Comparison) -> str:
    parts = ["<h3>The share found of each class, by method</h3>", recall_table(comparison)]
    if comparison.of(OURS):
        counts = np.sum([score.confusion for score in comparison.of(OURS)], axis=0)
        svg = confusion(counts, comparison.task.class_names, "ours")
        caption = "PinvGCN's answers, all choices of labels together, in shares of each true class."
        parts.append(f'<div class="pair">{figure(svg, caption)}</div>')
    return section("Which classes get mixed up", *parts)


def _details(contest: Contest, surroundings: dict[str, Any]) -> str:
    seeds = ", ".join(str(seed) for seed in contest.comparison.seeds)
    versions = ", ".join(f"{name} {number}" for name, number in surroundings["versions"].items())
    facts = [
        ("Seeds", f"{seeds} (the choice of labels, and every method)"),
        ("Time", f"{contest.seconds:.0f} s for all methods, on {surroundings['processors']} processors"),
        ("System", f"{surroundings['system']}, Python {surroundings['python']}"),
        ("Versions", versions),
    ]
    return section(
        "How to get these numbers again",
        f"<pre><code>{escape(contest.command)}</code></pre>",
        definitions(facts),
        '<p class="soft">All numbers of this page are also in <code>results.json</code>.</p>',
    )


def memory_text(memory: int | None) -> str:
    """In units that people read."""
    if memory is None:
        return "–"
    return f"{memory / 1e9:.1f} GB" if memory >= 1e9 else f"{memory / 1e6:.0f} MB"
