"""Damaged tables: whatever the bytes, they are read or refused in one line, quickly and in little memory.

PINVGCN_FUZZ_CASES is the number of cases of each format, 200 unless it is set.
"""

from __future__ import annotations

import gzip
import io
import os
import resource
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pinvgcn.errors import PinvGCNError
from pinvgcn.features import ColumnRecipe
from pinvgcn.io import open_table

CASES = int(os.environ.get("PINVGCN_FUZZ_CASES", "200"))
LONGEST = 10.0  # seconds of a case, on a machine with much else to do
MEMORY = 300 << 20  # bytes by which the peak may grow over all cases
TOKENS = (
    b",", b";", b"\t", b'"', b'""', b"\n", b"\r\n", b"\r", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3",
    b"NA", b"1e999", b"-", b"99999999999999999999", b"31.12.2020", b"\x7f\xff\xff\xff", b"PAR1",
)  # fmt: skip


def a_table() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = 40
    return pd.DataFrame(
        {
            "id": range(n),
            "colour": rng.choice(["red", "green", "blue, dark", 'a "quoted" one'], n),
            "size": rng.normal(size=n).round(3),
            "day": pd.date_range("2020-01-01", periods=n, freq="9D").strftime("%d.%m.%Y"),
            "größe": rng.choice(["klein", "groß"], n),
            "class": rng.choice(["a", "b", None], n),
        }
    )


def seeds() -> dict[str, list[bytes]]:
    frame = a_table()
    comma = frame.to_csv(index=False).encode()
    tabs = frame.to_csv(index=False, sep="\t", quoting=1).encode("latin-1")
    files = []
    for codec in ("snappy", "gzip", "none"):
        buffer = io.BytesIO()
        typed = frame.assign(
            day=pd.to_datetime(frame["day"], dayfirst=True), colour=pd.Categorical(frame["colour"])
        )
        typed.to_parquet(buffer, compression=None if codec == "none" else codec, row_group_size=16)
        files.append(buffer.getvalue())
    wide = frame.to_csv(index=False).encode("utf-16")
    return {
        "csv": [comma, gzip.compress(comma), wide, frame.to_csv(sep=";", decimal=",").encode("utf-8-sig")],
        "tsv": [tabs, gzip.compress(tabs)],
        "parquet": files,
    }


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes changed, put in, taken out or moved, or the end cut off."""
    result = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        if not result:
            break
        at = int(rng.integers(len(result)))
        length = int(rng.integers(1, 1 + min(64, len(result))))
        what = rng.integers(7)
        if what == 0:
            result[at] = rng.integers(256)
        elif what == 1:
            result[at] ^= 1 << rng.integers(8)
        elif what == 2:
            del result[at : at + length]
        elif what == 3:
            result[at:at] = TOKENS[rng.integers(len(TOKENS))]
        elif what == 4:
            result[at : at + length] = rng.bytes(length)
        elif what == 5:
            result[at:at] = result[at : at + length]
        else:
            del result[at:]
    return bytes(result)


def read_and_copy(path: Path, out: Path) -> None:
    """All that a command does with a table before it computes."""
    source = open_table(path)
    frame = source.frame()
    recipe = ColumnRecipe.learn(frame.drop(columns=frame.columns[-1:]), separator=source.separator)
    assert len(recipe.apply(frame).frame) == len(frame)
    with source.writer(out, ["predicted"], force=True) as writer:
        for chunk in source.chunks(17):
            writer.write(pd.DataFrame({"predicted": ["x"] * len(chunk)}))


def tried(path: Path, out: Path, case: str) -> str | None:
    """The line with which the file was refused; None where it was read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read_and_copy(path, out)
    except PinvGCNError as error:
        return str(error)
    except Exception as error:
        raise AssertionError(f"{case}: {error!r}") from error
    return None


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
@pytest.mark.alone
def test_mutated_files(kind: str, tmp_path: Path) -> None:
    originals = seeds()[kind]
    path, out = tmp_path / "table", tmp_path / "out"
    for data in originals:  # what is whole can be read, and fills whatever the libraries keep
        path.write_bytes(data)
        read_and_copy(path, out)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    refused = 0
    for case in range(CASES):
        rng = np.random.default_rng([case, len(kind)])
        path.write_bytes(mutated(originals[case % len(originals)], rng))
        out.unlink(missing_ok=True)
        started = time.perf_counter()
        message = tried(path, out, f"case {case} of {kind}")
        if message is not None:
            refused += 1
            assert "\n" not in message, f"case {case}: {message}"
            assert not out.exists(), f"case {case}"
        assert time.perf_counter() - started < LONGEST, f"case {case}"
        assert [p.name for p in tmp_path.iterdir() if p.name.endswith(".part")] == [], f"case {case}"
    assert refused > 0.2 * CASES
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before < MEMORY
