"""``--sets`` of ``pinvgcn classify`` and ``predict`` on tables, read back by pandas."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from pinvgcn import PinvGCNClassifier
from pinvgcn.cli import main
from pinvgcn.features import ColumnRecipe
from pinvgcn.io import open_table
from pinvgcn.set_columns import as_words


@pytest.fixture
def wine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Wines, a third of them labelled; one row has no value. Also the folder in which the command runs."""
    monkeypatch.chdir(tmp_path)
    data = load_wine(as_frame=True)
    frame = data.data.copy()
    frame.loc[7] = None
    frame["cultivar"] = np.array(["Barolo", "Grignolino", "Barbera"])[data.target]
    frame.loc[np.arange(len(frame)) % 3 != 0, "cultivar"] = None
    frame.to_csv("wine.csv", index=False)
    frame.to_parquet("wine.parquet")
    return frame


def sets_in_memory(model: str, table: str, coverage: float) -> tuple[np.ndarray, np.ndarray]:
    """By the saved model in Python: which rows it knows, and their sets as a mask."""
    fitted = PinvGCNClassifier.load(model)
    frame = ColumnRecipe.from_dict(fitted.about_["recipe"]).apply(open_table(table).frame()).frame
    known = frame.notna().any(axis=1).to_numpy()
    return known, fitted.predict_set(frame[known], coverage=coverage)


def test_each_row_has_its_set(wine: pd.DataFrame, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["--target", "cultivar", "-o", "out.csv", "--save-model", "m", "--report", "r.html"]
    assert main(["classify", "wine.csv", *arguments, "--sets", "0.8", "--json"]) == 0
    said = json.loads(capfd.readouterr().out)
    written = pd.read_csv("out.csv")
    assert written.columns[-3:].tolist() == ["predicted_cultivar", "probability", "set_cultivar"]
    assert said["new_columns"] == written.columns[-3:].tolist()
    known, sets = sets_in_memory("m", "wine.csv", 0.8)
    assert np.flatnonzero(~known).tolist() == [7]
    assert pd.isna(written["set_cultivar"][7])  # nothing is known; an empty set is {}
    assert written["set_cultivar"][known].tolist() == as_words(sets, said["classes"]).tolist()
    sizes = sets.sum(axis=1)
    assert said["sets"] == {
        "coverage": 0.8,
        "mean_size": pytest.approx(sizes.mean()),
        "share_empty": pytest.approx((sizes == 0).mean()),
        "share_several": pytest.approx((sizes > 1).mean()),
        "sizes": np.bincount(sizes, minlength=4).tolist(),
    }
    line = f"{sizes.mean():.2f} classes on average"
    assert line in Path("r.html").read_text(encoding="utf-8")

    assert main(["predict", "m", "wine.parquet", "-o", "again.parquet", "--sets", "0.8"]) == 0
    assert line in capfd.readouterr().out
    again = pd.read_parquet("again.parquet")["set_cultivar"]
    assert again.isna().tolist() == (~known).tolist()
    assert again[known].tolist() == written["set_cultivar"][known].tolist()


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_what_cannot_be_promised_is_one_line(
    dry: list[str], wine: pd.DataFrame, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(*_: object) -> None:
        raise AssertionError("the labels are too few: nothing is to be trained")

    monkeypatch.setattr("pinvgcn.experiments.tables.classify.SharedRows", train)
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
