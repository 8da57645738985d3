"""The plan of a table in parts is that of one process, whichever rank reads which part."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from ranks import SIZES, shares

import pinvgcn.fitting.settings
import pinvgcn.report.held_out
from pinvgcn import PinvGCNClassifier
from pinvgcn.cli import main
from pinvgcn.cli.predict import predict_tables
from pinvgcn.distributed.group import Group
from pinvgcn.errors import PinvGCNError
from pinvgcn.features import ColumnRecipe
from pinvgcn.features.table_plans import ColumnCounts
from pinvgcn.io import open_table
from pinvgcn.io.tables import ENDINGS, TableParts
from pinvgcn.jobs import input_files
from pinvgcn.tables import TableFiles, TableModel, plan_table

N = 240
RNG = np.random.default_rng(7)
DAYS = pd.to_datetime("2019-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), unit="D")
TABLE = pd.DataFrame(
    {
        "id": np.arange(N) + 5_000,
        "colour": np.array(["red", "green", "blue"])[RNG.integers(0, 3, N)],
        "town": np.where(np.arange(N) < 200, "A" + pd.Series(RNG.integers(0, 40, N)).astype(str), "late"),
        "price": np.round(RNG.normal(100, 20, N), 2),
        "rooms": RNG.integers(1, 6, N),
        "since": DAYS.strftime("%d.%m.%Y"),
        "note": ["a longer remark about the house number " + str(i) for i in range(N)],
        "same": "x",
        "kind": np.where(RNG.random(N) < 0.3, np.array(["flat", "house"])[RNG.integers(0, 2, N)], None),
    }
)
ENDS = [0, 10, 11, 90, 200, N]


def write_parts(folder, kind, table=TABLE):
    folder.mkdir(exist_ok=True)
    for number, (start, end) in enumerate(pairwise(ENDS)):
        part = table.iloc[start:end]
        if kind == "csv":
            part.to_csv(folder / f"p{number}.csv", index=False)
        else:
            part.to_parquet(folder / f"p{number}.parquet", index=False)


def facts(plan):
    return {
        "recipe": plan.recipe,
        "target": plan.target,
        "numbers": (plan.rows, plan.labelled, plan.without, plan.distinct, plan.hyperedges),
        "counts": plan.class_counts.tolist(),
        "notes": plan.notes(),
    }


def planned(process_group, folder, share):
    group = Group.of(process_group)
    files = input_files([folder], endings=ENDINGS, group=group)
    mine = range(len(files))[shares(len(files), group.size, share)[group.rank]]
    plan = plan_table(TableParts(str(folder), files, mine, group=group), "kind")
    return facts(plan), plan.codes, plan.frame.astype(object).where(plan.frame.notna(), None), plan.lengths


@pytest.mark.parametrize("share", ["even", "uneven", "empty"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_plan_over_parts(ranks, tmp_path, kind, share):
    """Against the same rows in one file: kinds of columns, dates, rare values, classes, rows and cells."""
    write_parts(tmp_path / "parts", kind)
    whole = tmp_path / f"whole.{kind}"
    TABLE.to_csv(whole, index=False) if kind == "csv" else TABLE.to_parquet(whole, index=False)
    plan = plan_table(open_table(whole), "kind")
    kinds = {column.name: column.kind for column in plan.recipe.plans}
    assert kinds["since"] == "date"
    assert kinds["id"] == kinds["note"] == kinds["same"] == "left out"
    assert {column.name: bool(column.rare) for column in plan.recipe.plans}["town"]
    for size in SIZES:
        found = ranks.run(size, planned, tmp_path / "parts", share)
        for one in found:
            assert one[0] == facts(plan)
        np.testing.assert_array_equal(np.concatenate([one[1] for one in found]), plan.codes)
        cells = pd.concat([one[2] for one in found], ignore_index=True)
        expected = plan.frame.astype(object).where(plan.frame.notna(), None).reset_index(drop=True)
        pd.testing.assert_frame_equal(cells, expected, check_dtype=False)
        assert sum((one[3] for one in found), ()) == tuple(np.diff(ENDS))
    alone = planned(None, tmp_path / "parts", "even")
    assert alone[0] == facts(plan)


def learned(process_group, frames):
    group = Group.of(process_group)
    try:
        recipe = ColumnRecipe.learn(frames[group.rank], group=group)
    except PinvGCNError as error:
        return str(error)
    return recipe


def test_parts_whose_types_differ(ranks):
    """Whole numbers here and others there are numbers; beside text they are text; lists spoil a column."""
    n = 30
    base = {"other": list("ab") * (n // 2)}
    parts = [
        pd.DataFrame({"x": np.arange(n), "y": np.arange(n) % 3, "z": ["u"] * n, "d": DAYS[:n], **base}),
        pd.DataFrame({"x": np.arange(n) + 0.5, "y": ["m", "n"] * (n // 2), "z": [[1]] * n, **base}).assign(
            d=DAYS[n : 2 * n].strftime("%Y-%m-%d")
        ),
    ]
    one = ColumnRecipe.learn(parts)
    kinds = {plan.name: (plan.kind, plan.reason) for plan in one.plans}
    assert kinds["x"] == ("number", "")
    assert kinds["y"] == ("category", "")
    assert kinds["z"] == ("left out", "lists, bytes or the like")
    assert kinds["d"] == ("date", "")
    assert {plan.name: plan.distinct for plan in one.plans}["y"] == 5
    for split in ([[parts[0]], [parts[1]]], [[], parts]):
        assert ranks.run(2, learned, split) == [one, one]


def test_counts_of_parts_are_those_of_the_whole():
    values = pd.Series(["b", "a", None, " a ", "c", "a", None, "b"])
    parts = [ColumnCounts.of(values[:3]), ColumnCounts.of(values[3:5]), ColumnCounts.of(values[5:])]
    told = [ColumnCounts.from_state(part.state()) for part in parts]
    for found in (ColumnCounts.merged(parts), ColumnCounts.merged(told), ColumnCounts.of(values)):
        assert found.values.tolist() == ["b", "a", "c"]
        assert (found.counts.tolist(), found.missing) == ([2, 3, 1], 2)


def opened(process_group, folder):
    group = Group.of(process_group)
    files = input_files([folder], endings=ENDINGS, group=group)
    try:
        TableParts("parts", files, [group.rank], group=group)
    except PinvGCNError as error:
        return str(error)
    return "taken"


def test_parts_with_other_columns(ranks, tmp_path):
    TABLE.to_csv(tmp_path / "a.csv", index=False)
    TABLE.drop(columns="rooms").to_csv(tmp_path / "b.csv", index=False)
    for message in ranks.run(2, opened, tmp_path):
        assert "b.csv has no column 'rooms', which" in message


def predicted(process_group, model, table, out, dry_run):
    group = Group.of(process_group)
    files = TableFiles((table,), out, dry_run=dry_run, group=group)
    loaded = TableModel.of(PinvGCNClassifier.load(model))
    with redirect_stdout(StringIO()) as said:
        predict_tables(loaded, model, files, {}, as_json=True, quiet=False)
    return said.getvalue()


def test_prediction_of_fewer_parts_than_ranks(ranks, tmp_path, monkeypatch):
    """One rank has nothing to do, and the first speaks for both; the copy is that of one process."""
    monkeypatch.setitem(pinvgcn.fitting.settings.EPOCHS, "table", 5)
    monkeypatch.setattr(pinvgcn.report.held_out, "TABLE_FOLDS", 2)
    table, model = tmp_path / "whole.csv", tmp_path / "model"
    TABLE.to_csv(table, index=False)
    assert main(["classify", str(table), "--target", "kind", "--save-model", str(model), "-q"]) == 0
    assert main(["predict", str(model), str(table), "-o", str(tmp_path / "one.csv"), "-q"]) == 0
    out = tmp_path / "out"
    told = []
    for dry_run in (True, False, False):
        first, second = ranks.run(2, predicted, model, tmp_path / "who*.csv", out, dry_run, double=False)
        assert second == ""
        told.append(json.loads(first))
        assert out.exists() != dry_run
    assert (told[0]["dry_run"], told[0]["parts"], told[0]["ranks"]) == (True, 1, 2)
    assert told[0]["estimated_seconds"] >= 1
    assert (told[1]["rows"], told[1]["parts_done_before"], told[2]["parts_done_before"]) == (N, 0, 1)
    assert (out / "whole.csv").read_text() == (tmp_path / "one.csv").read_text()
