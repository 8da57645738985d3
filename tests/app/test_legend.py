"""The small tables of the panel: what they say, and that names are only text."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from pinvgcn.app.colours import ColourScale
from pinvgcn.app.panel import legend, listed


def test_places_to_review() -> None:
    places = [SimpleNamespace(number=2, points=np.arange(1_200), sureness=0.456)]
    places.append(SimpleNamespace(number=9, points=np.arange(3), sureness=0.9))
    view: Any = SimpleNamespace(classes=[SimpleNamespace(number=2, name="<b>")], places=places)
    text = listed(view)
    assert "<td>1</td><td>&lt;b&gt;</td><td align=right>1,200</td><td align=right>46%</td>" in text
    assert "<td>2</td><td>?</td><td align=right>3</td><td align=right>90%</td>" in text


def test_the_ends_of_a_scale() -> None:
    text = legend(ColourScale(0.12345, 250.0, "m"))
    assert "<span>0.123 m</span><span>250 m</span>" in text
    assert text.count("#") == 9
    assert legend(None) == ""
