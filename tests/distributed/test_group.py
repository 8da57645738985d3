"""What ranks tell each other arrives: against numpy on all rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from ranks import SIZES, shares

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.distributed.rows import in_subsample
from pinvgcn.errors import ParameterError

ROWS = np.random.default_rng(0).normal(size=(11, 3))


def exchanges(process_group, kind):
    group = Group.of(process_group)
    mine = ROWS[shares(len(ROWS), group.size, kind)[group.rank]]
    turned = group.swap([np.full((group.rank, 2), 10 * group.rank + to) for to in range(group.size)])
    return {
        "sum": group.sum(mine.sum(axis=0)),
        "complex": group.sum(mine.sum(axis=0) * (1 + 2j)),
        "whole": group.sum(np.array([len(mine)], dtype=np.int32)),
        "number": group.sum(float(len(mine))),
        "smallest": group.smallest(mine.min(axis=0, initial=np.inf)),
        "largest": group.largest(mine.max(axis=0, initial=-np.inf)),
        "rows": group.rows(mine),
        "words": group.rows(np.array([b"abc"] * group.rank, dtype="S3")),
        "parts": [len(part) for part in group.parts(mine)],
        "first": group.first(mine if group.rank == 0 else None),
        "values": group.values({"rank": group.rank}),
        "offset": group.offset(len(mine)),
        "swap": turned,
    }


@pytest.mark.parametrize("kind", ["even", "uneven", "empty"])
@pytest.mark.parametrize("size", SIZES)
def test_exchanges(ranks, size, kind):
    expected = shares(len(ROWS), size, kind)
    for rank, found in enumerate(ranks.run(size, exchanges, kind)):
        np.testing.assert_allclose(found["sum"], ROWS.sum(axis=0), rtol=1e-13)
        np.testing.assert_allclose(found["complex"], ROWS.sum(axis=0) * (1 + 2j), rtol=1e-13)
        assert (found["whole"].tolist(), found["whole"].dtype) == ([11], np.int32)
        assert found["number"] == 11.0
        np.testing.assert_array_equal(found["smallest"], ROWS.min(axis=0))
        np.testing.assert_array_equal(found["largest"], ROWS.max(axis=0))
        np.testing.assert_array_equal(found["rows"], ROWS)
        assert found["words"].tolist() == [b"abc"] * (size * (size - 1) // 2)
        assert found["parts"] == [part.stop - part.start for part in expected]
        np.testing.assert_array_equal(found["first"], ROWS[expected[0]])
        assert found["values"] == [{"rank": r} for r in range(size)]
        assert found["offset"] == (expected[rank].start, 11)
        for origin, part in enumerate(found["swap"]):
            np.testing.assert_array_equal(part, np.full((origin, 2), 10 * origin + rank))


def gradient(process_group):
    """L = Σ_p p·|S|² + tr(W) with S = Σ_p p·W."""
    group = Group.of(process_group)
    W = torch.arange(4.0).reshape(2, 2).requires_grad_()
    S = group.total((group.rank + 1) * W)
    loss = (group.rank + 1) * (S**2).sum() + W.trace() / group.size
    loss.backward()
    group.sum_([W.grad])
    return S.detach().numpy(), W.grad.numpy()


@pytest.mark.parametrize("size", SIZES)
def test_a_sum_is_differentiated(ranks, size):
    c = size * (size + 1) / 2
    W = torch.arange(4.0, dtype=torch.float64).reshape(2, 2).requires_grad_()
    (c * ((c * W) ** 2).sum() + W.trace()).backward()
    for S, found in ranks.run(size, gradient):
        np.testing.assert_allclose(S, c * W.detach().numpy())
        np.testing.assert_allclose(found, W.grad.numpy())


def test_alone():
    assert Group.of(None) is ALONE
    assert ALONE.offset(5) == (0, 5)
    with pytest.raises(ParameterError, match=r"process_group must be .* Got 'world' instead"):
        Group.of("world")


def test_a_pool_does_not_depend_on_shares():
    """About as many as wanted, evenly; a node is in it or not, whoever has it."""
    whole = in_subsample(0, 100_000, 100_000, most=5_000)
    parts = [start + in_subsample(start, 25_000, 100_000, most=5_000) for start in range(0, 100_000, 25_000)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert abs(len(whole) - 5_000) < 5 * np.sqrt(5_000)
    assert abs(whole.mean() - 50_000) < 5 * 100_000 / np.sqrt(12 * 5_000)
    np.testing.assert_array_equal(in_subsample(7, 4, 20, most=20), np.arange(4))
