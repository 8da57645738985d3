"""Functions of position made orthonormal, and null vectors told apart."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import departure, sine
from pinvgcn.distributed import group
from pinvgcn.spectra.functions import _orthonormaliser, _separate, _weighted_gram

seeds = st.integers(0, 10**6)

ALONE: Any = SimpleNamespace(group=group.ALONE, noise=1e-12)  # all that is asked of an operator here


def columns(n: int, q: int, seed: int) -> np.ndarray:
    """[√d, q functions of any size], n rows."""
    rng = np.random.default_rng(seed)
    E = rng.normal(size=(n, 1 + q)) * np.concatenate([[1], 10.0 ** rng.uniform(-4, 4, q)])
    E[:, 0] = np.sqrt(rng.uniform(1, 5, n))
    return E


def check(E: np.ndarray, T: np.ndarray, chosen: np.ndarray, count: int) -> None:
    V = E @ T
    assert T.shape == (E.shape[1], 1 + count)
    assert len(chosen) == count
    assert departure(V) < 1e-8
    np.testing.assert_allclose(V[:, 0], E[:, 0] / np.linalg.norm(E[:, 0]), rtol=1e-9)  # √d, not −√d
    unused = np.setdiff1d(np.arange(E.shape[1]), [0, *(1 + chosen)])
    assert (T[unused] == 0).all()
    basis, _ = np.linalg.qr(E[:, [0, *(1 + chosen)]] / np.linalg.norm(E[:, [0, *(1 + chosen)]], axis=0))
    assert sine(basis, V) < 1e-7


@given(seeds, st.integers(0, 8))
def test_independent_functions_are_all_used(seed: int, q: int) -> None:
    E = columns(60, q, seed)
    T, chosen = _orthonormaliser(ALONE, E)
    check(E, T, chosen, q)
    np.testing.assert_array_equal(chosen, np.arange(q))


@given(seeds)
def test_each_column_keeps_what_those_before_it_leave(seed: int) -> None:
    """Gram and Schmidt in the order of the pairs: the first vector is the first function, without √d."""
    E = columns(60, 4, seed)
    T, _ = _orthonormaliser(ALONE, E)
    assert np.abs(np.tril(T, -1)).max() == 0
    assert (np.diag(T) > 0).all()


@given(seeds, st.sampled_from([0.0, 1e-9, 1e-7]))
def test_dependent_functions_are_dropped(seed: int, difference: float) -> None:
    """A copy, a sum of others, a multiple of √d: what differs by less than 1e-6 is none of its own."""
    E = columns(60, 5, seed)
    E /= np.linalg.norm(E, axis=0)
    wobble = difference * np.random.default_rng(seed + 1).normal(size=(60, 3)) / np.sqrt(60)
    E[:, 2] = E[:, 1] + wobble[:, 0]
    E[:, 4] = E[:, 3] - 2 * E[:, 1] + wobble[:, 1]
    E[:, 5] = 3 * E[:, 0] + wobble[:, 2]
    T, chosen = _orthonormaliser(ALONE, E)
    check(E, T, chosen, 2)


def test_functions_that_nearly_depend_are_kept_and_orthonormal() -> None:
    """Between 1e-6 and 1e-3 the Gram matrix would lose the digits that a QR keeps."""
    E = columns(200, 3, 0)
    E /= np.linalg.norm(E, axis=0)
    E[:, 3] = E[:, 2] + 1e-4 * E[:, 3]
    T, chosen = _orthonormaliser(ALONE, E)
    check(E, T, chosen, 3)


def test_silent_functions_are_dropped() -> None:
    E = columns(60, 4, 1)
    E[:, 2] = 0
    E[:, 3] *= 1e-14 / np.linalg.norm(E[:, 3])
    T, chosen = _orthonormaliser(ALONE, E)
    check(E, T, chosen, 2)
    np.testing.assert_array_equal(chosen, [0, 3])


@given(seeds, st.integers(1, 6))
def test_null_vectors_each_on_one_piece(seed: int, count: int) -> None:
    """Whatever basis of the null space an iteration returns."""
    rng = np.random.default_rng(seed)
    piece = np.concatenate([np.arange(count), rng.integers(0, count, 30)])
    expected = np.sqrt(rng.uniform(0.1, 4, len(piece)))[:, None] * (piece[:, None] == np.arange(count))
    expected /= np.linalg.norm(expected, axis=0)
    turn, _ = np.linalg.qr(rng.normal(size=(count, count)))
    rotation = _separate(ALONE, expected @ turn)
    assert departure(rotation) < 1e-12
    found = expected @ turn @ rotation
    assert (found > -1e-9).all()
    order = np.argmax(found.T @ expected, axis=1)
    np.testing.assert_allclose(found, expected[:, order], rtol=0, atol=1e-9)


@pytest.mark.parametrize("chunk", [7, 1_000])
def test_weighted_gram_in_chunks(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinvgcn.spectra.functions.CHUNK", chunk)
    E, w = columns(50, 3, 0), np.random.default_rng(1).random(50)
    np.testing.assert_allclose(_weighted_gram(ALONE, E, w), E.T @ np.diag(w) @ E, rtol=1e-12)
