"""A table in Parquet parts, as a user types it: two ranks, then one process with their model."""

from __future__ import annotations

import json

import pandas as pd
from street_files import launch, said

from pinvgcn.cli import main
from pinvgcn.datasets import load_dataset

COLUMNS = [
    "odor",
    "gill-size",
    "gill-color",
    "bruises",
    "ring-type",
    "spore-print-color",
    "population",
    "habitat",
]


def test_the_command(tmp_path):
    mushroom = load_dataset("mushroom")
    table = mushroom.X[COLUMNS].iloc[::27].reset_index(drop=True)
    truth = pd.Series([mushroom.target_names[code] for code in mushroom.y[::27]])
    table["kind"] = truth.where(truth.index % 10 == 0)
    parts, out, model = tmp_path / "parts", tmp_path / "out", tmp_path / "kind.model"
    parts.mkdir()
    for number, rows in enumerate((slice(0, 120), slice(120, 180), slice(180, None))):
        table[rows].to_parquet(parts / f"p{number}.parquet", index=False)
    done = launch(
        2, "classify", parts / "*.parquet", "--target", "kind", "-o", out, "--save-model", model, "--json",
        "--questions", tmp_path / "ask.csv",
    )  # fmt: skip
    stdout, stderr = done.communicate(timeout=280)
    assert done.returncode == 0, stderr
    assert said(stderr) == []
    told = json.loads(stdout)  # one, by one rank
    assert (told["parts"], told["ranks"]) == (3, 2)
    worth = told["column_importance"]
    assert worth["labels"] == int(table["kind"].notna().sum())
    assert {column["column"] for column in worth["columns"]} <= set(table.columns)
    copies = pd.concat([pd.read_parquet(out / f"p{number}.parquet") for number in range(3)])
    pd.testing.assert_frame_equal(copies[table.columns].reset_index(drop=True), table)
    assert (copies["predicted_kind"].to_numpy() == truth.to_numpy()).mean() > 0.85
    asked = pd.read_csv(tmp_path / "ask.csv")
    assert told["questions"] == str(tmp_path / "ask.csv")
    assert len(asked) == 50
    assert set(asked["file"]) == {"p0.parquet", "p1.parquet", "p2.parquet"}
    for file, mine in asked.groupby("file"):
        part = pd.read_parquet(parts / file).iloc[mine["row"] - 1]
        assert part["kind"].isna().all()
        assert part["odor"].tolist() == mine["odor"].tolist()
    assert main(["predict", str(model), str(parts / "*.parquet"), "-o", str(tmp_path / "again")]) == 0
    again = pd.concat([pd.read_parquet(tmp_path / "again" / f"p{number}.parquet") for number in range(3)])
    assert again["predicted_kind"].tolist() == copies["predicted_kind"].tolist()
