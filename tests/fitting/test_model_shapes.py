"""A model's file in which one array has another shape is refused when it is loaded, in one line."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from pinvgcn import GaussianGraph, PinvGCNClassifier, SparseGraph, Spectrum
from pinvgcn.datasets import generate_street, random_split
from pinvgcn.distributed.group import ALONE
from pinvgcn.errors import ModelFileError
from pinvgcn.fitting.model_file import narrowed
from pinvgcn.io.tensors import load_tensors, save_tensors

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(60, 3)) * [1.0, 2.0, 3.0]
SIDE = np.arange(60) % 2
# two columns of numbers and one of letters
TABLE = pd.DataFrame({"a": np.arange(60) % 3, "b": np.arange(60) % 5, "c": list("xyz") * 20})
QUICK = {"epochs": 3, "rank": 5}


def scan() -> PinvGCNClassifier:
    """With everything that a model of points can have; so dense that averages have several rounds."""
    street = generate_street(2_000, random_state=0)
    y = random_split(street.y, per_class=5, random_state=0)
    model = PinvGCNClassifier(**QUICK, members=2, trees=2)
    return model.fit(street.X / 4, y, features=RNG.normal(size=(2_000, 1)))


FREE = ("loss_curve", "places", "places.cells")  # as long as there were epochs, labels, cells

CASES = {
    "scan": scan,
    "exact": lambda: PinvGCNClassifier(**QUICK, sigma=2.0).fit(POINTS, SIDE),
    "cutoff": lambda: PinvGCNClassifier(**QUICK, sigma=2.0, solver="cutoff").fit(POINTS, SIDE),
    "fourier": lambda: PinvGCNClassifier(**QUICK, sigma=6.0, solver="fourier").fit(POINTS, SIDE),
    "deep": lambda: PinvGCNClassifier(**QUICK, hidden=(4, 3), filters="no-high-pass").fit(POINTS, SIDE),
    "table": lambda: PinvGCNClassifier("categorical", epochs=3, members=2).fit(TABLE, SIDE),
    "table-features": lambda: PinvGCNClassifier("categorical", epochs=3, members=2).fit(
        TABLE, SIDE, features=POINTS
    ),
    "graph": lambda: PinvGCNClassifier(SparseGraph(sp.csr_array(np.ones((60, 60)))), **QUICK).fit(
        POINTS, SIDE
    ),
}


@functools.cache
def saved(name: str):
    """Description and arrays of a model's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        CASES[name]().save(path)
        return load_tensors(path, "model")


def others(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Shapes that differ from this one: a place more or less on each axis, an axis more or less, none."""
    found = [(), (*shape, 1), (1, *shape), (int(np.prod(shape)),), shape[::-1], (0, *shape[1:])]
    for axis, size in enumerate(shape):
        for changed in (size - 1, size + 1, 2 * size, 1):
            found.append((*shape[:axis], changed, *shape[axis + 1 :]))
    return [other for other in dict.fromkeys(found) if other != shape and min(other, default=0) >= 0]


def load(case: str, changes: dict, arrays: dict[str, np.ndarray] | None = None) -> PinvGCNClassifier:
    """The model of a file with another description, or other arrays."""
    description, kept = saved(case)
    plain = {key: value for key, value in description.items() if key not in ("kind", "format")}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        save_tensors(path, "model", {**plain, **changes}, kept if arrays is None else arrays)
        return PinvGCNClassifier.load(path)


def refused(case: str, changes: dict, arrays: dict | None = None, *, why: object = "") -> str:
    """The one line with which such a file is refused; ``why`` it should be."""
    try:
        load(case, changes, arrays)
    except ModelFileError as error:
        line = str(error)
    else:
        raise AssertionError(f"{case} was read with {why or changes}")
    assert "\n" not in line
    return line


def changed(case: str, **arrays: np.ndarray | None) -> dict[str, np.ndarray]:
    """The arrays of a file, some of them others or, if None, missing; dots of names are __ here."""
    named = {name.replace("__", "."): array for name, array in arrays.items()}
    return {name: array for name, array in {**saved(case)[1], **named}.items() if array is not None}


@pytest.mark.parametrize("case", CASES)
def test_every_array_that_is_another_size_is_refused(case):
    """All of them, with one other shape each."""
    for name, array in saved(case)[1].items():
        shape = (*array.shape, 1) if name in FREE else (array.shape[0] + 1, *array.shape[1:])
        refused(case, {}, changed(case, **{name: np.resize(array, shape)}), why=(name, shape))


@given(st.data())
def test_every_array_of_another_shape_is_refused(data):
    case = data.draw(st.sampled_from(sorted(CASES)))
    arrays = saved(case)[1]
    name = data.draw(st.sampled_from(sorted(arrays)))
    shapes = others(arrays[name].shape)
    if name in FREE:
        one = arrays[name].shape[1:]
        shapes = [shape for shape in shapes if shape[1:] != one or len(shape) != len(one) + 1]
    shape = data.draw(st.sampled_from(shapes))
    refused(case, {}, changed(case, **{name: np.resize(arrays[name], shape)}), why=(name, shape))


def test_so_are_those_of_a_spectrum(tmp_path):
    GaussianGraph(POINTS, 2.0, loops=1.0).spectrum(5).save(tmp_path / "spectrum")
    description, arrays = load_tensors(tmp_path / "spectrum", "spectrum")
    plain = {key: value for key, value in description.items() if key not in ("kind", "format")}
    for name, array in arrays.items():
        for shape in others(array.shape):
            if not name.endswith("kernel_sources") or shape[:1] != array.shape[:1]:
                other = {**arrays, name: np.resize(array, shape)}
                save_tensors(tmp_path / "m", "spectrum", plain, other)
                with pytest.raises(ModelFileError):
                    Spectrum.load(tmp_path / "m")


def test_the_line_says_which_array_it_is():
    line = refused("exact", {}, changed("exact", shift=np.zeros(2)))
    assert "its array 'shift' must have the shape (3,). Got (2,) instead; save the model again." in line


NUMBERS = {
    "reach": [
        None, [], 3.0, "ab", [3.0], [3.0, 1, 2], [3.0, -1], [3.0, 5], [3.0, 10**30], [3.0, 1.0], [3.0, True],
        [3.0, "1"], [3.0, None], [-1.0, 1], [float("nan"), 1], ["3", 1], [None, 1], [True, 1],
        {"a": 1, "b": 2},
    ],
    "rounds": [
        None, 1, "ab", [], [1], [1, 1, 1], [0, 1], [-1, 1], [1, -1], [1.0, 1], [1, 1.5], [True, 1],
        [1, False], ["a", "b"], [None, 1], [1, 10**9], [10**9, 1],
    ],
    "estimate": [
        5, "high", [], {}, {"accuracy": 0.5}, {"accuracy": "0.5", "low": 0.1, "high": 0.9},
        {"accuracy": 1.5, "low": 0.1, "high": 0.9}, {"accuracy": float("nan"), "low": 0.1, "high": 0.9},
        {"accuracy": 0.5, "low": 0.1, "high": 0.9, "coverage": None},
        {"accuracy": 0.5, "low": [0.1], "high": 0.9}, {"accuracy": 0.5, "low": 0.1, "high": True},
        {"accuracy": None, "low": None, "high": None, "reason": 5},
        {"accuracy": 0.5, "low": 0.1, "high": 0.9, "other": 1},
    ],
    "spread": [None, 0, -1.0, float("nan"), float("inf"), "10", True, [10.0]],
    "neighbours": ["a", -1, True],
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_cannot_be_are_refused(name):
    """Levels are shifts of compiled loops, which do not look where they write."""
    for value in NUMBERS[name]:
        refused("scan", {name: value})
    for case in ("exact", "table") if name == "rounds" else ():
        for value in NUMBERS[name]:
            refused(case, {name: value})


def test_another_lattice_is_refused():
    nodes = saved("scan")[0]["nodes"]
    for changes in ({"levels": 4}, {"levels": 6}, {"levels": 20}, {"levels": 0}, {"cell": 0.3}):
        refused("scan", {"nodes": {**nodes, **changes}})
    refused("scan", {"nodes": {key: value for key, value in nodes.items() if key != "cell"}})


BAD = {
    "not a number": lambda array: np.full(array.shape, np.nan),
    "infinite": lambda array: np.full(array.shape, np.inf),
    "complex": lambda array: array * 1j,
    "truth": lambda array: np.ones(array.shape, dtype=bool),
}
WORSE = BAD | {
    "nothing": lambda array: array[:0],
    "a fraction": lambda array: array + 0.5,
    "negative": lambda array: -1 - np.abs(array.astype(np.int64)),
}
OF_A_SCAN = {  # arrays, and what else they may not be
    **dict.fromkeys(("away", "trained"), ("nothing", "negative")),
    "held_away": ("nothing", "negative", "a fraction"),  # shares, and one of them is close to 1
    "places": ("nothing",),
    "places.cells": ("nothing", "a fraction"),
    **dict.fromkeys(("shapes.first", "around.counts", "around.sums", "sets.sums"), tuple(WORSE)),
    "ranks.knots": ("nothing",),
}


@pytest.mark.parametrize("name", OF_A_SCAN)
def test_arrays_of_a_scan_that_cannot_be_are_refused(name):
    array = saved("scan")[1][name]
    for change in dict.fromkeys((*BAD, *OF_A_SCAN[name])):
        line = refused("scan", {}, changed("scan", **{name: WORSE[change](array)}), why=(name, change))
        assert f"its array '{name}'" in line or name in ("ranks.knots", "sets.sums", "around.counts")


def test_values_of_a_scan_that_cannot_be_are_refused():
    for name, value in (("away", 0.0), ("held_away", -0.1), ("held_away", 1.5), ("trained", 0.0)):
        array = saved("scan")[1][name].copy()
        array.flat[0] = value
        assert f"its array '{name}'" in refused("scan", {}, changed("scan", **{name: array}))


NEW = (
    "away", "places", "places.cells", "fine_trees.roots", "member1.wide_trees.other", "first", "first.keys",
    "first.counts", "first.sums", "context_trees.roots", "member1.context_trees.other",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::pinvgcn.errors.ExtrapolationWarning")  # cells of another level
def test_a_scan_has_all_that_is_changed_here():
    description, arrays = saved("scan")
    assert {*NEW, *OF_A_SCAN} <= set(arrays)
    assert (arrays["away"].shape, arrays["first"].shape) == ((3,), (2,))
    assert arrays["held_away"].shape == (2, len(description["classes"]))
    assert arrays["places.cells"].dtype.kind in "iu"
    levels = description["nodes"]["levels"]
    for changes in ({"reach": [0.0, levels - 1]}, {"reach": [float("inf"), 0]}, {"rounds": [1, 0]},
                    {"estimate": None}, {"estimate": {"accuracy": 1, "low": None, "high": 0.5}}):  # fmt: skip
        points = generate_street(2_000, random_state=0).X[:3] / 4
        P = load("scan", changes).predict_proba(points, features=np.zeros((3, 1)))
        assert np.isfinite(P).all()


def test_what_a_scan_lacks_is_refused():
    for name in NEW:
        refused("scan", {}, changed("scan", **{name: None}), why=name)
    line = refused("scan", {}, changed("scan", sets__sums=None))
    assert "'sets.sums' cannot be sums over cells" in line


@pytest.mark.parametrize("case", ["exact", "table", "graph"])
def test_what_belongs_to_a_scan_is_refused_elsewhere(case):
    for name in ("away", "places", "places.cells", "first", "first.sums", "context_trees.roots"):
        refused(case, {}, changed(case, **{name: saved("scan")[1][name]}), why=name)
    refused(case, {"reach": [1.0, 0]})


OF_A_TABLE = (
    "forest.roots", "trees.roots", "linear.slopes", "linear.offsets", "kernel.landmarks", "kernel.scale",
    "kernel.coefficients", "kernel.offsets", "diffusion.logs", "diffusion.sizes", "diffusion.starts",
    "diffusion.columns", "diffusion.values",
)  # fmt: skip


def test_a_table_has_all_that_is_changed_here():
    description, arrays = saved("table")
    assert set(OF_A_TABLE) <= set(arrays)
    assert {f"member1.{name}" for name in OF_A_TABLE if not name.startswith("diffusion")} <= set(arrays)
    assert (description["nodes"]["numbers"], description["spread"]) == (True, 10.0)
    assert len(arrays["opinions"]) == 6
    assert arrays["linear.slopes"].shape == (3 + 2, 2)  # three letters, two numbers
    assert np.isfinite(load("table", {}).predict_proba(TABLE)).all()


def test_what_a_table_lacks_is_refused():
    for name in OF_A_TABLE:
        for missing in [name] if name.startswith("diffusion") else [name, f"member1.{name}"]:
            refused("table", {}, changed("table", **{missing: None}), why=missing)


@pytest.mark.parametrize("expert", ["forest", "trees", "linear", "kernel", "diffusion"])
def test_weights_of_experts_that_are_not_there_are_refused(expert):
    arrays = saved("table")[1]
    kept = {k: a for k, a in arrays.items() if not k.removeprefix("member1.").startswith(f"{expert}.")}
    assert "its array 'opinions' must have the shape (5,)" in refused("table", {}, kept)


@pytest.mark.parametrize("name", OF_A_TABLE)
def test_arrays_of_a_table_that_cannot_be_are_refused(name):
    """Nothing is read outside of an array, whatever numbers a file has."""
    array = saved("table")[1][name]
    found = {change: make(array) for change, make in BAD.items()}
    if array.dtype.kind == "i":  # others may be any numbers
        for value in (-1, 2**31 - 1):
            found[value] = array.copy()
            found[value].flat[-1] = value
    for change, other in found.items():
        refused("table", {}, changed("table", **{name: other}), why=(name, change))


@pytest.mark.parametrize("last", [-1, 0])
def test_starts_of_anchors_that_fall_are_refused(last):
    """SciPy does not look at those between, where the last is no more than 0."""
    starts = saved("table")[1]["diffusion.starts"].copy()
    starts[1], starts[-1] = 2**30, last
    refused("table", {}, changed("table", diffusion__starts=starts))


def test_a_diffusion_of_other_sizes_is_refused():
    for sizes in ([0, 5], [60, 5], [-1, 5], [10, 4], [10, 10**12]):
        refused("table", {}, changed("table", diffusion__sizes=np.array(sizes)), why=sizes)


@pytest.mark.parametrize("case", ["exact", "graph", "scan"])
def test_what_belongs_to_a_table_is_refused_elsewhere(case):
    for name in ("linear.slopes", "kernel.scale", "diffusion.logs", "forest.roots"):
        line = refused(case, {}, changed(case, **{name: saved("table")[1][name]}))
        assert "must belong to a table" in line or "opinions" in line


def test_a_table_of_other_values_is_refused():
    nodes = saved("table")[0]["nodes"]
    encoder = nodes["encoder"]
    for other in (
        {**nodes, "numbers": None},
        {**nodes, "numbers": 1},
        {**nodes, "numbers": False},
        {**nodes, "encoder": {**encoder, "columns": encoder["columns"][:2]}},
        {**nodes, "encoder": {**encoder, "min_size": 13}},
        {**nodes, "encoder": {**encoder, "columns": []}},
        {key: value for key, value in nodes.items() if key != "numbers"},
    ):
        refused("table", {"nodes": other})


def test_codes_that_name_no_class_are_refused():
    codes = saved("table")[1]["sets.codes"] + 2
    assert "'sets.codes' names what is not there" in refused("table", {}, changed("table", sets__codes=codes))


def test_whole_numbers_stay_exact_and_narrow():
    for values, dtype in (
        ([0, 200], np.uint8), ([-5, 100], np.int8), ([-5, 200], np.int16), ([0, 2**31], np.uint32),
        ([-5, 2**60 + 1], np.int64), ([-(2**40), 3], np.int64),
    ):  # fmt: skip
        array = np.array(values, dtype=np.int64)
        found = narrowed(array, ALONE)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, array)
