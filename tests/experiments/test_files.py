"""The output folder is checked before any work is done, and files are written whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinvgcn.errors import ParameterError
from pinvgcn.experiments.files import prepare_folder, write_text


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


def test_writing_replaces_the_old_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    write_text(path, "façade")
    assert path.read_text(encoding="utf-8") == "façade"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\ud800")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]
