"""The demo's ``report.html`` and ``results.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.experiments.comparison import Comparison
from pinvgcn.experiments.demo import Demo
from pinvgcn.experiments.methods.pinvgcn import OURS
from pinvgcn.experiments.task import Sink
from pinvgcn.io.atomic import write_text
from pinvgcn.report import figures
from pinvgcn.report.learned import learned_filters, mean_weights
from pinvgcn.report.page import environment, render


def write_report(demo: Demo, folder: Path, *, progress: Sink = lambda line: None) -> Path:
    """Write ``results.json`` and ``report.html`` into the folder; returns the path of the report."""
    progress("Report: drawing the figures")
    numbers = json.dumps(results(demo), indent=1, allow_nan=False)
    write_text(folder / "results.json", numbers + "\n")
    write_text(folder / "report.html", demo_page(demo))
    return folder / "report.html"


def results(demo: Demo) -> dict[str, Any]:
    """Every number of the report, as plain data."""
    return {
        "format": 1,
        "command": demo.command,
        "seconds": demo.seconds,
        "environment": environment(),
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


def demo_page(demo: Demo) -> str:
    """The whole page."""
    n = demo.scan.task.rows
    pairs = n * (n - 1) // 2
    return render(
        "demo.html",
        demo=demo,
        ours=OURS,
        models=[comparison.answers[OURS].model for comparison in demo.comparisons],
        pairs=f"{pairs / 1e6:,.0f} million" if pairs >= 1e6 else f"{pairs:,}",
        warnings=[
            f"{comparison.task.title}: {note}"
            for comparison in demo.comparisons
            for note in comparison.notes()
        ],
        figures=_figures(demo),
    )


def _figures(demo: Demo) -> dict[str, Any]:
    task, answer, labels = demo.scan.task, demo.scan.answers[OURS], demo.scan.labels
    points, spectrum = np.asarray(task.X, dtype=float), answer.model.spectrum_
    proba = np.asarray(answer.model.transduction_proba_)
    series = [
        (one.task.title, np.asarray(model.spectrum_.values), model.loss_curve_)
        for one in demo.comparisons
        for model in [one.answers[OURS].model]
    ]
    return {
        "segmentation": figures.segmentation(points, task.y, labels, answer.codes, task.class_names),
        "patterns": figures.patterns(points, np.asarray(spectrum.vectors), np.asarray(spectrum.values)),
        "confidence": figures.confidence(points, proba, task.y, labels),
        "training": figures.training(series),
        "filters": {
            one.task.name: figures.filters(learned_filters(one.answers[OURS].model), one.task.name)
            for one in demo.comparisons
        },
        "confusion": {
            one.task.name: figures.confusion(one.confusion(OURS), one.task.class_names, one.task.name)
            for one in demo.comparisons
        },
    }
