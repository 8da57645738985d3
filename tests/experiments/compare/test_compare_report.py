"""The files of a comparison say what was measured, who is ahead, and who is missing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from behaviours import Behaves
from matplotlib.image import imread

from pinvgcn.experiments.compare import ComparedMethods, margin_lines, write_comparison
from pinvgcn.experiments.comparison import Comparison, compare
from pinvgcn.experiments.task import Task


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """Ours is wrong in a tenth of the rows, Well never, Rough in three tenths; Absent has failed."""
    y = np.repeat([0, 1, 2], 100)
    task = Task("t", "My <data>", "points", np.zeros((300, 3)), y, ("a", "b & c", "d"), 5, surroundings=True)
    methods = [Behaves("pinvgcn", wrong=0.1), Behaves("well"), Behaves("rough", wrong=0.3)]
    found = compare(task, methods, splits=3)
    scores = tuple(replace(score, memory=150_000_000 + score.seed) for score in found.scores)
    failures = {"absent": "out of memory: too much"}
    return replace(found, scores=scores, methods=(*found.methods, Behaves("absent")), failures=failures)


@pytest.fixture(scope="module")
def folder(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared")
    write_comparison(ComparedMethods(comparison, "pinvgcn compare mine.las", 12.0), folder)
    return folder


def test_the_margin_in_words(comparison: Comparison) -> None:
    accuracies = np.array([[s.accuracy for s in comparison.of(name)] for name in ("pinvgcn", "well")])
    gaps = accuracies[0] - accuracies[1]
    expected = f"{-100 * gaps.mean():.2f} ± {100 * gaps.std(ddof=1) / np.sqrt(3):.2f}"
    assert margin_lines(comparison)[0] == (
        f"Accuracy: PinvGCN is {expected} points behind the best other method, Well"
    )
    worse = replace(comparison, methods=comparison.methods[:1] + comparison.methods[2:])
    assert "points ahead of the best other method, Rough" in margin_lines(worse)[1]
    assert margin_lines(comparison)[1].startswith("Macro F1: ")


def test_nothing_is_said_of_ours_where_it_did_not_take_part(comparison: Comparison, tmp_path: Path) -> None:
    others = replace(
        comparison,
        methods=comparison.methods[1:3],
        scores=tuple(s for s in comparison.scores if s.method != "pinvgcn"),
        failures={},
    )
    assert margin_lines(others) == []
    numbers = write_comparison(ComparedMethods(others, "c", 1.0), tmp_path)
    assert numbers["margins"] == {"accuracy": None, "macro_f1": None}


def test_the_numbers(comparison: Comparison, folder: Path) -> None:
    numbers = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert (numbers["format"], numbers["command"], numbers["seconds"]) == (
        1,
        "pinvgcn compare mine.las",
        12.0,
    )
    assert numbers["margins"]["accuracy"]["other"] == "well"
    assert numbers["comparison"]["failures"] == {"absent": "out of memory: too much"}
    for line in comparison.summaries():
        kept = numbers["comparison"]["methods"][line.method]
        assert (kept["accuracy"], kept["macro_f1"], kept["memory"]) == (
            line.accuracy,
            line.macro_f1,
            150_000_002,
        )


def test_the_page(comparison: Comparison, folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|<script|<link|@import", page)
    assert page.count('<svg class="figure"') == 2  # the chart and our confusion
    assert "My &lt;data&gt;" in page
    assert "My <data>" not in page
    assert "b &amp; c" in page
    assert "Left out: Absent (out of memory: too much)." in page
    assert "local_geometry" in page
    assert "150 MB" in page
    for line in margin_lines(comparison):
        assert line in page


def test_the_picture_is_of_a_size_to_look_at(folder: Path) -> None:
    height, width, _ = imread(folder / "comparison.png").shape
    assert 1400 < width < 1800
    assert 300 < height < 600
