"""Every number of the paper has its entry, and every entry its own name."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pinvgcn.datasets import Dataset
from pinvgcn.errors import ParameterError
from pinvgcn.experiments.methods.pinvgcn import pinv
from pinvgcn.experiments.reproduce import experiment, figures, tables
from pinvgcn.experiments.reproduce.experiment import (
    CLOUDS,
    NETWORKS,
    TABLES,
    Entry,
    TaskSpec,
    diameter,
    statistics,
)
from pinvgcn.experiments.reproduce.job import EXPERIMENTS, chosen_entries, chosen_experiments
from pinvgcn.experiments.reproduce.ledger import Ledger
from pinvgcn.experiments.reproduce.results import Results, paper

NOTHING = Results(Ledger(Path("nowhere")))
ENTRIES = [entry for one in EXPERIMENTS.values() for entry in one.entries()]


def test_the_words_of_the_command() -> None:
    words = ["oakland", "hypergraphs", "split-size", "citation", "regularization", "rank", "weights"]
    assert list(EXPERIMENTS) == words
    assert chosen_experiments("all") == list(EXPERIMENTS.values())
    with pytest.raises(ParameterError, match="experiment must be one of 'oakland'"):
        chosen_experiments("everything")


def test_equal_keys_are_equal_work() -> None:
    """Two entries with one key would share their runs: they must be the same task and method."""
    seen: dict[tuple[str, str], Entry] = {}
    for entry in ENTRIES:
        first = seen.setdefault(entry.key, entry)
        assert (first.spec, first.method) == (entry.spec, entry.method), entry.key


def test_other_work_has_another_key() -> None:
    by_work = {(entry.spec, repr(entry.method)): entry.key for entry in ENTRIES}
    assert len(set(by_work.values())) == len(by_work)


def test_entries_travel_to_another_process() -> None:
    for entry in ENTRIES:
        assert pickle.loads(pickle.dumps(entry)).key == entry.key


def test_every_row_of_the_paper_is_there() -> None:
    reported = {name: len(one.reported(NOTHING)) for name, one in EXPERIMENTS.items()}
    curves = paper()["figure_rank"]["misclassification"]
    assert reported == {
        "oakland": 2 * 16 - 2,  # two cells say that memory ran out
        "hypergraphs": 3 * 8,
        "split-size": 3 * 4 * 4,
        "citation": 3 * 5,  # the fifth is the best regularization
        "regularization": 3 * 2 * 10,
        "rank": sum(len(curve) for curve in curves.values()),
        "weights": 0,
    }
    for one in EXPERIMENTS.values():
        keys = {entry.key for entry in one.entries()}
        assert all(entry.key in keys for entry, _ in one.reported(NOTHING))


def test_what_is_corrected_stands_beside_the_paper_and_does_not_count() -> None:
    beside = [row for row in tables.oakland_rows() if row.theirs and not row.counts]
    assert len(beside) == 6
    counted = {entry.method.name for entry, _ in tables.OAKLAND.reported(NOTHING)}
    assert not counted & {row.method.name for row in beside}
    assert {"pinvgcn paper sigma=100 rank=100", "gcn knn=10 sigma=100"} <= counted


def test_ranks_beyond_the_largest_are_the_largest() -> None:
    full = pinv("paper").name
    names = [figures.of_rank("mushroom", r).method.name for r in (80, 85, 111)]
    assert names == ["pinvgcn paper rank=80", full, full]


def test_settings_of_the_paper_and_corrected_ones() -> None:
    ours = pinv("paper", sigma=10.0, rank=30)
    assert (ours.paper, dict(ours.settings)) == (True, {"sigma": 10.0, "rank": 30})
    corrected = pinv("corrected", sigma=10.0, rank=30)
    assert corrected.settings["loops"] == 1.0
    assert corrected.settings["scaling"] == "centre"
    assert corrected.settings["tolerance"] is None
    assert pinv("paper", filters="no-high-pass").settings["filters"] == "no-high-pass"


def test_of_two_readings_of_without_high_pass_the_text_s_counts() -> None:
    without = {
        row.method.name: row.counts
        for row in tables.hypergraph_rows()
        if row.theirs and row.theirs["method"] == "PinvGCN without high-pass"
    }
    assert without == {"pinvgcn paper no-high-pass": True, "pinvgcn paper low-rank": False}
    counted = [entry.method.name for entry, _ in tables.HYPERGRAPHS.reported(NOTHING)]
    assert counted.count("pinvgcn paper no-high-pass") == 3
    assert "pinvgcn paper low-rank" not in counted


def test_only_some_methods() -> None:
    chosen = chosen_entries([EXPERIMENTS["hypergraphs"]], ["pinvgcn"])
    assert {entry.method.name for entry in chosen} == {
        "pinvgcn paper",
        "pinvgcn paper no-high-pass",
        "pinvgcn paper low-rank",
        "pinvgcn paper published",
        "pinvgcn paper no-high-pass published",
        "pinvgcn paper low-rank published",
        "pinvgcn default",
    }
    with pytest.raises(ParameterError, match="methods of hypergraphs must be one of"):
        chosen_entries([EXPERIMENTS["hypergraphs"]], ["catboost"])


def test_questions_by_name() -> None:
    assert TaskSpec("cora", regularization=0.1).key == "cora hypergraph R=0.1, standard split"
    assert TaskSpec("mushroom", 5).key == "mushroom, 5 per class"
    keys = {entry.spec.key for entry in ENTRIES}
    assert len(keys) == len({entry.spec for entry in ENTRIES})


def test_the_diameter_of_a_box() -> None:
    import itertools

    import numpy as np

    corners = np.array(list(itertools.product([0, 1.0], [0, 2.0], [0, 3.0])))
    inside = np.random.default_rng(0).random((50, 3))
    assert diameter(np.vstack([inside, corners])) == pytest.approx(np.sqrt(14))


@pytest.fixture
def statistics_of(
    data_set: Callable[[str], Dataset], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], dict[str, Any]]:
    """Of a data set as other tests have read it: Covertype takes seconds."""

    def found(name: str) -> dict[str, Any]:
        read = data_set(name)
        monkeypatch.setattr(experiment, "_dataset", lambda name: read)
        return statistics(tables.SPECS[name].load())

    return found


@pytest.mark.parametrize("name", TABLES)
def test_statistics_of_hypergraphs(name: str, statistics_of: Callable[[str], dict[str, Any]]) -> None:
    ours, theirs = statistics_of(name), paper()["table_hypergraph_info"][name]
    assert (ours["nodes"], ours["hyperedges"], ours["classes"]) == (theirs["n"], theirs["hyperedges"], 2)
    assert round(ours["eigengap"], 2) == theirs["eigengap"]
    assert ours["largest_rank"] == figures.LARGEST[name]


@pytest.mark.parametrize("name", CLOUDS)
def test_statistics_of_clouds(name: str, statistics_of: Callable[[str], dict[str, Any]]) -> None:
    ours, theirs = statistics_of(name), paper()["table_oakland_info"][name]
    assert (ours["nodes"], ours["classes"]) == (theirs["nodes"], theirs["classes"])
    assert round(ours["label_rate"], 2) == theirs["label_rate"]
    assert round(ours["diameter"], 1) == theirs["diameter"]
    for sigma, eigengap in theirs["eigengap"].items():
        assert ours["eigengap"][sigma] == pytest.approx(eigengap, abs=1e-3)


@pytest.mark.parametrize("name", NETWORKS)
def test_statistics_of_networks(name: str, statistics_of: Callable[[str], dict[str, Any]]) -> None:
    ours, theirs = statistics_of(name), paper()["table_citation"][name]
    assert (ours["nodes"], ours["components"]) == (theirs["n"], theirs["components"])
    assert round(ours["eigengap"], 4) == theirs["eigengap"]


def test_the_grid_of_the_regularization() -> None:
    for data in NETWORKS:
        for curve in paper()["figure_categorical_regularization"][data].values():
            assert tuple(R for R, _ in curve) == figures.FACTORS
