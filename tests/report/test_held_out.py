"""Labels are dealt class by class, and no method sees what it is asked."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pinvgcn.report.held_out import deal, held_out


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=60), st.integers(2, 5), st.integers(0, 9))
def test_labels_are_dealt_class_by_class(labels: list[int], folds: int, seed: int) -> None:
    codes = np.array(labels)
    fold = deal(codes, folds, seed)
    assert (fold[codes < 0] == -1).all()
    for code in range(4):
        mine = fold[codes == code]
        if len(mine) == 1:
            assert mine[0] == -1
        elif len(mine):
            sizes = np.bincount(mine, minlength=folds)
            assert sizes.max() - sizes.min() <= 1


def test_no_method_sees_what_it_is_asked() -> None:
    """A method that repeats the labels it gets, and says 0 elsewhere, finds the rows of class 0 alone."""
    codes = np.append(np.repeat([0, 1, 1, -1, 2], 10), 3)

    def repeat(labels: np.ndarray, seed: int) -> dict[str, np.ndarray]:
        assert (labels[codes == -1] == -1).all()
        assert (labels == 3).sum() == 1  # the only one of its class is never held out
        return {"PinvGCN": np.where(labels < 0, 0, labels), "PinvGCN again": np.where(labels < 0, 0, labels)}

    def zero(labels: np.ndarray, seed: int) -> dict[str, np.ndarray]:
        return {"zero": np.zeros_like(codes)}

    heard = []
    result = held_out(
        codes, 4, {"PinvGCN": repeat, "zero": zero}, folds=5, progress=lambda *words: heard.append(words)
    )
    assert result is not None
    assert result.alone == (3,)
    assert (result.ours.count, result.labels, result.folds) == (40, 41, 5)
    assert result.ours.accuracy == 0.25
    assert [score.title for score in result.scores] == ["PinvGCN", "PinvGCN again", "zero"]
    assert all((score.confusion == result.ours.confusion).all() for score in result.scores)
    assert [score.title for score in result.simple] == ["zero"]
    assert result.best_simple.title == "zero"
    assert heard == [(title, fold, 5) for fold in range(1, 6) for title in ("PinvGCN", "zero")]
    some = held_out(codes, 4, {"PinvGCN": repeat, "zero": zero}, folds=5, most=1)
    assert some is not None
    assert (some.ours.count, some.folds) == (8, 1)


def test_nothing_can_be_held_out() -> None:
    assert held_out(np.array([0, 1, -1]), 2, {"x": lambda labels, seed: {"x": labels}}, folds=2) is None
