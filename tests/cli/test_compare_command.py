"""``pinvgcn compare`` from end to end."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

QUICK = ["--methods", "nearest_neighbour,logistic_regression", "--seeds", "2"]


@pytest.fixture
def compare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done_by: Callable[..., tuple[str, str]]
) -> Callable[..., tuple[str, str]]:
    """The command in an empty folder: what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "90")
    return partial(done_by, "compare")


def test_a_named_data_set_prints_its_table_and_writes_its_files(
    tmp_path: Path, compare: Callable[..., tuple[str, str]]
) -> None:
    out, err = compare("mushroom", "--methods", "pinvgcn,nearest_neighbour", "--seeds", "2")
    folder = tmp_path / "pinvgcn-compare" / "mushroom"
    assert {path.name for path in folder.iterdir()} == {"report.html", "results.json", "comparison.png"}
    assert (folder / "comparison.png").read_bytes().startswith(b"\x89PNG")
    assert "Mushroom, choice 2 of 2: 1-nearest neighbour" in err
    assert "Traceback" not in err

    numbers = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert numbers["command"] == "pinvgcn compare mushroom --seeds 2 --methods pinvgcn,nearest_neighbour"
    comparison = numbers["comparison"]
    assert (comparison["rows"], comparison["labels_per_class"], comparison["seeds"]) == (8124, 10, [0, 1])
    for method in comparison["methods"].values():
        line = next(line for line in out.splitlines() if method["title"] in line)
        assert f"{100 * method['accuracy']:.1f} ± {100 * method['accuracy_sd']:.1f} " in line
        assert method["memory"] > 0
        assert method["accuracy"] > 0.8
    ours, other = (comparison["methods"][name]["runs"] for name in ("pinvgcn", "nearest_neighbour"))
    gaps = [a["accuracy"] - b["accuracy"] for a, b in zip(ours, other, strict=True)]
    margin = numbers["margins"]["accuracy"]
    assert margin["difference"] == pytest.approx(sum(gaps) / 2)
    assert margin["standard_error"] == pytest.approx(abs(gaps[0] - gaps[1]) / 2)  # √(Σ(g − ḡ)²/1)/√2
    place = "ahead of" if margin["difference"] >= 0 else "behind"
    assert f"points {place} the best other method, 1-nearest neighbour" in out
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert numbers["command"] in page
    assert "1-nearest neighbour" in page


def test_json_goes_to_stdout_and_the_chosen_folder_gets_the_files(
    tmp_path: Path, compare: Callable[..., tuple[str, str]]
) -> None:
    out, _ = compare("mushroom", *QUICK, "--per-class", 3, "--seed-start", 4, "--json", "--out", "here")
    numbers = json.loads(out)
    assert numbers == json.loads((tmp_path / "here" / "results.json").read_text(encoding="utf-8"))
    assert (numbers["comparison"]["labels_per_class"], numbers["comparison"]["seeds"]) == (3, [4, 5])
    assert numbers["margins"] == {"accuracy": None, "macro_f1": None}  # ours did not take part


def test_a_table_of_ones_own(tmp_path: Path, compare: Callable[..., tuple[str, str]]) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    frame = pd.DataFrame({"size": 3 * y + rng.normal(size=200), "kind": np.array(["ash", "elm"])[y]})
    frame.loc[:19, "kind"] = None
    frame.to_csv(tmp_path / "my trees.csv", index=False)
    compare("my trees.csv", "--target", "kind", *QUICK)
    folder = tmp_path / "pinvgcn-compare" / "my trees"
    numbers = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert numbers["command"].startswith("pinvgcn compare 'my trees.csv' --target kind --seeds 2")
    for method in numbers["comparison"]["methods"].values():
        assert method["accuracy"] > 0.85
        assert np.sum(method["runs"][0]["confusion"]) == 200 - 20 - 2 * 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "DATA must be a file that exists, or one of mushroom, covertype45"),
        (["cora"], "DATA must be a file that exists, or one of mushroom"),
        (["mushroom", "--methods", "xgboost"], "--methods must be one of 'pinvgcn', 'nearest_neighbour'"),
        (["mushroom", "--methods", ","], "--methods must name one method at least. Got ','"),
        (["mushroom", "--per-class", "0"], "Invalid value for '--per-class'"),
        (["mushroom", "--per-class", "3916"], "Got 3,916 of class poisonous; lower --per-class"),
        (["mushroom", "--seeds", "0"], "Invalid value for '--seeds'"),
        (["mushroom", "--budget", "0"], "Invalid value for '--budget'"),
        (["mushroom", "--budget", "nan"], "budget"),
        ([], "Missing argument 'DATA'"),
    ],
)
def test_bad_input_is_one_line_and_two(
    arguments: list[str], message: str, tmp_path: Path, refused: Callable[..., str]
) -> None:
    assert message in refused("compare", *arguments, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_results_are_not_replaced_unasked_and_quiet_says_nothing(
    tmp_path: Path, refused: Callable[..., str], done_by: Callable[..., tuple[str, str]]
) -> None:
    arguments = ["compare", "mushroom", "--methods", "nearest_neighbour", "--seeds", "1", "--quiet"]
    place = ["--out", str(tmp_path / "here")]
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "report.html").write_text("mine")
    for dry in ([], ["--dry-run"]):
        said = refused(*arguments, *place, *dry)
        assert "report.html is there already. Choose another folder with --out, or add --force." in said
    assert (tmp_path / "here" / "report.html").read_text() == "mine"
    assert done_by(*arguments, *place, "--force") == ("", "")
    assert {path.name for path in (tmp_path / "here").iterdir()} == {
        "report.html", "results.json", "comparison.png",
    }  # fmt: skip
    assert (tmp_path / "here" / "report.html").read_text(encoding="utf-8") != "mine"


def test_a_dry_run_reads_and_writes_nothing(
    tmp_path: Path, refused: Callable[..., str], done_by: Callable[..., tuple[str, str]]
) -> None:
    arguments = ["compare", "mushroom", *QUICK, "--out", str(tmp_path / "here"), "--dry-run"]
    out, _ = done_by(*arguments)
    assert "Mushroom: 8,124 rows, 2 classes" in out
    assert "1-nearest neighbour, Logistic regression" in out
    assert "Nothing was written." in out
    plan = json.loads(done_by(*arguments, "--json")[0])
    assert (plan["choices_of_labels"], plan["labels_per_class"], plan["seconds_at_most"]) == (2, 10, 3600.0)
    refused(*arguments, "--per-class", "5000")
    assert list(tmp_path.iterdir()) == []


def test_without_catboost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compare: Callable[..., tuple[str, str]]
) -> None:
    """One line says so, and the others are compared."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "catboost.py").write_text("raise ImportError\n")
    monkeypatch.syspath_prepend(tmp_path / "lib")
    rows = [f"{'uv'[i % 2]},{i % 5},{'xy'[i % 2]}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,k", *rows]) + "\n")
    arguments = ["t.csv", "--target", "k", "--methods", "nearest_neighbour,catboost", "--seeds", "1"]
    out, err = compare(*arguments, "--out", "out")
    assert "1-nearest neighbour" in out
    assert "CatBoost" not in out
    missing = "note: without CatBoost: not installed: This method needs CatBoost: pip install catboost"
    assert err.splitlines().count(missing) == 1


def test_catboost_is_not_for_scans(
    refused: Callable[..., str], compare: Callable[..., tuple[str, str]]
) -> None:
    said = refused("compare", "street", "--methods", "pinvgcn,catboost")
    assert "catboost is compared on tables" in said
    for name, there in (("street", False), ("mushroom", True)):
        plan = json.loads(compare(name, "--dry-run", "--json")[0])
        assert ("CatBoost" in plan["methods"]) is there
