"""The small tables of the panel: what they say, and that names are only text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pinvgcn.app.colours import ColourScale
from pinvgcn.app.labels import NONE, Category
from pinvgcn.app.live import LiveAnswer, ReviewPlace
from pinvgcn.app.panel import legend, listed, per_class, reviewed
from pinvgcn.app.session import View

CLASSES = (Category(2, "<b>", (1, 2, 3)), Category(5, "pole", (3, 2, 1)))
PLACES = (ReviewPlace(7, np.arange(1_200), 2, 0.456), ReviewPlace(1, np.arange(1), 9, 0.9))
VIEW = View(np.array([4, 6, 7]), np.array([5, 5, 2]), CLASSES, False, False, places=PLACES)


def test_places_to_review() -> None:
    text = listed(VIEW)
    assert "<td>1</td><td>&lt;b&gt;</td><td align=right>1,200</td><td align=right>46%</td>" in text
    assert "<td>2</td><td>?</td><td align=right>1</td><td align=right>90%</td>" in text
    assert reviewed(VIEW, None) == "2 doubtful places, the most doubtful first."
    assert reviewed(VIEW, 0) == "Place 1 of 2: 1,200 points, &lt;b&gt; at 46%"
    assert reviewed(VIEW, 1) == "Place 2 of 2: 1 point, ? at 90%"


def test_labels_and_points_of_each_class() -> None:
    assert per_class(VIEW) == {2: "1", 5: "2"}
    answer = LiveAnswer(np.repeat([2, 5, NONE], [1_500, 3, 7]), np.ones(1_510))
    assert per_class(replace(VIEW, answer=answer)) == {2: "1 → 1,500", 5: "2 → 3"}


def test_the_ends_of_a_scale() -> None:
    text = legend(ColourScale(0.12345, 250.0, "m"))
    assert "<span>0.123 m</span><span>250 m</span>" in text
    assert text.count("#") == 9
    assert legend(None) == ""
