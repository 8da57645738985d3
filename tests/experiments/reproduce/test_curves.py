"""What is drawn: error bars where a spread is known, and no zero on a logarithmic axis."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

from pinvgcn.experiments.reproduce.experiment import Entry
from pinvgcn.experiments.reproduce.figures import (
    RANK,
    REGULARIZATION,
    SPLIT_SIZE,
    of_rank,
    regularized,
    split_size,
)
from pinvgcn.experiments.reproduce.ledger import Ledger
from pinvgcn.experiments.reproduce.results import Results
from pinvgcn.report.figures.methods import Curve, Look, Panel, Scale, draw, without_place

LOOK = Look("Method", "black", "o")
LINEAR, LOGARITHMIC = Scale("x", "y"), Scale("x", "y", log_y=True)


def bars(axes: Axes) -> list[tuple[float, float, float]]:
    """x, bottom and top of each error bar that can be seen."""
    found = []
    for container in axes.containers:
        assert isinstance(container, ErrorbarContainer)
        for lines in container[2]:
            ends = [segment for segment in lines.get_segments() if len(segment)]
            found += [(float(x), float(bottom), float(top)) for (x, bottom), (_, top) in ends]
    return found


def markers(axes: Axes) -> list[tuple[float, float, bool]]:
    """x, y of each point of ours, and whether it is a cross."""
    return [
        (float(x), float(y), container[0].get_marker() == "x")
        for container in axes.containers
        for x, y in container[0].get_xydata()
        if np.isfinite(y)
    ]


def test_a_bar_where_the_standard_error_is_known() -> None:
    curve = Curve(LOOK, [(1, 10.0), (2, 20.0), (3, 30.0)], [1.0, None, 2.0], [False, False, True])
    (axes,) = draw([Panel("P", LINEAR, [curve])], marked="m").axes
    assert bars(axes) == [(1, 9, 11), (3, 28, 32)]
    assert markers(axes) == [(1, 10, False), (2, 20, False), (3, 30, True)]


@pytest.mark.parametrize("scale", [LINEAR, LOGARITHMIC])
def test_zero_is_drawn_on_a_linear_axis_alone(scale: Scale) -> None:
    curves = [Curve(LOOK, [(1, 0.0)]), Curve(LOOK, [(1, 2.0), (50, 0.0)], [0.1, 0.0])]
    panel = Panel("Mushroom", scale, curves)
    (axes,) = draw([panel]).axes
    left_out = scale is LOGARITHMIC
    assert markers(axes) == [(1, 2, False)] + ([] if left_out else [(50, 0, False)])
    said = " Zero, which has no place on a logarithmic axis: Mushroom, Method at 50."
    assert without_place([panel]) == (said if left_out else "")


def kept(ledger: Ledger, entry: Entry, *accuracies: float) -> None:
    for seed, accuracy in enumerate(accuracies):
        ledger.append(
            "run", question=entry.spec.key, method=entry.method.name, seed=seed, accuracy=accuracy,
            seconds={"training": 1.0},
        )  # fmt: skip


def test_all_three_figures_treat_single_runs_and_perfect_ones_alike(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "results.jsonl")
    ours = split_size()["mushroom"][0]
    three = [
        (SPLIT_SIZE, [ours.entries[size] for size in (5, 10, 20)]),
        (REGULARIZATION, [regularized("citeseer", R, 200) for R in (0.01, 0.02, 0.05)]),
        (RANK, [of_rank("oakland1", rank) for rank in (5, 10, 15)]),
    ]
    for experiment, (single, twice, perfect) in three:
        kept(ledger, single, 0.9)
        kept(ledger, twice, 0.8, 0.9)  # ± 5: a standard deviation of √50, of two runs
        kept(ledger, perfect, 1.0, 1.0)
        figure = experiment.blocks(Results(ledger))[0]
        axes = figure.drawing.axes[0]
        sizes = sorted(round(top - bottom, 9) for _, bottom, top in bars(axes))
        accuracies = experiment is REGULARIZATION
        assert sizes == ([0, 10] if accuracies else [10])
        assert len(markers(axes)) == (3 if accuracies else 2)
        assert ("no place on a logarithmic axis" in figure.caption) is not accuracies
