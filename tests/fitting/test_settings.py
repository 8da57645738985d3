"""Settings: checked when they are made, resolved once for the kind of nodes."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest

from pinvgcn import Hypergraph, PinvGCNClassifier
from pinvgcn.errors import ParameterError
from pinvgcn.fitting.settings import FitSettings

POINTS = np.random.default_rng(0).normal(size=(2_000, 3))
TABLE = pd.DataFrame({"a": list("xyxyxx"), "b": list("uuvvuv")})
ROWS = {
    "scan": ("gaussian", POINTS),
    "points": ("gaussian", POINTS[:50]),
    "table": ("categorical", TABLE),
    "given": (Hypergraph.from_table(TABLE), None),
}


def settings(graph, **given) -> FitSettings:
    return FitSettings.of(PinvGCNClassifier(graph, **given).get_params(deep=False))


@pytest.mark.parametrize(
    ("kind", "members", "trees", "epochs", "decay", "sample", "neighbours", "joined_rows", "priors"),
    [
        ("scan", 5, 40, 300, 0.0005, 2_048, 10, None, "estimated"),
        ("points", 1, 0, 500, 0.0005, "auto", None, None, None),
        ("table", 5, 60, 200, 0.01, "auto", None, 5, "safely"),
        ("given", 1, 0, 500, 0.0005, "auto", None, None, None),
    ],
)
def test_automatic_settings_of_each_kind(
    kind, members, trees, epochs, decay, sample, neighbours, joined_rows, priors
):
    graph, X = ROWS[kind]
    found = settings(graph)
    resolved = found.resolved(found.nodes(X))
    training = resolved.network.training
    assert (resolved.members, resolved.trees, training.epochs) == (members, trees, epochs)
    assert (training.weight_decay, training.nodes_per_epoch) == (decay, sample)
    assert (resolved.neighbours, resolved.joined_rows, resolved.priors) == (neighbours, joined_rows, priors)
    assert (resolved.averaging_cell is None) == (neighbours is None)


@pytest.mark.parametrize("kind", ["scan", "table"])
def test_what_is_given_stays(kind):
    graph, X = ROWS[kind]
    given = {"members": 2, "trees": 3, "epochs": 7, "weight_decay": 0.1, "nodes_per_epoch": 9, "priors": None}
    found = settings(graph, neighbours=4, **given)
    resolved = found.resolved(found.nodes(X))
    training = resolved.network.training
    assert (resolved.members, resolved.trees, resolved.priors) == (2, 3, None)
    assert (training.epochs, training.weight_decay, training.nodes_per_epoch) == (7, 0.1, 9)
    assert (resolved.neighbours, resolved.joined_rows) == ((4, None) if kind == "scan" else (None, 4))


SIX = ("network", "forest", "trees", "linear", "kernel", "diffusion")


@pytest.mark.parametrize(
    ("given", "experts", "trees"),
    [
        ({}, SIX, 60),
        ({"trees": 0}, ("network", "linear", "kernel", "diffusion"), 0),
        ({"neighbours": None}, SIX[:5], 60),
        ({"experts": "network"}, ("network",), 0),
        ({"experts": ["diffusion", "network", "trees"]}, ("network", "trees", "diffusion"), 60),
        ({"experts": ["network", "linear"], "trees": 7}, ("network", "linear"), 0),
        ({"experts": ("network", "forest", "diffusion"), "neighbours": None}, ("network", "forest"), 60),
    ],
    ids=str,
)
def test_experts_of_a_table(given, experts, trees):
    found = settings("categorical", **given)
    resolved = found.resolved(found.nodes(TABLE))
    assert (resolved.experts, resolved.trees) == (experts, trees)
    assert (resolved.joined_rows is None) == ("diffusion" not in experts)
    assert resolved.priors == (None if len(experts) == 1 else "safely")


@pytest.mark.parametrize(
    "experts", ["forest", "all", ["network", "walk"], ["network", "network"], [], ["linear"]], ids=str
)
def test_experts_that_there_are_not(experts):
    with pytest.raises(ParameterError, match=r"experts must be 'auto' or some of network, forest, trees"):
        settings("categorical", experts=experts)


@pytest.mark.parametrize("kind", ["scan", "points", "given"])
def test_experts_are_those_of_tables(kind):
    graph, X = ROWS[kind]
    found = settings(graph, experts=["network", "linear"])
    with pytest.raises(ParameterError, match=r"experts must be 'auto' or 'network' where X is no table"):
        found.resolved(found.nodes(X))
    alone = settings(graph, experts="network")
    assert alone.resolved(alone.nodes(X)).experts == ("network",)


def test_numbers_are_seen_or_not():
    with pytest.raises(ParameterError, match=r"numbers must be True or False\. Got 'auto' instead"):
        settings("categorical", numbers="auto")


def test_they_are_values():
    found = settings("gaussian")
    with pytest.raises(FrozenInstanceError):
        found.rank = 3
    assert replace(found, rank=3).rank == 3
    with pytest.raises(ParameterError, match="rank must be"):  # a changed copy is checked as well
        replace(found, rank=0)
