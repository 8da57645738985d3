"""The demo's ``report.html`` and ``results.json``."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.experiments.comparison import Comparison
from pinvgcn.experiments.demo import Demo
from pinvgcn.experiments.pieces import name_cell, percent, recall_table, seconds_cell, share_cell
from pinvgcn.experiments.task import Sink
from pinvgcn.io.atomic import write_text
from pinvgcn.report import figures, prose
from pinvgcn.report.environment import environment
from pinvgcn.report.learned import learned_filters, mean_weights
from pinvgcn.report.page import cell, definitions, document, figure, section, table

OURS = "pinvgcn"


def write_report(demo: Demo, folder: Path, *, progress: Sink = lambda line: None) -> Path:
    """Write ``results.json`` and ``report.html`` into the folder; returns the path of the report."""
    progress("Report: drawing the figures")
    surroundings = environment()
    numbers = json.dumps(results(demo, surroundings), indent=1, allow_nan=False)
    write_text(folder / "results.json", numbers + "\n")
    page = folder / "report.html"
    write_text(page, html_report(demo, surroundings))
    return page


def results(demo: Demo, surroundings: dict[str, Any]) -> dict[str, Any]:
    """Every number of the report, as plain data."""
    return {
        "format": 1,
        "command": demo.command,
        "seconds": demo.seconds,
        "environment": surroundings,
        "comparisons": [
            {**comparison.as_dict(), "first_model": _model_numbers(comparison)}
            for comparison in demo.comparisons
        ],
    }


def _model_numbers(comparison: Comparison) -> dict[str, Any]:
    """What is known about the network of the first split."""
    model = comparison.answers[OURS].model
    return {
        "seed": comparison.seeds[0],
        "solver": str(model.spectrum_.solver),
        "eigengap": float(model.spectrum_.eigengap),
        "eigenvalues": np.asarray(model.spectrum_.values, dtype=float).tolist(),
        "mean_absolute_weight": mean_weights(model),
        "loss_curve": [float(loss) for loss in model.loss_curve_],
    }


def html_report(demo: Demo, surroundings: dict[str, Any]) -> str:
    """The whole page."""
    version = surroundings["versions"]["pinvgcn"]
    return document(
        "pinvgcn demo: classified from a few labels",
        [
            _header(demo, version),
            _what_was_done(demo),
            _results(demo),
            _scan(demo.scan),
            _mistakes(demo),
            _learned(demo),
            _details(demo, surroundings),
        ],
        generator=f"pinvgcn {version}",
    )


def _header(demo: Demo, version: str) -> str:
    cards = "\n".join(_card(comparison) for comparison in demo.comparisons)
    return prose.HEADER.substitute(version=escape(version), cards=cards)


def _card(comparison: Comparison) -> str:
    task = comparison.task
    lines = comparison.summaries()
    ours = next(line for line in lines if line.method == OURS)
    other = next(line for line in lines if line.method != OURS)
    return prose.CARD.substitute(
        title=escape(task.title),
        accuracy=percent(ours.accuracy),
        noun=task.noun,
        given=task.given,
        rows=f"{task.rows:,}",
        comparison=f"Best of the simpler methods: {escape(other.title)}, {percent(other.accuracy)}.",
    )


def _what_was_done(demo: Demo) -> str:
    n = demo.scan.task.rows
    pairs = n * (n - 1) // 2
    return section(
        "What was done, in plain words",
        prose.STEPS.substitute(
            pairs=f"{pairs / 1e6:,.0f} million" if pairs >= 1e6 else f"{pairs:,}",
            rank=len(demo.scan.answers[OURS].model.spectrum_.values),
        ),
    )


def _results(demo: Demo) -> str:
    runs = prose.SEVERAL_RUNS.substitute(count=demo.splits) if demo.splits > 1 else prose.ONE_RUN
    parts = [prose.RESULTS.substitute(runs=runs)]
    for comparison in demo.comparisons:
        task = comparison.task
        parts.append(f"<h3>{escape(task.title)}: {task.amount}</h3>")
        parts.append(_result_table(comparison))
    notes = [
        f"<li>{escape(comparison.task.title)}: {escape(note)}</li>"
        for comparison in demo.comparisons
        for note in comparison.notes()
    ]
    if notes:
        parts.append(
            f'<div class="soft"><p>What the methods warned about:</p><ul>{"".join(notes)}</ul></div>'
        )
    return section("How well it worked", *parts)


def _result_table(comparison: Comparison) -> str:
    lines = comparison.summaries()
    several = len(comparison.seeds) > 1
    rows = []
    for line in lines:
        spread = line.accuracy_sd if several else None
        rows.append(
            [
                name_cell(line),
                share_cell(line.accuracy, spread),
                share_cell(line.mean_recall),
                seconds_cell(line),
            ]
        )
    return table(
        ["Method", "Accuracy", "Mean recall", "Time per run"],
        rows,
        best=[number for number, line in enumerate(lines) if line.accuracy == lines[0].accuracy],
        kind="wide-bars",
    )


def _scan(comparison: Comparison) -> str:
    task, answer = comparison.task, comparison.answers[OURS]
    spectrum = answer.model.spectrum_
    points = np.asarray(task.X, dtype=float)
    proba = np.asarray(answer.model.transduction_proba_)
    return section(
        "The street scan",
        prose.SCAN.substitute(rows=f"{task.rows:,}", seed=comparison.seeds[0]),
        figure(
            figures.segmentation(points, task.y, comparison.labels, answer.codes, task.class_names),
            prose.SEGMENTATION,
        ),
        figure(
            figures.patterns(points, np.asarray(spectrum.vectors), np.asarray(spectrum.values)),
            prose.PATTERNS,
        ),
        figure(figures.confidence(points, proba, task.y, comparison.labels), prose.CONFIDENCE),
    )


def _mistakes(demo: Demo) -> str:
    pictures = []
    for comparison in reversed(demo.comparisons):
        counts = np.sum([score.confusion for score in comparison.of(OURS)], axis=0)
        svg = figures.confusion(counts, comparison.task.class_names, comparison.task.name)
        pictures.append(figure(svg, prose.CONFUSION.substitute(title=escape(comparison.task.title))))
    return section(
        "Which classes get mixed up",
        f'<div class="pair">{"".join(pictures)}</div>',
        "<h3>The share found of each class, by method</h3>",
        *(recall_table(comparison) for comparison in reversed(demo.comparisons)),
    )


def _learned(demo: Demo) -> str:
    parts = [prose.FILTERS]
    series = []
    for comparison in demo.comparisons:
        model = comparison.answers[OURS].model
        svg = figures.filters(learned_filters(model), comparison.task.name)
        parts += [f"<h3>{escape(comparison.task.title)}</h3>", figure(svg, prose.FILTER_FIGURE)]
        series.append((comparison.task.title, np.asarray(model.spectrum_.values), model.loss_curve_))
    parts.append(figure(figures.training(series), prose.TRAINING))
    return section("What the network learned", *parts)


def _details(demo: Demo, surroundings: dict[str, Any]) -> str:
    rows = []
    for comparison in demo.comparisons:
        model = comparison.answers[OURS].model
        rows.append(
            [
                cell(escape(comparison.task.title)),
                cell(f"{comparison.task.rows:,}"),
                cell(escape(str(model.spectrum_.solver))),
                cell(str(len(model.spectrum_.values))),
                cell(f"{model.spectrum_.eigengap:.4f}"),
                cell(f"{len(model.loss_curve_):,}"),
            ]
        )
    versions = ", ".join(f"{name} {number}" for name, number in surroundings["versions"].items())
    sources = "".join(
        f"<li>{escape(info.description)}. {escape(info.source)}. Licence: {escape(info.licence)}.</li>"
        for info in demo.sources
    )
    seeds = ", ".join(str(seed) for seed in demo.scan.seeds)
    facts = [
        ("Seeds", f"{seeds} (the choice of labels, and every method)"),
        (
            "Time",
            f"{demo.seconds:.0f} s for all methods and runs, on {surroundings['processors']} processors",
        ),
        ("Threads", f"{surroundings['torch_threads']} (torch)"),
        ("System", f"{surroundings['system']}, Python {surroundings['python']}"),
        ("Versions", versions),
    ]
    heads = ["Data set", "Nodes", "Solver", "Eigenvectors", "Eigengap λ₁", "Epochs"]
    return section(
        "How to get these numbers again",
        f"<pre><code>{escape(demo.command)}</code></pre>",
        definitions(facts),
        table(heads, rows, prose.DETAILS),
        f'<h3>Data</h3><ul class="soft">{sources}</ul>',
    )
