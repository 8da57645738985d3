"""The page as a browser shows it: in a window of a laptop, and of a telephone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pinvgcn.experiments.reproduce.job import EXPERIMENTS, _surroundings
from pinvgcn.experiments.reproduce.ledger import Ledger
from pinvgcn.experiments.reproduce.results import Results
from pinvgcn.report.page import render

COMMITTED = Path(__file__).parents[3] / "docs" / "reproduction" / "results.jsonl"


@pytest.fixture(scope="module")
def widest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables with most columns, and the commands, which are the longest words."""
    results = Results(Ledger.open(COMMITTED))
    blocks = [*EXPERIMENTS["hypergraphs"].blocks(results), *_surroundings(results)]
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render("reproduce.html", title="", lead="", sections=[("", blocks)]))
    return path


@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_is_as_wide_as_its_window_and_captions_stay_within(
    chromium: Any, widest: Path, width: int
) -> None:
    tab = chromium.new_page(viewport={"width": width, "height": 900})
    tab.goto(widest.as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    captions = tab.evaluate(
        "[...document.querySelectorAll('figcaption, caption')]"
        ".map(e => [e.closest('.scroll') === null, e.getBoundingClientRect().right])"
    )
    assert len(captions) == 5
    assert all(outside and right < width for outside, right in captions)
    if width == 1280:
        boxes = tab.evaluate(
            "[...document.querySelectorAll('.scroll')].map(e => [e.scrollWidth, e.clientWidth])"
        )
        assert all(inside <= box for inside, box in boxes)
    tab.close()
