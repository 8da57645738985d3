"""A session without a browser: actions in, views out, files beside the scan."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import laspy
import numpy as np
import pandas as pd
import pytest

from pinvgcn import PinvGCNClassifier
from pinvgcn.app import colours
from pinvgcn.app.cloud import Cloud, thinned
from pinvgcn.app.exports import class_numbers, classify, write_labels
from pinvgcn.app.journal import Journal
from pinvgcn.app.labels import NONE, Category
from pinvgcn.app.serve import names_of
from pinvgcn.app.session import Session, View
from pinvgcn.errors import LabelError
from pinvgcn.io import open_scan


@pytest.fixture
def las(street: Any, tmp_path: Path) -> Path:
    """The street as LAS, far from its origin, with intensities."""
    scan = laspy.create(point_format=6, file_version="1.4")
    scan.header.offsets, scan.header.scales = [400_000, 5_000_000, 0], [0.001] * 3
    scan.x, scan.y, scan.z = (street.X + np.array([400_000, 5_000_000, 100])).T
    scan.intensity = (1000 + 100 * street.y).astype(np.uint16)
    scan.write(tmp_path / "street.las")
    return tmp_path / "street.las"


class Watched:
    """A session whose views can be waited for."""

    def __init__(self, path: Path, reference: np.ndarray | None) -> None:
        self.source = open_scan(path)
        cloud = Cloud.of(path)
        journal = Journal(
            path.with_suffix(".jsonl"), scan=path.name, count=len(cloud.points), digest=cloud.digest
        )
        self.session = Session(cloud, journal, reference=reference)
        self._changed = threading.Condition()
        self.session.listen(self._hear)
        self.session.start()

    def _hear(self, view: View) -> None:
        with self._changed:
            self._changed.notify_all()

    def until(self, true: Any) -> View:
        with self._changed:
            assert self._changed.wait_for(lambda: true(self.session.view), timeout=60)
        return self.session.view


@pytest.fixture
def watched(las: Path, street: Any) -> Iterator[Watched]:
    one = Watched(las, np.array(street.target_names)[street.y])
    yield one
    one.session.end()


def add(session: Session, name: str) -> int:
    session.do({"do": "add class", "name": name, "colour": [1, 2, 3]})
    return session.view.classes[-1].number


def test_labels_spread_and_are_taken_back(watched: Watched, street: Any) -> None:
    session = watched.session
    watched.until(lambda view: view.step == "" and view.share == 1)
    assert session.view.predicted is None
    for code, name in enumerate(street.target_names):
        number = add(session, name)
        rows = np.flatnonzero(street.y == code)
        session.label(rows[:: len(rows) // 10][:10], number)
    count = 10 * len(street.target_names)
    view = watched.until(
        lambda v: v.predicted is not None and set(v.predicted) == set(range(len(street.target_names)))
    )
    view = watched.until(lambda v: v.right is not None and v.right > 0.8 and v.proposed is not None)
    assert (view.labels != NONE).sum() == count
    assert view.right == pytest.approx((view.predicted == street.y).mean())
    assert view.held_out is not None
    assert 0.5 < view.held_out <= 1
    assert view.proposed is not None
    assert len(view.proposed) == 5
    assert (view.labels[view.proposed] == NONE).all()
    # all but the first class go: one class alone predicts nothing
    for number in range(1, len(street.target_names)):
        session.do({"do": "delete class", "class": number})
    watched.until(lambda v: v.predicted is None)
    session.do({"do": "undo"})
    watched.until(lambda v: v.predicted is not None)


@pytest.mark.slow
def test_what_leaves_the_page(watched: Watched, las: Path, street: Any) -> None:
    session = watched.session
    with pytest.raises(LabelError, match="There must be a label to write"):
        write_labels(watched.source, session)
    for code, name in enumerate(street.target_names):
        number = add(session, name)
        rows = np.flatnonzero(street.y == code)
        session.label(rows[np.linspace(0, len(rows) - 1, 20).astype(int)], number)
    path = write_labels(watched.source, session)
    table = pd.read_csv(path)
    assert len(table) == 20 * len(street.target_names)
    assert (np.array(street.target_names)[street.y[table["index"]]] == table["class"]).all()
    with laspy.open(las) as file:
        points = file.read()
    assert table["x"].to_numpy() == pytest.approx(np.asarray(points.x)[table["index"]], abs=1e-6)
    said = classify(watched.source, session)
    assert "6,000 points written: street.las.classified.las" in said
    written = laspy.read(las.with_name("street.las.classified.las"))
    numbers = class_numbers(watched.source, session.view.classes)
    truth = np.array([numbers[code] for code in range(len(street.target_names))])[street.y]
    assert np.mean(written.classification == truth) > 0.85
    assert (np.asarray(written.classification)[table["index"]] == table["label"]).all()
    assert (np.asarray(written.intensity) == np.asarray(points.intensity)).all()
    assert np.asarray(written.confidence).max() <= 1
    model = PinvGCNClassifier.load(las.with_name("street.las.model.safetensors"))
    assert sorted(model.classes_.tolist()) == sorted(set(numbers.values()))


def test_numbers_of_classes_in_las(las: Path) -> None:
    def classes(*names: str) -> list[Category]:
        return [Category(i, name, (0, 0, 0)) for i, name in enumerate(names)]

    source = open_scan(las)
    assert class_numbers(source, classes("Ground", "pole", "building", "70", "car")) == {
        0: 2, 1: 64, 2: 6, 3: 70, 4: 65,
    }  # fmt: skip
    old = laspy.create(point_format=1, file_version="1.2")
    old.x, old.y, old.z = np.arange(9.0).reshape(3, 3)
    old.write(las.with_name("old.las"))
    small = open_scan(las.with_name("old.las"))
    assert class_numbers(small, classes("pole", "ground")) == {0: 31, 1: 2}
    with pytest.raises(LabelError, match="no class number left for 'k'"):
        class_numbers(small, classes(*"bcdefghijk"))
    ply = las.with_name("a.ply")
    ply.write_text(
        "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
        "property float z\nend_header\n0 0 0\n"
    )
    assert class_numbers(open_scan(ply), classes("pole", "ground")) == {0: 0, 1: 1}


def test_names_of_reference_classes() -> None:
    assert names_of(np.array([0, 1, 2, 6], dtype=np.uint8), asprs=True).tolist() == [
        "",
        "",
        "ground",
        "building",
    ]
    assert names_of(np.array([1.0, np.nan, 2.5])).tolist() == ["1", "", "2.5"]
    assert names_of(np.array(["a", ""])).tolist() == ["a", ""]


def test_what_is_drawn_is_spread_over_the_scan() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.uniform(0, 1, (9_000, 3)), rng.uniform(5, 6, (1_000, 3))])
    drawn = thinned(points, 500)
    assert len(np.unique(drawn)) == 500
    assert abs(np.sum(drawn >= 9_000) - 50) <= 2  # a tenth of the points, a tenth of what is drawn
    assert thinned(points, 20_000).tolist() == list(range(10_000))


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
