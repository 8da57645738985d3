"""``pinvgcn compare`` from end to end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pinvgcn.cli import main

QUICK = ["--methods", "nearest_neighbour,logistic_regression", "--seeds", "2"]


def pinvgcn(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pinvgcn", "compare", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "90", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_a_named_data_set_prints_its_table_and_writes_its_files(tmp_path: Path) -> None:
    result = pinvgcn("mushroom", "--methods", "pinvgcn,nearest_neighbour", "--seeds", "2", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "pinvgcn-compare" / "mushroom"
    assert {path.name for path in folder.iterdir()} == {"report.html", "results.json", "comparison.png"}
    assert (folder / "comparison.png").read_bytes().startswith(b"\x89PNG")
    assert "Mushroom, choice 2 of 2: 1-nearest neighbour" in result.stderr
    assert "Traceback" not in result.stderr

    numbers = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert numbers["command"] == "pinvgcn compare mushroom --seeds 2 --methods pinvgcn,nearest_neighbour"
    comparison = numbers["comparison"]
    assert (comparison["rows"], comparison["labels_per_class"], comparison["seeds"]) == (8124, 10, [0, 1])
    for method in comparison["methods"].values():
        line = next(line for line in result.stdout.splitlines() if method["title"] in line)
        assert f"{100 * method['accuracy']:.1f} ± {100 * method['accuracy_sd']:.1f} " in line
        assert method["memory"] > 0
        assert method["accuracy"] > 0.8
    ours, other = (comparison["methods"][name]["runs"] for name in ("pinvgcn", "nearest_neighbour"))
    gaps = [a["accuracy"] - b["accuracy"] for a, b in zip(ours, other, strict=True)]
    margin = numbers["margins"]["accuracy"]
    assert margin["difference"] == pytest.approx(sum(gaps) / 2)
    assert margin["standard_error"] == pytest.approx(abs(gaps[0] - gaps[1]) / 2)  # √(Σ(g − ḡ)²/1)/√2
    place = "ahead of" if margin["difference"] >= 0 else "behind"
    assert f"points {place} the best other method, 1-nearest neighbour" in result.stdout
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert numbers["command"] in page
    assert "1-nearest neighbour" in page


def test_json_goes_to_stdout_and_the_chosen_folder_gets_the_files(tmp_path: Path) -> None:
    result = pinvgcn(
        "mushroom",
        *QUICK,
        "--per-class",
        "3",
        "--seed-start",
        "4",
        "--json",
        "--out",
        "here",
        folder=tmp_path,
    )
    assert result.returncode == 0, result.stderr
    numbers = json.loads(result.stdout)
    assert numbers == json.loads((tmp_path / "here" / "results.json").read_text(encoding="utf-8"))
    assert (numbers["comparison"]["labels_per_class"], numbers["comparison"]["seeds"]) == (3, [4, 5])
    assert numbers["margins"] == {"accuracy": None, "macro_f1": None}  # ours did not take part


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    frame = pd.DataFrame({"size": 3 * y + rng.normal(size=200), "kind": np.array(["ash", "elm"])[y]})
    frame.loc[:19, "kind"] = None
    frame.to_csv(tmp_path / "my trees.csv", index=False)
    result = pinvgcn("my trees.csv", "--target", "kind", *QUICK, folder=tmp_path)
    assert result.returncode == 0, result.stderr
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
    arguments: list[str], message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *arguments, "--out", str(tmp_path / "out")]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert message in err
    assert not (tmp_path / "out").exists()


def test_results_are_not_replaced_unasked_and_quiet_says_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ["compare", "mushroom", "--methods", "nearest_neighbour", "--seeds", "1", "--quiet"]
    place = ["--out", str(tmp_path / "here")]
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "report.html").write_text("mine")
    for dry in ([], ["--dry-run"]):
        assert main([*arguments, *place, *dry]) == 2
        out, err = capfd.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert "report.html is there already. Choose another folder with --out, or add --force." in err
    assert (tmp_path / "here" / "report.html").read_text() == "mine"
    assert main([*arguments, *place, "--force"]) == 0
    assert capfd.readouterr() == ("", "")
    assert {path.name for path in (tmp_path / "here").iterdir()} == {
        "report.html", "results.json", "comparison.png",
    }  # fmt: skip
    assert (tmp_path / "here" / "report.html").read_text(encoding="utf-8") != "mine"


def test_a_dry_run_reads_and_writes_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["compare", "mushroom", *QUICK, "--out", str(tmp_path / "here"), "--dry-run"]
    assert main(arguments) == 0
    out = capfd.readouterr().out
    assert "Mushroom: 8,124 rows, 2 classes" in out
    assert "1-nearest neighbour, Logistic regression" in out
    assert "Nothing was written." in out
    assert main([*arguments, "--json"]) == 0
    plan = json.loads(capfd.readouterr().out)
    assert (plan["choices_of_labels"], plan["labels_per_class"], plan["seconds_at_most"]) == (2, 10, 3600.0)
    assert main([*arguments[:-1], "--dry-run", "--per-class", "5000"]) == 2
    assert list(tmp_path.iterdir()) == []


def test_without_catboost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says so, and the others are compared."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "catboost.py").write_text("raise ImportError\n")
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(tmp_path / "lib"), before])))
    rows = [f"{'uv'[i % 2]},{i % 5},{'xy'[i % 2]}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,k", *rows]) + "\n")
    arguments = ["t.csv", "--target", "k", "--methods", "nearest_neighbour,catboost", "--seeds", "1"]
    result = pinvgcn(*arguments, "--out", "out", folder=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "1-nearest neighbour" in result.stdout
    assert "CatBoost" not in result.stdout
    missing = "note: without CatBoost: not installed: This method needs CatBoost: pip install catboost"
    assert result.stderr.splitlines().count(missing) == 1


def test_catboost_is_not_for_scans(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "street", "--methods", "pinvgcn,catboost", "--out", str(tmp_path / "o")]) == 2
    assert "catboost is compared on tables" in capfd.readouterr().err
    assert main(["compare", "street", "--dry-run", "--json", "--out", str(tmp_path / "o")]) == 0
    assert "CatBoost" not in json.loads(capfd.readouterr().out)["methods"]
    assert main(["compare", "mushroom", "--dry-run", "--json", "--out", str(tmp_path / "o")]) == 0
    assert json.loads(capfd.readouterr().out)["methods"][-1] == "CatBoost"
