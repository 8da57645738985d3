"""What cannot be fitted on one rank cannot on any, and all say so; an interrupt of one ends all."""

from __future__ import annotations

import os
import signal
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from ranks import shares
from test_fit import cloud

from pinvgcn import GaussianGraph, PinvGCNClassifier, SparseGraph
from pinvgcn.errors import ParameterError, PinvGCNError, TrainingWarning

X, Y, _ = cloud()
SHAPES = np.ones((len(X), 31))


def wrong(case, rank, n):
    """Settings and arguments of a fit that must fail, differently on the last rank."""
    settings, given = {"epochs": 2, "rank": 4}, {}
    last = rank == 1
    if case == "settings":
        settings["hidden"] = 8 + rank
    elif case == "warm":
        settings["warm_start"] = True
    elif case == "sigma":
        settings["sigma"] = "labels"
    elif case == "device":
        settings["device"] = "nowhere" if last else "cpu"
    elif case == "weights":
        given["sample_weight"] = np.full(n, -1.0 if last else 1.0)
    elif case == "some":
        given["features"] = None if last else np.ones((n, 1))
    elif case == "sparse":
        settings["graph"] = SparseGraph(sp.eye(n) + np.ones((n, n)))
    return settings, given


MESSAGES = {
    "settings": "hidden must be the same on all ranks. Got 8 on rank 0 and 9 on rank 1.",
    "warm": "warm_start must be False with a process group",
    "sigma": "sigma must be a number or 'auto' with a process group. Got 'labels'",
    "device": "Rank 1: device must be one that PyTorch has here",
    "weights": "Rank 1: sample_weight must be finite and zero or more. Got -1.0",
    "some": "features must be given on all ranks or on none",
    "sparse": "process_group must be that of the graph",
    "tables": "X must be a table on all ranks or points on all. Got points on rank 0 and a table on rank 1",
    "labels": "Rank 1: y must have one label for each",
    "kinds": "y must be labels of one kind",
    "none": "y has no label at all: all 240 entries",
}


def refused(process_group, case):
    rank = process_group.rank()
    mine = shares(len(X), 2, "even")[rank]
    x, y = X[mine], Y[mine]
    settings, given = wrong(case, rank, len(x))
    if case == "tables" and rank:
        x = x.astype(str)
    if case == "labels" and rank:
        y = y[:-1]
    if case == "kinds" and rank:
        y = np.full(len(y), "elm")
    if case == "none":
        y = np.full(len(y), -1)
    try:
        PinvGCNClassifier(**settings).fit(x, y, **given, process_group=process_group)
    except PinvGCNError as error:
        return str(error)
    return None


@pytest.mark.parametrize("case", MESSAGES)
def test_all_ranks_say_the_same(ranks, case):
    first, second = ranks.run(2, refused, case)
    assert first == second
    assert MESSAGES[case] in first


def given_graph(process_group):
    mine = shares(len(X), 2, "uneven")[process_group.rank()]
    graph = GaussianGraph(X[mine], 3.0, loops=1.0, process_group=process_group)
    model = PinvGCNClassifier(graph, rank=6, epochs=3).fit(None, Y[mine])  # the graph knows its group
    near = PinvGCNClassifier(rank=6, epochs=3, neighbours=3).fit(
        X[mine], Y[mine], process_group=process_group
    )
    with pytest.raises(ParameterError, match="among must be 'own' where several processes"):
        near.predict(X)
    return model.transduction_proba_, near.predict_proba(X, among="own")


def test_a_graph_that_is_given_and_neighbours_that_are_elsewhere(ranks):
    first, second = ranks.run(2, given_graph, double=False)
    one = PinvGCNClassifier(GaussianGraph(X, 3.0, loops=1.0), rank=6, epochs=3).fit(None, Y)
    np.testing.assert_allclose(np.concatenate([first[0], second[0]]), one.transduction_proba_, atol=1e-4)
    np.testing.assert_array_equal(first[1], second[1])


def interrupted(process_group):
    """Rank 1 alone gets a real signal in the middle of training."""
    mine = shares(len(X), 2, "even")[process_group.rank()]

    def show(done, total):
        if process_group.rank() == 1 and done == 3:
            threading.Timer(0.0, os.kill, (os.getpid(), signal.SIGINT)).start()

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = PinvGCNClassifier(epochs=100_000, rank=4, verbose=show)
        model.fit(X[mine], Y[mine], process_group=process_group)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    messages = [str(w.message) for w in said if issubclass(w.category, TrainingWarning)]
    return model.n_iter_, messages, model.fitted_.networks.members[0].layers[0].spectral


def test_an_interrupt_of_one_rank_ends_all_after_one_epoch(ranks):
    first, second = ranks.run(2, interrupted)
    assert first[0] == second[0] < 100_000
    assert first[1] == second[1]
    assert "interrupted after" in first[1][0]
    np.testing.assert_array_equal(first[2], second[2])


def failing(process_group):
    """What rank 1 is told after an epoch makes it fail, while rank 0 trains on."""
    mine = shares(len(X), 2, "even")[process_group.rank()]

    def show(done, total):
        if process_group.rank() == 1 and done == 3:
            raise RuntimeError("no more paper")

    try:
        model = PinvGCNClassifier(epochs=100_000, rank=4, verbose=show)
        model.fit(X[mine], Y[mine], process_group=process_group)
    except (PinvGCNError, RuntimeError) as error:
        return type(error).__name__, str(error)
    return None


def test_a_failure_of_one_rank_ends_all(ranks):
    first, second = ranks.run(2, failing)
    assert first == ("PeerError", "Rank 1 has failed: RuntimeError: no more paper")
    assert second == ("RuntimeError", "no more paper")
