"""The embedded numbers, and the difference of two means in standard errors."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_ind

from pinvgcn.experiments.reproduce.results import Reported, RunSummary, difference, paper


def test_a_few_numbers_that_the_paper_prints() -> None:
    numbers = paper()
    assert numbers["table_oakland_info"]["oakland2"]["eigengap"] == {"10": 0.002, "100": 0.872}
    gdc = next(r for r in numbers["table_oakland"]["rows"] if (r["method"], r["knn"]) == ("GDC", 100))
    assert gdc["oakland1"] == {"accuracy": 37.84, "sd": 5.09, "seconds": 3446.95}
    assert Reported.of(gdc["oakland2"]) == Reported(None, remark="out of memory")
    assert numbers["figure_rank"]["seconds"]["covertype67"][-1] == [124.0, 3.46576]
    assert numbers["table_citation"]["cora"]["rank500_best_regularization"] == 82.34
    assert numbers["figure_split_size"]["covertype45"]["PinvGCN"][3] == [50.0, 2.4712e-06]


def test_they_are_those_of_the_file_that_they_were_made_from() -> None:
    source = Path(os.environ.get("PINVGCN_DATA", "/nowhere")).parent / "paper" / "results.json"
    if not source.is_file():
        pytest.skip("the file of the paper's numbers is not beside the data")
    for name, value in json.loads(source.read_text()).items():
        if not name.startswith("_"):
            shown = {k: v for k, v in value.items() if not k.startswith("_")}
            assert paper()[name] == shown, name


@pytest.mark.parametrize(
    ("numbers", "errors"),
    [
        # 3²/9 + 4²/100 = 1.16; (91 − 90)/√1.16
        ((91.0, 3.0, 9, 90.0, 4.0), 1 / math.sqrt(1.16)),
        ((89.0, 3.0, 9, 90.0, 4.0), -1 / math.sqrt(1.16)),
        # without theirs, ours stands for both: 2²/4 + 2²/100 = 1.04
        ((70.0, 2.0, 4, 71.0, None), -1 / math.sqrt(1.04)),
        ((100.0, 0.0, 5, 100.0, None), 0.0),
        ((99.0, 0.0, 5, 100.0, None), -math.inf),
    ],
)
def test_the_difference_by_hand(numbers: tuple, errors: float) -> None:
    found = difference(*numbers)
    assert found is not None
    assert found.errors == pytest.approx(errors)


def test_chance_is_that_of_welch_s_test() -> None:
    generator = np.random.default_rng(0)
    ours, theirs = generator.normal(90, 3, 5), generator.normal(93, 1, 100)
    found = difference(ours.mean(), ours.std(ddof=1), 5, theirs.mean(), theirs.std(ddof=1))
    assert found is not None
    exact = ttest_ind(ours, theirs, equal_var=False)
    assert found.errors == pytest.approx(exact.statistic, rel=1e-12)
    assert found.chance == pytest.approx(exact.pvalue, rel=1e-12)


def test_few_runs_need_more_standard_errors() -> None:
    # 4.3 standard errors of three runs, the paper without a spread: 2 P(t > 4.3 | 2 degrees of freedom)
    sd = 1 / math.sqrt(1 / 3 + 1 / 100)
    found = difference(4.3, sd, 3, 0.0, None)
    assert found is not None
    assert found.chance == pytest.approx(1 - 4.3 / math.sqrt(2 + 4.3**2), rel=1e-12)
    assert not found.noteworthy
    many = difference(2.1, 0.1 * math.sqrt(1000), 1000, 0.0, 10.0, 1_000_000)
    assert many is not None
    assert many.noteworthy
    assert difference(4.3, sd, 1, 0.0, None) is None
    assert difference(99.0, 0.0, 5, 100.0, None) == (-math.inf, 0)


def test_a_summary_against_what_was_reported() -> None:
    summary = RunSummary(runs=4, accuracy=92.0, sd=2.0, seconds=1.0)
    found = summary.against(Reported(90.0, 10.0))
    assert found is not None
    assert found.errors == pytest.approx(2 / math.sqrt(1 + 1))
    assert summary.against(None) is None
    assert summary.against(Reported(None, remark="out of memory")) is None


def test_the_standard_error_of_a_mean() -> None:
    assert RunSummary(runs=4, accuracy=92.0, sd=3.0, seconds=1.0).standard_error == 1.5
    assert RunSummary(runs=1, accuracy=92.0, sd=0.0, seconds=1.0).standard_error is None
    assert RunSummary(runs=2, accuracy=92.0, sd=0.0, seconds=1.0).standard_error == 0
