"""Ranks stay in step where one of them has another seed, or fails alone."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from ranks import shares

import pinvgcn.graphs.hypergraph
from pinvgcn import Hypergraph, PinvGCNClassifier
from pinvgcn.distributed.group import Group
from pinvgcn.errors import GraphError, PinvGCNError
from pinvgcn.repeated_fits import SharedRows
from pinvgcn.report import held_out

RNG = np.random.default_rng(3)
TABLE = pd.DataFrame({f"c{j}": np.array(list("abcd"))[RNG.integers(0, 4, 80)] for j in range(4)})
Y = np.where(np.arange(80) % 4 == 0, (TABLE["c0"] < "c").astype(int), -1)


def fitted(process_group, seeds):
    mine = shares(len(Y), 2, "even")[process_group.rank()]
    model = PinvGCNClassifier("categorical", epochs=3, members=1)
    rows = SharedRows(model, TABLE.iloc[mine], process_group=process_group)
    run = rows.fit(Y[mine], random_state=np.random.RandomState(seeds[process_group.rank()]))
    return run.fitted_.networks.members[0].layers[0].spectral


def test_shared_rows_take_the_first_ranks_seed(ranks):
    expected = ranks.run(2, fitted, [0, 0])[0]
    for found in ranks.run(2, fitted, [0, 1]):
        np.testing.assert_array_equal(found, expected)


def differs(process_group, setting, value):
    mine = shares(len(Y), 2, "even")[process_group.rank()]
    settings = {setting: value} if process_group.rank() == 1 else {}
    with pytest.raises(PinvGCNError) as error:
        PinvGCNClassifier("categorical", **settings).fit(
            TABLE.iloc[mine], Y[mine], process_group=process_group
        )
    return str(error.value)


@pytest.mark.parametrize(("setting", "value"), [("warm_start", True), ("sigma", "labels")])
def test_a_setting_of_one_rank_that_no_group_may_have(ranks, setting, value):
    first, second = ranks.run(2, differs, setting, value)
    assert first == second
    assert f"{setting} must be the same on all ranks" in first


def solver_fails(process_group, solver):
    mine = shares(len(Y), 2, "even")[process_group.rank()]
    graph = Hypergraph.from_table(TABLE.iloc[mine], process_group=process_group)

    def fails(product, *_, **__):
        if callable(product):
            product(np.ones((graph.n_hyperedges, 2)))
        raise GraphError("no more paper")

    name = f"{solver}_eigenpairs"
    kept = getattr(pinvgcn.graphs.hypergraph, name)
    if process_group.rank() == 0:
        setattr(pinvgcn.graphs.hypergraph, name, fails)
    try:
        with pytest.raises(GraphError) as error:
            graph.spectrum(3, solver=solver)
    finally:
        setattr(pinvgcn.graphs.hypergraph, name, kept)
    return str(error.value)


@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_a_solver_that_fails_on_the_first_rank(ranks, solver):
    assert ranks.run(2, solver_fails, solver) == ["Rank 0: no more paper"] * 2


def drawn(process_group, codes, most):
    group = Group.of(process_group)
    start = shares(len(codes), group.size, "uneven")[group.rank]
    kept, held_out.ALL_FOLDS = held_out.ALL_FOLDS, most
    try:
        mine = codes[start]
        target = SimpleNamespace(classes=range(3))
        plan = SimpleNamespace(codes=mine, known=np.full(len(mine), True), target=target, group=group)
        return held_out.sampled(plan) + (start.start or 0)
    finally:
        held_out.ALL_FOLDS = kept


def test_the_labels_of_an_estimate_are_those_of_one_process(ranks):
    codes = np.random.default_rng(0).choice([-1, 0, 1], 4_000, p=[0.5, 0.4, 0.1])
    codes[[5, 3_000]] = 2
    one = drawn(None, codes, 400)
    counts = np.bincount(codes[one])
    assert 300 < len(one) < 500
    assert abs(counts[1] / counts[0] - 0.25) < 0.1
    assert counts[2] == 2  # of which there are no others
    for size in (2, 4):
        np.testing.assert_array_equal(np.concatenate(ranks.run(size, drawn, codes, 400)), one)
    np.testing.assert_array_equal(drawn(None, codes, 4_000), np.flatnonzero(codes >= 0))
