"""Which rows of a table are asked about."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from pinvgcn.io import open_table
from pinvgcn.report.pages import table_page
from pinvgcn.tables import Classified, classify_table, plan_table
from pinvgcn.tables import classify as job
from pinvgcn.tables.questions import COLUMNS, row_questions, spread_over_rows, write_questions

COLOURS = ("red", "green", "blue", "brown", "pink")


def one_hot(rows: list[str]) -> sp.csr_array:
    """Rows of letters: each letter of each place is a value."""
    values = sorted({(place, letter) for row in rows for place, letter in enumerate(row)})
    return sp.csr_array([[float(row[place] == letter) for place, letter in values] for row in rows])


def asked(doubt: list[float], rows: list[str], counts: list[int] | None = None, count: int = 50) -> list[int]:
    n = np.ones(len(rows)) if counts is None else np.array(counts, dtype=float)
    return [at for _, at in spread_over_rows(np.array(doubt), one_hot(rows), n, count)]


def test_the_largest_doubt_first_then_what_is_unlike_it():
    """The second row is nearly the first; the fourth is unlike it, and is asked for before."""
    rows = ["aaaa", "aaab", "abab", "bcbc", "cbcb"]
    assert asked([0.5, 0.49, 0.1, 0.3, 0.0], rows)[:2] == [0, 3]
    assert asked([0.5, 0.49, 0.1, 0.3, 0.0], rows, count=1) == [0]


def test_shrinking_by_the_definition():
    rng = np.random.default_rng(0)
    rows = ["".join(rng.choice(list("abc"), 6)) for _ in range(40)]
    doubt, n = rng.random(40), rng.integers(1, 9, 40)
    left, expected = doubt.copy(), []
    for _ in range(12):
        best = int(np.argmax(left))
        expected.append(best)
        like = np.array([sum(a == b for a, b in zip(row, rows[best], strict=True)) / 6 for row in rows])
        usual = np.average(like, weights=n)
        left *= 1 - np.clip((like - usual) / (1 - usual), 0, 1)
    assert asked(doubt.tolist(), rows, n.tolist(), count=12) == expected


def test_nothing_is_asked_twice_and_nothing_certain():
    rows = ["aa", "ab", "ba", "bb"]
    assert sorted(asked([0.4, 0.3, 0.0, 0.2], rows)) == [0, 1, 3]
    assert asked([0.0, 0.0], ["aa", "bb"]) == []
    assert asked([0.3], ["aa"]) == [0]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Classified:
    """Equal rows, labelled ones, a free text that is not used, a column called "rows", and a row alone."""
    rng = np.random.default_rng(1)
    lines = ["colour,size,rows,remark,k"]
    for i in range(80):
        colour = COLOURS[int(rng.integers(5))]
        remark = f'"no {i}, seen by somebody who wrote it down {rng.integers(9**9)}"'
        lines.append(f"{colour},{i % 4},{i % 3},{remark},{'xy'[i % 2] if i < 16 else ''}")
    lines.append("mauve,99,77,alone,")
    path = tmp_path_factory.mktemp("questions") / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "PinvGCNClassifier", functools.partial(job.PinvGCNClassifier, epochs=20))
        return classify_table(plan_table(open_table(path), "k"))


def test_a_question_stands_for_all_rows_with_its_values(result: Classified):
    found = row_questions(result)
    table = pd.read_csv(result.plan.source.path)
    assert [question.number for question in found] == list(range(1, len(found) + 1))
    seen = set()
    for question in found:
        at = question.row - 1
        assert 16 <= at < 80  # neither labelled nor alone
        assert question.file == "t.csv"
        assert question.cells == {name: str(table[name][at]) for name in ("colour", "size", "rows", "remark")}
        same = (table[["colour", "size", "rows"]] == table.loc[at, ["colour", "size", "rows"]]).all(axis=1)
        assert question.rows == same[16:80].sum()
        assert at == np.flatnonzero(same)[np.flatnonzero(same) >= 16][0]
        assert question.confidence == pytest.approx(result.proba[at].max(), abs=1e-4)
        assert question.predicted == "xy"[result.answers[at]]
        assert question.runner_up == "yx"[result.answers[at]]
        assert question.wrong == pytest.approx(question.rows * (1 - result.proba[at].max()))
        seen.add((table["colour"][at], table["size"][at], table["rows"][at]))
    assert len(seen) == len(found) > 20
    assert max(question.rows for question in found) > 1
    assert found[0].wrong == max(question.wrong for question in found)
    assert row_questions(result, count=5) == found[:5]


def test_the_file(result: Classified, tmp_path: Path):
    found = row_questions(result)
    write_questions(found, result, tmp_path / "q.csv")
    table = pd.read_csv(tmp_path / "q.csv")
    assert table.columns.tolist() == [*COLUMNS, "colour", "size", "rows (table)", "remark"]
    assert table["label"].isna().all()
    assert table["row"].tolist() == [question.row for question in found]
    original = pd.read_csv(result.plan.source.path).loc[table["row"] - 1]
    assert table["remark"].tolist() == original["remark"].tolist()
    assert table["why"].str.fullmatch(r"\d+\.\d of \d+ rows? with its values expected to be wrong").all()


@pytest.mark.parametrize(
    ("mark", "name", "written"), [(";", "q.csv", ";"), ("\t", "q.csv", ","), ("\t", "q.tsv", "\t")]
)
def test_the_file_is_written_as_the_table(mark: str, name: str, written: str, tmp_path: Path):
    """Who has a table with semicolons and decimal commas opens both with the same program."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 60)
    size = [f"{x:.2f}".replace(".", ",") for x in rng.normal(size=60) + 2 * truth]
    frame = pd.DataFrame(
        {"size": size, "kind": np.array(list("uv"))[truth], "side": np.array(["l", "r"])[truth]}
    )
    frame.loc[20:, "side"] = ""
    frame.to_csv(tmp_path / "t.csv", sep=mark, index=False)
    plan = plan_table(open_table(tmp_path / "t.csv"), target="side")
    result = classify_table(plan)
    write_questions(row_questions(result), result, tmp_path / name)
    lines = (tmp_path / name).read_text().splitlines()
    assert lines[0].split(written)[:3] == ["number", "file", "row"]
    read = pd.read_csv(tmp_path / name, sep=written, decimal=",")
    assert read["confidence"].between(0.5, 1).all()
    assert read["size"].dtype == float


def test_the_page_shows_the_first_ten(result: Classified):
    found = row_questions(result)
    page = table_page(result, None, questions=found, question_file=Path("ask.csv"))
    assert "Where it is unsure" in page
    assert f"The first 10 of {len(found)} rows; all are in ask.csv." in page
    assert "Where it is unsure" not in table_page(result, None)


def test_every_row_has_a_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(job, "PinvGCNClassifier", functools.partial(job.PinvGCNClassifier, epochs=2))
    path = tmp_path / "t.csv"
    path.write_text("a,b,k\n" + "".join(f"{'uv'[i % 2]},{i % 3},{'xy'[i % 2]}\n" for i in range(30)))
    everything = classify_table(plan_table(open_table(path), "k"))
    assert row_questions(everything) == []
    write_questions([], everything, tmp_path / "q.csv")
    assert (tmp_path / "q.csv").read_text().splitlines() == [",".join([*COLUMNS, "a", "b"])]
