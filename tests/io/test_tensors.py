"""Files of arrays and JSON: what goes in comes out, bit for bit, or nothing does."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pinvgcn.errors import ModelFileError
from pinvgcn.io.tensors import FORMAT, load_tensors, save_tensors

DTYPES = ("float64", "float32", "complex128", "complex64", "int64", "int32", "uint8", "bool")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.sampled_from(DTYPES).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    )
)
def test_any_array_comes_back_to_the_bit(tmp_path: Path, array: np.ndarray) -> None:
    """NaN, infinities, signed zeros, no entries, no dimensions."""
    path = tmp_path / "file"
    save_tensors(path, "test", {}, {"array": array, "transposed": array.T, "plain": np.arange(3)})
    _, arrays = load_tensors(path, "test")
    assert set(arrays) == {"array", "transposed", "plain"}
    for name, before in (("array", array), ("transposed", array.T)):
        after = arrays[name]
        assert (after.shape, after.dtype) == (before.shape, before.dtype)
        assert after.tobytes() == before.tobytes()


def test_the_description_comes_back(tmp_path: Path) -> None:
    description = {"text": "σ — straße", "numbers": [1, 2.5, 1e-300], "none": None, "nested": {"a": [True]}}
    save_tensors(tmp_path / "file", "test", description, {"a": np.ones(1)})
    again, _ = load_tensors(str(tmp_path / "file"), "test")
    assert again == {"kind": "test", "format": FORMAT, **description}


def test_a_file_is_whole_or_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong while writing: the old file stays, and nothing unfinished lies about."""
    path = tmp_path / "file"
    save_tensors(path, "test", {"version": "old"}, {"a": np.ones(3)})
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ModelFileError, match=r"could not be written: No space left"):
        save_tensors(path, "test", {"version": "new"}, {"a": np.zeros(3)})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(TypeError):
        save_tensors(path, "test", {"bad": object()}, {})  # a mistake of ours, not of the file
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    save_tensors(path, "test", {}, {"a": np.ones(1)})
    path.chmod(0)
    with pytest.raises(ModelFileError):
        load_tensors(path, "test")


@pytest.mark.parametrize(
    "damage", [b"", b"\x00" * 8, b"\xff" * 64, b"{}", b"\x02\x00\x00\x00\x00\x00\x00\x00{}"]
)
def test_damaged_files(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(damage)
    with pytest.raises(ModelFileError, match=str(path)):
        load_tensors(path, "test")


@given(st.integers(0, 400), st.integers(0, 255))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_one_wrong_byte_gives_an_answer_or_our_error(tmp_path: Path, place: int, byte: int) -> None:
    path = tmp_path / "file"
    save_tensors(path, "test", {"a": 1}, {"a": np.arange(4.0), "b": np.ones(2) * 1j})
    content = bytearray(path.read_bytes())
    content[place % len(content)] = byte
    path.write_bytes(content)
    with contextlib.suppress(ModelFileError):
        load_tensors(path, "test")


def test_nothing_in_it_can_run_code(tmp_path: Path) -> None:
    """Objects do not go in, so none can come out."""
    with pytest.raises(Exception):  # noqa: B017 - whatever safetensors says
        save_tensors(tmp_path / "file", "test", {}, {"a": np.array([object()])})
    save_tensors(tmp_path / "file", "test", {"a": 1}, {"b": np.ones(1)})
    content = (tmp_path / "file").read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    assert set(header) == {"__metadata__", "b"}
    assert header["__metadata__"].keys() == {"pinvgcn", "sha256"}


def test_a_single_changed_byte_is_found(tmp_path: Path) -> None:
    path = tmp_path / "file"
    save_tensors(path, "test", {"about": "it"}, {"a": np.arange(5.0), "b": np.array(1 + 2j)})
    whole = path.read_bytes()
    start = int.from_bytes(whole[:8], "little") + 8  # safetensors: a length, the header, then the arrays
    for place in range(start, len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(ModelFileError, match="is damaged: its content does not have the hash"):
            load_tensors(path, "test")
    path.write_bytes(whole.replace(b'about\\": \\"it', b'about\\": \\"at'))
    assert path.read_bytes() != whole
    with pytest.raises(ModelFileError, match="does not have the hash"):
        load_tensors(path, "test")
    path.write_bytes(whole)
    assert load_tensors(path, "test")[0]["about"] == "it"
