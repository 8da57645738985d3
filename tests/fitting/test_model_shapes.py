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


def refused(kind: str, loader, description, arrays, name: str, shape: tuple[int, ...]) -> str:
    changed = {**arrays, name: np.resize(arrays[name], shape)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        plain = {key: value for key, value in description.items() if key not in ("kind", "format")}
        save_tensors(path, kind, plain, changed)
        with pytest.raises(ModelFileError) as caught:
            loader(path)
    return str(caught.value)


@pytest.mark.parametrize("case", CASES)
def test_every_array_that_is_another_size_is_refused(case):
    """All of them, with one other shape each."""
    description, arrays = saved(case)
    for name, array in arrays.items():
        longer = (array.shape[0] + 1, *array.shape[1:])
        shape = (*array.shape, 1) if name in FREE else longer
        line = refused("model", PinvGCNClassifier.load, description, arrays, name, shape)
        assert "\n" not in line


@given(st.data())
def test_every_array_of_another_shape_is_refused(data):
    case = data.draw(st.sampled_from(sorted(CASES)))
    description, arrays = saved(case)
    name = data.draw(st.sampled_from(sorted(arrays)))
    shapes = others(arrays[name].shape)
    if name in FREE:
        one = arrays[name].shape[1:]
        shapes = [shape for shape in shapes if shape[1:] != one or len(shape) != len(one) + 1]
    shape = data.draw(st.sampled_from(shapes))
    line = refused("model", PinvGCNClassifier.load, description, arrays, name, shape)
    assert "\n" not in line


def test_so_are_those_of_a_spectrum(tmp_path):
    GaussianGraph(POINTS, 2.0, loops=1.0).spectrum(5).save(tmp_path / "spectrum")
    description, arrays = load_tensors(tmp_path / "spectrum", "spectrum")
    for name, array in arrays.items():
        for shape in others(array.shape):
            if not name.endswith("kernel_sources") or shape[:1] != array.shape[:1]:
                refused("spectrum", Spectrum.load, description, arrays, name, shape)


def test_the_line_says_which_array_it_is():
    description, arrays = saved("exact")
    line = refused("model", PinvGCNClassifier.load, description, arrays, "shift", (2,))
    assert "its array 'shift' must have the shape (3,). Got (2,) instead; save the model again." in line


def test_codes_that_name_no_class_are_refused(tmp_path):
    description, arrays = saved("table")
    plain = {key: value for key, value in description.items() if key not in ("kind", "format")}
    save_tensors(tmp_path / "m", "model", plain, {**arrays, "sets.codes": arrays["sets.codes"] + 2})
    with pytest.raises(ModelFileError, match=r"'sets\.codes' names what is not there"):
        PinvGCNClassifier.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("levels", 4), ("levels", 6), ("levels", 20), ("levels", 0), ("cell", None), ("cell", 0.3),
        ("neighbours", "a"), ("neighbours", -1), ("neighbours", True),
    ],
)  # fmt: skip
def test_numbers_of_a_scan_that_do_not_fit_are_refused(name, value, tmp_path):
    """Compiled loops do not look where they write."""
    description, arrays = saved("scan")
    plain = {key: value for key, value in description.items() if key not in ("kind", "format")}
    if name == "neighbours":
        plain["neighbours"] = value
    else:
        nodes = {key: entry for key, entry in plain["nodes"].items() if key != name or value is not None}
        plain["nodes"] = {**nodes, **({} if value is None else {name: value})}
    save_tensors(tmp_path / "m", "model", plain, arrays)
    with pytest.raises(ModelFileError):
        PinvGCNClassifier.load(tmp_path / "m")


CHANGES = {
    "a fraction": lambda array: array + 0.5,
    "not a number": lambda array: np.full(array.shape, np.nan),
    "negative": lambda array: -1 - np.abs(array.astype(np.int64)),
    "complex": lambda array: array * 1j,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["shapes.first", "around.counts", "around.sums", "sets.sums", "ranks.knots"])
def test_sums_that_cannot_be_are_refused(name, change, tmp_path):
    description, arrays = saved("scan")
    if name == "ranks.knots" and change in ("a fraction", "negative"):
        pytest.skip("knots may be any rising numbers")
    plain = {key: value for key, value in description.items() if key not in ("kind", "format")}
    save_tensors(tmp_path / "m", "model", plain, {**arrays, name: CHANGES[change](arrays[name])})
    with pytest.raises(ModelFileError):
        PinvGCNClassifier.load(tmp_path / "m")


def load_with(folder: Path, changes: dict, arrays: dict[str, np.ndarray] | None = None, case: str = "scan"):
    """The model with another description, or other arrays."""
    description, kept = saved(case)
    plain = {key: value for key, value in description.items() if key not in ("kind", "format")}
    save_tensors(folder / "m", "model", {**plain, **changes}, kept if arrays is None else arrays)
    return PinvGCNClassifier.load(folder / "m")


NEW = (
    "away",
    "held_away",
    "places",
    "places.cells",
    "trained",
    "fine_trees.roots",
    "member1.wide_trees.other",
    "first",
    "first.keys",
    "first.counts",
    "first.sums",
    "context_trees.roots",
    "member1.context_trees.other",
)


@pytest.mark.filterwarnings("ignore::pinvgcn.errors.ExtrapolationWarning")  # cells of another level
def test_a_scan_has_all_that_is_changed_here(tmp_path):
    description, arrays = saved("scan")
    assert set(NEW) <= set(arrays)
    assert (arrays["away"].shape, arrays["first"].shape) == ((3,), (2,))
    assert arrays["held_away"].shape == (2, len(description["classes"]))
    assert arrays["places.cells"].dtype.kind in "iu"
    levels = description["nodes"]["levels"]
    for changes in ({"reach": [0.0, levels - 1]}, {"reach": [float("inf"), 0]}, {"rounds": [1, 0]},
                    {"estimate": None}, {"estimate": {"accuracy": 1, "low": None, "high": 0.5}}):  # fmt: skip
        model = load_with(tmp_path, changes)
        points = generate_street(2_000, random_state=0).X[:3] / 4
        assert np.isfinite(model.predict_proba(points, features=np.zeros((3, 1)))).all()


@pytest.mark.parametrize(
    "name", [name for name in NEW if name not in ("trained", "held_away")]
)  # which a scan may lack
def test_what_a_scan_lacks_is_refused(name, tmp_path):
    _, arrays = saved("scan")
    with pytest.raises(ModelFileError):
        load_with(tmp_path, {}, {key: array for key, array in arrays.items() if key != name})


@pytest.mark.parametrize("name", ["first", "first.sums", "context_trees.roots"])
def test_a_second_look_belongs_to_a_scan(name, tmp_path):
    _, arrays = saved("exact")
    with pytest.raises(ModelFileError):
        load_with(tmp_path, {}, {**arrays, name: saved("scan")[1][name]}, case="exact")


@pytest.mark.parametrize(
    "reach",
    [None, [], 3.0, "ab", [3.0], [3.0, 1, 2], [3.0, -1], [3.0, 5], [3.0, 10**30], [3.0, 1.0], [3.0, True],
     [3.0, "1"], [3.0, None], [-1.0, 1], [float("nan"), 1], ["3", 1], [None, 1], [True, 1], {"a": 1, "b": 2}],
    ids=str,
)  # fmt: skip
def test_a_reach_that_cannot_be_is_refused(reach, tmp_path):
    """Levels are shifts of compiled loops."""
    with pytest.raises(ModelFileError):
        load_with(tmp_path, {"reach": reach})


@pytest.mark.parametrize("case", ["scan", "exact", "table"])
@pytest.mark.parametrize(
    "rounds",
    [None, 1, "ab", [], [1], [1, 1, 1], [0, 1], [-1, 1], [1, -1], [1.0, 1], [1, 1.5], [True, 1], [1, False],
     ["a", "b"], [None, 1], [1, 10**9], [10**9, 1]],
    ids=str,
)  # fmt: skip
def test_rounds_that_cannot_be_are_refused(rounds, case, tmp_path):
    with pytest.raises(ModelFileError):
        load_with(tmp_path, {"rounds": rounds}, case=case)


@pytest.mark.parametrize(
    "estimate",
    [5, "high", [], {}, {"accuracy": 0.5}, {"accuracy": "0.5", "low": 0.1, "high": 0.9},
     {"accuracy": 1.5, "low": 0.1, "high": 0.9}, {"accuracy": float("nan"), "low": 0.1, "high": 0.9},
     {"accuracy": 0.5, "low": 0.1, "high": 0.9, "coverage": None},
     {"accuracy": 0.5, "low": [0.1], "high": 0.9}, {"accuracy": 0.5, "low": 0.1, "high": True},
     {"accuracy": None, "low": None, "high": None, "reason": 5},
     {"accuracy": 0.5, "low": 0.1, "high": 0.9, "other": 1}],
    ids=str,
)  # fmt: skip
def test_an_estimate_that_cannot_be_is_refused(estimate, tmp_path):
    with pytest.raises(ModelFileError):
        load_with(tmp_path, {"estimate": estimate})


BAD = {
    "not a number": lambda array: np.full(array.shape, np.nan),
    "infinite": lambda array: np.full(array.shape, np.inf),
    "complex": lambda array: array * 1j,
    "nothing": lambda array: array[:0],
    "truth": lambda array: np.ones(array.shape, dtype=bool),
}


@pytest.mark.parametrize("change", BAD)
@pytest.mark.parametrize("name", ["away", "held_away", "places", "places.cells", "trained"])
def test_arrays_of_a_scan_that_cannot_be_are_refused(name, change, tmp_path):
    _, arrays = saved("scan")
    with pytest.raises(ModelFileError) as caught:
        load_with(tmp_path, {}, {**arrays, name: BAD[change](arrays[name])})
    assert f"its array '{name}'" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("away", 0.0), ("away", -1.0), ("held_away", -0.1), ("held_away", 1.5), ("trained", 0.0),
     ("trained", -0.5), ("places.cells", 0.5)],
)  # fmt: skip
def test_values_of_a_scan_that_cannot_be_are_refused(name, value, tmp_path):
    _, arrays = saved("scan")
    changed = arrays[name].astype(float)
    changed.flat[0] = value
    with pytest.raises(ModelFileError, match=f"its array '{name}'"):
        load_with(tmp_path, {}, {**arrays, name: changed})


@pytest.mark.parametrize("case", ["exact", "table", "graph"])
def test_what_belongs_to_a_scan_is_refused_elsewhere(case, tmp_path):
    _, scan_arrays = saved("scan")
    _, arrays = saved(case)
    for name in ("away", "places", "places.cells"):
        with pytest.raises(ModelFileError):
            load_with(tmp_path, {}, {**arrays, name: scan_arrays[name]}, case=case)
    with pytest.raises(ModelFileError):
        load_with(tmp_path, {"reach": [1.0, 0]}, case=case)


OF_A_TABLE = (
    "forest.roots", "trees.roots", "linear.slopes", "linear.offsets", "kernel.landmarks", "kernel.scale",
    "kernel.coefficients", "kernel.offsets", "diffusion.logs", "diffusion.sizes", "diffusion.starts",
    "diffusion.columns", "diffusion.values",
)  # fmt: skip


def test_a_table_has_all_that_is_changed_here(tmp_path):
    description, arrays = saved("table")
    assert set(OF_A_TABLE) <= set(arrays)
    assert {f"member1.{name}" for name in OF_A_TABLE if not name.startswith("diffusion")} <= set(arrays)
    assert (description["nodes"]["numbers"], description["spread"]) == (True, 10.0)
    assert len(arrays["opinions"]) == 6
    assert arrays["linear.slopes"].shape == (3 + 2, 2)  # three letters, two numbers
    assert np.isfinite(load_with(tmp_path, {}, case="table").predict_proba(TABLE)).all()


@pytest.mark.parametrize("name", OF_A_TABLE)
def test_what_a_table_lacks_is_refused(name, tmp_path):
    _, arrays = saved("table")
    members = [name] if name.startswith("diffusion") else [name, f"member1.{name}"]
    for missing in members:
        with pytest.raises(ModelFileError) as caught:
            load_with(tmp_path, {}, {k: a for k, a in arrays.items() if k != missing}, case="table")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("expert", ["forest", "trees", "linear", "kernel", "diffusion"])
def test_weights_of_experts_that_are_not_there_are_refused(expert, tmp_path):
    _, arrays = saved("table")
    kept = {k: a for k, a in arrays.items() if not k.removeprefix("member1.").startswith(f"{expert}.")}
    with pytest.raises(ModelFileError, match=r"its array 'opinions' must have the shape \(5,\)"):
        load_with(tmp_path, {}, kept, case="table")


@pytest.mark.parametrize("change", ["not a number", "infinite", "complex", "truth", "negative", "huge"])
@pytest.mark.parametrize("name", OF_A_TABLE)
def test_arrays_of_a_table_that_cannot_be_are_refused(name, change, tmp_path):
    """Nothing is read outside of an array, whatever numbers a file has."""
    _, arrays = saved("table")
    array = arrays[name]
    if change in ("negative", "huge"):
        if array.dtype.kind != "i":
            pytest.skip("slopes and values may be any numbers")
        changed = array.copy()
        changed.flat[-1] = -1 if change == "negative" else 2**31 - 1
    else:
        changed = BAD[change](array)
    with pytest.raises(ModelFileError) as caught:
        load_with(tmp_path, {}, {**arrays, name: changed}, case="table")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("last", [-1, 0])
def test_starts_of_anchors_that_fall_are_refused(last, tmp_path):
    """SciPy does not look at those between, where the last is no more than 0."""
    _, arrays = saved("table")
    starts = arrays["diffusion.starts"].copy()
    starts[1], starts[-1] = 2**30, last
    with pytest.raises(ModelFileError):
        load_with(tmp_path, {}, {**arrays, "diffusion.starts": starts}, case="table")


@pytest.mark.parametrize("sizes", [[0, 5], [60, 5], [-1, 5], [10, 4], [10, 10**12]], ids=str)
def test_a_diffusion_of_other_sizes_is_refused(sizes, tmp_path):
    _, arrays = saved("table")
    with pytest.raises(ModelFileError):
        load_with(tmp_path, {}, {**arrays, "diffusion.sizes": np.array(sizes)}, case="table")


@pytest.mark.parametrize("case", ["exact", "graph", "scan"])
@pytest.mark.parametrize("name", ["linear.slopes", "kernel.scale", "diffusion.logs", "forest.roots"])
def test_what_belongs_to_a_table_is_refused_elsewhere(case, name, tmp_path):
    _, arrays = saved(case)
    with pytest.raises(ModelFileError, match=r"must belong to a table|opinions"):
        load_with(tmp_path, {}, {**arrays, name: saved("table")[1][name]}, case=case)


@pytest.mark.parametrize("spread", [None, 0, -1.0, float("nan"), float("inf"), "10", True, [10.0]], ids=str)
def test_a_spread_that_cannot_be_is_refused(spread, tmp_path):
    with pytest.raises(ModelFileError):
        load_with(tmp_path, {"spread": spread}, case="table")


def test_a_table_of_other_values_is_refused(tmp_path):
    nodes = saved("table")[0]["nodes"]
    encoder = nodes["encoder"]
    fewer = {**encoder, "columns": encoder["columns"][:2]}
    for changed in (
        {**nodes, "numbers": None},
        {**nodes, "numbers": 1},
        {**nodes, "numbers": False},
        {**nodes, "encoder": fewer},
        {**nodes, "encoder": {**encoder, "min_size": 13}},
        {**nodes, "encoder": {**encoder, "columns": []}},
        {key: value for key, value in nodes.items() if key != "numbers"},
    ):
        with pytest.raises(ModelFileError) as caught:
            load_with(tmp_path, {"nodes": changed}, case="table")
        assert "\n" not in str(caught.value)


def test_sets_without_their_sums_are_refused(tmp_path):
    description, arrays = saved("scan")
    plain = {key: value for key, value in description.items() if key not in ("kind", "format")}
    save_tensors(tmp_path / "m", "model", plain, {k: a for k, a in arrays.items() if k != "sets.sums"})
    with pytest.raises(ModelFileError, match=r"'sets\.sums' cannot be sums over cells"):
        PinvGCNClassifier.load(tmp_path / "m")


def test_whole_numbers_stay_exact_and_narrow():
    for values, dtype in (
        ([0, 200], np.uint8), ([-5, 100], np.int8), ([-5, 200], np.int16), ([0, 2**31], np.uint32),
        ([-5, 2**60 + 1], np.int64), ([-(2**40), 3], np.int64),
    ):  # fmt: skip
        array = np.array(values, dtype=np.int64)
        found = narrowed(array, ALONE)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, array)
