"""A file is written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinvgcn.io.atomic import write_text


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
