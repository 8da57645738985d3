"""The table of citation networks has all its rows from its own work."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinvgcn.experiments.methods import plain_baselines
from pinvgcn.experiments.reproduce import figures, tables
from pinvgcn.experiments.reproduce.ledger import Ledger
from pinvgcn.experiments.reproduce.result_tables import Table
from pinvgcn.experiments.reproduce.results import Results, paper

BEST = "PinvGCN, rank 500, best regularization"


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Three factors of Cora, of which the last ran once; one of Citeseer; none of Pubmed."""
    ledger = Ledger.open(tmp_path / "results.jsonl")
    for data, R, accuracies in (
        ("cora", 0.1, (0.80, 0.82)),
        ("cora", 0.5, (0.81, 0.83)),
        ("cora", 2.0, (0.75,)),
        ("citeseer", 0.2, (0.69, 0.69)),
    ):
        entry = figures.regularized(data, R, 500)
        about = {"question": entry.spec.key, "method": entry.method.name}
        for seed, accuracy in enumerate(accuracies):
            ledger.append("run", **about, seed=seed, accuracy=accuracy, seconds={"training": 1.0})
    return Results(ledger)


def test_the_best_regularization_is_chosen_among_those_that_ran(results: Results) -> None:
    (table,) = tables.CITATION.blocks(results)
    assert isinstance(table, Table)
    (row,) = [row for row in table.rows if row[0].text == BEST]
    citeseer, cora, pubmed = row[1:]
    assert (cora.text, cora.strong) == ("82.00 ± 1.41", False)
    # 82 − 82.34 over √(2/2 + 2/100)
    assert cora.below == "R = 0.5, best of 3 of 10; 82.34 (−0.3; 2 runs)"
    assert citeseer.below == "R = 0.2, best of 1 of 10; 68.33 (+∞; 2 runs)"
    assert (pubmed.text, pubmed.below) == ("not run", "78.26")


def test_it_counts_as_one_accuracy_of_the_paper_each(results: Results) -> None:
    counted = tables.CITATION.reported(results)[-3:]
    assert [entry.spec.key for entry, _ in counted] == [
        "citeseer hypergraph R=0.2, standard split",
        "cora hypergraph R=0.5, standard split",
        "pubmed hypergraph R=0.02, standard split",  # as none ran, the paper's own best
    ]
    assert [cell.accuracy for _, cell in counted] == [
        paper()["table_citation"][data]["rank500_best_regularization"]
        for data in ("citeseer", "cora", "pubmed")
    ]
    tally = results.tally(tables.CITATION.reported(results))
    assert (tally.reported, tally.computed, tally.within, tally.better) == (15, 2, 1, 1)


def test_the_work_has_the_whole_curve_and_the_plain_methods() -> None:
    keys = {entry.key for entry in tables.CITATION.entries()}
    for data in ("citeseer", "cora", "pubmed"):
        assert {figures.regularized(data, R, 500).key for R in figures.FACTORS} <= keys
        for method in plain_baselines("network"):
            assert (f"{data}, standard split", method.name) in keys


def test_the_plain_methods_have_rows(results: Results) -> None:
    (table,) = tables.CITATION.blocks(results)
    assert isinstance(table, Table)
    labels = [row[0].text for row in table.rows]
    assert labels[-7:] == [method.title for method in plain_baselines("network")]
    assert labels.index(BEST) < labels.index("GraphSAGE") < labels.index("Logistic regression")
