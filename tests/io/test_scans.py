"""What holds for scans of every format: the interface, and what happens when something goes wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from las_files import write_las
from scan_files import SCANS, write_scans

from pinvgcn.errors import DataError, ParameterError, ScanFileError
from pinvgcn.io import ScanChunk, open_scan
from pinvgcn.io.las import class_name

COLUMNS = {"classification": np.uint8, "confidence": np.float32}


@pytest.fixture(scope="session")
def scans(tmp_path_factory):
    return write_scans(tmp_path_factory.mktemp("scans"))


def results(count: int) -> dict[str, np.ndarray]:
    return {"classification": np.arange(count) % 32, "confidence": np.linspace(0, 1, count)}


@pytest.mark.parametrize("name", SCANS)
def test_pieces_of_any_size_are_the_whole(scans, name):
    source = open_scan(scans[name])
    whole = source.read()
    assert isinstance(whole, ScanChunk)
    assert (len(whole), whole.start, whole.points.dtype) == (source.count, 0, np.float64)
    assert list(whole.fields) == list(source.fields)
    assert str(source.path) in repr(source)
    for size in (1, 33, source.count, 10**9):
        pieces = list(source.chunks(size))
        assert [piece.start for piece in pieces] == list(range(0, source.count, size))
        np.testing.assert_array_equal(np.concatenate([piece.points for piece in pieces]), whole.points)
        for field in source.fields:
            joined = np.concatenate([piece.fields[field] for piece in pieces])
            np.testing.assert_array_equal(joined, whole.fields[field])
    some = list(source.fields)[:1]
    assert list(source.read(fields=some).fields) == some
    assert source.read(fields=[]).fields == {}


@pytest.mark.parametrize("name", SCANS)
def test_results_are_read_back(scans, name, tmp_path):
    source, out = open_scan(scans[name]), tmp_path / f"out-{name}"
    values = results(source.count)
    with source.writer(out, COLUMNS) as writer:
        for first, last in ((0, 1), (1, 30), (30, source.count)):
            writer.write({field: column[first:last] for field, column in values.items()})
    before, after = source.read(), open_scan(out).read()
    assert open_scan(out).format == source.format
    np.testing.assert_array_equal(after.points, before.points)
    last = list(after.fields)[-2:] if "classification" not in after.fields else COLUMNS
    for field, found in zip(COLUMNS, last, strict=True):  # without a header columns have no names
        np.testing.assert_array_equal(
            after.fields[found].astype(COLUMNS[field]), values[field].astype(COLUMNS[field])
        )
    for field in before.fields:
        if field != "classification":
            np.testing.assert_array_equal(after.fields[field], before.fields[field])
    assert os.listdir(tmp_path) == [out.name]


@pytest.mark.parametrize("name", SCANS)
def test_a_file_may_take_the_place_of_its_source(scans, name, tmp_path):
    path = tmp_path / name
    path.write_bytes(scans[name].read_bytes())
    source = open_scan(path)
    points = source.read().points
    with source.writer(path, COLUMNS) as writer:
        writer.write(results(source.count))
    np.testing.assert_array_equal(open_scan(path).read().points, points)


@pytest.mark.parametrize("ending", ["ply", "pcd", "csv", "tsv", "xyz", "csv.gz"])
@pytest.mark.parametrize("name", ["new.laz", "big.ply", "packed.pcd", "german.csv"])
def test_another_format_holds_the_same_numbers(scans, name, ending, tmp_path):
    source, out = open_scan(scans[name]), tmp_path / f"out.{ending}"
    values = {"label": np.arange(source.count) % 5, "p": np.linspace(0, 1, source.count, dtype=np.float32)}
    with source.writer(out, {"label": np.uint8, "p": np.float32}) as writer:
        for first, last in ((0, 1), (1, 30), (30, source.count)):
            writer.write({field: column[first:last] for field, column in values.items()})
    before, converted = source.read(), open_scan(out)
    after = converted.read()
    assert converted.format == (ending if ending in ("ply", "pcd") else "text")
    np.testing.assert_array_equal(after.points, before.points)
    for field in before.fields:
        expected = values["label"] if field == "label" else before.fields[field]
        np.testing.assert_array_equal(after.fields[field].astype(expected.dtype), expected)
    np.testing.assert_array_equal(after.fields["p"].astype(np.float32), values["p"])
    assert os.listdir(tmp_path) == [out.name]


def test_another_format_has_room_for_other_classes(scans, tmp_path):
    """What point format 3 could not hold."""
    source = open_scan(scans["old.las"])
    with source.writer(tmp_path / "out.ply", {"classification": np.uint8}) as writer:
        writer.write({"classification": np.full(source.count, 65)})
    assert (open_scan(tmp_path / "out.ply").read().fields["classification"] == 65).all()


PLY = b"ply\nformat ascii 1.0\nelement vertex 1\n"
PCD = b"VERSION .7\nFIELDS x y z h\nSIZE 4 4 4 1\nTYPE F F F U\nCOUNT 1 1 1 60000\nPOINTS 9\nDATA ascii\n1\n"
WIDE = {
    "ply": PLY + b"property uchar p\n" * 50_000 + b"end_header\n1\n",
    "long.ply": PLY + b"property double p\n" * 50_000 + b"end_header\n1\n",
    "pcd": PCD,
    "csv": b"," * 60_000 + b"\n" + b"1," * 30_000 + b"\n",
    "xyz": b"1 2 3" + b" 4" * 30_000 + b"\n",
    "header.csv": b"x,y,z" + b",a" * 30_000 + b"\n",
}


@pytest.mark.parametrize("name", WIDE)
def test_very_many_columns_take_no_ages(tmp_path, name):
    path = tmp_path / "scan"
    path.write_bytes(WIDE[name])
    before = time.process_time()
    with pytest.raises(ScanFileError):
        open_scan(path)
    assert time.process_time() - before < 10


def test_words_have_no_place_in_ply(tmp_path):
    path = tmp_path / "scan.csv"
    path.write_text("x,y,z,what\n1,2,3,tree\n")
    with pytest.raises(DataError, match="PLY holds numbers only: column 'what'"):
        open_scan(path).writer(tmp_path / "out.ply", {})


class Boom(Exception):
    pass


@pytest.mark.parametrize("error", [Boom, KeyboardInterrupt])
@pytest.mark.parametrize("name", SCANS)
def test_an_interrupted_writer_leaves_what_was_there(scans, name, tmp_path, error):
    source, out = open_scan(scans[name]), tmp_path / f"out-{name}"
    out.write_text("what was there")
    some = {field: column[:10] for field, column in results(source.count).items()}
    with pytest.raises(error), source.writer(out, COLUMNS) as writer:  # noqa: PT012
        writer.write(some)
        raise error
    assert os.listdir(tmp_path) == [out.name]
    assert out.read_text() == "what was there"


@pytest.mark.parametrize("name", SCANS)
def test_fewer_or_more_values_than_points_are_refused(scans, name, tmp_path):
    source, out = open_scan(scans[name]), tmp_path / f"out-{name}"
    short = {field: column[:-1] for field, column in results(source.count).items()}
    with (
        pytest.raises(
            DataError, match=rf"has {source.count} points\. Got values for {source.count - 1} only"
        ),
        source.writer(out, COLUMNS) as writer,
    ):
        writer.write(short)
    with (
        pytest.raises(
            DataError, match=rf"has {source.count} points\. Got values for {source.count + 9} instead"
        ),
        source.writer(out, COLUMNS) as writer,
    ):
        writer.write(results(source.count + 9))
    assert os.listdir(tmp_path) == []


def test_wrong_columns_are_refused(scans, tmp_path):
    source, out = open_scan(scans["old.las"]), tmp_path / "out.las"
    with pytest.raises(DataError, match="must not be called 'X'"):
        source.writer(out, {"X": np.uint8})
    with pytest.raises(DataError, match="must be of numbers or text"):
        source.writer(out, {"when": "M8[s]"})
    with pytest.raises(DataError, match="LAS holds numbers only"):
        source.writer(out, {"what": "U5"})
    with pytest.raises(DataError, match="name of 1 to 32 bytes"):
        source.writer(out, {"a" * 33: "f4"})
    with pytest.raises(ParameterError, match="format must be one of"):
        source.writer(out, COLUMNS, format="e57")
    with pytest.raises(DataError, match="must be used in a with statement"):
        source.writer(out, COLUMNS).write(results(100))
    for wrong, message in (
        ({"classification": [1]}, "the columns classification, confidence. Got classification instead"),
        ({"classification": [1, 2], "confidence": [0.5]}, r"must be equally long\. Got lengths \[1, 2\]"),
        ({"classification": [[1]], "confidence": [0.5]}, r"must be one-dimensional\. Got shape \(1, 1\)"),
        ({"classification": [1.5], "confidence": [0.5]}, r"must fit uint8\. Got 1\.5 instead"),
        ({"classification": [-1], "confidence": [0.5]}, r"must fit uint8\. Got -1 instead"),
        ({"classification": [1], "confidence": [1e200]}, r"must fit float32\. Got 1e\+200 instead"),
        ({"classification": ["a"], "confidence": [1]}, "'classification' must be numbers"),
    ):  # fmt: skip
        with pytest.raises(DataError, match=message), source.writer(out, COLUMNS) as writer:
            writer.write(wrong)
    assert os.listdir(tmp_path) == []


def test_unknown_fields_are_answered_with_the_known_ones(scans):
    source = open_scan(scans["table.csv"])
    with pytest.raises(DataError, match=r"has no field 'lable'; did you mean 'label'\? Its fields: label\."):
        source.chunks(fields=["lable"])
    with pytest.raises(DataError, match="did you mean 'classification'"):
        open_scan(scans["old.las"]).read(fields=["Classification"])
    with pytest.raises(ParameterError, match="size must be"):
        source.chunks(0)


def test_paths_that_cannot_be_read(tmp_path):
    with pytest.raises(ScanFileError, match="which is a folder"):
        open_scan(tmp_path)
    with pytest.raises(ScanFileError, match=r"There is no file .*nothing\.las"):
        open_scan(tmp_path / "nothing.las")
    (tmp_path / "empty.las").touch()
    with pytest.raises(ScanFileError, match="is empty"):
        open_scan(tmp_path / "empty.las")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ScanFileError, match="a device or a pipe"):
        open_scan(tmp_path / "pipe")
    for start, what in ((b"PAR1", "a Parquet table"), (b"PK\x03\x04", "a zip")):
        (tmp_path / "other").write_bytes(start + bytes(100))
        with pytest.raises(ScanFileError, match=f"is {what}.*LAS, LAZ, E57, PLY, PCD and text"):
            open_scan(tmp_path / "other")
    (tmp_path / "other").write_bytes(bytes(range(256)))
    with pytest.raises(ScanFileError, match="of no known format"):
        open_scan(tmp_path / "other")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_paths_without_permission(scans, tmp_path):
    source = open_scan(scans["old.las"])
    secret, shut = tmp_path / "secret.las", tmp_path / "shut"
    secret.write_bytes(b"LASF")
    secret.chmod(0)
    with pytest.raises(ScanFileError, match="Permission denied"):
        open_scan(secret)
    shut.mkdir(mode=0o500)
    with pytest.raises(ParameterError, match="cannot be written: permission denied"):
        source.writer(shut / "out.las", {})
    secret.chmod(0o400)
    with pytest.raises(ParameterError, match="cannot be written: permission denied"):
        source.writer(secret, {})


def test_targets_that_cannot_be_written(scans, tmp_path):
    source = open_scan(scans["old.las"])
    with pytest.raises(ParameterError, match=r"Got the folder .*; add a file name"):
        source.writer(tmp_path, {})
    with pytest.raises(ParameterError, match="folder must exist"):
        source.writer(tmp_path / "none" / "out.las", {})
    with pytest.raises(ScanFileError, match=r"is PLY and cannot be written as LAZ .*\.laz"):
        open_scan(scans["big.ply"]).writer(tmp_path / "out.laz", {})


FULL = """
import resource, signal, sys
import numpy as np
from pinvgcn.errors import ScanFileError
from pinvgcn.io import open_scan
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for path in sys.argv[2:]:
    source = open_scan(path)
    ending = path.split("/")[-1]
    for limit in (100, 1500):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            with source.writer(sys.argv[1] + "/" + ending, {"p": np.float64}) as writer:
                writer.write({"p": np.random.default_rng(0).random(source.count)})
            print(ending, "was written")
        except ScanFileError as error:
            print(str(error).split("/")[-1])
"""


def test_a_full_disk_is_said_and_leaves_nothing(scans, tmp_path):
    """A limit of file sizes fails as a full disk does: in the middle of a write."""
    run = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path, *map(str, scans.values())],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    expected = [f"{name} could not be written (File too large); nothing was left there." for name in SCANS]
    assert run.stdout.splitlines() == [line for line in expected for _ in range(2)], run.stderr
    assert os.listdir(tmp_path) == []


def test_a_device_that_is_full(scans, monkeypatch, tmp_path):
    """/dev/full has no room for anything."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    for name in ("old.las", "old.laz", "plain.xyz", "plain.xyz.gz", "packed.pcd"):
        writer = open_scan(scans[name]).writer(tmp_path / name, {})
        opened = writer._open
        monkeypatch.setattr(writer, "_open", lambda path, opened=opened: opened(Path("/dev/full")))
        with pytest.raises(ScanFileError, match=r"could not be written \(No space left on device\)"), writer:
            pass


def test_a_source_that_shrinks_while_it_is_copied_is_noticed(tmp_path):
    path, out = tmp_path / "scan.las", tmp_path / "out.las"
    write_las(path, n=5000)
    source = open_scan(path)
    with (  # noqa: PT012
        pytest.raises(ScanFileError, match=r"scan\.las (is damaged|ended|is truncated)"),
        source.writer(out, COLUMNS) as writer,
    ):
        os.truncate(path, 2000)
        writer.write(results(source.count))
    assert os.listdir(tmp_path) == ["scan.las"]


@pytest.mark.parametrize("name", ["scan.las", "scan.laz", "scan.csv"])
def test_memory_does_not_grow_with_the_file(tmp_path, name, monkeypatch):
    """Many points, a few at a time."""
    path, out = tmp_path / name, tmp_path / f"out-{name}"
    if name == "scan.csv":
        rows = np.random.default_rng(0).normal(size=(50_000, 3))
        path.write_text("x,y,z\n" + "".join(f"{x:.3f},{y:.3f},{z:.3f}\n" for x, y, z in rows.tolist()))
        monkeypatch.setattr("pinvgcn.io.text.BLOCK", 1 << 16)
        monkeypatch.setattr("pinvgcn.io.text_scan.PIECE", 4000)
    else:
        write_las(path, 6, "1.4", 200_000)
    tracemalloc.start()
    source = open_scan(path)
    with source.writer(out, COLUMNS) as writer:
        for piece in source.chunks(5000 if name != "scan.csv" else 1000):
            writer.write(results(len(piece)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < (2e6 if name == "scan.csv" else 6e6)  # the whole would be 5 MB as lines, 20 MB as fields


def test_class_names():
    assert [class_name(number) for number in (0, 2, 6, 18, 23, 64, 200)] == [
        "never classified", "ground", "building", "high noise", "reserved class 23", "user class 64",
        "user class 200",
    ]  # fmt: skip
