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
from browser_window import until

from pinvgcn import PinvGCNClassifier
from pinvgcn.app.cloud import Cloud
from pinvgcn.app.exports import class_numbers, classify, write_labels
from pinvgcn.app.journal import Journal
from pinvgcn.app.known import KnownClasses
from pinvgcn.app.labels import Category
from pinvgcn.app.live import Base
from pinvgcn.app.refining import Command
from pinvgcn.app.serve import Request, serve
from pinvgcn.app.session import Session, View
from pinvgcn.datasets import generate_street
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

    def __init__(self, path: Path, reference: np.ndarray, **settings: Any) -> None:
        self.source = open_scan(path)
        cloud = Cloud.of(path)
        journal = Journal(path.with_suffix(".jsonl"), scan=path.name, count=len(cloud), digest=cloud.digest)
        known = KnownClasses.of(reference)
        self.session = Session(cloud, journal, self.source, reference=known, **{"rest": None, **settings})
        self._changed = threading.Condition()
        self.session.listen(self._hear)
        self.session.start()

    def _hear(self, view: View) -> None:
        with self._changed:
            self._changed.notify_all()

    def until(self, true: Any) -> View:
        with self._changed:
            # a full fit, on a machine that is busy
            self._changed.wait_for(lambda: true(self.session.view) or self.session.view.trouble, timeout=300)
        assert true(self.session.view), self.session.view.trouble
        return self.session.view


@pytest.fixture
def watched(las: Path, street: Any) -> Iterator[Watched]:
    one = Watched(las, np.array(street.target_names)[street.y])
    yield one
    one.session.end()


def add(session: Session, name: str) -> int:
    session.do({"do": "add class", "name": name, "colour": [1, 2, 3]})
    return session.view.classes[-1].number


def label_all(session: Session, street: Any, each: int) -> None:
    """So many labels of each class, evenly."""
    for code, name in enumerate(street.target_names):
        number = add(session, name)
        rows = np.flatnonzero(street.y == code)
        session.label(rows[np.linspace(0, len(rows) - 1, each).astype(int)], number)


def test_labels_spread_and_are_taken_back(watched: Watched, street: Any) -> None:
    session = watched.session
    watched.until(lambda view: view.step == "" and view.share == 1)
    assert session.view.answer is None
    label_all(session, street, 10)
    classes = len(street.target_names)
    watched.until(lambda v: v.answer is not None and set(v.answer.numbers) == set(range(classes)))
    view = watched.until(lambda v: v.right is not None and v.right > 0.8 and v.places)
    assert len(view.labelled) == 10 * classes
    assert view.answer is not None
    assert view.right == pytest.approx((view.answer.numbers == street.y).mean())
    assert 0.5 < view.answer.held_out <= 1
    assert view.answer.contradicted is not None
    assert np.isin(view.answer.contradicted, view.labelled).all()
    assert len(view.answer.contradicted) == round((1 - view.answer.held_out) * len(view.answer.reply.points))
    assert not np.isin([place.seed for place in view.places], view.labelled).any()
    for place in view.places:
        assert place.seed in place.points
        assert (view.answer.numbers[place.points] == place.number).all()
        assert place.sureness == pytest.approx(view.answer.sureness[place.points].mean(), rel=1e-5)
    # all but the first class go: one class alone predicts nothing
    for number in range(1, classes):
        session.do({"do": "delete class", "class": number})
    watched.until(lambda v: v.answer is None)
    session.do({"do": "undo"})
    watched.until(lambda v: v.answer is not None)


def test_a_model_answers_first_and_clicks_correct_it(las: Path, street: Any) -> None:
    """A base that takes every pole for a wire is corrected where poles are clicked, and kept elsewhere."""
    names = list(street.target_names)
    pole, wire = names.index("pole"), names.index("wire")
    said = np.where(street.y == pole, wire, street.y).astype(np.int16)
    base = Base(said, np.full(len(said), 0.8, dtype=np.float32))
    watched = Watched(las, np.array(names)[street.y], base=lambda folder: base)
    session = watched.session
    for name in names:
        add(session, name)
    view = watched.until(lambda v: v.answer is not None)
    assert (view.answer.numbers == said).all()
    assert view.refined is None
    assert view.answer.sureness == pytest.approx(0.8)
    view = watched.until(lambda v: v.places)  # where a label would help most, before the first
    assert not view.answer.held_out
    rows = np.flatnonzero(street.y == pole)
    session.label(rows[:: max(1, len(rows) // 12)][:12], pole)
    view = watched.until(lambda v: v.answer is not None and v.answer.held_out is not None and not v.waits)
    assert (view.answer.numbers[rows] == pole).mean() > 0.5
    others = street.y != pole
    assert (view.answer.numbers[others] == street.y[others]).mean() > 0.95
    session.end()


@pytest.mark.slow
def test_what_is_refined_is_what_is_written(las: Path, street: Any) -> None:
    """Hands that rest have the full model fitted; an action ends that; export writes what is seen."""
    las.with_name(".street.jsonl.refined").joinpath("1").mkdir(parents=True)  # of a page that was killed
    watched = Watched(las, np.array(street.target_names)[street.y], rest=1.0)
    session = watched.session
    with pytest.raises(LabelError, match="There must be a label to write"):
        write_labels(watched.source, session)
    label_all(session, street, 20)
    watched.until(lambda v: v.refining)
    session.label(np.flatnonzero(street.y == 0)[1:2], 0)  # in the middle of the fit
    assert not session.view.refining
    view = watched.until(lambda v: v.refined is not None)
    assert view.refined is not None
    assert view.refined.estimate is not None
    assert view.right == pytest.approx((view.refined.numbers == street.y).mean())
    assert view.right > 0.85
    said = classify(watched.source, session)
    assert session.view.refined is view.refined  # nothing was fitted again
    assert "6,000 points written: street.las.classified.las" in said
    table = pd.read_csv(las.with_name("street.las.labels.csv"))
    assert len(table) == len(view.labelled)
    assert (np.array(street.target_names)[street.y[table["index"]]] == table["class"]).all()
    points, written = laspy.read(las), laspy.read(las.with_name("street.las.classified.las"))
    assert table["x"].to_numpy() == pytest.approx(np.asarray(points.x)[table["index"]], abs=1e-6)
    numbers = class_numbers(watched.source, view.classes)
    seen = np.array([numbers[code] for code in range(len(street.target_names))])[view.refined.numbers]
    assert np.asarray(written.classification).tolist() == seen.tolist()
    assert np.asarray(written.confidence) == pytest.approx(view.refined.confidence, abs=1e-6)
    assert (np.asarray(written.classification)[table["index"]] == table["label"]).all()
    assert (np.asarray(written.intensity) == np.asarray(points.intensity)).all()
    model = PinvGCNClassifier.load(las.with_name("street.las.model.safetensors"))
    assert sorted(model.classes_.tolist()) == sorted(set(numbers.values()))
    # a colour changes nothing, a label does; undone, the answer is not kept
    session.do({"do": "recolour class", "class": 0, "colour": [9, 9, 9]})
    assert session.view.refined is not None
    session.do({"do": "erase", "points": [int(view.labelled[0])]})
    assert session.view.refined is None
    session.end()
    assert not list(las.parent.glob(".*"))


def test_without_answers_labels_are_painted_at_once(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes wrong in the background ends answers, not labelling."""
    session = watched.session
    watched.until(lambda view: view.share == 1.0)
    first, second = add(session, "ground"), add(session, "other")
    session.label(np.array([0]), first)
    session.label(np.array([1]), second)
    answered = watched.until(lambda view: view.answer is not None and not view.waits)

    def fails(*_: Any) -> None:
        raise MemoryError("no more of it")

    assert session._live is not None
    monkeypatch.setattr(session._live, "answer", fails)
    session.label(np.array([2]), second)
    failed = watched.until(lambda view: "no more of it" in view.trouble)
    assert (failed.waits, failed.answer) == (False, answered.answer)
    session._thread.join(60)
    session.label(np.array([3]), second)
    assert not session.view.waits
    np.testing.assert_array_equal(session.view.labelled, [0, 1, 2, 3])


def test_numbers_of_classes_in_las(las: Path) -> None:
    def classes(*names: str) -> list[Category]:
        return [Category(i, name, (0, 0, 0)) for i, name in enumerate(names)]

    source = open_scan(las)
    assert class_numbers(source, classes("Ground", "pole", "building", "70", "car", "user class 65")) == {
        0: 2, 1: 64, 2: 6, 3: 70, 4: 66, 5: 65,
    }  # fmt: skip
    old = laspy.create(point_format=1, file_version="1.2")
    old.x, old.y, old.z = np.arange(9.0).reshape(3, 3)
    old.write(las.with_name("old.las"))
    small = open_scan(las.with_name("old.las"))
    assert class_numbers(small, classes("pole", "ground")) == {0: 31, 1: 2}
    assert class_numbers(small, classes("user class 65", "reserved class 23")) == {0: 31, 1: 23}
    with pytest.raises(LabelError, match="no class number left for 'k'"):
        class_numbers(small, classes(*"bcdefghijk"))
    ply = las.with_name("a.ply")
    ply.write_text(
        "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
        "property float z\nend_header\n0 0 0\n"
    )
    assert class_numbers(open_scan(ply), classes("pole", "ground")) == {0: 0, 1: 1}


@pytest.mark.slow
def test_a_saved_model_colours_a_new_scan(las: Path, street: Any, tmp_path: Path) -> None:
    """``segment --save-model`` on one street; another takes its colours before the first click."""
    pytest.importorskip("viser", reason="viser is not installed")
    model, names = tmp_path / "town.model", np.array(street.target_names)
    rows = np.concatenate([np.flatnonzero(street.y == code)[::9][:40] for code in range(len(names))])
    labels = pd.DataFrame({"index": rows, "label": 64 + street.y[rows]})
    labels.to_csv(tmp_path / "labels.csv", index=False)
    Command("segment", las, "--labels", tmp_path / "labels.csv", "-o", tmp_path / "out.las",
        "--save-model", model).wait()  # fmt: skip
    other = generate_street(len(street.X), random_state=1)
    scan = laspy.create(point_format=6, file_version="1.4")
    scan.header.scales = [0.001] * 3
    scan.x, scan.y, scan.z = other.X.T
    scan.intensity = (1000 + 100 * other.y).astype(np.uint16)
    scan.write(tmp_path / "new.las")
    with serve(Request(tmp_path / "new.las", model=model, rest=None)) as running:
        session = running.session
        until(lambda: session.view.answer is not None, seconds=120, what="the model's answer")
        view = session.view
        own = [f"user class {64 + code}" for code in range(len(names))]  # as the standard names them
        assert [category.name for category in view.classes] == own
        assert view.answer is not None
        before = view.answer.numbers
        assert (before == other.y).mean() > 0.85
        wrong = np.flatnonzero(before != other.y)[:8]
        for row in wrong.tolist():  # odd ones: what the model knows of other points stays
            session.label(np.array([row]), int(other.y[row]))
        until(lambda: session.view.answer.held_out is not None and not session.view.waits, what="an answer")
        after = session.view.answer.numbers
        assert (after == other.y).mean() > (before == other.y).mean() - 0.01
