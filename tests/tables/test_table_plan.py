"""Real tables through a file: what a fit starts from is what the data set has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from pinvgcn.datasets import Dataset, load_dataset
from pinvgcn.errors import ColumnError, DataError, LabelError
from pinvgcn.features.table_columns import RARE
from pinvgcn.io import open_table
from pinvgcn.tables import plan_table
from pinvgcn.tables.plan import Target, cost_of


def test_mushroom_through_a_csv_file(tmp_path: Path) -> None:
    data = load_dataset("mushroom")
    table = data.X.assign(
        kind=np.where(np.arange(len(data.y)) % 3 == 0, np.array(data.target_names)[data.y], "")
    )
    table.to_csv(tmp_path / "t.tsv.gz", sep="\t", index=False)
    plan = plan_table(open_table(tmp_path / "t.tsv.gz"), "kind")
    assert plan.target == Target("kind", ("edible", "poisonous"))
    assert (plan.codes[::3] == data.y[::3]).all()
    assert (plan.codes[1::3] == -1).all()
    assert plan.known.all()
    constant = [name for name in data.X if data.X[name].nunique() == 1]
    assert plan.frame.columns.tolist() == [name for name in data.X if name not in constant]
    for name in plan.frame:
        cells, counts = data.X[name], data.X[name].map(data.X[name].value_counts())
        pooled = counts < 4  # 8124 // 2000
        if data.X[name][pooled].nunique() < 2:
            pooled[:] = False
        assert plan.frame[name].astype(object).equals(cells.where(~pooled, RARE).astype(object)), name


def test_covertype_through_a_parquet_file(tmp_path: Path, data_set: Callable[[str], Dataset]) -> None:
    data = data_set("covertype45")
    rows = np.random.default_rng(0).permutation(len(data.y))[:2000]
    table = data.X.iloc[rows].reset_index(drop=True).assign(cover=data.y[rows])
    table.to_parquet(tmp_path / "t.parquet")
    plan = plan_table(open_table(tmp_path / "t.parquet"), "cover")
    assert plan.target == Target("cover", ("0", "1"), "whole")
    assert (plan.codes == data.y[rows]).all()
    for name in plan.frame:
        kept = plan.frame[name] != RARE
        assert plan.frame[name][kept].astype(str).equals(table[name][kept].astype(str))
    left = [column for column in plan.recipe.plans if column.kind == "left out"]
    assert all(table[column.name].nunique() == 1 for column in left)


def test_numbers_with_decimal_commas(tmp_path: Path) -> None:
    data = load_breast_cancer(as_frame=True)
    numbers = data.data.iloc[:, :5]
    table = numbers.assign(diagnosis=data.target.map({0: "malignant", 1: "benign"}))
    table.to_csv(tmp_path / "t.csv", sep=";", decimal=",", index=False)
    plan = plan_table(open_table(tmp_path / "t.csv"), "diagnosis")
    assert (plan.frame.to_numpy() == numbers.to_numpy()).all()
    assert plan.recipe.decimal == ","
    assert plan.hyperedges == sum(len(np.unique(_quantile_bins(x))) for x in numbers.to_numpy().T)


def _quantile_bins(x: np.ndarray) -> np.ndarray:
    """The bin of each value by the definition: how many of the inner edges are at or below it."""
    n = len(x)
    edges = {
        min(v for v in x if (x < v).sum() >= k * n / 10)
        for k in range(1, 10)
        if (x < x.max()).sum() >= k * n / 10
    }
    return np.array([sum(value >= edge for edge in edges) for value in x])


def write(folder: Path, rows: list[str]) -> Path:
    path = folder / "t.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_rows_that_share_nothing_take_no_part(tmp_path: Path) -> None:
    rows = [f"{'uv'[i % 2]},{i % 3},{'xy'[i % 2]}" for i in range(30)]
    path = write(tmp_path, ["a,b,k", *rows, ",,x", "NA,?,"])
    plan = plan_table(open_table(path), "k")
    assert plan.known.tolist() == [True] * 30 + [False] * 2
    assert len(plan.frame) == 30
    assert (plan.rows, plan.labelled) == (32, 31)
    assert plan.notes() == ["2 of 32 rows share no value with another: no prediction for them"]


def test_rows_of_values_found_nowhere_else_take_no_part(tmp_path: Path) -> None:
    """Where rare values count as one, such rows would otherwise be joined by it; two rows that share a rare
    value take part."""
    rows = [f"{'uv'[i % 2]},{i % 3},{'xy'[i % 2]}" for i in range(30)]
    odd = ["once,,", "only,,", "twice,,", "twice,,x", "lone,1,"]
    plan = plan_table(open_table(write(tmp_path, ["a,b,k", *rows, *odd])), "k")
    (column,) = [one for one in plan.recipe.plans if one.name == "a"]
    assert (column.rare, column.alone) == (("lone", "once", "only", "twice"), ("lone", "once", "only"))
    assert plan.known.tolist() == [True] * 30 + [False, False, True, True, True]
    assert "2 of 35 rows share no value with another: no prediction for them" in plan.notes()


def test_so_do_rows_whose_values_are_the_only_rare_ones(tmp_path: Path) -> None:
    """A single rare value of a column stays itself, and still joins its row to nothing."""
    rows = [f"{'uv'[i % 2]},{'rst'[i % 3]},{'xy'[i % 2]}" for i in range(30)]
    odd = ["nowhere,once,", "u,only,", "v,lone,"]
    plan = plan_table(open_table(write(tmp_path, ["a,b,k", *rows, *odd])), "k")
    assert [(own.rare, own.alone) for own in plan.recipe.plans[:2]] == [
        ((), ("nowhere",)), (("lone", "once", "only"),) * 2,
    ]  # fmt: skip
    assert plan.known.tolist() == [True] * 30 + [False, True, True]


def test_a_class_whose_only_rows_take_no_part(tmp_path: Path) -> None:
    rows = [f"{'uv'[i % 2]},{'xy'[i % 2]}" for i in range(30)]
    with pytest.raises(LabelError, match="none for 'z'"):
        plan_table(open_table(write(tmp_path, ["a,k", *rows, ",z"])), "k")


def test_rows_that_have_nothing_in_common(tmp_path: Path) -> None:
    rows = [f"v{i},{'xy'[i % 2]}" for i in range(8)]
    with pytest.raises((DataError, ColumnError)):
        plan_table(open_table(write(tmp_path, ["a,k", *rows])), "k")


@pytest.mark.parametrize(
    ("cells", "kind", "classes", "codes"),
    [
        (pd.array(["b", " a ", None, "b"], "string"), "text", ("a", "b"), [1, 0, -1, 1]),
        (pd.array(["10", "9", "-1", None], "string"), "text", ("-1", "9", "10"), [2, 1, 0, -1]),
        (pd.array([3, 1, None, 3], "Int64"), "whole", ("1", "3"), [1, 0, -1, 1]),
        (np.array([0.5, 2.0, np.nan, 2.0]), "number", ("0.5", "2"), [0, 1, -1, 1]),
        (pd.array([True, False, None, True], "boolean"), "truth", ("False", "True"), [1, 0, -1, 1]),
        (pd.Categorical(["u", "v", None, "u"]), "text", ("u", "v"), [0, 1, -1, 0]),
    ],
)
def test_targets(cells: object, kind: str, classes: tuple[str, ...], codes: list[int]) -> None:
    target, (read,) = Target.of_parts("t", [pd.Series(cells)])
    assert (target.kind, target.classes, read.tolist()) == (kind, classes, codes)
    assert Target.from_dict(target.to_dict()) == target
    back = pd.Series(target.column(read))
    expected = pd.Series(cells)
    assert back.isna().tolist() == expected.isna().tolist()
    if kind != "text":
        assert back[back.notna()].tolist() == expected[back.notna()].tolist()


def test_costs_grow_with_the_table(tmp_path: Path) -> None:
    small, large = (
        cost_of(plan_table(open_table(write(tmp_path, ["a,b,k", *rows])), "k"), 5)
        for rows in ([f"{i % 5},{i % 7},{'xy'[i % 2]}" for i in range(n)] for n in (40, 4000))
    )
    assert large.memory > small.memory > 2**28
    assert large.seconds > small.seconds > 0
    assert "GiB" in str(large)
