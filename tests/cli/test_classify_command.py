"""``pinvgcn classify`` as its users run it, on a table with everything that real ones have."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from haste import hurry
from sklearn.datasets import load_wine

import pinvgcn.fitting.members
import pinvgcn.fitting.settings
from pinvgcn import PinvGCNClassifier
from pinvgcn.cli import main
from pinvgcn.errors import ModelFileError
from pinvgcn.features import ColumnRecipe
from pinvgcn.fitting.conformal import as_words
from pinvgcn.io import open_table
from pinvgcn.tables import predict_table

CULTIVARS = np.array(["Barolo", "Grignolino", "Barbera"])
COMPILES = "pinvgcn compiles its loops for this machine, once: some seconds.\n"


def wine() -> tuple[pd.DataFrame, np.ndarray]:
    """Wines with decimal numbers, dates, identifiers, remarks; a third of them labelled. One row is empty."""
    rng = np.random.default_rng(0)
    data = load_wine(as_frame=True)
    frame, truth = data.data.copy(), CULTIVARS[data.target]
    n = len(frame)
    frame.insert(0, "sample", [f"S{i:04d}" for i in range(n)])
    days = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 2000, n), unit="D")
    frame["bottled"] = days.strftime("%d.%m.%Y")
    frame["remarks"] = [" ".join(rng.choice(["red", "dry", "very", "sweet", "oaky"], 8)) for _ in range(n)]
    frame["rating"] = rng.integers(1, 6, n)
    frame["rating"] = frame["rating"].astype("Int64")
    frame.loc[7] = [pd.NA if column == "rating" else None for column in frame]
    frame["cultivar"] = np.where((rng.random(n) < 0.35) & (np.arange(n) != 7), truth, None)
    return frame, truth


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the command has run, with all that it can write."""
    folder = tmp_path_factory.mktemp("wine")
    frame, _ = wine()
    frame.to_csv(folder / "wine.csv", sep=";", decimal=",", index=False, encoding="utf-8-sig")
    command = [
        *("classify", "wine.csv", "--target", "cultivar", "-o", "out.csv", "--report", "report.html"),
        *("--save-model", "model.pinvgcn", "--probabilities", "--json", "--sets", "0.8"),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setitem(pinvgcn.fitting.settings.EPOCHS, "table", 60)
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
            assert main(command) == 0
    assert err.getvalue() in ("", COMPILES)  # the first command of a new checkout
    (folder / "result.json").write_text(out.getvalue())
    return folder


def test_the_table_is_the_same_with_new_columns(done: Path) -> None:
    before, after = (done / name for name in ("wine.csv", "out.csv"))
    lines = list(zip(before.read_bytes().splitlines(), after.read_bytes().splitlines(), strict=True))
    assert all(new.startswith(old + b";") for old, new in lines)
    frame = pd.read_csv(after, sep=";", decimal=",", encoding="utf-8-sig")
    _, truth = wine()
    assert frame.columns[-6:].tolist() == [
        "predicted_cultivar", "probability", *(f"probability_{name}" for name in sorted(CULTIVARS)),
        "set_cultivar",
    ]  # fmt: skip
    asked = frame["cultivar"].isna() & frame["predicted_cultivar"].notna()
    assert asked.sum() > 100
    assert (frame["predicted_cultivar"] == truth)[asked].mean() > 0.85
    each = frame[[f"probability_{name}" for name in sorted(CULTIVARS)]]
    known = frame["probability"].notna()
    assert each[known].sum(axis=1).to_numpy() == pytest.approx(1, abs=1e-5)
    assert (each[known].max(axis=1) == frame["probability"][known]).all()
    assert np.flatnonzero(~known).tolist() == [7]
    assert pd.isna(frame.loc[7, "predicted_cultivar"])


def test_each_row_has_the_set_of_memory(
    done: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """By the saved model in Python, by the command, and by ``predict`` on the same rows as Parquet."""
    model = PinvGCNClassifier.load(done / "model.pinvgcn")
    assert model.about_ is not None
    table = open_table(done / "wine.csv").frame()
    rows = ColumnRecipe.from_dict(model.about_["recipe"]).apply(table).frame
    known = np.arange(len(rows)) != 7
    sets = model.predict_set(rows[known], coverage=0.8)
    words = as_words(sets, sorted(CULTIVARS)).tolist()
    written = pd.read_csv(done / "out.csv", sep=";", encoding="utf-8-sig")["set_cultivar"]
    assert written[known].tolist() == words
    assert pd.isna(written[7])  # nothing is known of it; an empty set is {}
    np.testing.assert_array_equal(sets, model.transduction_set(coverage=0.8))
    sizes = sets.sum(axis=1)
    assert json.loads((done / "result.json").read_text())["sets"] == {
        "coverage": 0.8,
        "mean_size": pytest.approx(sizes.mean()),
        "share_empty": pytest.approx((sizes == 0).mean()),
        "share_several": pytest.approx((sizes > 1).mean()),
        "sizes": np.bincount(sizes, minlength=4).tolist(),
    }
    line = f"{sizes.mean():.2f} classes on average"
    assert line in (done / "report.html").read_text(encoding="utf-8")
    table.to_parquet(tmp_path / "wine.parquet")
    files = [str(done / "model.pinvgcn"), str(tmp_path / "wine.parquet"), "-o", str(tmp_path / "o.parquet")]
    assert main(["predict", *files, "--sets", "0.8"]) == 0
    assert line in capfd.readouterr().out
    again = pd.read_parquet(tmp_path / "o.parquet")["set_cultivar"]
    assert again.isna().tolist() == (~known).tolist()
    assert again[known].tolist() == words


def test_the_numbers_for_scripts(done: Path) -> None:
    result = json.loads((done / "result.json").read_text())
    frame, _ = wine()
    assert (result["table"]["rows"], result["labelled"]) == (178, int(frame["cultivar"].notna().sum()))
    assert result["classes"] == sorted(CULTIVARS)
    assert result["without_prediction"] == 1
    assert sum(result["predicted_per_class"]) == 177
    kinds = {column["name"]: column["kind"] for column in result["columns"]}
    assert kinds["sample"] == kinds["remarks"] == "left out"
    assert (kinds["bottled"], kinds["rating"], kinds["alcohol"]) == ("date", "category", "number")
    held = result["held_out"]
    assert [method["method"] for method in held["methods"]] == [
        "PinvGCN", "Logistic regression", "Random forest",
    ]  # fmt: skip
    assert held["rows"] == result["labelled"]
    for method in held["methods"]:
        assert method["accuracy"] > 0.8
        low, high = method["accuracy_95"]
        assert low < method["accuracy"] <= high
        assert np.sum(method["confusion"]) == held["rows"]
    assert result["seconds"]["all"] > 0
    assert any("no prediction" in note for note in result["notes"])
    written = [result[name] for name in ("output", "model", "report")]
    assert written == ["out.csv", "model.pinvgcn", "report.html"]


def test_the_report_stands_alone(done: Path) -> None:
    page = (done / "report.html").read_text(encoding="utf-8")
    HTMLParser().feed(page)
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)
    result = json.loads((done / "result.json").read_text())
    accuracy = f"{100 * result['held_out']['methods'][0]['accuracy']:.1f} %"
    for words in ("wine.csv", accuracy, "Barolo", "free text", "Random forest", "A map of the rows", "Seed"):
        assert words in page
    assert page.count("<svg") == 5  # mistakes, columns, map, filters, training


def test_the_model_predicts_another_file(done: Path, tmp_path: Path) -> None:
    """The same rows in another order, as Parquet with types, without the target: the same answers."""
    frame, _ = wine()
    answers = pd.read_csv(done / "out.csv", sep=";", decimal=",", encoding="utf-8-sig")
    order = np.random.default_rng(1).permutation(len(frame))
    other = frame.drop(columns=["cultivar", "remarks"]).infer_objects()
    other["bottled"] = pd.to_datetime(other["bottled"], dayfirst=True)
    other = other.iloc[order].reset_index(drop=True)
    other.to_parquet(tmp_path / "new.parquet")
    model = PinvGCNClassifier.load(done / "model.pinvgcn")
    seen: list[float | None] = []
    result = predict_table(
        model, tmp_path / "new.parquet", tmp_path / "out.parquet", rows=50,
        progress=lambda stage, rows, total: seen.append(rows / total),
    )  # fmt: skip
    assert (result.rows, result.without, result.unseen, result.unread) == (178, 1, {}, {})
    assert seen[-1] == 1.0
    written = pd.read_parquet(tmp_path / "out.parquet")
    assert written[other.columns.tolist()].equals(pd.read_parquet(tmp_path / "new.parquet"))
    expected = answers.iloc[order].reset_index(drop=True)
    assert written["predicted_cultivar"].isna().equals(expected["predicted_cultivar"].isna())
    known = expected["predicted_cultivar"].notna()
    assert (written["predicted_cultivar"] == expected["predicted_cultivar"])[known].all()
    assert written["probability"][known].to_numpy() == pytest.approx(expected["probability"][known], abs=2e-6)


def test_rows_and_values_that_the_model_has_never_seen(done: Path, tmp_path: Path) -> None:
    frame, truth = wine()
    frame = frame.head(4).copy()
    frame.loc[1, "rating"] = 9  # no such value in training
    frame["alcohol"] = frame["alcohol"].astype(str).str.replace(".", ",")
    frame.loc[2, "alcohol"] = "much"
    frame.loc[3] = [pd.NA if column == "rating" else None for column in frame]
    frame["cultivar"] = truth[:4]
    frame.to_csv(tmp_path / "new.csv", sep=";", decimal=",", index=False)
    model = PinvGCNClassifier.load(done / "model.pinvgcn")
    result = predict_table(model, open_table(tmp_path / "new.csv"), tmp_path / "out.csv")
    assert (result.rows, result.without) == (4, 1)
    assert result.unseen == {"rating": 1}
    assert result.unread == {"alcohol": 1}
    assert result.checked == 4
    assert result.right == result.counts.sum() - (pd.read_csv(tmp_path / "out.csv", sep=";")
        .dropna(subset="predicted_cultivar").eval("predicted_cultivar != cultivar").sum())  # fmt: skip


def test_predicting_needs_a_model_of_a_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    points, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    model = PinvGCNClassifier(sigma=1.0, rank=3, epochs=1).fit(points, y)
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(ModelFileError, match="classify"):
        predict_table(model, tmp_path / "t.csv", tmp_path / "o.csv")


# ---------------------------------------------------------------- without a fit


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small table, in which the command runs, in haste."""
    monkeypatch.chdir(tmp_path)
    hurry(monkeypatch, 20)
    monkeypatch.setenv("COLUMNS", "100")
    rows = [f"{'red' if i % 2 else 'blue'},{i % 7},{['a', 'b', ''][i % 3]}" for i in range(30)]
    (tmp_path / "t.csv").write_text("\n".join(["colour,size,Kind", *rows]) + "\n")
    return tmp_path


def test_a_dry_run_writes_nothing(small: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["classify", "t.csv", "--target", "Kind", "-o", "o.csv", "--dry-run"]) == 0
    out, err = capfd.readouterr()
    assert "30 rows (CSV), 20 with a class in 'Kind', 10 to predict" in out
    assert re.search(r"size\s+category\s+7 values", out)
    assert "a 10, b 10" in out
    assert re.search(r"about \d+\.\d GiB of memory and \d+ s", out)
    assert err == ""
    assert [path.name for path in small.iterdir()] == ["t.csv"]
    assert main(["classify", "t.csv", "--target", "Kind", "--dry-run", "--json"]) == 0
    plan = json.loads(capfd.readouterr().out)
    assert (plan["rows"], plan["labelled_per_class"]) == (30, [10, 10])
    assert plan["estimated_bytes"] > 2**28
    assert main(["classify", "t.csv", "--target", "Kind", "--dry-run", "--quiet"]) == 0
    assert capfd.readouterr().out == ""


KIND = ["t.csv", "--target", "Kind"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["t.csv", "--target", "kind", "-o", "o.csv"], "no column 'kind'. Did you mean 'Kind'? It has: "),
        ([*KIND, "-o", "o.csv", "--columns", "colour,sise"], "Did you mean 'size'"),
        ([*KIND, "-o", "o.csv", "--exclude", "nix"], "no column 'nix'"),
        ([*KIND, "-o", "o.csv", "--columns", "Kind"], "must not be one of the columns"),
        ([*KIND, "-o", "o.csv", "--exclude", "colour,size"], "No column"),
        ([*KIND, "-o", "t.csv"], "--force"),
        ([*KIND, "-o", "."], "folder"),
        ([*KIND, "-o", "no/o.csv"], "folder must exist"),
        ([*KIND, "-o", "o.parquet"], "must end in .csv, .txt, each also with .gz"),
        ([*KIND, "-o", "o.csv", "--report", "o.csv"], "different files"),
        ([*KIND, "-o", "o.csv", "--questions", "o.csv"], "must be different files. Got o.csv twice"),
        ([*KIND, "--questions", "q.txt"], "the name must end in .csv. Got q.txt"),
        ([*KIND, "--questions", "no/q.csv"], "folder must exist"),
        ([*KIND, "--questions", "t.csv", "--force"], "must not write over a file that is read. Got t.csv"),
        ([*KIND, "--report", "t.csv", "--force"], "must not write over a file"),
        (KIND, "-o OUT"),
        (["t.csv", "-o", "o.csv"], "--target"),
        (["t.cvs", "--target", "Kind", "-o", "o.csv"], "Did you mean t.csv?"),
        ([".", "--target", "Kind", "-o", "o.csv"], "folder"),
        ([*KIND, "-o", "o.csv", "--class-weight", "heavy"], "balanced"),
        ([*KIND, "-o", "o.csv", "--seed", "-1"], "--seed"),
        ([*KIND, "-o", "o.csv", "--sets", "0.99"], "coverage of at most 10/11"),
        ([*KIND, "-o", "o.csv", "--sets", "1"], "coverage must be a number from 0 to below 1"),
        ([*KIND, "-o", "o.csv", "--sets", "0.99", "--dry-run"], "coverage of at most 10/11"),
    ],
)
def test_one_clear_line(
    arguments: list[str],
    words: str,
    small: Path,
    refused: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = (small / "t.csv").read_bytes()
    monkeypatch.delattr("pinvgcn.tables.classify.SharedRows")  # nothing is to be trained
    assert words in refused("classify", *arguments)
    assert [path.name for path in small.iterdir()] == ["t.csv"]
    assert (small / "t.csv").read_bytes() == content


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("a,k\n1,x\n2,x\n", "at least two classes. Got only 'x', in 2 rows"),
        ("a,k\n1,\n2,NA\n", "2 empty cells"),
        ("a,k\n" + "".join(f"{i % 3},{i}\n" for i in range(50)), "50 different values in 50 rows"),
        ("k\nx\ny\n", "no other column"),
        ("a,b,k\n1,2,x\n1,2\n", "line 3 has 2 cells"),
        ("a,predicted_k,k\n" + "1,2,x\n2,3,y\n3,3,\n" * 5, "already has a column 'predicted_k'"),
        ("", "is empty"),
        ("a,k\n", "no row"),
        ("a,k\n" + "1,x|y\n2,z\n" * 9, "no class may have '|' in its name. Got 'x|y'"),
    ],
)
def test_tables_that_cannot_be_used(table: str, words: str, small: Path, refused: Callable[..., str]) -> None:
    (small / "t.csv").write_text(table)
    assert words in refused("classify", "t.csv", "--target", "k", "-o", "o.csv", "--sets", "0.5")
    assert not (small / "o.csv").exists()


def test_all_labelled_imbalanced_and_numbers_as_classes(
    small: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Classes in a Parquet file come back as numbers, also -1, which means unlabelled elsewhere."""
    n = 60
    y = np.where(np.arange(n) % 6 == 0, 1, -1)
    frame = pd.DataFrame({"x": np.where(y == 1, "u", "v"), "z": np.arange(n) % 4, "y": y})
    frame.to_parquet(small / "t.parquet")
    command = ["classify", "t.parquet", "--target", "y", "-o", "o.parquet", "--class-weight", "balanced"]
    assert main(command) == 0
    out, err = capfd.readouterr()
    assert "nothing to predict" in err
    assert re.search(r"PinvGCN\s+100.0 %", out)
    written = pd.read_parquet(small / "o.parquet")
    assert pd.api.types.is_integer_dtype(written["predicted_y"])
    assert (written["predicted_y"] == written["y"]).all()


def test_a_row_of_values_that_occur_nowhere_else(small: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It has no prediction, and is counted; the others have one. A file that is handed over later, too."""
    path = small / "t.csv"
    path.write_text(path.read_text() + "mauve,99,\n")
    command = ["classify", "t.csv", "--target", "Kind", "-o", "o.csv", "--save-model", "m.pinvgcn", "--json"]
    assert main(command) == 0
    result = json.loads(capfd.readouterr().out)
    assert result["without_prediction"] == 1
    assert "1 of 31 rows shares no value with another: no prediction for it" in result["notes"]
    written = (small / "o.csv").read_text().splitlines()
    assert written[-1] == "mauve,99,,,"
    assert not any(line.endswith(",") for line in written[:-1])
    assert main(["predict", "m.pinvgcn", "t.csv", "-o", "p.csv", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["without_prediction"] == 1
    assert (small / "p.csv").read_text().splitlines()[-1] == "mauve,99,,,"


def test_questions(small: Path, capfd: pytest.CaptureFixture[str], refused: Callable[..., str]) -> None:
    """A file that is there is kept without --force, and a dry run writes none."""
    (small / "q.csv").write_text("old")
    command = ["t.csv", "--target", "Kind", "--questions", "q.csv"]
    for dry in ([], ["--dry-run"]):
        assert "q.csv is already there" in refused("classify", *command, *dry)
    assert main(["classify", *command, "--force", "--dry-run", "--quiet"]) == 0
    assert (small / "q.csv").read_text() == "old"
    assert main(["classify", *command, "--force", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["questions"] == "q.csv"
    asked = pd.read_csv(small / "q.csv")
    table = pd.read_csv(small / "t.csv").loc[asked["row"] - 1].reset_index(drop=True)
    assert 0 < len(asked) <= 10
    assert asked["rows"].sum() == 10  # without a class, each in one question
    assert table["Kind"].isna().all()
    pd.testing.assert_frame_equal(asked[["colour", "size"]], table[["colour", "size"]])
    assert sorted(path.name for path in small.iterdir()) == ["q.csv", "t.csv"]


def test_interrupting_training_leaves_no_half_file(
    small: Path, interrupts: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Training alone would end, and go on with what it has learned; the command stops."""
    train = pinvgcn.fitting.members.train

    def interrupted(*arguments: Any, **options: Any) -> list[float]:
        told, options["on_epoch"] = options["on_epoch"], lambda epoch, loss: stop(epoch, loss)

        def stop(epoch: int, loss: float) -> None:
            told(epoch, loss)
            if epoch == 3:
                os.kill(os.getpid(), signal.SIGINT)

        return train(*arguments, **options)

    monkeypatch.setattr("pinvgcn.fitting.members.train", interrupted)
    arguments = ["t.csv", "--target", "Kind", "-o", "o.csv", "--save-model", "m", "--report", "r.html"]
    assert main(["classify", *arguments]) == 130
    assert capfd.readouterr() == ("", "pinvgcn: interrupted\n")
    assert [path.name for path in small.iterdir()] == ["t.csv"]


def test_predict_for_tables(done: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    frame, truth = wine()
    frame["cultivar"] = truth
    frame.loc[0, "rating"] = 9
    frame.to_csv(tmp_path / "new.csv", index=False)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    files = [str(done / "model.pinvgcn"), str(tmp_path / "new.csv"), "-o", str(tmp_path / "out.csv")]
    assert main(["predict", *files, "--dry-run"]) == 0
    assert "Nothing was written" in capfd.readouterr().out
    assert not (tmp_path / "out.csv").exists()
    assert main(["predict", *files, "--probabilities"]) == 0
    printed, err = capfd.readouterr()
    assert printed.startswith("178 rows in ")
    assert "Of 178 rows whose class is filled in" in printed
    assert "1 row has no value that the model knows: no prediction for it" in err
    assert "1 value that the model has never seen was ignored: rating (1)" in err
    assert len(pd.read_csv(tmp_path / "out.csv").columns) == len(frame.columns) + 5
    assert main(["predict", *files, "--force", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["without_prediction"] == 1
    for dry in ([], ["--dry-run"]):  # which refuses the same
        assert main(["predict", *files, *dry]) == 2
        assert "--force" in capfd.readouterr().err
        other = [files[0], str(tmp_path / "other.csv"), "-o", str(tmp_path / "o.csv")]
        assert main(["predict", *other, *dry]) == 2
        assert "no column 'alcohol'" in capfd.readouterr().err
