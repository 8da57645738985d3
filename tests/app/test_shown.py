"""What is drawn: evenly over the scan, and all of a box where the budget allows it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pinvgcn.app import colours, preparation
from pinvgcn.app.cloud import Clip, Cloud, Shown, turns
from pinvgcn.app.known import KnownClasses
from pinvgcn.app.labels import NONE, Category, LabelBook
from pinvgcn.datasets import generate_street
from pinvgcn.errors import LabelError
from pinvgcn.features import local_geometry


@pytest.fixture(scope="module")
def cloud() -> Cloud:
    """A dense and a sparse cube, in feet."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.uniform(0, 1, (9_000, 3)), rng.uniform(5, 6, (1_000, 3))])
    return Cloud(Path("two"), points, {}, 0.3048, turns(points), "", most=500)


@pytest.mark.parametrize("most", [37, 500, 4_000])
def test_any_first_few_are_spread_over_the_scan(cloud: Cloud, most: int) -> None:
    assert np.sort(cloud.turn).tolist() == list(range(len(cloud)))
    drawn = np.flatnonzero(cloud.turn < most)
    assert np.sum(drawn >= 9_000) == pytest.approx(most / 10, abs=max(3, most / 50))
    dense = np.histogramdd(cloud.points[drawn[drawn < 9_000]], bins=2, range=[(0, 1)] * 3)[0]
    assert dense == pytest.approx(np.full((2, 2, 2), 0.9 * most / 8), abs=max(4, 0.03 * most))


def test_the_sample_and_what_lies_beside_it(cloud: Cloud) -> None:
    assert len(cloud.sample) == 500
    assert cloud.rows(cloud.sample).tolist() == list(range(500))
    some = np.arange(0, len(cloud), 97)
    away = np.linalg.norm(cloud.points[some][:, None] - cloud.points[cloud.sample], axis=2)
    found = away[np.arange(len(some)), cloud.rows(some)]
    assert found == pytest.approx(away.min(axis=1), abs=1e-6)
    assert cloud.places(some) == pytest.approx(0.3048 * (cloud.points[some] - cloud.middle), abs=1e-6)


def test_a_box_has_all_of_its_points_up_to_the_budget(cloud: Cloud) -> None:
    whole = Shown.of_cloud(cloud, budget=2_000)
    assert (len(whole), whole.of) == (2_000, 10_000)
    low, high = 0.3048 * (np.array([5.0, 5.0, 5.2]) - cloud.middle), 0.3048 * (6.5 - cloud.middle)
    clip = Clip(tuple(low), tuple(high))
    inside = np.flatnonzero((cloud.points >= [5, 5, 5.2]).all(axis=1))
    box = Shown.of_cloud(cloud, clip, budget=2_000)
    assert box.index.tolist() == inside.tolist()
    few = Shown.of_cloud(cloud, clip, budget=100)
    assert (len(few), few.of) == (100, len(inside))
    assert set(few.index) <= set(inside)
    assert few.index.tolist() == sorted(inside[np.argsort(cloud.turn[inside])[:100]])
    assert len(Shown.of_cloud(cloud, Clip((9, 9, 9), (10, 10, 10)))) == 0


def test_shapes_of_a_large_scan_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strip by strip, and in feet."""
    street = generate_street(4_000, random_state=0)
    points = street.X / 0.3048
    cloud = Cloud(Path("street"), points, {}, 0.3048, turns(points), "", most=700)
    whole = local_geometry(cloud.points[cloud.sample] * 0.3048, cloud.points * 0.3048)
    monkeypatch.setattr(preparation, "PIECE", 900)
    lattice, strips = preparation._shapes(cloud, lambda share: None)
    assert strips.tolist() == whole.tolist()
    prepared = preparation.prepare(cloud)
    ground = [at for at, name in enumerate(lattice.names) if name.startswith("ground_")][-1]
    assert prepared.above_ground.tolist() == whole[:, ground].tolist()


def test_classes_that_a_file_has(cloud: Cloud) -> None:
    known = KnownClasses.of(np.array([2, 0, 6, 2, 1], dtype=np.uint8), asprs=True)
    assert known.names == ("ground", "building")
    assert known.codes.tolist() == [0, -1, 1, 0, -1]
    assert KnownClasses.of(np.array([1.0, np.nan, 2.5])).names == ("1", "2.5")
    assert KnownClasses.of(np.array(["a", "", "b", "b "])).names == ("a", "b")
    assert known.agreement({5: "building", 7: "ground"}, np.array([7, 5, 5, 5, 5])) == pytest.approx(2 / 3)
    assert known.agreement({0: "pole"}, np.array([0]), np.array([1])) is None
    with pytest.raises(LabelError, match="256 different values"):
        KnownClasses.of(np.arange(300))


def test_taking_over_is_one_step_back() -> None:
    codes = np.repeat(np.array([0, 1, -1], dtype=np.int16), [50, 3, 7])
    known, turn = KnownClasses(("pole", "wire"), codes), np.arange(60)[::-1]
    book = LabelBook(60)
    for name in ("car", "wire"):
        book.do({"do": "add class", "name": name, "colour": [0, 0, 0]})
    book.do({"do": "delete class", "class": 0})
    book.do(known.as_labels(book, turn, each=5))
    assert [(c.number, c.name) for c in book.classes] == [(1, "wire"), (2, "pole")]
    assert np.flatnonzero(book.of_point == 2).tolist() == [45, 46, 47, 48, 49]  # whose turn comes first
    assert np.flatnonzero(book.of_point == 1).tolist() == [50, 51, 52]
    book.do({"do": "undo"})
    assert (book.of_point == NONE).all()
    assert [c.name for c in book.classes] == ["wire"]
    book.do(known.as_labels(book, turn))
    assert (book.of_point != NONE).sum() == 53


def test_colours() -> None:
    classes = [Category(0, "a", (10, 20, 30)), Category(4, "b", (200, 0, 0))]
    found = colours.by_class(np.array([4, NONE, 0]), classes)
    assert found.tolist() == [[200, 0, 0], list(colours.GREY), [10, 20, 30]]
    pale = colours.paled(np.array([[250, 50, 150]] * 2, dtype=np.uint8), np.array([1.0, 0.5]), 2)
    assert pale[0].tolist() == [250, 50, 150]
    assert pale[1].tolist() == [185, 115, 150]  # 0.35 of the colour, 0.65 of grey
    assert colours.by_own_colour(*(np.array([65535, 0], dtype=np.uint16),) * 3)[:, 0].tolist() == [255, 0]
    assert colours.by_own_colour(*(np.array([255, 0], dtype=np.uint8),) * 3)[:, 0].tolist() == [255, 0]
    assert colours.by_own_colour(*(np.array([1.0, 0.0]),) * 3)[:, 0].tolist() == [255, 0]
    by_height = colours.by_value(np.linspace(0, 100, 101), "m")
    assert by_height.scale == colours.ColourScale(1.0, 99.0, "m")
    assert colours.counts(np.array([4, 4, NONE]), classes) == {0: 0, 4: 2}
