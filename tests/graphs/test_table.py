"""Tables as hypergraphs, against a construction by loops that anyone can check by eye."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from pinvgcn.errors import ColumnError, DataError, InputError, ModelFileError, ParameterError
from pinvgcn.graphs.table import TableEncoder

FRAME = pd.DataFrame(
    {
        "cap": ["n", "b", "n", None, "w", "b"],
        "is_wet": [True, False, True, True, False, False],
        "height": [0.0, 0.3, 1.0, np.nan, 0.29, 0.95],
    }
)

# ---------------------------------------------------------------- the oracle


def slow_incidence(
    columns: dict[str, list[Any]], bins: int, missing: str, min_size: int
) -> tuple[np.ndarray, list[str]]:
    """H by loops over cells, from lists of Python values in which None is missing."""
    edges: list[tuple[str, list[int]]] = []
    for name, cells in columns.items():
        present = [cell for cell in cells if cell is not None]
        if all(isinstance(cell, bool) for cell in present) and present:
            edges.append((name, [cell is True for cell in cells]))
        elif (
            all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in present) and present
        ):
            exact = [None if cell is None else Fraction(repr(cell)) for cell in cells]
            low, high = min(e for e in exact if e is not None), max(e for e in exact if e is not None)
            for k in range(bins if low < high else 1):
                left, right = low + (high - low) * k / bins, low + (high - low) * (k + 1) / bins
                members = [
                    e is not None and (left <= e < right or (k == bins - 1 and e == right) or low == high)
                    for e in exact
                ]
                edges.append((f"{name} {k}", members))
        else:
            distinct = {(type(cell).__name__, cell) for cell in present}
            for kind, value in sorted(
                distinct, key=lambda pair: ({"bool": 0, "str": 2}.get(pair[0], 1), pair[1])
            ):
                members = [type(cell).__name__ == kind and cell == value for cell in cells]
                edges.append((f"{name} = {value}", members))
        if missing == "value":
            edges.append((f"{name} is missing", [cell is None for cell in cells]))
    kept = [(name, members) for name, members in edges if sum(members) >= max(min_size, 1)]
    n = len(next(iter(columns.values())))
    H = np.array([members for _, members in kept], dtype=float).reshape(len(kept), n).T
    return H, [name for name, _ in kept]


hundredths = st.integers(-40, 40).map(lambda i: i / 100)
cells_of = {
    "text": st.sampled_from(["a", "b", "c", "1", "nan", "", "é"]),
    "boolean": st.booleans(),
    "number": hundredths,
    "integer": st.integers(-5, 5),
    "mixed": st.sampled_from([1, 2, 3.5, "1", "x", True, False]),
}


@st.composite
def tables(
    draw: st.DrawFn, informative: bool = True, kinds: tuple[str, ...] = (*cells_of,)
) -> dict[str, list[Any]]:
    """Columns of one kind each; informative: the last one tells rows apart whatever the others hold."""
    n = draw(st.integers(6 if informative else 1, 12))
    drawn = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4))
    columns = {
        f"c{j}": draw(st.lists(st.none() | cells_of[kind], min_size=n, max_size=n))
        for j, kind in enumerate(drawn)
    }
    return columns | ({"last": ["p"] * 3 + ["q"] * (n - 3)} if informative else {})


def frame_of(columns: dict[str, list[Any]]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})


def fitted(frame: Any, **settings: Any) -> tuple[TableEncoder, np.ndarray]:
    encoder = TableEncoder(**settings)
    return encoder, encoder.fit_transform(frame).toarray()


options = st.fixed_dictionaries(
    {
        "bins": st.sampled_from([1, 2, 4, 5, 10]),
        "missing": st.sampled_from(["ignore", "value"]),
        "min_size": st.integers(1, 3),
    }
)


@settings(deadline=None)
@given(tables(informative=False), options)
def test_incidence_equals_the_slow_construction(
    columns: dict[str, list[Any]], options: dict[str, Any]
) -> None:
    expected, names = slow_incidence(columns, **options)
    n = len(expected)
    encoder = TableEncoder(**options)
    if expected.shape[1] == 0 or (expected.sum(axis=0) == n).all():
        with pytest.raises(ColumnError):
            encoder.fit_transform(frame_of(columns))
        return
    H = encoder.fit_transform(frame_of(columns))
    assert isinstance(H, sp.csr_matrix)
    assert H.dtype == np.float64
    assert H.has_canonical_format
    np.testing.assert_array_equal(H.toarray(), expected)
    assert len(encoder.names) == len(names)
    for ours, theirs in zip(encoder.names, names, strict=True):
        assert ours.split()[0] == theirs.split()[0]
        assert ours.endswith("is missing") == theirs.endswith("is missing")


@settings(deadline=None)
@given(tables(), options, st.randoms(use_true_random=False))
def test_permuting_rows_permutes_h(
    columns: dict[str, list[Any]], options: dict[str, Any], random: Any
) -> None:
    frame = frame_of(columns)
    encoder, H = fitted(frame, **options)
    order = list(range(len(frame)))
    random.shuffle(order)
    permuted, H_permuted = fitted(frame.iloc[order], **options)
    np.testing.assert_array_equal(H_permuted, H[order])
    assert permuted.names == encoder.names
    assert permuted.to_dict() == encoder.to_dict()


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcd"), max_size=8), st.permutations("wxyz"), st.integers(1, 2))
def test_renaming_categories_keeps_h_up_to_order(cells: list[str], new: list[str], min_size: int) -> None:
    cells = [*cells, "a", "a", "b", "b"]
    renaming = dict(zip("abcd", new, strict=True))
    encoder, H = fitted(pd.DataFrame({"c": cells}), min_size=min_size)
    renamed, H_renamed = fitted(pd.DataFrame({"c": [renaming[cell] for cell in cells]}), min_size=min_size)
    position = {name: e for e, name in enumerate(renamed.names)}
    order = [position[f"c = {renaming[name.removeprefix('c = ')]}"] for name in encoder.names]
    np.testing.assert_array_equal(H_renamed[:, order], H)


@settings(deadline=None)
@given(tables(), options)
def test_training_rows_are_placed_as_in_training_also_after_json(
    columns: dict[str, list[Any]], options: dict[str, Any]
) -> None:
    frame = frame_of(columns)
    encoder, H = fitted(frame, **options)
    loaded = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict(), allow_nan=False)))
    for one in (encoder, loaded):
        again, unseen = one.transform(frame)
        np.testing.assert_array_equal(again.toarray(), H)
        assert unseen == dict.fromkeys(columns, 0)
    assert (loaded.names, loaded.columns) == (encoder.names, encoder.columns)
    assert repr(loaded.to_dict()) == repr(encoder.to_dict())


@settings(deadline=None, max_examples=30)
@given(tables(kinds=("text", "boolean", "number", "integer")), options)
def test_new_rows_are_placed_one_by_one_as_together(
    columns: dict[str, list[Any]], options: dict[str, Any]
) -> None:
    frame = frame_of(columns)
    train = frame.iloc[:-2].assign(last=["p"] * 3 + ["q"] * (len(frame) - 5))
    encoder, _ = fitted(train, **options | {"min_size": 1})
    H, unseen = encoder.transform(frame)
    single = [encoder.transform(frame.iloc[[i]]) for i in range(len(frame))]
    np.testing.assert_array_equal(np.vstack([row.toarray() for row, _ in single]), H.toarray())
    assert unseen == {name: sum(counts[name] for _, counts in single) for name in columns}


# ---------------------------------------------------------------- an example, and names


def test_example_by_hand() -> None:
    encoder = TableEncoder(bins=10, min_size=1)
    H = encoder.fit_transform(FRAME)
    assert encoder.columns == ("cap", "is_wet", "height")
    assert encoder.names == (
        *("cap = b", "cap = n", "cap = w", "is_wet"),
        *("height in [0, 0.1)", "height in [0.2, 0.3)", "height in [0.3, 0.4)", "height in [0.9, 1]"),
    )
    expected = [
        [0, 1, 0, 1, 1, 0, 0, 0],
        [1, 0, 0, 0, 0, 0, 1, 0],
        [0, 1, 0, 1, 0, 0, 0, 1],
        [0, 0, 0, 1, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 1, 0, 0],
        [1, 0, 0, 0, 0, 0, 0, 1],
    ]
    np.testing.assert_array_equal(H.toarray(), expected)


def test_missing_as_a_value() -> None:
    encoder = TableEncoder(missing="value", min_size=1)
    H = encoder.fit_transform(FRAME).toarray()
    assert [name for name in encoder.names if "missing" in name] == ["cap is missing", "height is missing"]
    for name in ("cap is missing", "height is missing"):
        np.testing.assert_array_equal(H[:, encoder.names.index(name)], [0, 0, 0, 1, 0, 0])
    new = pd.DataFrame({"cap": [None], "is_wet": pd.Series([None], dtype=object), "height": [None]})
    _, unseen = encoder.transform(new)
    assert unseen == {"cap": 0, "is_wet": 1, "height": 0}  # no training row lacked is_wet


def test_min_size_drops_small_hyperedges_whose_values_are_still_known() -> None:
    encoder = TableEncoder(bins=2)
    H = encoder.fit_transform(FRAME)
    assert encoder.names == ("cap = b", "cap = n", "is_wet", "height in [0, 0.5)", "height in [0.5, 1]")
    assert H.shape == (6, 5)
    H, unseen = encoder.transform(FRAME.iloc[[4]])
    np.testing.assert_array_equal(H.toarray(), [[0, 0, 0, 1, 0]])
    assert unseen == {"cap": 0, "is_wet": 0, "height": 0}


def test_unseen_values_are_counted_and_ignored() -> None:
    encoder = TableEncoder(min_size=1)
    encoder.fit_transform(FRAME)
    new = pd.DataFrame(
        {
            "height": [-0.01, 1.01, 0.55, 1.0, None],  # below, above, in an empty bin, the maximum, missing
            "extra": [1, 2, 3, 4, 5],
            "cap": ["n", "zzz", "q", None, "w"],
            "is_wet": [False, False, False, True, False],
        }
    )
    H, unseen = encoder.transform(new)
    assert unseen == {"cap": 2, "is_wet": 0, "height": 3}
    expected = np.zeros((5, 8))
    expected[0, 1] = expected[3, 3] = expected[3, 7] = expected[4, 2] = 1
    np.testing.assert_array_equal(H.toarray(), expected)


def test_true_is_unseen_where_training_had_only_false() -> None:
    encoder = TableEncoder()
    encoder.fit_transform(pd.DataFrame({"a": [False] * 4, "b": ["x", "x", "y", "y"]}))
    H, unseen = encoder.transform(pd.DataFrame({"a": [True, False], "b": ["x", "y"]}))
    assert unseen == {"a": 1, "b": 0}
    np.testing.assert_array_equal(H.toarray(), [[1, 0], [0, 1]])


def test_a_column_without_any_value_may_hold_anything_later() -> None:
    for empty in ([None] * 4, [np.nan] * 4, pd.Series([pd.NaT] * 4)):
        encoder = TableEncoder()
        encoder.fit_transform(pd.DataFrame({"a": empty, "b": ["x", "x", "y", "y"]}))
        for cells in (["text"], [1.5], [True], [None]):
            _, unseen = encoder.transform(pd.DataFrame({"a": cells, "b": ["x"]}))
            assert unseen["a"] == (cells != [None])


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.1, 1.1), (-0.7, 0.3), (1e-7, 1.1e-6), (5, 105)])
@pytest.mark.parametrize("bins", [10, 100])
def test_values_on_decimal_edges_fall_in_the_upper_bin(low: float, high: float, bins: int) -> None:
    edges = [
        float(Decimal(str(low)) + (Decimal(str(high)) - Decimal(str(low))) * k / bins) for k in range(bins)
    ]
    below = np.nextafter(edges[1:], -np.inf)
    encoder = TableEncoder(bins=bins, min_size=1)
    H = encoder.fit_transform(pd.DataFrame({"x": [*edges, high]})).toarray()
    np.testing.assert_array_equal(H.argmax(axis=1), [*range(bins), bins - 1])
    H_below, unseen = encoder.transform(pd.DataFrame({"x": below}))
    assert unseen == {"x": 0}
    np.testing.assert_array_equal(H_below.toarray().argmax(axis=1), range(bins - 1))


def test_constant_numbers_are_one_hyperedge() -> None:
    encoder = TableEncoder()
    frame = pd.DataFrame({"x": [0.1] * 4, "y": list("aabb")})
    H = encoder.fit_transform(frame)
    assert encoder.names == ("x = 0.1", "y = a", "y = b")
    np.testing.assert_array_equal(H.toarray()[:, 0], 1)
    assert encoder.transform(pd.DataFrame({"x": [0.1, 0.2], "y": ["a", "a"]}))[1] == {"x": 1, "y": 0}


@pytest.mark.parametrize(
    "ends", [(-1.7e308, 1.7e308), (0.0, 5e-324), (1e15, 1e15 + 0.5), (-0.0, 1.0), (2**63 - 1025, 2**63 - 1)]
)
def test_extreme_ranges(ends: tuple[float, float]) -> None:
    encoder = TableEncoder(min_size=1)
    H = encoder.fit_transform(pd.DataFrame({"x": [*ends, *ends]}))
    np.testing.assert_array_equal(H.toarray(), [[1, 0], [0, 1]] * 2)
    assert len(set(encoder.names)) == 2
    assert "-0," not in encoder.names[0]


@pytest.mark.parametrize(
    ("ends", "bins", "first", "last"),
    [
        ((1859, 3858), 10, "x in [1859, 2058.9)", "x in [3658.1, 3858]"),
        ((0, 1), 3, "x in [0, 0.3333)", "x in [0.6667, 1]"),
        ((0, 1e9), 3, "x in [0, 333333333)", "x in [666666667, 1000000000]"),
        ((0, 2e-9), 2, "x in [0, 1e-09)", "x in [1e-09, 2e-09]"),
        ((1000000, 1000001), 4, "x in [1000000, 1000000.25)", "x in [1000000.75, 1000001]"),
        ((3, 4), 1, "x in [3, 4]", "x in [3, 4]"),
    ],
)
def test_bin_names(ends: tuple[float, float], bins: int, first: str, last: str) -> None:
    encoder = TableEncoder(bins=bins, min_size=1)
    encoder.fit_transform(pd.DataFrame({"x": [*ends], "y": ["a", "b"]}))
    assert (encoder.names[0], encoder.names[-3]) == (first, last)


# ---------------------------------------------------------------- types of columns


TEXT = ["b", None, "a", "b"]
NUMBERS = [0, 7, 12, 50, 99, 100]
EXACT = [Decimal("0.5"), Fraction(1, 4), 1, 2.0, Decimal("NaN"), None]
LEVELS = pd.Categorical(["high", "low", "mid", "low"], ["low", "mid", "high", "never"])
# cells, the names of the hyperedges or how many these are, and which of them each cell is in, −1 for none
BY_HAND = {
    **{
        f"booleans, {dtype}": (pd.Series([True, None, False, True], dtype=dtype), [""], [0, -1, -1, 0])
        for dtype in ("boolean", object)
    },
    **{
        f"text, {dtype}": (pd.Series(TEXT, dtype=dtype), [" = a", " = b"], [1, -1, 0, 1])
        for dtype in (None, "string", "category", object)
    },
    **{
        f"numbers, {dtype}": (pd.Series(NUMBERS, dtype=dtype), 4, [0, 0, 1, 2, 3, 3])
        for dtype in (None, "int8", "uint8", "float32", "Int64", "UInt16", "Float64", object)
    },
    "exact numbers": (pd.Series(EXACT, dtype=object), 4, [1, 0, 2, 3, -1, -1]),
    "blank text": (["", " a", "a"], [" = ''", " = ' a'", " = a"], [0, 1, 2]),
    "categories": (LEVELS, [" = high", " = low", " = mid"], [0, 1, 2, 1]),
    "categories in order": (LEVELS.as_ordered(), [" = low", " = mid", " = high"], [2, 0, 1, 0]),
}


@pytest.mark.parametrize("case", BY_HAND)
def test_columns_by_hand(case: str) -> None:
    cells, names, places = BY_HAND[case]
    frame = pd.DataFrame({"c": cells})
    encoder, H = fitted(frame, min_size=1)
    found = [name.removeprefix("c") for name in encoder.names]
    assert names in (found, len(found))
    np.testing.assert_array_equal(H, np.array(places)[:, None] == np.arange(H.shape[1]))
    if case.startswith("categories"):
        assert encoder.transform(pd.DataFrame({"c": ["mid", "never"]}))[1] == {"c": 1}


def test_arrow_columns() -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"t": list("abab"), "x": [1, 2, 3, 4], "b": [True, True, False, False]})
    frame.loc[2, "t"] = None
    arrow = frame.astype({"t": "string[pyarrow]", "x": "int64[pyarrow]", "b": "bool[pyarrow]"})
    encoder, other = TableEncoder(min_size=1), TableEncoder(min_size=1)
    np.testing.assert_array_equal(
        encoder.fit_transform(arrow).toarray(), other.fit_transform(frame).toarray()
    )
    assert encoder.to_dict() == other.to_dict()


def test_one_and_text_one_and_true_are_three_values() -> None:
    cells = ["1", 1.0, True, 1, "1", 2.5, np.int64(1), np.bool_(True)]
    encoder = TableEncoder(min_size=1)
    H = encoder.fit_transform(pd.DataFrame({"m": pd.Series(cells, dtype=object)})).toarray()
    assert encoder.names == ("m = True", "m = 1", "m = 2.5", "m = '1'")
    np.testing.assert_array_equal(H.argmax(axis=1), [3, 1, 0, 1, 3, 2, 1, 0])
    ints, unseen = encoder.transform(pd.DataFrame({"m": [1, 2]}))
    np.testing.assert_array_equal(ints.toarray(), [[0, 1, 0, 0], [0, 0, 0, 0]])
    assert unseen == {"m": 1}


def test_categories_that_are_equal_as_plain_values_are_one() -> None:
    cells = [2.5, Decimal("0.1"), 0.1, "x"]  # pandas holds Decimal("0.1") and 0.1 for different
    for ordered, expected in ((True, ["x", 0.1, 2.5]), (False, [0.1, 2.5, "x"])):
        encoder = TableEncoder(min_size=1)
        H = encoder.fit_transform(pd.DataFrame({"q": pd.Categorical(cells, cells[::-1], ordered=ordered)}))
        assert json.loads(json.dumps(encoder.to_dict()))["columns"][0]["values"] == expected
        places = [expected.index(value) for value in (2.5, 0.1, 0.1, "x")]
        np.testing.assert_array_equal(H.toarray().argmax(axis=1), places)


def test_a_category_column_without_values() -> None:
    empty = pd.Categorical([None, None, None], ["a", "b"], ordered=True)
    encoder = TableEncoder(min_size=1)
    encoder.fit_transform(pd.DataFrame({"q": empty, "b": [True, False, True]}))
    assert encoder.names == ("b",)


def test_number_categories_are_values_not_bins() -> None:
    big = 2**53 + 1
    frame = pd.DataFrame({"zip": pd.Categorical([10, 9, big, 10])})
    encoder = TableEncoder(min_size=1)
    encoder.fit_transform(frame)
    assert encoder.names == ("zip = 9", "zip = 10", f"zip = {big}")
    loaded = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    H, unseen = loaded.transform(pd.DataFrame({"zip": [big, 9, big - 1]}))
    np.testing.assert_array_equal(H.toarray(), [[0, 0, 1], [1, 0, 0], [0, 0, 0]])
    assert unseen == {"zip": 1}


def test_types_of_values_survive_json() -> None:
    cells = pd.Series([True, 1, 2.5, "1", 2**70, 0.1], dtype=object)
    encoder = TableEncoder(min_size=1)
    encoder.fit_transform(pd.DataFrame({"m": cells, "f": pd.Categorical([1.0, 2.0, 0.1, 1.0, 1.0, 1.0])}))
    loaded = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert [type(v) for v in loaded.to_dict()["columns"][0]["values"]] == [bool, float, int, float, int, str]
    assert [type(v) for v in loaded.to_dict()["columns"][1]["values"]] == [float] * 3
    assert loaded.names == encoder.names


# ---------------------------------------------------------------- forms of input


def test_arrays_and_lists_name_their_columns() -> None:
    numbers = np.array([[0, 1.5], [1, 2.5], [2, 2.5]])
    encoder = TableEncoder(bins=2, min_size=1)
    H = encoder.fit_transform(numbers)
    assert encoder.columns == ("x0", "x1")
    for same in (numbers.tolist(), tuple(map(tuple, numbers)), list(numbers), numbers.astype(object)):
        np.testing.assert_array_equal(TableEncoder(2, min_size=1).fit_transform(same).toarray(), H.toarray())


def test_lists_keep_the_type_of_each_cell() -> None:
    encoder = TableEncoder(min_size=1)
    encoder.fit_transform([["a", True, 1, 1], ["b", False, 1, "1"]])
    assert encoder.names == ("x0 = a", "x0 = b", "x1", "x2 = 1", "x3 = 1", "x3 = '1'")
    encoder.fit_transform(np.array([["a", "c"], ["b", "c"]]))
    assert encoder.names == ("x0 = a", "x0 = b", "x1 = c")
    encoder.fit_transform(np.array([[True, False], [False, True]]))
    assert encoder.names == ("x0", "x1")


def test_an_array_is_read_by_position() -> None:
    encoder = TableEncoder(min_size=1)
    H = encoder.fit_transform(FRAME)
    np.testing.assert_array_equal(encoder.transform(FRAME.to_numpy())[0].toarray(), H.toarray())
    with pytest.raises(
        ColumnError, match=r"X has 2 features, but TableEncoder is expecting 3 features as input"
    ):
        encoder.transform(FRAME.to_numpy()[:, :2])


def test_column_names_become_text_and_the_frame_stays_untouched() -> None:
    frame = pd.DataFrame([["a", 1], ["b", 2]])
    encoder = TableEncoder(min_size=1)
    encoder.fit_transform(frame)
    assert encoder.columns == ("0", "1")
    assert list(frame.columns) == [0, 1]
    assert encoder.transform(frame)[1] == {"0": 0, "1": 0}


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bins": 0}, "bins must be a whole number, 1 or more. Got 0 instead."),
        ({"bins": {"a": 3}}, "bins must be a whole number"),
        ({"missing": "drop"}, "missing must be one of 'ignore', 'value'. Got 'drop' instead."),
        ({"min_size": 0}, "min_size must be a whole number, 1 or more. Got 0 instead."),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        TableEncoder(**settings)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([1, 2, 3], r"Got shape \(3,\) instead\. Reshape your data"),
        (pd.Series([1, 2]), "Reshape your data"),
        (["ab", "cd"], "Reshape your data"),
        (np.zeros((2, 2, 2)), "Reshape your data"),
        (None, "Reshape your data"),
        (np.array([[1j], [2]]), r"Complex data not supported: column 'x0' must be real"),
        (pd.DataFrame({"z": [1, 2j]}), "Complex data not supported: column 'z'"),
        (np.empty((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (np.empty((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
        ([[], []], r"0 feature\(s\) \(shape=\(2, 0\)\)"),
        (sp.eye(3, format="csr"), r"must be dense\. Got a scipy sparse .*; pass table\.toarray\(\)"),
        ([[1, 2], [3]], r"must be equally long\. Got 1 and 2 values"),
        ([np.zeros(2), np.zeros(3)], r"2-dimensional array\. Got .* instead"),
        (pd.DataFrame({"h": [1.0, np.inf]}), "Column 'h' must be finite. Got infinity"),
        (pd.DataFrame({"h": pd.Series(["a", -np.inf], dtype=object)}), "Column 'h' must be finite"),
        (pd.DataFrame({"h": pd.Series([1, 10**400], dtype=object)}), "Column 'h' must be finite"),
    ],
)
def test_bad_tables(table: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        TableEncoder().fit_transform(table)


@pytest.mark.parametrize(
    "cells",
    [
        pd.date_range("2020", periods=2),
        pd.date_range("2020", periods=2, tz="UTC"),
        pd.to_timedelta([1, 2], unit="D"),
        pd.period_range("2020", periods=2, freq="D"),
        pd.Categorical(pd.date_range("2020", periods=2)),
        pd.Series([datetime.date(2020, 1, 1), "x"], dtype=object),
    ],
)
def test_dates(cells: Any) -> None:
    message = (
        r"^Column 'when' must hold numbers, text or booleans\. Got .*; turn dates into columns such as year"
    )
    with pytest.raises(ColumnError, match=message) as caught:
        TableEncoder().fit_transform(pd.DataFrame({"when": cells}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("cells", [[[1], [2]], [b"a", b"b"], [object(), object()], pd.interval_range(0, 2)])
def test_cells_that_are_no_scalars(cells: Any) -> None:
    with pytest.raises(
        ColumnError, match=r"Column 'a' must hold .* Got .* of type .*; turn them into text first"
    ):
        TableEncoder().fit_transform(pd.DataFrame({"a": cells}))


def test_duplicate_columns() -> None:
    for names in (["a", "b", "a"], [1, "b", "1"]):
        with pytest.raises(ColumnError, match=r"must be unique\. Got '[a1]' more than once"):
            TableEncoder().fit_transform(pd.DataFrame(np.eye(3), columns=names))


def test_constant_tables() -> None:
    constant = pd.DataFrame({"a": ["x"] * 3, "b": [2.0] * 3, "c": [False] * 3, "d": [True] * 3})
    with pytest.raises(
        ColumnError, match=r"Got 3 sample\(s\), the same in every column: 'a', .* 'd'; add .* that differ\.$"
    ):
        TableEncoder().fit_transform(constant)
    rare = pd.DataFrame({"a": ["x"] * 3, "b": ["p", "q", "r"]})
    with pytest.raises(ColumnError, match=r"column but for .* min_size = 2 rows: .*, or lower min_size\.$"):
        TableEncoder().fit_transform(rare)
    with pytest.raises(ColumnError, match="1 sample"):
        TableEncoder(min_size=1).fit_transform(constant.iloc[:1])
    with pytest.raises(ColumnError, match="1 sample"):
        TableEncoder().fit_transform(FRAME.iloc[:1])
    with pytest.raises(
        ColumnError, match=r"at least min_size = 2 rows share\. Got 3 sample.* none in 'id'; .*min_size"
    ):
        TableEncoder().fit_transform(pd.DataFrame({"id": ["a", "b", "c"]}))
    wide = pd.DataFrame(np.ones((3, 25)))
    with pytest.raises(ColumnError, match="'19' and 5 more"):
        TableEncoder().fit_transform(wide)


def test_a_failed_fit_leaves_the_encoder_as_it_was() -> None:
    encoder = TableEncoder()
    encoder.fit_transform(FRAME)
    before = encoder.to_dict()
    with pytest.raises(ColumnError):
        encoder.fit_transform(pd.DataFrame({"a": [1, 1]}))
    assert encoder.to_dict() == before


def test_missing_columns() -> None:
    encoder = TableEncoder()
    encoder.fit_transform(FRAME)
    message = r"Missing: 'is_wet', 'height'\. Got 'cap', 'other' instead"
    with pytest.raises(ColumnError, match=message):
        encoder.transform(pd.DataFrame({"cap": ["n"], "other": [1]}))


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        (
            "height",
            [0.1, "tall", "x"],
            r"Column 'height' must hold numbers, as it did in training\. Got 'tall' instead",
        ),
        ("height", [True, False, True], r"must hold numbers, .* Got True instead"),
        ("height", pd.Categorical(["s", "b", "s"]), r"must hold numbers, .* Got 's' instead"),
        ("is_wet", [None, 1, 0], r"Column 'is_wet' must hold booleans, .* Got 1(\.0)? instead"),
        ("is_wet", ["yes", "no", "no"], r"must hold booleans, .* Got 'yes' instead"),
        ("cap", [3, 4, 5], r"Column 'cap' must hold text, .* Got 3 instead"),
        ("cap", ["n", True, 5], r"must hold text, .* Got True instead"),
    ],
)
def test_a_column_that_changed_its_kind(column: str, cells: Any, message: str) -> None:
    encoder = TableEncoder()
    encoder.fit_transform(FRAME)
    new = FRAME.iloc[:3].drop(columns=column).assign(**{column: cells})
    with pytest.raises(ColumnError, match=message):
        encoder.transform(new)


def test_transform_checks_its_table_too() -> None:
    encoder = TableEncoder()
    encoder.fit_transform(FRAME)
    with pytest.raises(DataError, match="must be finite"):
        encoder.transform(FRAME.assign(height=np.inf))
    with pytest.raises(DataError, match=r"0 sample\(s\)"):
        encoder.transform(FRAME.iloc[:0])


def test_nothing_learned_yet() -> None:
    encoder = TableEncoder()
    for use in (
        lambda: encoder.names,
        lambda: encoder.columns,
        encoder.to_dict,
        lambda: encoder.transform(FRAME),
    ):
        with pytest.raises(InputError, match="call fit_transform first"):
            use()


def test_damaged_descriptions() -> None:
    encoder = TableEncoder()
    encoder.fit_transform(FRAME)
    good = encoder.to_dict()
    no_bins = {key: value for key, value in good.items() if key != "bins"}
    no_sizes = good | {"columns": [good["columns"][0] | {"sizes": [1]}]}
    no_rule = good | {"columns": [good["columns"][0] | {"rule": "Guess"}]}
    for damaged in (no_bins, no_sizes, no_rule, good | {"bins": 0}, good | {"columns": None}):
        with pytest.raises((KeyError, ModelFileError, ParameterError, TypeError)):
            TableEncoder.from_dict(damaged)


# ---------------------------------------------------------------- bins that hold equally many rows


@given(st.lists(hundredths, min_size=4, max_size=40, unique=True), st.integers(2, 6))
def test_quantile_bins_hold_equally_many(values: list[float], bins: int) -> None:
    H = TableEncoder(bins, binning="quantile", min_size=1).fit_transform(pd.DataFrame({"x": values}))
    sizes = np.asarray(H.sum(axis=0)).ravel()
    assert len(sizes) == min(bins, len(values))
    assert sizes.max() - sizes.min() <= 1
    order = np.argsort(values)
    assert (np.diff(H.indices[order]) >= 0).all()


@given(st.lists(st.integers(-5, 5), min_size=3, max_size=40), st.integers(2, 6))
def test_quantile_bins_depend_on_ranks_alone(values: list[int], bins: int) -> None:
    values = [*values, -6, 6]  # two rows that differ
    encoders = [TableEncoder(bins, binning="quantile", min_size=1) for _ in range(3)]
    x = np.array(values, dtype=float)
    H, G, K = (
        encoder.fit_transform(pd.DataFrame({"x": column})).toarray()
        for encoder, column in zip(encoders, (x, np.exp(x), 3 * x - 7), strict=True)
    )
    assert (H == G).all()
    assert (H == K).all()
    assert (H.sum(axis=1) == 1).all()
    for value in set(values):  # equal values stay together
        assert len({tuple(row) for row in H[x == value]}) == 1


def test_quantile_bins_by_hand() -> None:
    frame = pd.DataFrame({"x": [1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 100.0, 100.0, np.nan]})
    encoder = TableEncoder(4, binning="quantile", min_size=1)
    H = encoder.fit_transform(frame)
    assert encoder.names == ("x in [1, 2)", "x in [2, 100)", "x in [100, 100]")
    assert H.toarray().argmax(axis=1).tolist()[:8] == [0, 0, 0, 0, 1, 1, 2, 2]
    state = json.loads(json.dumps(encoder.to_dict()))
    again, unseen = TableEncoder.from_dict(state).transform(pd.DataFrame({"x": [0.0, 50.0, 100.0, 101.0]}))
    assert again.toarray().tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert unseen == {"x": 2}


def test_an_unknown_binning() -> None:
    with pytest.raises(ParameterError, match="'width', 'quantile'"):
        TableEncoder(binning="log")


NUMBERS = pd.DataFrame(
    {
        "kind": list("xyxyxyxy"),
        "size": [1.0, 2, 3, 4, 5, 6, 7, 8],
        "wet": [True, False] * 4,
        "rain": [0, 0, 0, 0, 0, 3, 5, None],
    }
)


def test_numbers_are_the_numeric_columns_in_their_order() -> None:
    encoder = TableEncoder(4, binning="quantile", min_size=1)
    H = encoder.fit_transform(NUMBERS)
    assert encoder.number_columns.tolist() == [1, 3]
    owners = encoder.edge_columns
    assert len(owners) == H.shape[1] == len(encoder.names)
    for name, owner in zip(encoder.names, owners, strict=True):
        assert name.split()[0] == NUMBERS.columns[owner]
    found = encoder.numbers(NUMBERS)
    np.testing.assert_array_equal(found[:, 0], NUMBERS["size"])
    np.testing.assert_array_equal(found[:7, 1], NUMBERS["rain"][:7])
    # by name, whatever the order, and whatever stands beside them
    other = NUMBERS[["rain", "wet", "size", "kind"]].assign(more=1.0)
    np.testing.assert_array_equal(encoder.numbers(other), found)
    again = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    np.testing.assert_array_equal(again.numbers(NUMBERS), found)


@pytest.mark.parametrize("missing", ["ignore", "value"])
def test_missing_numbers_are_the_median(missing: str) -> None:
    encoder = TableEncoder(4, binning="quantile", min_size=1, missing=missing)
    encoder.fit_transform(NUMBERS)
    rows = NUMBERS.iloc[:2].assign(size=[None, 4.5], rain=[None, None])
    np.testing.assert_array_equal(encoder.numbers(rows), [[5.0, 0.0], [4.5, 0.0]])  # most of rain is 0


@pytest.mark.parametrize("binning", ["width", "quantile"])
def test_numbers_beyond_those_of_training_are_moved_to_the_nearest(binning: str) -> None:
    encoder = TableEncoder(4, binning=binning, min_size=1)
    encoder.fit_transform(NUMBERS)
    rows = NUMBERS.iloc[:3].assign(size=[-1e300, 1e300, 2.25], rain=[-1, 5.5, 4])
    np.testing.assert_array_equal(encoder.numbers(rows), [[1, 0], [8, 5], [2.25, 4]])


def test_constant_numbers_and_none() -> None:
    encoder = TableEncoder(4, binning="quantile")
    frame = pd.DataFrame({"a": list("xxyy"), "b": [3.5] * 4})
    encoder.fit_transform(frame)
    np.testing.assert_array_equal(encoder.numbers(frame.assign(b=[None, 1, 3.5, 9])), np.full((4, 1), 3.5))
    assert encoder.numbers(frame.iloc[:0]).shape == (0, 1)
    plain = TableEncoder()
    plain.fit_transform(frame[["a"]])
    assert plain.numbers(frame).shape == (4, 0)


def test_numbers_must_be_numbers() -> None:
    encoder = TableEncoder(4, binning="quantile")
    encoder.fit_transform(NUMBERS)
    with pytest.raises(ColumnError, match="Column 'size' must hold numbers, as it did in training"):
        encoder.numbers(NUMBERS.assign(size="large"))


@pytest.mark.parametrize("n", [2, 3, 5, 10, 19, 20, 200])
def test_few_rows_have_fewer_bins_of_equally_many(n: int) -> None:
    """So that rows share some."""
    x = np.random.default_rng(n).normal(size=(n, 1))
    encoder = TableEncoder(10, binning="quantile", min_size=2)
    if n < 4:
        with pytest.raises(ColumnError, match="tells rows apart"):
            encoder.fit_transform(x)
        return
    H = encoder.fit_transform(x)
    assert H.shape == (n, min(10, n // 2))
    assert (H.sum(axis=1) == 1).all()
