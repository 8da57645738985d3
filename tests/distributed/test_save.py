"""The file that ranks write together is the file of one process with all rows."""

from __future__ import annotations

import os

import numpy as np
import pytest
from ranks import SIZES, shares
from test_fit import cloud, table

from pinvgcn import PinvGCNClassifier
from pinvgcn.distributed.group import Group
from pinvgcn.errors import ModelFileError
from pinvgcn.io.tensors import load_tensors, save_tensors

CASES = {
    "cloud": (
        cloud,
        {"sigma": 3.0, "rank": 8, "epochs": 5, "members": 2, "trees": 4}
        | {"neighbours": 4, "priors": "estimated"},
    ),
    "table": (table, {"graph": "categorical", "epochs": 5, "members": 2}),
}


pytestmark = pytest.mark.usefixtures("double")


def saved(process_group, name, kind, path):
    data, settings = CASES[name]
    X, y, _ = data()
    mine = slice(0, len(X))
    if process_group is not None:
        mine = shares(len(X), process_group.size(), kind)[process_group.rank()]
    model = PinvGCNClassifier(**settings).fit(X[mine], y[mine], process_group=process_group)
    model.save(path, about={"written": "together"})
    return os.path.exists(path)  # when save returns it is there, for every rank


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("size", "kind"), [(2, "uneven"), (4, "empty")])
def test_it_is_the_file_of_one_process(ranks, size, kind, name, tmp_path):
    saved(None, name, "", tmp_path / "one")
    assert ranks.run(size, saved, name, kind, tmp_path / "several") == [True] * size
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one", "several"]
    (about, one), (told, several) = (load_tensors(tmp_path / file, "model") for file in ("one", "several"))
    assert {**about, "timings": None, "spectrum": None} == {**told, "timings": None, "spectrum": None}
    # cells in which several ranks have points are there several times
    cells = {key for key in one if key.startswith(("around.", "shapes.", "sets.sums", "first."))}
    assert set(one) == set(several)
    assert {key: (one[key].shape, one[key].dtype) for key in set(one) - cells} == {
        key: (several[key].shape, several[key].dtype) for key in set(one) - cells
    }
    for key in cells:
        assert len(several[key]) >= len(one[key])
        if not key.endswith(("keys", "height")):
            np.testing.assert_allclose(several[key].sum(axis=0), one[key].sum(axis=0), rtol=1e-6)
    for key in set(one) - cells:
        array = one[key]
        if key.startswith("spectrum.") and key.removeprefix("spectrum.") in ("residuals", "noise"):
            continue  # rounding itself
        np.testing.assert_allclose(several[key], array, atol=1e-6, rtol=1e-6, err_msg=key)
    X = CASES[name][0]()[0]
    first, second = (PinvGCNClassifier.load(tmp_path / file) for file in ("one", "several"))
    if first.fitted_.smoothing.around is not None:  # added up, they are the cells of one process
        one_sums, all_sums = (in_order(model.fitted_.smoothing.around) for model in (first, second))
        np.testing.assert_array_equal(all_sums[0], one_sums[0])
        np.testing.assert_array_equal(all_sums[1], one_sums[1])
        # whole numbers of 2⁻²⁴: a point whose probability lies between two may go either way, by one
        apart = np.abs(all_sums[2].astype(np.int64) - one_sums[2].astype(np.int64))
        assert (apart <= np.minimum(one_sums[1], 4)[:, None]).all()
    np.testing.assert_allclose(second.predict_proba(X), first.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(second.predict_set(X, coverage=0.5), first.predict_set(X, coverage=0.5))


def in_order(around):
    order = np.lexsort(around.keys.T)
    return around.keys[order], around.counts[order], around.sums[order]


ARRAYS = {
    "b": np.arange(14.0).reshape(7, 2),
    "a": np.arange(42, dtype=np.int32).reshape(2, 7, 3),
    "small": np.array([1 + 2j, 3 - 0j]),
    "flags": np.array([True, False, True]),
    "none": np.empty((0, 3), dtype=np.float32),
}
AXES = {"b": 0, "a": 1}


def written(process_group, kind, path):
    group = Group.of(process_group)
    mine = shares(7, group.size, kind)[group.rank]
    arrays = {**ARRAYS, "b": ARRAYS["b"][mine], "a": ARRAYS["a"][:, mine]}
    try:
        save_tensors(path, "test", {"said": "ü"}, arrays, by_node=AXES, group=group)
    except ModelFileError as error:
        return str(error)
    return None


@pytest.mark.parametrize("kind", ["even", "uneven", "empty"])
@pytest.mark.parametrize("size", SIZES)
def test_rows_of_all(ranks, size, kind, tmp_path):
    assert ranks.run(size, written, kind, tmp_path / "several") == [None] * size
    about, arrays = load_tensors(tmp_path / "several", "test")
    assert about["said"] == "ü"
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype


def test_what_cannot_be_written_is_said_by_all(ranks, tmp_path):
    said = ranks.run(2, written, "even", tmp_path / "not there" / "file")
    assert said[0] == said[1]
    assert said[0].startswith("Rank 0: ")
    assert "could not be written" in said[0]
