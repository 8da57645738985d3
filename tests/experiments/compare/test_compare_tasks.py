"""Files become tasks: what is shown, what is scored, what is seen."""

from __future__ import annotations

from pathlib import Path

import laspy
import numpy as np
import pandas as pd
import pytest

from pinvgcn.errors import ColumnError, DataError, LabelError, ParameterError
from pinvgcn.experiments.task import classes_of, load_task


@pytest.fixture
def las(tmp_path: Path) -> Path:
    """Nine points: ground, high vegetation, a class of the user's own, and two that nobody classified."""
    scan = laspy.LasData(laspy.LasHeader(point_format=7, version="1.4"))
    scan.x, scan.y, scan.z = np.arange(27.0).reshape(3, 9)
    scan.intensity = np.arange(9)
    scan.red = np.full(9, 7)  # tells nothing
    scan.gps_time = np.arange(9.0)  # tells the scanner's tour, not the thing
    scan.classification = [2, 2, 2, 5, 5, 65, 65, 1, 1]
    path = tmp_path / "village.las"
    scan.write(path)
    return path


def test_a_scan(las: Path) -> None:
    task = load_task(str(las), labels="classification", unlabelled=("1",))
    assert (task.name, task.title, task.kind, task.per_class) == ("village", "village.las", "points", 100)
    assert task.class_names == ("ground", "high vegetation", "user class 65")
    np.testing.assert_array_equal(task.y, [0, 0, 0, 1, 1, 2, 2, -1, -1])
    np.testing.assert_allclose(task.X, np.arange(27.0).reshape(3, 9).T)
    np.testing.assert_array_equal(task.extra, np.arange(9.0)[:, None])
    assert task.surroundings


def test_the_field_of_classes_is_no_feature(las: Path) -> None:
    task = load_task(str(las), labels="intensity")
    assert task.class_names == tuple("012345678")
    assert task.extra is None


def test_a_scan_in_text(tmp_path: Path) -> None:
    path = tmp_path / "scan.csv"
    rows = pd.DataFrame(
        {"x": [0.5, 1, 2, 3], "y": [0.5, 1, 2, 3], "z": [0.5, 1, 2, 3], "label": [4, 4, 9, 9]}
    )
    rows.to_csv(path, index=False)
    task = load_task(str(path), labels="label", per_class=1)
    assert (task.class_names, task.per_class) == (("4", "9"), 1)
    np.testing.assert_array_equal(task.y, [0, 0, 1, 1])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table(tmp_path: Path, ending: str) -> None:
    n = 40
    frame = pd.DataFrame(
        {
            "colour": ["red", "blue"] * 20,
            "size": np.linspace(0, 1, n) ** 2,
            "name": [f"row {i} of many" for i in range(n)],  # an identifier, which nobody may see
            "kind": (["oak", "elm"] * 19) + [None, "?" if ending == "csv" else None],
        }
    )
    path = tmp_path / f"trees.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
    task = load_task(str(path), target="kind")
    assert (task.name, task.kind, task.per_class, task.surroundings) == ("trees", "table", 10, False)
    assert task.class_names == ("elm", "oak")
    np.testing.assert_array_equal(task.y, [1, 0] * 19 + [-1, -1])
    assert list(task.X.columns) == ["colour", "size"]
    np.testing.assert_allclose(task.X["size"], frame["size"])


def test_values_that_mean_no_class(tmp_path: Path) -> None:
    y, names = classes_of(pd.Series([2.0, 3.5, 0.0, np.nan, 2.0]), "f", ("0",))
    np.testing.assert_array_equal(y, [0, 1, -1, -1, 0])
    assert names == ("2", "3.5")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ParameterError, r"Got neither --labels FIELD, for a scan, nor --target COLUMN"),
        ({"labels": "class"}, DataError, r"has no field 'class'"),
        ({"labels": "classification", "target": "x"}, ParameterError, r"Got both, 'classification' and 'x'"),
        ({"labels": "classification", "unlabelled": ("9",)}, ParameterError, r"Got '9', which no row has"),
        ({"labels": "red"}, LabelError, r"'red' must hold 2 to 256 classes. Got 1 \(7\)"),
    ],
)
def test_bad_choices_for_a_scan(las: Path, options: dict, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        load_task(str(las), **options)


def test_bad_choices_for_a_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("size,kind\n" + "\n".join(f"{i}.5,{'ab'[i % 2]}" for i in range(400)))
    with pytest.raises(ColumnError, match=r"has no column 'sort'"):
        load_task(str(path), target="sort")
    with pytest.raises(LabelError, match=r"'size' must hold 2 to 256 classes. Got 400 \(0.5, 1.5"):
        load_task(str(path), target="size")


def test_names_have_their_classes() -> None:
    with pytest.raises(ParameterError, match=r"--target belongs to a file. Got the data set 'mushroom'"):
        load_task("mushroom", target="class")
    with pytest.raises(ParameterError, match=r"--unlabelled belongs to a file"):
        load_task("mushroom", unlabelled=("x",))
