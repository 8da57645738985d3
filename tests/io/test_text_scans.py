"""XYZ, CSV and TSV against pandas and against the characters themselves."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinvgcn.errors import ScanFileError
from pinvgcn.io import open_scan

ROWS = [
    (1.5, -2.25, 3e3, 7, "tree"),
    (0.1, 1e-9, -0.0, -8, "a house"),
    (123456789.123456789, 2.0, 3.0, 0, ""),
]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("header", [None, "x{0}y{0}z{0}count{0}what\n", "//X{0}Y{0}Z{0}count{0}what\n"])
@pytest.mark.parametrize(
    ("separator", "decimal"), [(",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ","), ("|", ",")]
)
def test_dialects_are_recognised(tmp_path, separator, decimal, header, end):
    path = tmp_path / "scan.txt"
    text = "# made for a test\n\n" + (header or "").format(separator)
    for *numbers, what in ROWS:
        text += separator.join([*(str(number).replace(".", decimal) for number in numbers), what]) + "\n"
    text = text.replace("\n", end)
    path.write_bytes(text.encode())
    source = open_scan(path)
    names = ["count", "what"] if header else ["column_4", "column_5"]
    assert (source.format, source.count, source.metres, list(source.fields)) == ("text", 3, None, names)
    whole = source.read()
    assert whole.points.tolist() == [list(row[:3]) for row in ROWS]
    assert whole.fields[names[0]].dtype == np.int64
    assert whole.fields[names[0]].tolist() == [7, -8, 0]
    assert whole.fields[names[1]].tolist() == ["tree", "a house", ""]


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("between", [" ", "   ", "\t", " \t "])
def test_white_space_separates(tmp_path, between, decimal):
    path = tmp_path / "scan.xyz"
    lines = ["  " + between.join(f"{v:.3f}" for v in row) for row in np.arange(12).reshape(4, 3) / 8]
    path.write_text("\n".join(lines).replace(".", decimal))
    assert open_scan(path).read().points.tolist() == np.round(np.arange(12).reshape(4, 3) / 8, 3).tolist()


def test_the_columns_of_the_coordinates_may_stand_anywhere(tmp_path):
    path = tmp_path / "scan.csv"
    path.write_text('id,"Z",label,X,y\n1,3,5,1,2\n2,6,,4,5\n')
    source = open_scan(path)
    assert list(source.fields.items()) == [("id", np.int64), ("label", np.float64)]
    whole = source.read()
    assert whole.points.tolist() == [[1, 2, 3], [4, 5, 6]]
    np.testing.assert_array_equal(whole.fields["label"], [5, np.nan])


def test_decimal_commas_in_quotes(tmp_path):
    path, out = tmp_path / "scan.csv", tmp_path / "out.csv"
    path.write_text('x,y,z\n"1,5",2,"3,25"\n')
    source = open_scan(path)
    assert source.read().points.tolist() == [[1.5, 2, 3.25]]
    with source.writer(out, {"p": "f4"}) as writer:
        writer.write({"p": [0.5]})
    assert out.read_text() == 'x,y,z,p\n"1,5",2,"3,25","0,5"\n'
    assert open_scan(out).read().fields["p"].tolist() == [0.5]


def test_maps_call_their_axes_otherwise(tmp_path):
    path = tmp_path / "scan.csv"
    path.write_text("Northing;Easting;Height\n1;2;3\n")
    assert open_scan(path).read().points.tolist() == [[2, 1, 3]]


def test_columns_without_names_or_with_the_same_get_their_own(tmp_path):
    path = tmp_path / "scan.csv"
    path.write_text("x,y,z,a,a,\n1,2,3,4,5,6\n")
    assert list(open_scan(path).fields) == ["a", "a_2", "column_6"]


def test_columns_may_be_written_to(tmp_path):
    """As those of other formats; pandas 3 lends its arrays read-only."""
    path = tmp_path / "scan.csv"
    path.write_text("x,y,z,a,b\n1,2,3,4,u\n5,6,7,8,v\n")
    piece = open_scan(path).read()
    for column in (piece.points, *piece.fields.values()):
        column[0] = column[1]
    assert piece.fields["a"].tolist() == [8, 8]


def test_a_first_line_may_count_the_points(tmp_path):
    path = tmp_path / "scan.pts"
    path.write_text("2\n1 2 3 9\n4 5 6 9\n")
    assert open_scan(path).count == 2
    path.write_text("3\n1 2 3 9\n4 5 6 9\n")
    with pytest.raises(ScanFileError, match=r"its first line promises 3 points\. Got 2 instead"):
        open_scan(path)


def test_encodings(tmp_path):
    path, out = tmp_path / "scan.csv", tmp_path / "out.csv"
    for content in (
        "x,y,z,façade\n1,2,3,Bäume\n".encode("latin-1"),
        "\ufeffx,y,z,façade\n1,2,3,Bäume\n".encode(),
    ):
        path.write_bytes(content)
        source = open_scan(path)
        assert list(source.fields) == ["façade"]
        assert source.read().fields["façade"].tolist() == ["Bäume"]
        with source.writer(out, {"größe": object}) as writer:
            writer.write({"größe": ["groß, sehr"]})
        assert open_scan(out).read().fields["größe"].tolist() == ["groß, sehr"]
    path.write_bytes("1 2 3\n".encode("utf-16-le"))
    with pytest.raises(ScanFileError, match="of no known format"):
        open_scan(path)


def test_a_copy_in_the_encoding_of_the_source(tmp_path):
    path, out = tmp_path / "scan.csv", tmp_path / "out.csv"
    path.write_bytes("x;y;z;façade\r\n1;2;3;Bäume\r\n".encode("utf-16"))
    with open_scan(path).writer(out, {"p": "f4"}) as writer:
        writer.write({"p": [0.5]})
    assert out.read_bytes() == "x;y;z;façade;p\r\n1;2;3;Bäume;0.5\r\n".encode("utf-16")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.lists(st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 3), min_size=1, max_size=8),
    st.sampled_from([",", ";", "\t", " "]),
    st.integers(1, 5),
)
def test_digits_give_the_number_back_to_the_bit(tmp_path, rows, separator, size):
    path = tmp_path / "scan.txt"
    path.write_text("".join(separator.join(map(repr, row)) + "\n" for row in rows))
    points = np.concatenate([piece.points for piece in open_scan(path).chunks(size)])
    assert points.tobytes() == np.array(rows).tobytes()


def test_a_large_file_from_pandas(tmp_path):
    """Larger than a block of lines, and with the type of a column decided late."""
    rng = np.random.default_rng(0)
    n = 120_000
    frame = pd.DataFrame(rng.normal(size=(n, 3)) * 1e4, columns=["x", "y", "z"])
    frame["n"], frame["late"], frame["word"] = rng.integers(0, 9, n), np.nan, None
    frame.loc[n - 5, "late"], frame.loc[n - 2, "word"] = 4, "seldom"
    path = tmp_path / "scan.csv"
    frame.to_csv(path, index=False)
    source = open_scan(path)
    assert source.fields == {"n": np.int64, "late": np.float64, "word": np.dtype(object)}
    pieces = list(source.chunks(33_333))
    assert [len(piece) for piece in pieces] == [33_333] * 3 + [20_001]
    np.testing.assert_array_equal(
        np.concatenate([p.points for p in pieces]), frame[["x", "y", "z"]].to_numpy()
    )
    for name in ("n", "late"):
        np.testing.assert_array_equal(np.concatenate([p.fields[name] for p in pieces]), frame[name])
    assert np.concatenate([p.fields["word"] for p in pieces])[-3:].tolist() == ["", "seldom", ""]


TEXTS = {
    "comments.csv": (
        '# one\r\nx,y,z,label,note\r\n1.50,2,+3,old,"a, b"\r\n\r\n# two\r\n007,5e0,6,old,c',
        '# one\r\nx,y,z,label,note,p\r\n1.50,2,+3,0,"a, b",0.5\r\n\r\n# two\r\n007,5e0,6,1,c,0.1',
    ),
    "plain.xyz": ("1.50  2 3\n 4\t5 6 \n# end\n", "1.50  2 3 0 0.5\n 4\t5 6 \t1\t0.1\n# end\n"),
    "decimal.txt": ("x;y;z;label\n1,50;2;3;9\n4;5;6;9\n", "x;y;z;label;p\n1,50;2;3;0;0,5\n4;5;6;1;0,1\n"),
    "named.txt": (
        '//X Y Z label\n1 2 3   old\n4 5 6   "a b"\n',
        "//X Y Z label p\n1 2 3   0 0.5\n4 5 6   1 0.1\n",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_copy_keeps_every_other_character(tmp_path, name):
    before, after = TEXTS[name]
    path, out = tmp_path / name, tmp_path / f"copy-{name}"
    path.write_bytes(before.encode())
    source = open_scan(path)
    with source.writer(out, {}):
        pass
    assert out.read_bytes() == path.read_bytes()
    with source.writer(out, {"label": np.int64, "p": np.float32}) as writer:
        writer.write({"label": [0], "p": [0.5]})
        writer.write({"label": [1], "p": [0.1]})
    assert out.read_bytes().decode() == after


def test_gzip(tmp_path):
    plain, packed, out = tmp_path / "scan.csv", tmp_path / "scan.csv.gz", tmp_path / "out.csv.gz"
    plain.write_text("x,y,z\n1,2,3\n4,5,6\n")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for source in (open_scan(plain), open_scan(packed)):
        assert source.format == "text"
        with source.writer(out, {"class": "u1"}) as writer:
            writer.write({"class": [7, 8]})
        assert gzip.decompress(out.read_bytes()) == b"x,y,z,class\n1,2,3,7\n4,5,6,8\n"
    with open_scan(packed).writer(tmp_path / "out.csv", {}):
        pass
    assert (tmp_path / "out.csv").read_bytes() == plain.read_bytes()
    content = packed.read_bytes()
    for damaged in (content[:-9], content[:12], content[:14] + b"xxxx" + content[18:]):
        packed.write_bytes(damaged)
        with pytest.raises(ScanFileError, match="damaged"):
            open_scan(packed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2 3\n4 five 6\n", r"line 2: column 'y' must hold a number\. Got 'five' instead"),
        ("x,y,z\n\n#\n1,2,3\n4,,6\n", r"coordinates must be finite\. Got \(4, nan, 6\) at line 5"),
        ("x,y,z\n1,2,3\n4,-inf,6\n", r"Got \(4, -inf, 6\) at line 3"),
        ("x;y;z\n1,5;2;3\n1.5;2;3\n", r"line 3: column 'x' must hold a number\. Got '1\.5' instead"),
        ("x,y,z,n\n1,2,3,4\n1,2,3,?\n1,2,3,ten\n", r"line 4: column 'n' must hold a number\. Got 'ten'"),
        ("1 2 3 4\n5 6 7\n", r"line 2: must have 4 columns as the lines before it\. Got 3 instead"),
        ("1 2 3\n5 6 7 8\n", r"line 2: must have 3 columns as the lines before it\. Got 4 instead"),
        ('x,y,z,n\n1,2,3,"a\n4,5,6,b"\n', "line 2: a quotation mark opens and does not close"),
        ("a,b,c\n1,2,3\n", r"line 1: .* must be called x, y and z\. Got a, b, c instead"),
        ("x,y,z\n", "holds no points: nothing follows its header"),
        ("x,y,z\n1,two,3\n", r"line 2: column 'y' must hold a number\. Got 'two' instead"),
        ("x,y,z\n1,2,3,\n", r"line 2: must have 3 columns as the lines before it\. Got 4 instead"),
        ("1 two 3\n4 5 6\n", r"numbers in their first three columns .* Got '1 two 3' in line 1"),
        ("# nothing\n\n", "holds no points: its lines are blank or comments"),
        ("Dear all,\nhow are you?\n", r"of no known format: .* Got 'Dear all,' in line 1"),
        ("1 2\n3 4\n", "of no known format"),
        ("1 2 3\n4 5\x006 7\n", "of no known format"),
        ("1 2 3\n" + "4 5 6\n" * 1000 + "4 \x005 6\n", "must be text. Got a NUL byte in line 1002"),
        ("1 2 3\n" + "4" * 3_000_000, "A line must be shorter than"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, message):
    path = tmp_path / "scan.txt"
    path.write_text(text)
    with pytest.raises(ScanFileError, match=message):
        open_scan(path).read()


def test_oakland(data_set):
    """The scans of the paper are such files."""
    expected = data_set("oakland2")
    path = os.path.join(os.environ["PINVGCN_DATA"], "oakland", "Oakland2.xyz_label_conf")
    if not os.path.exists(path):
        pytest.skip("Oakland2.xyz_label_conf is not here")
    whole = open_scan(path).read()
    np.testing.assert_array_equal(whole.points, expected.X)
    assert np.unique(whole.fields["column_4"]).tolist() == [1004, 1100, 1103, 1200, 1400]
