"""Every check: what passes and in which form, what is refused and in which words."""

from __future__ import annotations

import decimal
import fractions

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning

from pinvgcn import checks, errors
from pinvgcn.checks import (
    as_matrix,
    as_points,
    as_sample_weight,
    check_choice,
    check_count,
    check_fraction,
    check_non_negative,
    check_positive,
    check_rows,
    encode_labels,
    read_labels,
)
from pinvgcn.errors import DataError, DataTypeError, LabelError, ParameterError


def refusal(error: type[Exception], function, *arguments) -> str:
    """The one line with which the arguments are refused."""
    with pytest.raises(error) as caught:
        function(*arguments)
    message = str(caught.value)
    assert type(caught.value) is error
    assert "\n" not in message
    return message


class TestErrors:
    def test_the_tree_is_as_drawn(self):
        """The docstring's drawing, read line by line, names each class under its parent."""
        parents: list[tuple[int, str]] = []
        drawn = {}
        for line in errors.__doc__.splitlines():
            name = line.lstrip(" │├└─").split(" ")[0]
            if not hasattr(errors, name) or not name:
                continue
            column = line.index(name)
            while parents and parents[-1][0] >= column:
                parents.pop()
            drawn[name] = parents[-1][1] if parents else None
            parents.append((column, name))
        defined = {
            name: thing
            for name, thing in vars(errors).items()
            if isinstance(thing, type) and issubclass(thing, Exception)
        }
        assert set(drawn) == set(defined)
        for name, parent in drawn.items():
            bases = [base.__name__ for base in defined[name].__bases__]
            assert bases[0] == (parent or bases[0])

    @pytest.mark.parametrize(
        ("error", "builtin"),
        [
            ("InputError", ValueError),
            ("LabelError", ValueError),
            ("ColumnError", ValueError),
            ("DatasetError", OSError),
            ("ModelFileError", OSError),
            ("TrainingError", RuntimeError),
            ("MissingDependencyError", ImportError),
            ("RankWarning", UserWarning),
        ],
    )
    def test_each_is_also_the_usual_python_error(self, error, builtin):
        assert issubclass(getattr(errors, error), builtin)


class TestMatrices:
    @pytest.mark.parametrize(
        "values",
        [
            [[1, 2], [3, 4]],
            ((1, 2), (3, 4)),
            np.array([[1, 2], [3, 4]], dtype=np.int8),
            np.array([[1, 2], [3, 4]], dtype=np.float32),
            np.array([[1, 2], [3, 4]], dtype=object),
            pd.DataFrame({"a": [1, 3], "b": [2.0, 4.0]}),
            pd.DataFrame({"a": pd.array([1, 3], dtype="Int64"), "b": [2.0, 4.0]}),
        ],
        ids=lambda values: type(values).__name__,
    )
    def test_numbers_of_any_kind_become_doubles(self, values):
        matrix = as_points(values)
        np.testing.assert_array_equal(matrix, [[1.0, 2.0], [3.0, 4.0]])
        assert matrix.dtype == np.float64

    def test_booleans_are_zero_and_one(self):
        np.testing.assert_array_equal(as_matrix([[True], [False]], "X"), [[1.0], [0.0]])

    @pytest.mark.parametrize(
        ("values", "parts"),
        [
            (np.array([[0.0, 1], [np.nan, 1]]), ["thing must be finite", "Got NaN in row 1;", "remove"]),
            ([[1.0], [np.inf], [-np.inf]], ["Got infinity in rows 1 and 2;"]),
            (np.full((9, 1), np.nan), ["Got NaN in rows 0, 1, 2 and 6 more;"]),
            (np.array([[1.0], [None]], dtype=object), ["Got NaN in row 1"]),
            (np.empty((0, 3)), ["0 sample(s) (shape=(0, 3))", "minimum of 1"]),
            (np.empty((3, 0)), ["0 feature(s) (shape=(3, 0))", "minimum of 1"]),
            ([], ["Got shape (0,) instead", "Reshape your data"]),
            (np.zeros(4), ["Got shape (4,) instead", "Reshape your data"]),
            (np.zeros((2, 2, 2)), ["Got shape (2, 2, 2) instead"]),
            (None, ["Got shape () instead"]),
            (3.0, ["Got shape () instead"]),
            ([["a", 1], ["b", 2]], ["must be numbers", "'a'", "graph='categorical'"]),
            ([[1, 2], [3]], ["must be numbers", "inhomogeneous"]),
            ([[1 + 2j]], ["Complex data not supported", "complex128"]),
            (np.array([["2020-01-01"]], dtype="datetime64[D]"), ["must be numbers", "datetime64[D]"]),
            (sp.eye_array(3).tocsr(), ["dense array", "csr_array", "thing.toarray()"]),
            (sp.csc_matrix(np.eye(3)), ["csc_matrix"]),
        ],
    )
    def test_what_cannot_be_used(self, values, parts):
        message = refusal(DataError, as_matrix, values, "thing")
        for part in parts:
            assert part in message

    def test_objects_are_a_type_error_too(self):
        message = refusal(DataTypeError, as_matrix, [[{"a": 1}], [2]], "thing")
        assert "must be numbers" in message
        assert "'dict'" in message

    def test_rows(self):
        check_rows(np.zeros((3, 1)), 3, "features", "points")
        message = refusal(DataError, check_rows, np.zeros((3, 1)), 4, "features", "points")
        assert message == "features must have one row for each of the 4 points. Got 3 rows instead."


class TestNumbers:
    @pytest.mark.parametrize("value", [1, 0.5, 1e-300, np.float32(2), np.int64(3), fractions.Fraction(1, 3)])
    def test_positive(self, value):
        assert check_positive("sigma", value) == pytest.approx(float(value))
        assert type(check_positive("sigma", value)) is float

    @pytest.mark.parametrize("value", [0, -1, -0.0, np.nan, np.inf, "1", None, True, [1], 1j, np.array(1.0)])
    def test_not_positive(self, value):
        message = refusal(ParameterError, check_positive, "sigma", value)
        assert message == f"sigma must be a positive, finite number. Got {value!r} instead."

    def test_zero_is_not_negative(self):
        assert check_non_negative("loops", 0) == 0.0
        assert check_non_negative("loops", 2) == 2.0

    @pytest.mark.parametrize("value", [-1e-12, np.nan, np.inf, "0", None, False])
    def test_negative(self, value):
        message = refusal(ParameterError, check_non_negative, "loops", value)
        assert message == f"loops must be a finite number, zero or more. Got {value!r} instead."

    @pytest.mark.parametrize("value", [1, 1.5, -0.1, np.nan, "0.5", None, True])
    def test_not_a_fraction(self, value):
        message = refusal(ParameterError, check_fraction, "dropout", value)
        assert message == f"dropout must be a number from 0 to below 1. Got {value!r} instead."

    def test_fractions(self):
        assert [check_fraction("dropout", p) for p in (0, 0.5, 1 - 1e-12)] == [0.0, 0.5, 1 - 1e-12]

    @pytest.mark.parametrize("value", [0, -1, 1.0, "3", None, True, np.nan])
    def test_not_a_count(self, value):
        message = refusal(ParameterError, check_count, "rank", value)
        assert message == f"rank must be a whole number, 1 or more. Got {value!r} instead."

    def test_numbers_of_numpy_are_shown_as_people_write_them(self):
        for check, value, shown in (
            (check_count, np.int64(-2), "-2"),
            (check_count, np.float64(3), "3.0"),
            (check_positive, np.float32(-0.5), "-0.5"),
            (check_non_negative, np.float64(-1), "-1.0"),
            (check_fraction, np.float64(1.5), "1.5"),
        ):
            assert refusal(ParameterError, check, "rank", value).endswith(f" Got {shown} instead.")

    def test_counts(self):
        assert [check_count("rank", value) for value in (1, np.int32(5), np.uint8(9))] == [1, 5, 9]
        assert type(check_count("rank", np.int32(5))) is int
        assert check_count("rank", 0, minimum=0) == 0

    @pytest.mark.parametrize("value", ["Dense", "", None, 3, ["dense"], np.array(["dense", "auto"])])
    def test_not_a_choice(self, value):
        message = refusal(ParameterError, check_choice, "solver", value, ("auto", "dense"))
        assert message == f"solver must be one of 'auto', 'dense'. Got {value!r} instead."


def assert_encodes(y, classes, codes):
    got_classes, got_codes = encode_labels(y, len(codes))
    assert got_classes.tolist() == classes
    assert got_codes.tolist() == codes
    assert got_codes.dtype == np.int64
    return got_classes


class TestLabels:
    @pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, np.float64, object])
    def test_minus_one_is_unlabelled_among_numbers(self, dtype):
        classes = assert_encodes(np.array([5, -1, 2, 5, -1], dtype=dtype), [2, 5], [1, -1, 0, 1, -1])
        assert classes.dtype.kind in "if"  # objects that are numbers become numbers

    def test_unsigned(self):
        assert_encodes(np.array([1, 0, 255], dtype=np.uint8), [0, 1, 255], [1, 0, 2])

    def test_negative_classes_other_than_minus_one(self):
        assert_encodes([-2, 3, -1, -2], [-2, 3], [0, 1, -1, 0])

    @pytest.mark.parametrize(
        "nothing", [None, np.nan, float("nan"), pd.NA, pd.NaT, -1, -1.0, np.int64(-1)], ids=repr
    )
    def test_every_nothing_beside_text(self, nothing):
        y = ["b", nothing, "a", "b"]
        assert_encodes(y, ["a", "b"], [1, -1, 0, 1])
        assert_encodes(tuple(y), ["a", "b"], [1, -1, 0, 1])
        assert_encodes(np.array(y, dtype=object), ["a", "b"], [1, -1, 0, 1])
        assert_encodes(pd.Series(y, dtype=object, index=[9, 8, 7, 6]), ["a", "b"], [1, -1, 0, 1])

    @pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, -1], ids=repr)
    def test_every_nothing_beside_numbers(self, nothing):
        classes = assert_encodes([4, nothing, 3, 4], [3, 4], [1, -1, 0, 1])
        assert classes.dtype.kind in "if"

    @pytest.mark.parametrize("dtype", ["Int64", "Float64", "float64"])
    def test_pandas_numbers_with_gaps(self, dtype):
        classes = assert_encodes(pd.Series([1, None, 0, -1], dtype=dtype), [0, 1], [1, -1, 0, -1])
        assert classes.dtype.kind in "if"

    @pytest.mark.parametrize("dtype", ["string", "str", object])
    def test_pandas_text_with_gaps(self, dtype):
        assert_encodes(pd.Series(["u", None, "t"], dtype=dtype), ["t", "u"], [1, -1, 0])

    def test_booleans(self):
        assert_encodes([True, False, True], [False, True], [1, 0, 1])
        classes = assert_encodes([True, None, False], [False, True], [1, -1, 0])
        assert classes.dtype == bool
        assert_encodes(pd.Series([True, None, False], dtype="boolean"), [False, True], [1, -1, 0])

    def test_numpy_text_keeps_its_type(self):
        assert assert_encodes(np.array(["x", "yy", "x"]), ["x", "yy"], [0, 1, 0]).dtype.kind == "U"

    def test_categoricals_name_their_classes(self):
        y = pd.Categorical(["lo", None, "hi", "lo"], categories=["lo", "hi"], ordered=True)
        assert_encodes(y, ["hi", "lo"], [1, -1, 0, 1])
        assert_encodes(pd.Series(y), ["hi", "lo"], [1, -1, 0, 1])
        numbered = assert_encodes(pd.Categorical([3, -1, 7], categories=[-1, 3, 7]), [3, 7], [0, -1, 1])
        assert numbered.dtype.kind == "i"

    @pytest.mark.parametrize("wrap", [lambda y: y, pd.Series, lambda y: pd.DataFrame({"y": y})])
    def test_a_category_without_a_labelled_row(self, wrap):
        y = wrap(pd.Categorical(["a", "b", None], categories=["a", "b", "pole"]))
        message = refusal(LabelError, encode_labels, y, 3)
        assert "Every class needs a labelled row. Got none for 'pole'" in message
        assert "remove_unused_categories" in message

    def test_one_column_is_as_good(self):
        assert_encodes(pd.DataFrame({"label": ["b", None, "a"]}), ["a", "b"], [1, -1, 0])
        with pytest.warns(DataConversionWarning, match="column-vector y"):
            assert_encodes(np.array([[1], [-1], [0]]), [0, 1], [1, -1, 0])

    @pytest.mark.parametrize(
        ("y", "parts"),
        [
            (None, ["requires y to be passed, but the target y is None"]),
            ([-1, -1, -1], ["no label at all", "all 3 entries"]),
            ([None, None, None], ["no label at all"]),
            ([np.nan, np.nan, -1], ["no label at all"]),
            ([4, 4, -1], ["greater than one; got 1 class (4)."]),
            (["cat", None, "cat"], ["got 1 class ('cat')."]),
            ([0, 1], ["each of the 3 rows of X", "inconsistent numbers of samples: 2 labels"]),
            ([0, 1, 0, 1], ["4 labels instead"]),
            ([], ["0 labels instead"]),
            (5, ["1d array", "shape ()"]),
            ([[0, 1], [1, 0], [0, 1]], ["1d array", "shape (3, 2)"]),
            ([0.0, 0.5, 1.0], ["Unknown label type", "continuous value 0.5"]),
            (np.array([0.0, 0.5, None], dtype=object), ["Unknown label type", "continuous value 0.5"]),
            ([0.0, np.inf, 1.0], ["Unknown label type", "value inf"]),
            (np.array([0, -np.inf, 1], dtype=object), ["value -inf"]),
            (["a", 1, "b"], ["one kind", "mixture of numbers and text"]),
            (np.array([True, 2, 3], dtype=object), ["mixture of bool and numbers"]),
            (np.array(["a", "b", -1]), ["must be None", "the text '-1'"]),
            (np.array(["a", "b", np.nan]), ["must be None", "the text 'nan'"]),
            (pd.Series(["a", "b", -1.0], dtype=object).astype(str), ["must be None", "the text '-1.0'"]),
            (["1", "2", "-1"], ["must be None", "the text '-1'"]),
        ],
        ids=repr,
    )
    def test_what_cannot_be_labels(self, y, parts):
        message = refusal(LabelError, encode_labels, y, 3)
        for part in parts:
            assert part in message

    def test_labels_that_are_known(self):
        known, where, _ = read_labels([3, -1, None, 4], 4)
        assert known.tolist() == [3, 4]
        assert where.tolist() == [True, False, False, True]
        known, where, _ = read_labels([-1, -1], 2)
        assert len(known) == 0
        assert not where.any()

    def test_exact_numbers_are_numbers(self):
        assert_encodes([decimal.Decimal(1), None, decimal.Decimal(2)], [1, 2], [0, -1, 1])


class TestSampleWeights:
    def test_forms(self):
        assert as_sample_weight(None, 3) is None
        np.testing.assert_array_equal(as_sample_weight(2, 3), [2.0, 2.0, 2.0])
        np.testing.assert_array_equal(as_sample_weight([1, 0, 2], 3), [1.0, 0.0, 2.0])
        np.testing.assert_array_equal(as_sample_weight(pd.Series([1, 0, 2]), 3), [1.0, 0.0, 2.0])

    @pytest.mark.parametrize(
        ("weights", "part"),
        [
            ([1, 2], "sample_weight.shape == (2,), expected (3,)"),
            ([[1, 2, 3]], "Got shape (1, 3) instead"),
            ([1, -2, 3], "Got -2.0 instead"),
            ([1, np.nan, 3], "Got nan instead"),
            ([1, np.inf, 3], "Got inf instead"),
            (["a", "b", "c"], "'a'"),
        ],
    )
    def test_what_cannot_be_weights(self, weights, part):
        assert part in refusal(DataError, as_sample_weight, weights, 3)


def test_unlabelled_is_minus_one():
    assert checks.UNLABELLED == -1
