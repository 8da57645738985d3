"""``--sets`` of ``pinvgcn classify`` where it cannot be kept; where it can, see test_classify_command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from pinvgcn.cli import main


@pytest.fixture
def wine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Wines, a third of them labelled, in the folder in which the command runs."""
    monkeypatch.chdir(tmp_path)
    data = load_wine(as_frame=True)
    frame = data.data.copy()
    frame["cultivar"] = np.array(["Barolo", "Grignolino", "Barbera"])[data.target]
    frame.loc[np.arange(len(frame)) % 3 != 0, "cultivar"] = None
    frame.to_csv("wine.csv", index=False)
    return frame


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_what_cannot_be_promised_is_one_line(
    dry: list[str], wine: pd.DataFrame, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(*_: object) -> None:
        raise AssertionError("the labels are too few: nothing is to be trained")

    monkeypatch.setattr("pinvgcn.tables.classify.SharedRows", train)
    most = int(wine["cultivar"].value_counts().min())
    common = ["classify", "wine.csv", "--target", "cultivar", "-o", "out.csv", *dry, "--sets"]
    for coverage, words in (
        ("0.99", f"coverage of at most {most}/{most + 1}"),
        ("1", "coverage must be a number from 0 to below 1"),
    ):
        assert main([*common, coverage]) == 2
        out, err = capfd.readouterr()
        assert out == ""
        assert words in err
        assert err.count("\n") == 1
    wine["cultivar"] = wine["cultivar"].replace("Barolo", "Barolo|Barbaresco")
    wine.to_csv("wine.csv", index=False)
    assert main([*common, "0.8"]) == 2
    assert "no class may have '|' in its name. Got 'Barolo|Barbaresco'" in capfd.readouterr().err
    assert not Path("out.csv").exists()
