"""PLY against bytes that numpy makes."""

from __future__ import annotations

import os

import numpy as np
import pytest

from pinvgcn.errors import DataError, ScanFileError
from pinvgcn.io import open_scan

ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">"}
ENCODINGS = ("ascii", *ORDERS)
SCALARS = {
    "x": ("double", "f8"), "y": ("float", "f4"), "z": ("float32", "f4"), "red": ("uchar", "u1"),
    "signed": ("int8", "i1"), "short": ("short", "i2"), "word": ("uint16", "u2"), "label": ("int", "i4"),
    "count": ("uint", "u4"),
}  # fmt: skip
N = 60


def table(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    made = {}
    for name, (_, code) in SCALARS.items():
        if code[0] == "f":
            made[name] = rng.normal(size=N).astype(code)
        else:
            info = np.iinfo(code)
            made[name] = rng.integers(info.min, info.max, N, endpoint=True, dtype=code)
    return made


def ply(encoding: str, columns: dict[str, np.ndarray], *, around: bool = False) -> bytes:
    """A file with the columns as vertices, and with other elements around them."""
    order = ORDERS.get(encoding, "")
    head = [f"ply\nformat {encoding} 1.0\ncomment made by numpy, with façade"]
    if around:
        head.append("element camera 2\nproperty float f\nproperty short s")
    head.append(f"element vertex {N}")
    names = list(columns)
    head += [f"property {SCALARS[name][0]} {name}" for name in names]
    if around:
        head.append("obj_info something\nelement face 3\nproperty list uint8 int32 vertex_indices")
    head.append("end_header\n")
    body = b""
    if around:
        body += _row(order, [(1.5, "f4"), (7, "i2")]) + _row(order, [(2.5, "f4"), (-8, "i2")])
    for point in range(N):
        body += _row(order, [(columns[name][point], SCALARS[name][1]) for name in names])
    if around:
        for _ in range(3):
            body += _row(order, [(3, "u1"), (0, "i4"), (1, "i4"), (2, "i4")])
    return "\n".join(head).encode("latin-1") + body


def _row(order: str, cells: list) -> bytes:
    if order:
        return b"".join(np.array(value, dtype=order + code).tobytes() for value, code in cells)
    return " ".join(str(np.array(value, dtype=code)) for value, code in cells).encode() + b"\n"


@pytest.mark.parametrize("around", [False, True])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_what_numpy_wrote_is_read(tmp_path, encoding, around):
    path, columns = tmp_path / "scan", table()
    path.write_bytes(ply(encoding, columns, around=around))
    source = open_scan(path)
    assert (source.format, source.count, source.metres) == ("ply", N, None)
    assert list(source.fields) == list(SCALARS)[3:]
    expected = np.stack([columns[axis] for axis in "xyz"], axis=1)
    for size in (7, 1000):
        pieces = list(source.chunks(size))
        points = np.concatenate([piece.points for piece in pieces])
        if encoding == "ascii":  # a float's digits are read as a double's
            points[:, 1:] = points[:, 1:].astype("f4")
        np.testing.assert_array_equal(points, expected)
        for name, dtype in source.fields.items():
            values = np.concatenate([piece.fields[name] for piece in pieces])
            assert values.dtype == dtype == columns[name].dtype
            np.testing.assert_array_equal(values, columns[name])


@pytest.mark.parametrize("around", [False, True])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_copy_is_what_numpy_would_have_written(tmp_path, monkeypatch, encoding, around):
    path, out, columns = tmp_path / "scan.ply", tmp_path / "copy.ply", table()
    content = ply(encoding, columns, around=around)
    path.write_bytes(content)
    source = open_scan(path)
    with source.writer(out, {}):
        pass
    assert out.read_bytes() == content

    rng = np.random.default_rng(1)
    label, chance = rng.integers(0, 9, N).astype("i4"), rng.random(N).astype("f4")
    word = rng.random(N).astype("f8")
    with source.writer(out, {"label": "i4", "chance": "f4", "word": "f8"}) as writer:
        for start in range(0, N, 11):
            some = slice(start, start + 11)
            writer.write({"label": label[some], "chance": chance[some], "word": word[some]})
    monkeypatch.setitem(SCALARS, "chance", ("float", "f4"))
    monkeypatch.setitem(SCALARS, "word", ("double", "f8"))
    changed = columns | {"label": label, "chance": chance, "word": word}
    assert out.read_bytes() == ply(encoding, changed, around=around)
    assert sorted(os.listdir(tmp_path)) == ["copy.ply", "scan.ply"]


@pytest.mark.parametrize(
    ("element", "where"), [("vertex", b"property double x"), ("face", b"element vertex")]
)
def test_lists_in_or_before_the_vertices_are_refused(tmp_path, element, where):
    path = tmp_path / "scan.ply"
    new = b"property list uchar int some\n"
    new = new if element == "vertex" else b"element face 0\n" + new
    path.write_bytes(ply("binary_little_endian", table()).replace(where, new + where))
    with pytest.raises(ScanFileError, match=rf"must be scalars\. Got a list in the element '{element}'"):
        open_scan(path)


def test_types_that_ply_lacks_are_narrowed_or_refused(tmp_path):
    path, out = tmp_path / "scan.ply", tmp_path / "copy.ply"
    path.write_bytes(ply("binary_big_endian", table()))
    source = open_scan(path)
    with source.writer(out, {"class": np.int64, "noise": bool}) as writer:
        writer.write({"class": np.arange(N), "noise": np.arange(N) > 5})
    assert open_scan(out).fields["class"] == np.int32
    np.testing.assert_array_equal(open_scan(out).read().fields["class"], np.arange(N))
    np.testing.assert_array_equal(open_scan(out).read().fields["noise"], np.arange(N) > 5)
    with (
        pytest.raises(DataError, match=r"'class' must fit int32\. Got 4294967296 instead"),
        source.writer(out, {"class": np.int64}) as writer,
    ):
        writer.write({"class": np.full(N, 2**32)})
    with pytest.raises(DataError, match="PLY holds numbers only"):
        source.writer(out, {"class": "U10"})
    with pytest.raises(DataError, match="name without spaces"):
        source.writer(out, {"two words": "f4"})


def test_windows_line_ends(tmp_path):
    path, out = tmp_path / "scan.ply", tmp_path / "copy.ply"
    path.write_bytes(ply("ascii", table()).replace(b"\n", b"\r\n"))
    with open_scan(path).writer(out, {"p": "f4"}) as writer:
        writer.write({"p": np.full(N, 0.5)})
    content = out.read_bytes()
    assert b"property uint count\r\nproperty float p\r\nend_header\r\n" in content
    assert content.count(b"\n") == content.count(b"\r\n")
    assert content.endswith(b" 0.5\r\n")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"element vertex 60", b"element vertex 61", r"promises 61 points. Got 60 instead"),
        (b"element vertex 60", b"element vertex 123456789012345678", r"Got 60 instead"),
        (b"element vertex 60", b"element vertex 0", "holds no points"),
        (b"element vertex 60", b"element vertex -1", "line 4: must be a line of a PLY header"),
        (b"element vertex 60", b"element point 60", "one element 'vertex'. Got point instead"),
        (b"double x", b"double u", r"must have the columns x, y and z. Got u, y, z, red"),
        (b"uchar red", b"uchar label", "'label' more than once"),
        (b"uchar red", b"colour red", "line 8: must be a line of a PLY header. Got 'property colour red'"),
        (b"format binary_little_endian 1.0\n", b"", "must have a line 'format'"),
        (b"end_header\n", b"end_heade", "header does not end"),
    ],
)
def test_a_damaged_header_is_refused(tmp_path, old, new, message):
    path = tmp_path / "scan.ply"
    content = ply("binary_little_endian", table())
    assert old in content
    path.write_bytes(content.replace(old, new))
    with pytest.raises(ScanFileError, match=message):
        open_scan(path)


def test_an_infinite_coordinate_is_named(tmp_path):
    path, columns = tmp_path / "scan.ply", table()
    columns["y"][[41, 50]] = np.inf
    path.write_bytes(ply("binary_little_endian", columns))
    with pytest.raises(ScanFileError, match=r"at point 41 \(counted from 0\) and 1 more like it"):
        open_scan(path).read()


def test_a_word_among_numbers_is_named_with_its_line(tmp_path):
    path = tmp_path / "scan.ply"
    lines = ply("ascii", table()).split(b"\n")
    start = lines.index(b"end_header") + 1
    lines[start + 5] = b"tree " + lines[start + 5].split(b" ", 1)[1]
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(ScanFileError, match=rf"line {start + 6}: column 'x' must hold a number. Got 'tree'"):
        open_scan(path).read()
