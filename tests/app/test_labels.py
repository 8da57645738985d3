"""Labels: what an action does is what undo takes back."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinvgcn.app.journal import Journal
from pinvgcn.app.labels import COLOURS, LabelBook, free_colour
from pinvgcn.errors import DataError, LabelError

POINTS = 12


def seen(book: LabelBook) -> tuple:
    """All that the page shows of a book."""
    return book.of_point.tolist(), book.classes


def add(name: str) -> dict:
    return {"do": "add class", "name": name, "colour": [0, 114, 178]}


points = st.lists(st.integers(0, POINTS - 1), min_size=1, max_size=5)
number = st.integers(0, 4)
colour = st.lists(st.integers(0, 255), min_size=3, max_size=3)
action = st.one_of(
    st.builds(lambda p, c: {"do": "label", "points": p, "class": c}, points, number),
    st.builds(lambda p: {"do": "erase", "points": p}, points),
    st.builds(lambda n, c: {"do": "add class", "name": n, "colour": c}, st.sampled_from("abcdef"), colour),
    st.builds(lambda c, n: {"do": "rename class", "class": c, "name": n}, number, st.sampled_from("abcdef")),
    st.builds(lambda c, k: {"do": "recolour class", "class": c, "colour": k}, number, colour),
    st.builds(lambda c: {"do": "delete class", "class": c}, number),
    st.just({"do": "undo"}),
    st.just({"do": "redo"}),
)


@given(st.lists(action, max_size=40))
@settings(max_examples=60, deadline=None)
def test_undo_and_redo_walk_the_same_states(actions: list[dict]) -> None:
    book, states = LabelBook(POINTS), []
    states.append(seen(book))
    for one in actions:
        try:
            book.do(one)
        except LabelError:
            continue
        if one["do"] == "undo":
            continue
        if one["do"] != "redo":
            states = [*states[: len(book._done)], seen(book)]
        assert seen(book) == states[len(book._done)]
    reached = len(book._done)
    for place in range(reached - 1, -1, -1):
        book.do({"do": "undo"})
        assert seen(book) == states[place]
    assert not book.can_undo
    for place in range(1, reached + 1):
        book.do({"do": "redo"})
        assert seen(book) == states[place]


@given(st.lists(action, max_size=30), st.integers(0, 60))
@settings(max_examples=40, deadline=None)
def test_a_session_continues_where_it_stopped(
    tmp_path_factory: pytest.TempPathFactory, actions: list[dict], cut: int
) -> None:
    path = tmp_path_factory.mktemp("session") / "scan.jsonl"
    about = {"scan": "scan.las", "count": POINTS, "digest": "d"}
    with Journal(path, **about) as journal:
        for one in actions:
            try:
                journal.do(one)
            except LabelError:
                continue
        state, depth = seen(journal.book), len(journal.book._done)
    with Journal(path, **about) as again:
        assert seen(again.book) == state
        assert len(again.book._done) == depth
    whole = path.read_bytes()
    path.write_bytes(whole + json.dumps(add("z")).encode()[:cut])  # a crash in the middle of a line
    with Journal(path, **about) as after:
        assert seen(after.book) == state
    assert path.read_bytes() == whole


def test_labels_and_classes() -> None:
    book = LabelBook(POINTS)
    book.do(add("pole"))
    book.do(add("wire"))
    book.do({"do": "label", "points": [3, 1, 3], "class": 1})
    book.do({"do": "label", "points": [1], "class": 0})
    assert book.of_point[[0, 1, 3]].tolist() == [-1, 0, 1]
    book.do({"do": "delete class", "class": 1})
    assert book.labelled.tolist() == [1]
    book.do(add("wire"))
    assert [c.number for c in book.classes] == [0, 2]  # a number is never given twice
    book.do({"do": "undo"})
    book.do({"do": "undo"})
    assert book.labelled.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"do": "label", "points": [POINTS], "class": 0}, "0 to 11. Got 12"),
        ({"do": "label", "points": [], "class": 0}, "list of numbers"),
        ({"do": "label", "points": "x", "class": 0}, "list of numbers"),
        ({"do": "label", "points": [0.5], "class": 0}, "list of numbers"),
        ({"do": "label", "points": [0], "class": 7}, "Got 7"),
        ({"do": "add class", "name": "pole", "colour": [0, 0, 0]}, "'pole' twice"),
        ({"do": "add class", "name": " ", "colour": [0, 0, 0]}, "1 to 60"),
        ({"do": "add class", "name": "a\nb", "colour": [0, 0, 0]}, "1 to 60"),
        ({"do": "add class", "name": "new", "colour": [0, 0, 256]}, "0 to 255"),
        ({"do": "redo"}, "nothing to do again"),
        ({"do": "format disk"}, "'format disk'"),
    ],
)
def test_what_cannot_be_done_changes_nothing(wrong: dict, message: str) -> None:
    book = LabelBook(POINTS)
    book.do(add("pole"))
    before = seen(book)
    with pytest.raises(LabelError, match=message):
        book.do(wrong)
    assert seen(book) == before
    assert len(book._done) == 1


def test_what_a_book_begins_with_stays() -> None:
    book = LabelBook(POINTS)
    begin = {"do": "begin", "actions": [add("pole"), add("wire")]}
    book.do(begin)
    assert [c.name for c in book.classes] == ["pole", "wire"]
    with pytest.raises(LabelError, match="nothing to undo"):
        book.do({"do": "undo"})
    book.do({"do": "label", "points": [1], "class": 1})
    with pytest.raises(LabelError, match="before everything else"):
        book.do(begin)
    book.do({"do": "undo"})
    with pytest.raises(LabelError, match="before everything else"):
        book.do(begin)


def test_a_journal_of_another_scan_is_refused(tmp_path) -> None:
    path = tmp_path / "s.jsonl"
    Journal(path, scan="a.las", count=5, digest="x").close()
    with pytest.raises(DataError, match=r"made for 'a\.las' with 5 points, and this one has 6"):
        Journal(path, scan="b.las", count=6, digest="y")
    with (
        Journal(path, scan="a.las", count=5, digest="x"),
        pytest.raises(DataError, match="is open in another"),
    ):
        Journal(path, scan="a.las", count=5, digest="x")
    path.write_bytes(path.read_bytes() + b"nonsense\n")
    with pytest.raises(DataError, match="line 2, must be a JSON object"):
        Journal(path, scan="a.las", count=5, digest="x")


def test_what_failed_is_not_kept(tmp_path) -> None:
    path = tmp_path / "s.jsonl"
    with Journal(path, scan="a", count=3, digest="x") as journal:
        before = path.read_bytes()
        with pytest.raises(LabelError):
            journal.do({"do": "undo"})
        assert path.read_bytes() == before
    with pytest.raises(LabelError, match="The session is over"):
        journal.do(add("late"))
    assert journal.book.classes == []


def test_colours_are_given_in_turn() -> None:
    book = LabelBook(1)
    for number in range(len(COLOURS) + 1):
        book.do({"do": "add class", "name": str(number), "colour": list(free_colour(book.classes))})
    assert [c.colour for c in book.classes] == [*COLOURS, COLOURS[0]]
    assert np.all(book.of_point == -1)


def test_familiar_classes_have_familiar_colours() -> None:
    book = LabelBook(1)
    for name in ("Vegetation", "vegetation, low", "pole"):
        book.do({"do": "add class", "name": name, "colour": list(free_colour(book.classes, name))})
    # green, then the first that is free, then blue: which that was
    assert [c.colour for c in book.classes] == [(0, 158, 115), (0, 114, 178), (230, 159, 0)]


@pytest.mark.parametrize(
    "content", [b"one\ntwo\nthree", b'{"type": "FeatureCollection"}', b"LASF" + bytes(300)]
)
def test_a_file_that_is_no_session_stays_as_it_was(tmp_path, content: bytes) -> None:
    path = tmp_path / "mine"
    path.write_bytes(content)
    with pytest.raises(DataError, match="must be a"):
        Journal(path, scan="a.las", count=5, digest="x")
    assert path.read_bytes() == content
