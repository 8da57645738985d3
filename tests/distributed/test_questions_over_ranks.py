"""Ranks ask about the rows that one process asks about."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from ranks import shares

from pinvgcn.distributed.group import Group
from pinvgcn.graphs.distinct import distinct_rows, row_hashes
from pinvgcn.tables.questions import _of_all, spread_over_rows


def rows(n=300):
    """Categories in four columns, of which some rows are equal, and a doubt that equal rows share."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, size=(n, 4))
    H = sp.csr_array(np.hstack([codes == value for value in range(3)]).astype(float))
    return H, (codes @ [1, 3, 9, 27] * 37 % 101) / 101


def asked(process_group, kind):
    """Numbers of the rows that are asked about, and how many are equal to each."""
    H, doubt = rows()
    group = Group.of(process_group)
    mine = slice(0, H.shape[0])
    if process_group is not None:
        mine = shares(H.shape[0], group.size, kind)[group.rank]
    numbers = np.arange(H.shape[0])[mine]
    distinct = distinct_rows(H[mine])
    first = H[mine][distinct.first]
    counts, here = _of_all(row_hashes(first), distinct.counts, group)
    chosen = spread_over_rows(counts * doubt[numbers[distinct.first]] * here, first, counts * here, 20, group)
    own = [
        [place, int(numbers[distinct.first[at]]), int(counts[at])]
        for place, (rank, at) in enumerate(chosen)
        if rank == group.rank
    ]
    return sorted(one for part in group.values(own) for one in part)


@pytest.mark.parametrize(("size", "kind"), [(2, "even"), (2, "empty"), (4, "even")])
def test_ranks_ask_what_one_process_asks(ranks, size, kind):
    alone = asked(None, "")
    assert len(alone) == 20
    assert max(count for _, _, count in alone) > 3
    for found in ranks.run(size, asked, kind):
        assert found == alone
