"""Tables in files, with pandas as the reader that must agree."""

from __future__ import annotations

import gzip
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinvgcn.errors import ColumnError, ParameterError, PinvGCNError, TableFileError
from pinvgcn.io import open_table
from pinvgcn.io.text import MISSING


def written(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def with_column(path: Path, out: Path, values: list[Any], **options: Any) -> bytes:
    with open_table(path).writer(out, ["new"], **options) as writer:
        writer.write(pd.DataFrame({"new": values}))
    return out.read_bytes()


# ---------------------------------------------------------------- what is read

cells = st.text(st.sampled_from('ab1,;|"\n\r\t é.€'), max_size=6)


@given(
    rows=st.lists(st.lists(cells, min_size=3, max_size=3), min_size=1, max_size=8),
    separator=st.sampled_from([",", ";", "\t", "|"]),
    end=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    zipped=st.booleans(),
)
def test_cells_are_those_that_pandas_reads(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[list[str]],
    separator: str,
    end: str,
    encoding: str,
    zipped: bool,
) -> None:
    path = tmp_path_factory.mktemp("table") / "table"
    frame = pd.DataFrame(rows, columns=["first", "second", "third"])
    text = frame.to_csv(index=False, sep=separator, lineterminator=end, quoting=1)
    path.write_bytes(gzip.compress(text.encode(encoding)) if zipped else text.encode(encoding))
    source = open_table(path)
    assert (source.columns, source.separator) == (tuple(frame.columns), separator)
    assert source.format == ("tsv" if separator == "\t" else "csv")
    read = source.frame()
    expected = pd.read_csv(
        path,
        sep=separator,
        dtype=str,
        keep_default_na=False,
        encoding=encoding,
        compression="gzip" if zipped else None,
        engine="python",  # the C engine ends a line at a lone \r within quotes
    )
    missing = expected.apply(lambda column: column.str.strip().isin(MISSING))
    assert (read.isna() == missing).all(axis=None)
    assert read.where(~missing, "").astype(object).equals(expected.mask(missing, "").astype(object))


@pytest.mark.parametrize("rows", [1, 3, 7, 100])
def test_chunks_together_are_the_table(tmp_path: Path, rows: int) -> None:
    frame = pd.DataFrame({"a": [str(i) for i in range(17)], "b": list("abcdefghijklmnopq")})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        chunks = list(open_table(tmp_path / name).chunks(rows))
        assert [len(chunk) for chunk in chunks[:-1]] == [rows] * (len(chunks) - 1)
        whole = pd.concat(chunks)
        assert whole.index.tolist() == list(range(17))
        assert whole.astype(object).equals(frame.astype(object))


def test_the_format_is_that_of_the_content(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    frame.to_parquet(tmp_path / "t.csv")
    written(tmp_path / "t.parquet", "a\tb\n1\tx\n")
    assert open_table(tmp_path / "t.csv").format == "parquet"
    assert open_table(tmp_path / "t.csv").count == 2
    assert open_table(tmp_path / "t.parquet").format == "tsv"
    assert open_table(tmp_path / "t.parquet").count is None


def test_parquet_columns_keep_their_types(tmp_path: Path) -> None:
    table = pa.table(
        {
            "whole": pa.array([1, None, 2**60 + 1], pa.int64()),
            "truth": pa.array([True, None, False]),
            "text": pa.array(["a", None, "NA"]),
            "when": pa.array([0, None, 86_400_000], pa.timestamp("ms")),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    frame = open_table(tmp_path / "t.parquet").frame()
    assert frame["whole"].tolist() == [1, pd.NA, 2**60 + 1]  # a float would lose the 1
    assert frame["truth"].tolist() == [True, pd.NA, False]
    assert frame["text"].isna().tolist() == [False, True, False]  # NA is a text like any other here
    assert frame["when"].dt.day.tolist()[::2] == [1, 2]


def test_a_nameless_column_gets_a_name(tmp_path: Path) -> None:
    pd.DataFrame({"a": [1]}).to_csv(tmp_path / "t.csv")  # with pandas' index
    assert open_table(tmp_path / "t.csv").columns == ("column 1", "a")


@pytest.mark.parametrize(
    ("encoding", "name"),
    [("utf-8", "utf-8"), ("utf-8-sig", "utf-8"), ("utf-16", "utf-16-le"), ("latin-1", "latin-1")],
)
def test_encodings(tmp_path: Path, encoding: str, name: str) -> None:
    source = open_table(written(tmp_path / "t.csv", "größe,b\nmüde,1\n", encoding))
    assert source.encoding == name
    assert source.columns == ("größe", "b")
    assert source.frame()["größe"].tolist() == ["müde"]
    assert len(source.notes) == (encoding == "latin-1")


def test_the_euro_sign_of_excel(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("Umsatz (€);b\n1;„x“\n".encode("cp1252"))
    source = open_table(path)
    assert (source.encoding, source.columns) == ("cp1252", ("Umsatz (€)", "b"))
    assert "Windows-1252" in source.notes[0]
    assert with_column(path, tmp_path / "o.csv", ["€"]) == "Umsatz (€);b;new\n1;„x“;€\n".encode("cp1252")


def test_every_byte_survives_the_fallback(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    odd = bytes(byte for byte in range(1, 256) if byte not in b'\n\r,"')
    path.write_bytes(b"a,b\n" + odd + b",2\n")
    assert open_table(path).encoding == "latin-1"
    assert with_column(path, tmp_path / "o.csv", ["x"]) == b"a,b,new\n" + odd + b",2,x\n"


def test_the_fallback_says_where(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\nmüde,1\n".encode() + "müde,2\n".encode("latin-1"))
    (note,) = open_table(path).notes
    assert "0xFC in line 3" in note
    assert "Latin-1" in note or "Windows-1252" in note


# ---------------------------------------------------------------- what is written


def test_a_copy_keeps_every_byte(tmp_path: Path) -> None:
    text = 'id;"na""me";v\r\n01;"a ;b";1,50\r\n\r\n 2 ;NA;\r\n3;"two\nlines";+2.0'
    path = written(tmp_path / "t.csv", text, "utf-8-sig")
    out = with_column(path, tmp_path / "o.csv", ["x", None, 'q";'])
    expected = 'id;"na""me";v;new\r\n01;"a ;b";1,50;x\r\n\r\n 2 ;NA;;\r\n3;"two\nlines";+2.0;"q"";"'
    assert out == expected.encode("utf-8-sig")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_a_copy_in_the_encoding_of_the_source(tmp_path: Path, encoding: str, suffix: str) -> None:
    path = written(tmp_path / "t.csv", "größe,b\nmüde,1\n", encoding)
    out = with_column(path, tmp_path / f"o.{suffix}", ["ö"])
    plain = gzip.decompress(out) if suffix == "csv.gz" else out
    assert plain == "größe,b,new\nmüde,1,ö\n".encode(encoding)


def test_quotes_around_all_cells_stay_the_habit(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", '"a","b"\n"1","2"\n')
    assert with_column(path, tmp_path / "o.csv", ["x"]) == b'"a","b","new"\n"1","2","x"\n'


def test_numbers_with_the_decimal_sign_of_the_table(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "a;b\n1,5;2\n2,5;3\n")
    assert b"2;0,250000\n" in with_column(path, tmp_path / "o.csv", [0.25, np.nan], decimal=",")


def test_a_parquet_copy_keeps_schema_and_metadata(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": pd.array([1, None, 3], "Int64"), "c": pd.Categorical(["x", "y", "x"])})
    table = pa.Table.from_pandas(frame.set_index(pd.Index(["r", "s", "t"], name="row")))
    table = table.replace_schema_metadata({**table.schema.metadata, b"origin": b"field trip"})
    table = table.append_column(
        pa.field("d", pa.decimal128(7, 2), metadata={b"unit": b"m"}),
        pa.array([1, 2, None], pa.decimal128(7, 2)),
    )
    pq.write_table(table, tmp_path / "t.parquet", compression="gzip", row_group_size=2)
    source = open_table(tmp_path / "t.parquet")
    with source.writer(tmp_path / "o.parquet", ["new", "p"]) as writer:
        for chunk in source.chunks(2):
            writer.write(pd.DataFrame({"new": pd.array(["u"] * len(chunk), "string"), "p": 0.5}))
    copy, table = pq.read_table(tmp_path / "o.parquet"), pq.read_table(tmp_path / "t.parquet")
    assert copy.select(table.column_names).equals(table, check_metadata=True)
    assert copy.column_names[-2:] == ["new", "p"]
    assert pq.ParquetFile(tmp_path / "o.parquet").metadata.row_group(0).column(0).compression == "GZIP"
    read = pd.read_parquet(tmp_path / "o.parquet")
    assert read.index.tolist() == ["r", "s", "t"]
    assert read["new"].tolist() == ["u", "u", "u"]


def test_nothing_is_left_of_a_copy_that_failed(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")

    def begin(name: str, error: type[BaseException] | None) -> None:
        with open_table(tmp_path / name).writer(tmp_path / f"o-{name}", ["new"]) as writer:
            writer.write(pd.DataFrame({"new": ["u"]}))
            if error is not None:
                raise error

    for name in ("t.csv", "t.parquet"):
        for error in (RuntimeError, KeyboardInterrupt):
            with pytest.raises(error):
                begin(name, error)
        with pytest.raises(PinvGCNError, match="fewer"):
            begin(name, None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", "t.parquet"]


def test_an_existing_file_is_kept_without_force(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "a,b\n1,2\n")
    out = written(tmp_path / "o.csv", "precious")
    with pytest.raises(ParameterError, match="--force"):
        with_column(path, out, ["x"])
    assert out.read_text() == "precious"
    assert with_column(path, out, ["x"], force=True) == b"a,b,new\n1,2,x\n"


def test_a_table_may_be_replaced_by_its_own_copy(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "a,b\n1,2\n")
    assert with_column(path, path, ["x"], force=True) == b"a,b,new\n1,2,x\n"


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        ("o.parquet", ParameterError, "csv"),
        ("nowhere/o.csv", ParameterError, "folder"),
        (".", ParameterError, "folder"),
    ],
)
def test_outputs_that_cannot_be(tmp_path: Path, out: str, error: type, message: str) -> None:
    path = written(tmp_path / "t.csv", "a,b\n1,2\n")
    with pytest.raises(error, match=message):
        with_column(path, tmp_path / out, ["x"])


def test_a_column_that_is_already_there(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "a,new\n1,2\n")
    with pytest.raises(ColumnError, match="already has a column 'new'"):
        with_column(path, tmp_path / "o.csv", ["x"])


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write everywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "a,b\n1,2\n")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(ParameterError, match="permission"):
        with_column(path, closed / "o.csv", ["x"])


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_disk_that_is_full(tmp_path: Path, name: str) -> None:
    """A limit on the size of files stands in for the disk: the same calls fail."""
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 10**9, (4_000, 4)), columns=list("abcd"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    code = f"""
import pandas as pd
from pinvgcn.errors import TableFileError
from pinvgcn.io import open_table
source = open_table({str(tmp_path / name)!r})
try:
    with source.writer({str(tmp_path / ("o-" + name))!r}, ["new"]) as writer:
        for chunk in source.chunks(500):
            writer.write(pd.DataFrame({{"new": ["value"] * len(chunk)}}))
except TableFileError as error:
    print(error)
"""

    def small_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, preexec_fn=small_disk
    )
    assert "could not be written" in run.stdout
    assert run.stdout.count("\n") == 1
    assert not list(tmp_path.glob("*o-*"))


# ---------------------------------------------------------------- what cannot be read

GZ = gzip.compress(b"a,b\n" + b"1,2\n" * 5000, mtime=0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "blank lines only"),
        (b"\xef\xbb\xbf", "blank lines only"),
        (b"a,b\n", "no row"),
        (b"a,b,a\n1,2,3\n", "two columns 'a'"),
        (b"a,b\n1,2\n1,2,3\n", "line 3 has 3 cells, where the first line names 2"),
        (b'a,b\n"x\ny",2\n1\n', "line 4 has 1 cell,"),
        (b'a,b\n1,"open\n2,3\n', "line 2: a quotation mark opens"),
        (b'a,b\n1,2\n"x"y,3\n', "line 3: a quotation mark ends"),
        (b"a,b\n1,2\n3,\0\n", "NUL byte in line 3"),
        ("a,b\n1,2\n".encode("utf-16-le"), "NUL byte in line 1"),
        ("a,b\n1,2\n".encode("utf-16")[:-1], "begins as UTF-16-LE"),
        (GZ[: len(GZ) // 2], "damaged gzip"),
        (GZ[:40] + b"\xff" * 8 + GZ[48:], "damaged gzip"),
        (gzip.compress(GZ, mtime=0), "compressed once more"),
        (b"PK\x03\x04" + bytes(30), "Excel"),
        (b"LASF" + bytes(300), "segment"),
        (b"PAR1" + bytes(30), "damaged Parquet"),
        (b"PAR1", "damaged Parquet"),
    ],
)
def test_one_clear_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(TableFileError) as caught:
        open_table(path).frame()
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_parquet_file_that_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": range(1000)}).to_parquet(path)
    whole = path.read_bytes()
    for length in (5, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(TableFileError, match="damaged Parquet"):
            open_table(path).frame()


def test_a_parquet_file_without_rows(tmp_path: Path) -> None:
    pd.DataFrame({"a": pd.Series(dtype=int)}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(TableFileError, match="no row"):
        open_table(tmp_path / "t.parquet").frame()


def test_paths_that_are_no_file(tmp_path: Path) -> None:
    written(tmp_path / "table.csv", "a\n1\n")
    with pytest.raises(TableFileError, match="folder"):
        open_table(tmp_path)
    with pytest.raises(TableFileError, match=r"Did you mean .*table\.csv"):
        open_table(tmp_path / "tabel.csv")


def test_the_nearest_column_is_suggested(tmp_path: Path) -> None:
    source = open_table(written(tmp_path / "t.csv", "Kind,size\n1,2\n"))
    assert source.column("Kind") == "Kind"
    with pytest.raises(ColumnError, match=r"no column 'kinds'. Did you mean 'Kind'\? It has: Kind, size"):
        source.column("kinds")


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Chunks of a table of 15 MB pass through less memory than it would fill."""
    path = tmp_path / "t.csv"
    line = ",".join(["some text", "0.123456", "another"] * 4) + "\n"
    with path.open("w") as file:
        file.write(",".join(f"c{j}" for j in range(12)) + "\n")
        for _ in range(15):
            file.write(line * 10_000)
    code = f"""
import pandas as pd
from pinvgcn.experiments.worker_process import highest
from pinvgcn.io import open_table
source = open_table({str(path)!r})
def peak(): return highest() / 2**20
next(source.chunks(5_000))
before = peak()
rows = 0
with source.writer({str(tmp_path / "o.csv")!r}, ["new"]) as writer:
    for chunk in source.chunks(5_000):
        rows += len(chunk)
        writer.write(pd.DataFrame({{"new": ["x"] * len(chunk)}}))
print(rows, peak() - before)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rows, grown = run.stdout.split()
    assert int(rows) == 150_000
    assert float(grown) < 15
