"""The output folder is checked before any work is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinvgcn.errors import ParameterError
from pinvgcn.jobs.files import prepare_folder


def test_a_missing_folder_is_created_with_its_parents(tmp_path: Path) -> None:
    folder = prepare_folder(tmp_path / "a" / "b")
    assert folder.is_dir()
    assert prepare_folder(folder) == folder
    assert list(folder.iterdir()) == []


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ParameterError, match="it is a file"):
        prepare_folder(tmp_path / "file")
    with pytest.raises(ParameterError, match=r"Got '.*file/below'"):
        prepare_folder(tmp_path / "file" / "below")
