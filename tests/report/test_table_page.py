"""The page and the lines about a table, where it is unlike the usual one."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

from pinvgcn.cli.classify import print_result
from pinvgcn.io import open_table
from pinvgcn.report.held_out import HeldOut, estimate_notes, held_out_of_table
from pinvgcn.report.pages import table_page
from pinvgcn.tables import Classified, classify_table, plan_table
from pinvgcn.tables import classify as job


def classified(
    path: Path, rows: list[str], monkeypatch: pytest.MonkeyPatch, *, epochs: int = 2
) -> tuple[Classified, HeldOut | None]:
    path.write_text("\n".join(rows) + "\n")
    quick = functools.partial(job.PinvGCNClassifier, epochs=epochs, members=2, trees=5)
    monkeypatch.setattr(job, "PinvGCNClassifier", quick)
    monkeypatch.setattr("pinvgcn.report.held_out.TABLE_FOLDS", 2)
    result = classify_table(plan_table(open_table(path), "k"))
    return result, held_out_of_table(result)


def printed(result: Classified, heldout: HeldOut | None, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    print_result(result, heldout, {}, {}, as_json=False, quiet=False)
    return capsys.readouterr().out


def test_one_label_a_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{'uv'[i % 2]},{i % 3},{['x', 'y'][i] if i < 2 else ''}" for i in range(30)]
    result, heldout = classified(tmp_path / "t.csv", ["a,b,k", *rows], monkeypatch)
    assert heldout is None
    assert any("cannot be estimated" in note for note in estimate_notes(result, heldout))
    assert "No class has two labelled rows" in table_page(result, heldout)
    assert "held out" not in printed(result, heldout, capsys)
    assert result.importance is None
    assert result.as_dict()["column_importance"] is None
    assert "nothing tells what the columns are" in table_page(result, heldout)
    assert "Weights of the experts: " in printed(result, heldout, capsys)


def test_many_classes_columns_and_strange_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    names = [f"<b>{chr(97 + j)}</b>&" for j in range(25)]
    head = ",".join(f"c<{j}>" for j in range(32))
    rows = [
        ",".join([*(str(v) for v in rng.integers(0, 3, 32)), names[i % 25] if i % 3 else ""])
        for i in range(300)
    ]
    result, heldout = classified(tmp_path / "t.csv", [f"{head},k", *rows], monkeypatch)
    page = table_page(result, heldout)
    assert "<b>a</b>" not in page
    assert "&lt;b&gt;a&lt;/b&gt;&amp;" in page
    assert "c&lt;31&gt;" in page
    assert "All 32 columns" in page
    assert "All 32 columns in numbers" in page
    assert "c&lt;0&gt;" in page
    assert "The 12 largest classes of 25" in page
    assert "and 5 more" in printed(result, heldout, capsys)
    assert heldout is not None
    better = heldout.best_simple.accuracy > heldout.ours.accuracy
    assert (
        any("found more of the held-out labels" in note for note in estimate_notes(result, heldout)) == better
    )
    assert len(heldout.as_dict()["methods"][0]["recall"]) == 25


def test_what_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the screen, in the page and as JSON; the parts of a date are one column, under its own name."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 2, 120)
    days = [f"{rng.integers(1, 29):02d}.{rng.integers(1, 13):02d}.2010" for _ in kinds]
    rows = [
        f"{'uv'[kind]},{rng.integers(3)},{days[i]},{'xy'[kind] if i < 60 else ''}"
        for i, kind in enumerate(kinds)
    ]
    result, heldout = classified(tmp_path / "t.csv", ["de$cides$,b,day,k", *rows], monkeypatch, epochs=40)
    assert result.importance is not None
    best, *others = result.importance.columns
    assert (best.column, best.clear) == ("de$cides$", True)
    assert {column.column for column in others} == {"b", "day"}
    assert not any(column.clear for column in others)
    told = result.as_dict()
    assert told["column_importance"]["columns"][0]["column"] == "de$cides$"
    assert told["column_importance"]["labels"] == 60
    assert sum(told["experts"].values()) == pytest.approx(1)
    assert list(told["seconds"])[3] == "column importance"
    text = printed(result, heldout, capsys)
    for name, share in told["experts"].items():
        assert f"{name} {100 * share:.0f} %" in text
    lines = {
        line.split()[0]: line
        for line in text[text.index("What columns are worth") :].splitlines()
        if line.strip()
    }
    assert lines["de$cides$"].split()[-1] == "clear"
    assert lines["day"].split()[-1] == "unclear"
    assert f"{best.log_likelihood:.3f} ± {best.error:.3f}" in lines["de$cides$"]
    page = table_page(result, heldout)
    assert "Of 3 columns, 1 has an effect" in page
    assert 'id="importance-' in page
    assert f"{best.log_likelihood:.3f} ± {best.error:.3f}" in page
