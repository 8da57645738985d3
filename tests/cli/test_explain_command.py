"""``pinvgcn explain`` as its users run it: on the table of the model, on another one, and where it cannot."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pinvgcn import PinvGCNClassifier
from pinvgcn.cli import main
from pinvgcn.tables import explain_table_row


def table() -> pd.DataFrame:
    """Mushrooms whose odor decides, with a size in decimal commas and a day."""
    rng = np.random.default_rng(0)
    n = 150
    bad = np.arange(n) % 2 == 1
    frame = pd.DataFrame(
        {
            "odor": np.where(bad, "foul", "almond"),
            "cap": rng.choice(["flat", "bell", "knobbed"], n),
            "size": (bad + rng.gamma(3, 1, n)).round(2),
            "found": (pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 2000, n), unit="D")),
            "edible": np.where(np.arange(n) < 50, np.where(bad, "no", "yes"), None),
        }
    )
    frame["found"] = frame["found"].dt.strftime("%d.%m.%Y")
    frame.loc[60] = None
    frame.loc[61, "cap"] = None
    return frame


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mushrooms")
    table().to_csv(folder / "m.csv", sep=";", decimal=",", index=False)
    command = ["classify", str(folder / "m.csv"), "--target", "edible", "-o", str(folder / "o.csv")]
    assert main([*command, "--save-model", str(folder / "model"), "--quiet"]) == 0
    return folder


def places(done: Path, arguments: Sequence[str]) -> list[str]:
    return [str(done / a) if a in ("model", "m.csv") else a for a in arguments]


def run(done: Path, *arguments: str) -> int:
    return main(["explain", *places(done, arguments)])


def test_rows_are_counted_as_people_count_them(done: Path, capfd: pytest.CaptureFixture[str]) -> None:
    written = pd.read_csv(done / "o.csv", sep=";", decimal=",")
    for row in (1, 2, 50, 62, 150):
        assert run(done, "model", "m.csv", "--row", str(row), "--json") == 0
        told = json.loads(capfd.readouterr().out)
        line = written.iloc[row - 1]
        assert told["row"] == row
        assert told["answer"] == line["predicted_edible"]
        assert told["probability"] == pytest.approx(line["probability"], abs=1e-5)
        assert told["given"] == (line["edible"] if row <= 50 else None)
        moved = {value["column"]: value for value in told["values"]}
        assert set(moved) == {"odor", "cap", "size", "found"}  # a date is one, however many it becomes
        assert sum(value["moved"] for value in moved.values()) + told["base"] == pytest.approx(
            told["log_odds"]
        )
        assert moved["odor"]["value"] == line["odor"]
        assert told["values"][0]["column"] == "odor"
        assert told["values"][0]["moved"] > 0
        raw = pd.read_csv(done / "m.csv", sep=";", dtype=str).iloc[row - 1]
        assert moved["size"]["value"] == raw["size"]  # with its comma, as the table has it
        assert moved["found"]["value"] == raw["found"]
        assert moved["cap"]["value"] == (None if row == 62 else raw["cap"])
        assert told["exact"] is True
        assert told["ignored_values"] == []


def test_what_is_printed(done: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(done, "model", "m.csv", "--row", "12") == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert re.search(r"m\.csv, row 12: edible = no with probability [01]\.\d{3} \(the table says no\)", out)
    first = next(line for line in out.splitlines() if "odor = foul" in line)
    assert re.search(r"odor = foul +\+\d\.\d\d +█{24}", first)
    assert "the mean over 50 rows of training" in " ".join(out.split())
    assert "Exact." in out
    assert run(done, "model", "m.csv", "--row", "62") == 0
    assert "cap is missing" in capfd.readouterr().out


def test_another_table(done: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """In Parquet, with types of its own, without the target; what cannot be used is said."""
    frame = pd.DataFrame(
        {
            "found": pd.to_datetime(["2016-03-01", "2017-04-05"]),
            "size": [2.5, 3.5],
            "odor": ["foul", "metallic"],
            "cap": ["flat", None],
        }
    )
    frame.to_parquet(tmp_path / "next.parquet")
    assert run(done, "model", str(tmp_path / "next.parquet"), "--row", "2") == 0
    out, err = capfd.readouterr()
    assert "odor = metallic" in out
    assert "the table says" not in out
    assert "note: what stands in 'odor' was ignored" in err
    model = PinvGCNClassifier.load(done / "model")
    found = explain_table_row(model, tmp_path / "next.parquet", 1)
    assert (found.target, found.given, found.ignored) == ("edible", None, ())
    assert [value.value for value in found.explanation.values[:3]] == ["foul", "flat", 2.5]
    assert found.explanation.values[3].value == "2016-03-01 00:00:00"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("model", "m.csv", "--row", "151"), "There is no row 151 in .*: it has 150 rows below the names"),
        (("model", "m.csv", "--row", "0"), "Invalid value for '--row'"),
        (("model", "m.csv", "--row", "first"), "Invalid value for '--row'"),
        (("model", "m.csv"), "Missing option '--row'"),
        (("model", "m.csv", "--row", "61"), "Row 61 of .* has no value that the model knows"),
        (("m.csv", "model", "--row", "1"), "The model must come first.*try: pinvgcn explain"),
        (("m.csv", "m.csv", "--row", "1"), "the order is: pinvgcn explain MODEL TABLE"),
        (("model", "model", "--row", "1"), "which looks like a saved model"),
        (("model", "nowhere.csv", "--row", "1"), "There is no file nowhere.csv"),
    ],
)
def test_refused_in_one_line(
    done: Path, refused: Callable[..., str], arguments: tuple[str, ...], message: str
) -> None:
    assert re.search(message, refused("explain", *places(done, arguments)))


def test_models_of_scans_and_from_python(done: Path, tmp_path: Path, refused: Callable[..., str]) -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 3))
    labels = np.where(np.arange(60) < 20, points[:, 0] > 0, -1)
    PinvGCNClassifier(epochs=2, rank=5).fit(points, labels).save(tmp_path / "scan.model")
    np.savetxt(tmp_path / "scan.xyz", points)
    explain = ["explain", tmp_path / "scan.model"]
    assert "is a model of a scan and" in refused(*explain, done / "m.csv", "--row", "1")
    assert "explain is about the rows of tables" in refused(*explain, tmp_path / "scan.xyz", "--row", "1")
    frame = pd.DataFrame({"a": ["x", "y"] * 20, "b": [0, 0, 1, 1] * 10})
    own = PinvGCNClassifier("categorical", epochs=2).fit(frame, np.resize([0, 1, -1, -1], 40))
    own.save(tmp_path / "own.model")
    assert "explain in Python" in refused("explain", tmp_path / "own.model", done / "m.csv", "--row", "1")
    table().drop(columns="cap").to_csv(tmp_path / "less.csv", index=False)
    assert "has no column 'cap'" in refused("explain", done / "model", tmp_path / "less.csv", "--row", "1")
