"""What is asked for, what is left of it, and what that costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pinvgcn.experiments.methods import paper_baseline
from pinvgcn.experiments.methods.pinvgcn import pinv
from pinvgcn.experiments.reproduce.experiment import Entry
from pinvgcn.experiments.reproduce.figures import regularized
from pinvgcn.experiments.reproduce.job import ReproduceRequest, planned
from pinvgcn.experiments.reproduce.ledger import RESULTS, Ledger
from pinvgcn.experiments.reproduce.results import cost
from pinvgcn.experiments.reproduce.runner import Runner
from pinvgcn.experiments.reproduce.tables import SPECS

GDC = Entry(SPECS["oakland1"], paper_baseline("GDC", knn=100))
CLOUD = Entry(SPECS["oakland2"], pinv("paper", sigma=100.0, rank=30))
TABLE = Entry(SPECS["mushroom"], pinv("paper"))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.open(tmp_path / RESULTS)


def keep(ledger: Ledger, entry: Entry, seeds: range, seconds: float, **more: Any) -> None:
    about = {"question": entry.spec.key, "method": entry.method.name}
    ledger.append("setup", **about, seconds={"graph": 10 * seconds}, facts={}, **more)
    for seed in seeds:
        ledger.append("run", **about, seed=seed, accuracy=0.9, seconds={"training": seconds}, **more)


@pytest.mark.parametrize(
    ("entry", "asked"),
    [
        (TABLE, 100),
        (TABLE.apart("published"), 100),
        (Entry(SPECS["mushroom"], pinv(rank=30)), 5),
        (CLOUD, 30),
        (CLOUD.apart("published", "centred"), 30),
        (CLOUD.apart("published", "raw"), 10),
        (CLOUD.apart("text", "centred"), 10),
        (Entry(SPECS["oakland2"], pinv("corrected", sigma=100.0, rank=30)), 30),
        (Entry(SPECS["oakland2"], pinv(sigma=100.0, rank=35)), 5),
        (Entry(SPECS["oakland1"], paper_baseline("GCN", knn=10, sigma=100)), 20),
        (Entry(SPECS["oakland1"], paper_baseline("GCN", knn=10, sigma=100)).apart("text", "centred"), 10),
        (GDC, 5),
        (regularized("cora", 0.1, 500), 5),
    ],
)
def test_how_many_runs_are_asked_for(entry: Entry, asked: int) -> None:
    assert entry.asked == asked


def test_a_cost_is_that_of_the_latest_code_in_any_way(ledger: Ledger) -> None:
    """Old runs, by the clock and before lines named their commit, count only where nothing else does."""
    assert cost(GDC, ledger) != (300.0, 30.0)  # that of the package's own report
    keep(ledger, GDC, range(3), 30.0)
    assert cost(GDC.apart("published", "centred"), ledger) == (300.0, 30.0)
    keep(ledger, GDC.apart("published", "centred"), range(5), 2.0, commit="a")
    assert cost(GDC, ledger) == (20.0, 2.0)
    assert cost(Entry(SPECS["oakland2"], GDC.method), ledger) != (20.0, 2.0)


def test_a_set_up_that_ways_share_counts_once_and_one_adam_begins_at_seed_0(ledger: Ledger) -> None:
    keep(ledger, GDC.apart("published"), range(2), 2.0, commit="a")
    runner = Runner(ledger)
    jobs = runner.plan([GDC, GDC.apart("published")], range(5))
    assert {job.entry.training: job.seeds for job in jobs} == {
        "text": (0, 1, 2, 3, 4),
        "published": (2, 3, 4),
    }
    assert list(runner.seconds(jobs).values()) == [20.0 + 2.0 * (5 + 5)]
    request = ReproduceRequest("oakland", methods=("gdc",), training=("text", "published"))
    (part,) = planned(request, ledger.path.parent)
    ways = 2 * 2 * 2  # training, neighbours, clouds; raw alone
    assert (part.runs, part.there) == (5 * ways, 2)
    assert len(request.entries()) == ways


def test_what_another_commit_has_done_is_done_again_when_asked_for(ledger: Ledger) -> None:
    keep(ledger, TABLE, range(3), 1.0, commit="a")
    keep(ledger, TABLE, range(3, 4), 1.0, commit="b")
    for again, left in ((False, (4,)), (True, (0, 1, 2, 4))):
        (job,) = Runner(ledger, again=again, commit="b").plan([TABLE], range(5))
        assert job.seeds == left
