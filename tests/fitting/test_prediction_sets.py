"""Sets as bits and as words: nothing is lost on the way to a file and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pinvgcn.errors import LabelError
from pinvgcn.fitting.conformal import SetSizes, as_bits, as_words, check_words, from_bits

MASKS = st.tuples(st.integers(1, 20), st.integers(1, 64)).flatmap(lambda shape: arrays(bool, shape))


@given(MASKS)
def test_bits_are_the_mask(mask):
    bits = as_bits(mask)
    assert bits.dtype == np.uint64
    assert bits.tolist() == [sum(2**i for i in np.flatnonzero(row).tolist()) for row in mask]
    np.testing.assert_array_equal(from_bits(bits, mask.shape[1]), mask)


@given(MASKS)
def test_words_are_the_mask(mask):
    names = [f"class {i}" for i in range(mask.shape[1])]
    words = as_words(mask, names)
    back = [[] if text == "{}" else text.split("|") for text in words]
    assert back == [[names[i] for i in np.flatnonzero(row)] for row in mask]


@given(MASKS, MASKS)
def test_sizes_add_up(first, second):
    width = min(first.shape[1], second.shape[1])
    parts = [first[:, :width], second[:, :width]]
    added = SetSizes.of(0.9, parts[0]) + SetSizes.of(0.9, parts[1])
    sizes = np.concatenate(parts).sum(axis=1)
    assert added.mean == pytest.approx(sizes.mean())
    assert added.empty == pytest.approx((sizes == 0).mean())
    assert added.several == pytest.approx((sizes > 1).mean())
    assert sum(added.as_dict()["sizes"]) == len(sizes)


def test_no_rows_have_no_sizes():
    assert SetSizes.of(0.9, np.zeros((0, 3), dtype=bool)).mean == 0


@pytest.mark.parametrize("name", ["a|b", "{}"])
def test_words_that_could_mean_two_things_are_refused(name):
    check_words(["a", "b", 2])
    with pytest.raises(LabelError, match="rename the class"):
        check_words(["c", name])
