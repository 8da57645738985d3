"""``pinvgcn classify`` and ``predict`` on a table in parts: as on one file, and again after an interrupt."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from haste import hurry

import pinvgcn.report.held_out
from pinvgcn.cli import main
from pinvgcn.jobs import locked
from pinvgcn.jobs.work_folder import NAME

N = 120
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, N)
TABLE = pd.DataFrame(
    {f"c{j}": np.array(list("abcde"))[(2 * TRUTH * (j < 4) + RNG.integers(0, 3, N)) % 5] for j in range(6)}
).assign(size=RNG.normal(size=N).round(2), kind=np.where(np.arange(N) % 15 < 2, TRUTH.astype(str), ""))
PARTS = {"p0.csv": slice(0, 50), "p1.csv": slice(50, 53), "p2.csv": slice(53, N)}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """The table, its parts, and a model of it."""
    place = tmp_path_factory.mktemp("table")
    (place / "parts").mkdir()
    TABLE.to_csv(place / "whole.csv", index=False)
    for name, rows in PARTS.items():
        TABLE[rows].to_csv(place / "parts" / name, index=False)
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch, 5)
        patch.chdir(place)
        assert run("whole.csv", "--save-model", "model") == 0
    return place


@pytest.fixture
def folder(tmp_path, monkeypatch, prepared):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    hurry(monkeypatch, 5)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return main(["classify", *words, "--target", "kind", "--quiet"])


def lines(folder, *names):
    """The rows of these files, without their heads."""
    return [line for name in names for line in (folder / name).read_text().splitlines()[1:]]


def test_parts_are_one_table(folder, capsys):
    assert run("whole.csv", "-o", "whole.out.csv", "--save-model", "whole.model") == 0
    for number, words in enumerate((["parts/*.csv"], [f"parts/{name}" for name in PARTS])):
        out = f"out{number}"
        assert run(*words, "-o", out, *(["--save-model", "parts.model"] if number == 0 else [])) == 0
        found = lines(folder / out, *PARTS)
        assert found == lines(folder, "whole.out.csv")
        assert (folder / out / "p1.csv").read_text().splitlines()[0].endswith(",predicted_kind,probability")
    # a part that is gone is made again, the others stay
    stamps = {name: (folder / "out0" / name).stat().st_mtime_ns for name in PARTS}
    before = (folder / "out0" / "p1.csv").read_text()
    (folder / "out0" / "p1.csv").unlink()
    assert run("parts/*.csv", "-o", "out0") == 0
    assert (folder / "out0" / "p1.csv").read_text() == before
    for name in ("p0.csv", "p2.csv"):
        assert (folder / "out0" / name).stat().st_mtime_ns == stamps[name]
    capsys.readouterr()
    assert main(["classify", "parts", "--target", "kind", "-o", "out0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parts_done_before"] == 3
    # another command, or another file, is not what is there
    assert run("parts", "-o", "out0", "--seed", "1") == 2
    assert "from another command or another file" in capsys.readouterr().err
    assert run("parts", "-o", "out0", "--seed", "1", "--force") == 0
    TABLE[PARTS["p1.csv"]].assign(c0="a").to_csv(folder / "parts" / "p1.csv", index=False)
    assert run("parts", "-o", "out0", "--seed", "1") == 2


def test_prediction_of_parts(folder, capsys):
    for words in (["whole.csv", "-o", "whole.out.csv"], ["parts/*.csv", "-o", "out"]):
        assert main(["predict", "model", *words, "--json"]) == 0
    one, many = capsys.readouterr().out.split("}\n{")
    one, many = json.loads(one + "}"), json.loads("{" + many)
    for name in ("rows", "predicted_per_class", "agree_with_target", "rows_with_target", "unseen_values"):
        assert one[name] == many[name]
    assert lines(folder / "out", *PARTS) == lines(folder, "whole.out.csv")
    assert main(["predict", "model", "parts/*.csv", "-o", "out", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["dry_run"], told["parts"]) == (True, 3)
    TABLE[:7].to_csv(folder / "parts" / "p3.csv", index=False)  # one that came later
    assert main(["predict", "model", "parts/*.csv", "-o", "out", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["parts"], told["parts_done_before"], told["rows"]) == (4, 3, 7)
    assert main(["predict", "model", "parts/*.csv", "-o", "out"]) == 0
    assert "All 4 parts are done" in capsys.readouterr().out
    assert main(["predict", "model", "parts/*.csv", "-o", "out", "--probabilities"]) == 2
    assert "already there, from another command" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["parts", "-o", "out", "--report", "nowhere/page.html"], "folder must exist"),
        (["parts/*.parquet", "-o", "out"], "There is no file that parts/*.parquet stands for"),
        (["parts", "-o", "out.csv"], "go into a folder. Got 'out.csv'"),
        (["parts", "-o", "parts"], "must not replace the parts"),
        (["parts", "whole.csv", "parts/p0.csv", "-o", "out"], "Files must have different names"),
        (["parts", "nowhere.csv", "-o", "out"], "There is no file nowhere.csv"),
    ],
)
def test_what_cannot_be_done(folder, refused, words, message):
    assert message in refused("classify", *words, "--target", "kind")
    assert not (folder / "out").exists()


def test_copies_below_the_parts_are_no_parts(folder):
    """``**`` finds them, too, when the command is started again."""
    for _ in range(2):
        assert run("parts/**/*.csv", "-o", "parts/out") == 0
        assert {path.name for path in (folder / "parts" / "out").glob("*.csv")} == set(PARTS)
        (folder / "parts" / "out" / "p1.csv").unlink()


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_dry_run_refuses_what_the_run_refuses(folder, refused, dry):
    assert main(["predict", "model", "parts", "-o", "there", "-q"]) == 0
    (folder / "other").mkdir()
    for name, rows in PARTS.items():
        TABLE[rows].to_csv(folder / "other" / name, index=False)
    (folder / "worse").mkdir()
    TABLE[:9].to_csv(folder / "worse" / "a.csv", index=False)
    TABLE[9:].drop(columns="c3").to_csv(folder / "worse" / "b.csv", index=False)
    predict = ["predict", "model", *dry, "-q"]
    for words, message in (
        ([*predict, "parts/*.csv", "-o", "parts"], "must not replace the parts"),
        ([*predict, "parts", "-o", "there", "--sets", "0.5"], "p0.csv is already there"),
        ([*predict, "other", "-o", "there"], "p0.csv is already there"),  # files of the same names
        ([*predict, "parts", "-o", "out", "--sets", "0.99"], "Sets of coverage 0.99 need"),
        ([*predict, "parts", "-o", "out", "--field", "zz"], "--field is not for a table"),
        ([*predict, "worse", "-o", "out"], "c3"),
        ([*predict, "parts/*.las", "-o", "out"], "There is no file that parts/*.las stands for"),
        (["classify", "parts", "--target", "kind", "-o", "parts", *dry], "must not replace the parts"),
        (["classify", "parts", "--target", "kind", "-o", "there", *dry], "p0.csv is already there"),
    ):
        assert message in refused(*words)
    assert not (folder / "out").exists()


def test_what_is_refused_costs_no_copy(folder, capsys):
    """``--force`` removes copies only when their successors can be made."""
    assert run("parts", "-o", "out") == 0
    before = lines(folder / "out", *PARTS)
    assert run("parts", "-o", "out", "--sets", "0.99", "--force") == 2
    assert "Sets of coverage 0.99 need" in capsys.readouterr().err
    assert lines(folder / "out", *PARTS) == before


def test_quiet_json_is_json(folder, capsys):
    for words in (["predict", "model", "parts"], ["classify", "parts", "--target", "kind"]):
        out = words[0]
        told = []
        for more in (["--dry-run"], [], []):
            assert main([*words, "-o", out, "-q", "--json", *more]) == 0
            told.append(json.loads(capsys.readouterr().out))
        assert told[0]["dry_run"]
        assert (told[1]["parts_done_before"], told[2]["parts_done_before"]) == (0, 3)
        assert main([*words, "-o", out, "-q"]) == 0
        assert capsys.readouterr() == ("", "")


def test_many_labels_are_thinned_out_for_the_estimate(folder, monkeypatch, capsys):
    """One held-out part of some of the labels, the same in parts as in one file; and that is said."""
    monkeypatch.setattr(pinvgcn.report.held_out, "ALL_FOLDS", 10)
    monkeypatch.setattr(pinvgcn.report.held_out, "FEW", 2)
    told = []
    for words in (["whole.csv", "-o", "whole.out.csv"], ["parts", "-o", "out"]):
        assert main(["classify", *words, "--target", "kind", "--json"]) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0]["held_out"] == told[1]["held_out"]
    assert told[0]["held_out"]["parts"] == 1
    note = next(note for note in told[0]["notes"] if "was estimated with" in note)
    assert note.endswith("of the 16 labels")
    assert int(note.split()[8]) < 16


def test_a_part_that_is_damaged(folder, capsys):
    (folder / "parts" / "p1.csv").write_text("c0,c1\n1,2,3\n")
    assert run("parts", "-o", "out") == 2
    assert "p1.csv" in capsys.readouterr().err


def test_one_command_at_a_time(folder, capsys):
    for words, place in (
        (["parts", "-o", "out"], folder / "out" / NAME),
        (["whole.csv", "-o", "o.csv"], folder / f".o.csv{NAME}"),
    ):
        with locked(place):
            assert run(*words) == 2
        assert "Another job is at work" in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == ["model", "parts", "whole.csv"]
