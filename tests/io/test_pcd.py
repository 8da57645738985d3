"""PCD against bytes that numpy makes; pypcd4 where it is installed."""

from __future__ import annotations

import struct

import lzf
import numpy as np
import pytest

from pinvgcn.errors import DataError, ScanFileError
from pinvgcn.io import open_scan

ENCODINGS = ("ascii", "binary", "binary_compressed")
N = 50
FIELDS = {
    "x": ("f4", 1), "y": ("f4", 1), "z": ("f8", 1), "_": ("u1", 4), "rgb": ("f4", 1), "label": ("u4", 1),
    "normal": ("f4", 3), "ring": ("i2", 1), "time": ("i8", 1),
}  # fmt: skip


def table(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    made = {}
    for name, (code, count) in FIELDS.items():
        shape = (N, count)
        made[name] = (
            rng.normal(size=shape).astype(code) if code[0] == "f" else rng.integers(0, 99, shape).astype(code)
        )
    return made


def pcd(encoding: str, columns: dict[str, np.ndarray], fields: dict[str, tuple[str, int]] = FIELDS) -> bytes:
    if encoding != "binary":  # padding makes sense in packed rows only
        fields = {name: field for name, field in fields.items() if name != "_"}
    codes = [code for code, _ in fields.values()]
    head = "\n".join(
        [
            "# .PCD v0.7 - Point Cloud Data file format",
            "VERSION 0.7",
            "FIELDS " + " ".join(fields),
            "SIZE " + " ".join(code[1] for code in codes),
            "TYPE " + " ".join(code[0].upper() for code in codes),
            "COUNT " + " ".join(str(count) for _, count in fields.values()),
            "WIDTH 10\nHEIGHT 5\n# a grid\nVIEWPOINT 0 0 0 1 0 0 0",
            f"POINTS {N}\nDATA {encoding}\n",
        ]
    ).encode()
    if encoding == "ascii":
        rows = [np.concatenate([columns[name][k].astype(str) for name in fields]) for k in range(N)]
        return head + b"".join(" ".join(row).encode() + b"\n" for row in rows)
    if encoding == "binary":
        return head + b"".join(columns[name][k].tobytes() for k in range(N) for name in fields)
    content = b"".join(columns[name].tobytes() for name in fields)
    packed = lzf.compress(content, 2 * len(content))
    return head + struct.pack("<II", len(packed), len(content)) + packed


def expected_fields(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    flat = {}
    for name, (_, count) in FIELDS.items():
        if name not in ("x", "y", "z", "_"):
            flat |= {(name if count == 1 else f"{name}[{k}]"): columns[name][:, k] for k in range(count)}
    return flat


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_numpy_wrote_is_read(tmp_path, encoding):
    path, columns = tmp_path / "scan", table()
    path.write_bytes(pcd(encoding, columns))
    source = open_scan(path)
    assert (source.format, source.count, source.metres) == ("pcd", N, None)
    fields = expected_fields(columns)
    assert {name: values.dtype for name, values in fields.items()} == source.fields
    for size in (7, 1000):
        pieces = list(source.chunks(size))
        points = np.concatenate([piece.points for piece in pieces])
        if encoding == "ascii":  # a float's digits are read as a double's
            points[:, :2] = points[:, :2].astype("f4")
        np.testing.assert_array_equal(points, np.concatenate([columns[axis] for axis in "xyz"], axis=1))
        for name, values in fields.items():
            np.testing.assert_array_equal(np.concatenate([piece.fields[name] for piece in pieces]), values)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_copy_is_what_numpy_would_have_written(tmp_path, encoding):
    path, out, columns = tmp_path / "scan.pcd", tmp_path / "copy.pcd", table()
    path.write_bytes(pcd(encoding, columns))
    source = open_scan(path)
    with source.writer(out, {}):
        pass
    # what is packed by columns is unpacked in the copy
    fields, kept = FIELDS, encoding
    if encoding == "binary_compressed":
        fields, kept = {name: field for name, field in FIELDS.items() if name != "_"}, "binary"
    assert out.read_bytes() == pcd(kept, columns, fields)

    rng = np.random.default_rng(1)
    label, chance = rng.integers(0, 9, N).astype("u4"), rng.random(N).astype("f4")
    ring, normal = rng.random(N), rng.random(N).astype("f4")
    new = {"label": label, "chance": chance, "ring": ring, "normal[1]": normal}
    with source.writer(out, {name: column.dtype for name, column in new.items()}) as writer:
        for start in range(0, N, 11):
            writer.write({name: column[start : start + 11] for name, column in new.items()})
    changed = columns | {"label": label[:, None], "chance": chance[:, None], "ring": ring[:, None]}
    changed["normal"] = np.stack([columns["normal"][:, 0], normal, columns["normal"][:, 2]], axis=1)
    fields = fields | {"ring": ("f8", 1), "chance": ("f4", 1)}
    assert out.read_bytes() == pcd(kept, changed, fields)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_pypcd4_reads_a_copy(tmp_path, encoding):
    pypcd4 = pytest.importorskip("pypcd4", reason="pypcd4 is not installed")
    path, out, columns = tmp_path / "scan.pcd", tmp_path / "copy.pcd", table()
    plain = {name: field for name, field in FIELDS.items() if field[1] == 1}
    path.write_bytes(pcd(encoding, columns, plain))
    with open_scan(path).writer(out, {"class": "u1"}) as writer:
        writer.write({"class": np.arange(N) % 7})
    cloud = pypcd4.PointCloud.from_path(out)
    assert cloud.fields == (*plain, "class")
    for name in plain:
        np.testing.assert_array_equal(cloud.pc_data[name], columns[name][:, 0])
    np.testing.assert_array_equal(cloud.pc_data["class"], np.arange(N) % 7)


def test_noise_that_does_not_compress_is_packed_all_the_same(tmp_path):
    path, out = tmp_path / "scan.pcd", tmp_path / "copy.pcd"
    path.write_bytes(pcd("binary_compressed", table()))
    noise = np.random.default_rng(0).random(N)
    with open_scan(path).writer(out, {"noise": "f8"}) as writer:
        writer.write({"noise": noise})
    np.testing.assert_array_equal(open_scan(out).read().fields["noise"], noise)


def test_points_can_be_counted_by_width_and_height(tmp_path):
    path = tmp_path / "scan.pcd"
    path.write_bytes(pcd("ascii", table()).replace(b"POINTS 50\n", b""))
    assert open_scan(path).count == N


def test_an_element_keeps_the_type_of_its_field(tmp_path):
    path = tmp_path / "scan.pcd"
    path.write_bytes(pcd("binary", table()))
    with pytest.raises(
        DataError, match=r"'normal\[1\]' is one element of a field .* must keep its type float32"
    ):
        open_scan(path).writer(tmp_path / "copy.pcd", {"normal[1]": "f8"})


@pytest.mark.parametrize(
    ("encoding", "old", "new", "message"),
    [
        ("binary", b"POINTS 50", b"POINTS 51", r"promises 51 points\. Got 50 instead"),
        ("ascii", b"POINTS 50", b"POINTS 51", r"must hold 51 points\. Got 50 instead"),
        ("ascii", b"POINTS 50", b"POINTS 99999999999", r"promises 99,999,999,999 points\. Got at most"),
        ("binary_compressed", b"POINTS 50", b"POINTS 51", r"promises points of 2,346 bytes\. Got 2,300"),
        ("binary", b"POINTS 50", b"POINTS 0", "holds no points"),
        ("binary", b"POINTS 50", b"POINTS many", r"POINTS must be a number\. Got 'many'"),
        ("binary", b"TYPE F F F", b"TYPE F F Q", "no type of PCD is 'Q' of size '8'"),
        ("binary", b"SIZE 4 4 8", b"SIZE 4 4 3", "no type of PCD is 'F' of size '3'"),
        ("binary", b"SIZE 4 4 8", b"SIZE 4 4", r"must be equally long\. Got 9, 8, 9 and 9"),
        ("binary", b"COUNT 1 1 1 4", b"COUNT 1 1 1 99999999", "COUNT must be 1 or a few"),
        ("binary", b"FIELDS x y z", b"FIELDS a y z", r"must have the columns x, y and z\. Got a, y, z"),
        ("binary", b"DATA binary", b"DATA zipped", "DATA must be one of ascii, binary, binary_compressed"),
        ("binary", b"DATA binary\n", b"", "must be a line of a PCD header"),
        ("binary", b"VIEWPOINT", b"VIEWPOINTS", "line 10: must be a line of a PCD header"),
    ],
)
def test_damage_is_refused(tmp_path, encoding, old, new, message):
    path = tmp_path / "scan.pcd"
    content = pcd(encoding, table())
    assert old in content
    path.write_bytes(content.replace(old, new))
    with pytest.raises(ScanFileError, match=message):
        open_scan(path).read()


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_gaps_of_an_organised_cloud_are_named(tmp_path, encoding):
    path, columns = tmp_path / "scan.pcd", table()
    columns["x"][7] = np.nan
    path.write_bytes(pcd(encoding, columns))
    with pytest.raises(
        ScanFileError, match=r"coordinates must be finite. Got \(nan, .* at (point 7 |line 20)"
    ):
        open_scan(path).read()
