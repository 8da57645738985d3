"""The demo's ``report.html``, ``results.json`` and ``tiles.png``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.experiments.comparison import Comparison
from pinvgcn.experiments.demo import Demo
from pinvgcn.experiments.methods.pinvgcn import OURS, mean_weights
from pinvgcn.experiments.task import Sink
from pinvgcn.io.atomic import atomic_file, write_text
from pinvgcn.report import figures
from pinvgcn.report.figures.drawing import inline_svg, write_png
from pinvgcn.report.figures.model import learned_filters
from pinvgcn.report.page import environment, render


def write_report(demo: Demo, folder: Path, *, progress: Sink = lambda line: None) -> Path:
    """Write the files into the folder; returns the path of the report."""
    progress("Report: drawing the figures")
    tiles = figures.tiles(
        [
            (one.task.title, one.task.X, one.task.y, one.labels, one.answers[OURS].codes)
            for one in (demo.survey, demo.next_tile)
        ],
        demo.survey.task.class_names,
    )
    with atomic_file(folder / "tiles.png") as temporary:
        write_png(tiles, temporary)
    numbers = json.dumps(results(demo), indent=1, allow_nan=False)
    write_text(folder / "results.json", numbers + "\n")
    write_text(folder / "report.html", demo_page(demo, tiles))
    return folder / "report.html"


def results(demo: Demo) -> dict[str, Any]:
    """Every number of the report, as plain data."""
    models = {one.task.name: _model_numbers(one) for one in demo.fitted}
    return {
        "format": 2,
        "command": demo.command,
        "seconds": demo.seconds,
        "environment": environment(),
        "expected_accuracy": [None if one is None else one.as_dict() for one in demo.estimates],
        "comparisons": [
            {**one.as_dict(), "first_model": models.get(one.task.name)} for one in demo.comparisons
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


def demo_page(demo: Demo, tiles: Any) -> str:
    """The whole page."""
    n = demo.survey.task.rows
    return render(
        "demo.html",
        demo=demo,
        ours=OURS,
        models=[one.answers[OURS].model for one in demo.fitted],
        pairs=f"{n * (n - 1) // 2 / 1e6:,.0f} million",
        warnings=[f"{one.task.title}: {note}" for one in demo.comparisons for note in one.notes()],
        figures={"tiles": inline_svg(tiles, "tiles", TILES), **_figures(demo)},
    )


TILES = "Both tiles of the survey: the true classes, the answer, and the points that are wrong."


def _figures(demo: Demo) -> dict[str, Any]:
    survey, away = demo.survey, demo.next_tile
    spectrum = survey.answers[OURS].model.spectrum_
    proba, points = away.answers[OURS].facts["P"], np.asarray(away.task.X, dtype=float)
    known = away.task.y >= 0
    series = [
        (one.task.title, np.asarray(model.spectrum_.values), model.loss_curve_)
        for one in demo.fitted
        for model in [one.answers[OURS].model]
    ]
    return {
        "patterns": figures.patterns(
            np.asarray(survey.task.X, dtype=float), np.asarray(spectrum.vectors), np.asarray(spectrum.values)
        ),
        "confidence": figures.confidence(points[known], proba[known], away.task.y[known], away.labels[known]),
        "training": figures.training(series),
        "filters": {
            one.task.name: figures.filters(learned_filters(one.answers[OURS].model), one.task.name)
            for one in demo.fitted
        },
        "confusion": {
            one.task.name: figures.confusion(one.confusion(OURS), one.task.class_names, one.task.name)
            for one in demo.comparisons
        },
    }
