"""What is made of a table's columns, on values that were made to be of one kind."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinvgcn.errors import ColumnError, ModelFileError
from pinvgcn.features import ColumnRecipe
from pinvgcn.features.table_cells import find_decimal, find_format, parse_dates, parse_numbers
from pinvgcn.features.table_columns import RARE
from pinvgcn.features.table_plans import ColumnPlan

N = 60
RNG = np.random.default_rng(0)
DAYS = [datetime.date(2015, 1, 1) + datetime.timedelta(days=int(d)) for d in RNG.integers(0, 2000, N)]


def plan_of(values: Any, name: str = "column", **options: Any) -> ColumnPlan:
    column = pd.Series(values) if not isinstance(values, list) else pd.Series(values, dtype=object)
    frame = pd.DataFrame({name: column, "other": ["a", "b"] * (len(column) // 2) + ["a"] * (len(column) % 2)})
    return ColumnRecipe.learn(frame, **options).plans[0]


def applied(values: list[Any], new: list[Any] | None = None, **options: Any) -> pd.DataFrame:
    """What becomes of a text column, by the recipe that was learned from ``values``."""
    frame = pd.DataFrame({"column": pd.array(values, dtype="string")})
    recipe = ColumnRecipe.learn(frame, **options)
    kept = ColumnRecipe.from_dict(json.loads(json.dumps(recipe.to_dict())))
    assert kept == recipe
    other = frame if new is None else pd.DataFrame({"column": pd.array(new, dtype="string")})
    return kept.apply(other).frame


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        ("1234.5", ".", 1234.5),
        ("1,234.5", ".", 1234.5),
        ("1,234,567", ".", 1234567),
        ("12,34.5", ".", np.nan),
        ("1234,5", ",", 1234.5),
        ("1.234,5", ",", 1234.5),
        ("1.5", ",", np.nan),
        ("0.123", ",", np.nan),  # no thousand begins with 0
        ("1 234 567,25", ",", 1234567.25),
        ("1\u202f234,25", ",", 1234.25),
        ("1'234.50", ".", 1234.5),
        (" -3e-2 ", ".", -0.03),
        ("−7,5", ",", -7.5),
        ("12 %", ".", 12),
        ("€ 1.200,00", ",", 1200),
        ("1,5 €", ",", 1.5),
        (".5", ".", 0.5),
        ("5.", ".", 5),
        ("", ".", np.nan),
        ("-", ".", np.nan),
        ("e5", ".", np.nan),
        (".", ".", np.nan),
        ("1e999", ".", np.nan),
        ("inf", ".", np.nan),
        ("nan", ".", np.nan),
        ("12a", ".", np.nan),
        ("1_000", ".", np.nan),
    ],
)
def test_numbers_in_text(text: str, decimal: str, number: float) -> None:
    (read,) = parse_numbers(np.array([text], dtype=object), decimal)
    assert read == pytest.approx(number, nan_ok=True)


@given(st.floats(-1e9, 1e9).map(lambda x: round(x, 2)))
def test_numbers_as_formatted_by_python(x: float) -> None:
    english = f"{x:,.2f}"
    german = english.translate(str.maketrans(",.", ".,"))
    assert parse_numbers(np.array([english], dtype=object), ".")[0] == x
    assert parse_numbers(np.array([german], dtype=object), ",")[0] == x


@pytest.mark.parametrize(
    ("texts", "decimal"),
    [
        (["1,234", "5,678"], None),
        (["1,234", "5,67"], ","),
        (["1,234", "1,234.5"], "."),
        (["1.234", "0.5"], "."),
        (["1", "2"], None),
        (["a", "b"], None),
    ],
)
def test_the_decimal_sign(texts: list[str], decimal: str | None) -> None:
    assert find_decimal(np.array(texts, dtype=object)) == decimal


def test_what_one_column_leaves_open_the_others_decide() -> None:
    open_to_both = [f"{i}.{i:03d}" for i in range(100, 130)]
    clear = [f"{i},5" for i in range(30)]
    frame = pd.DataFrame({"a": pd.array(open_to_both, dtype="string"), "b": pd.array(clear, dtype="string")})
    assert ColumnRecipe.learn(frame).apply(frame).frame["a"].tolist() == [i * 1001 for i in range(100, 130)]
    alone = frame[["a"]]
    assert ColumnRecipe.learn(alone).apply(alone).frame["a"][0] == pytest.approx(100.1)
    by_file = ColumnRecipe.learn(alone, separator=";")
    assert by_file.apply(alone).frame["a"][0] == 100_100
    assert by_file.decimal == ","


def test_a_few_cells_that_are_no_numbers() -> None:
    values = [f"{i / 7:.3f}" for i in range(98)] + ["unknown", "< 5"]
    frame = pd.DataFrame({"column": pd.array(values, dtype="string")})
    recipe = ColumnRecipe.learn(frame)
    assert recipe.plans[0].kind == "number"
    assert "2 cells are no numbers" in recipe.plans[0].note
    result = recipe.apply(frame)
    assert result.unread == {"column": 2}
    assert result.frame["column"].isna().sum() == 2


def test_signs_for_no_number_do_not_make_text_of_numbers() -> None:
    values = [f"{i / 7:.3f}" if i % 3 else "-" for i in range(90)]
    made = applied(values)["column"]
    assert made.isna().tolist() == [i % 3 == 0 for i in range(90)]
    assert plan_of([str(i % 4) if i % 5 else "none" for i in range(90)]).kind == "category"


# ---------------------------------------------------------------- dates


@pytest.mark.parametrize(
    "form",
    ["%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%y", "%d %b %Y", "%B %d, %Y", "%Y%m%d"],
)
@pytest.mark.parametrize("time", ["", " %H:%M", "T%H:%M:%S.250Z", " %I:%M %p"])
def test_dates_become_year_month_and_weekday(form: str, time: str) -> None:
    moments = [datetime.datetime(d.year, d.month, d.day, 15, 7, 9) for d in DAYS]
    made = applied([moment.strftime(form + time) for moment in moments])
    assert made.columns.tolist() == ["column year", "column month", "column weekday"]
    assert made["column year"].tolist() == [str(day.year) for day in DAYS]
    assert made["column month"].tolist() == [day.strftime("%b") for day in DAYS]
    assert made["column weekday"].tolist() == [day.strftime("%a") for day in DAYS]


def test_day_or_month_first() -> None:
    early = np.array(["03/04/2020", "05/06/2021"], dtype=object)
    assert find_format(early) == ("%m/%d/%Y", True)
    assert find_format(np.append(early, "13/04/2020")) == ("%d/%m/%Y", False)
    assert find_format(np.array(["03.04.2020", "05.06.2021"], dtype=object)) == ("%d.%m.%Y", False)
    assert parse_dates(np.array(["31/12/2020", "31/13/2020"], dtype=object), "%d/%m/%Y").isna().tolist() == [
        False,
        True,
    ]


def test_many_years_are_numbers_and_constant_parts_are_left_out() -> None:
    made = applied([f"{1950 + i}-03-01" for i in range(50)])
    assert made["column year"].tolist() == [1950.0 + i for i in range(50)]
    assert made.columns.tolist() == ["column year", "column weekday"]


@pytest.mark.parametrize("values", [["1990", "2001", "1985"] * 20, ["12.5", "13.25"] * 30, ["555-1234"] * 60])
def test_no_dates(values: list[str]) -> None:
    assert find_format(np.array(values, dtype=object)) is None


# ---------------------------------------------------------------- kinds


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        (["x"] * N, "left out", "always the same"),
        ([None] * N, "left out", "empty"),
        (["7", "7.0"] * (N // 2), "left out", "always the same"),
        ([f"P{i:05d}" for i in range(N)], "left out", "nearly unique"),
        ([f"the {i}th bottle of a long series" for i in range(N)], "left out", "free text"),
        ([str(i) for i in range(1000, 1000 + N)], "left out", "numbers the rows"),
        (RNG.permutation(N).tolist(), "left out", "numbers the rows"),
        ([b"bytes"] * N, "left out", "bytes"),
        ([[1, 2]] * N, "left out", "lists"),
        (RNG.integers(10**5, 10**7, N).tolist(), "number", ""),  # prices are no names of rows
        (RNG.normal(size=N).tolist(), "number", ""),
        ([Decimal(int(i)) / 7 for i in RNG.integers(0, 10**6, N)], "number", ""),
        ([1, 2, 3] * (N // 3), "category", "3 values"),
        (["1", "2", "3"] * (N // 3), "category", "3 values"),
        (["red", "green"] * (N // 2), "category", "2 values"),
        ([True, False] * (N // 2), "category", "2 values"),
        ([f"0{i}" for i in range(10, 40)] * 2, "category", "30 values"),  # codes, not numbers
        (DAYS, "date", "year, month, weekday"),
        ([f"{i}." for i in range(5)], "category", "5 values"),
    ],
)
def test_kinds(values: list[Any], kind: str, words: str) -> None:
    plan = plan_of(values)
    assert plan.kind == kind
    assert words in plan.becomes


def test_whole_numbers_that_are_called_names() -> None:
    values = (RNG.permutation(10**6)[:N] * 7).tolist()
    assert plan_of(values, "price").kind == "number"
    for name in ("customer_id", "customerId", "Order No", "ID"):
        assert plan_of(values, name).reason == "numbers the rows"
    assert plan_of(values, "paid").kind == "number"


def test_what_is_asked_for_is_used() -> None:
    values = [f"P{i % 40:05d}" for i in range(N)]
    assert plan_of(values).kind == "left out"
    assert plan_of(values, columns=["column"]).kind == "category"
    with pytest.raises(ColumnError, match="always the same"):
        plan_of(["x"] * N, columns=["column"])


def test_columns_and_exclude() -> None:
    frame = pd.DataFrame({name: ["x", "y"] * 10 for name in "abc"})
    recipe = ColumnRecipe.learn(frame, columns=["a", "b"], exclude=["b"])
    assert [plan.reason for plan in recipe.plans] == ["", "excluded", "not chosen"]
    assert recipe.apply(frame).frame.columns.tolist() == ["a"]


def test_rare_values_become_one_and_unseen_ones_stay() -> None:
    values = ["a"] * 50 + ["b"] * 40 + ["c", "c", "d"]
    made = applied(values, ["a", "c", "d", "e", None])
    assert made["column"].astype(object).where(made["column"].notna(), None).tolist() == [
        "a", RARE, RARE, "e", None,
    ]  # fmt: skip


def test_whole_numbers_are_one_value_however_they_are_written() -> None:
    made = applied(["1", "2", "3"] * 20, ["1.0", " 2", "03", "x"])
    assert made["column"].tolist()[:3] == ["1", "2", "3"]
    assert made["column"].isna().tolist() == [False, False, False, True]


def test_a_recipe_of_a_csv_file_reads_parquet_and_the_other_way_round() -> None:
    typed = pd.DataFrame(
        {
            "truth": [True, False, True, False] * 10,
            "whole": pd.array([1, 2, 3, None] * 10, dtype="Int64"),
            "number": np.arange(40) ** 1.5,
            "day": pd.to_datetime([f"2020-{1 + i % 12:02d}-{1 + i % 27:02d}" for i in range(40)]),
            "text": pd.Categorical(["u", "v", None, "u"] * 10),
        }
    )
    plain = pd.DataFrame({name: pd.array([None if c is pd.NA or c != c else str(c) for c in typed[name]],
                                         dtype="string") for name in typed})  # fmt: skip
    for one, other in ((typed, plain), (plain, typed)):
        recipe = ColumnRecipe.learn(one)
        first, second = recipe.apply(one), recipe.apply(other)
        assert first.unread == second.unread == {}
        assert len(first.frame.columns) == 6
        for name in first.frame:
            assert first.frame[name].astype(object).equals(second.frame[name].astype(object))


def test_a_column_that_is_missing_in_a_new_file() -> None:
    frame = pd.DataFrame({"a": ["x", "y"] * 10, "b": ["x", "y"] * 10})
    with pytest.raises(ColumnError, match="Missing: 'b'"):
        ColumnRecipe.learn(frame).apply(frame[["a"]])


@pytest.mark.parametrize(
    "state",
    [{}, {"plans": [{}]}, {"plans": [{"name": "a", "kind": "colour"}]}, {"plans": 3}, {"plans": ["a"]}],
)
def test_a_damaged_recipe(state: dict[str, Any]) -> None:
    with pytest.raises((AttributeError, KeyError, ModelFileError, TypeError)):
        ColumnRecipe.from_dict(state)


@given(st.data())
def test_any_column_is_planned_and_applied(data: st.DataObject) -> None:
    """Whatever stands in the cells, the frame has as many rows, and only categories and numbers."""
    cell = st.one_of(
        st.none(), st.text(max_size=5), st.integers(), st.floats(), st.booleans(),
        st.decimals(allow_nan=False), st.dates(), st.datetimes(), st.binary(max_size=2),
    )  # fmt: skip
    values = data.draw(st.lists(cell, min_size=2, max_size=12))
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object), "b": ["x", "y"] + ["x"] * (len(values) - 2)})
    recipe = ColumnRecipe.learn(frame)
    made = recipe.apply(frame).frame
    assert len(made) == len(values)
    assert all(made[name].dtype == "category" or made[name].dtype == np.float64 for name in made)
    assert not np.isinf(made.select_dtypes("number").to_numpy(dtype=float)).any()
