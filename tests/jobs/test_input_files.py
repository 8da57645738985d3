"""The files that arguments stand for, those that a job would write, and its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinvgcn.errors import ParameterError, PinvGCNError
from pinvgcn.jobs import Output, check_outputs, input_files
from pinvgcn.jobs.files import prepare_folder


@pytest.fixture
def folder(tmp_path) -> Path:
    for name in ("a.las", "sub/b.las", "out/a.las", "out/sub/c.las", ".b.las.12.part", ".hidden.las"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).touch()
    return tmp_path


def test_copies_are_not_taken_for_input(folder):
    found = input_files([folder / "**" / "*.las"], out=folder / "sub" / ".." / "out")
    assert found == [folder / "a.las", folder / "sub" / "b.las"]
    assert input_files([folder / "out" / "*.las"], out=folder / "out") == [folder / "out" / "a.las"]


def test_files_come_by_their_names(folder):
    assert input_files([folder / "sub" / "b.las", folder / "a.las"]) == [
        folder / "a.las",
        folder / "sub" / "b.las",
    ]


def test_a_folder_stands_for_files_with_these_endings(folder):
    (folder / "notes.txt").touch()
    assert input_files([folder], endings=(".las", ".laz")) == [folder / "a.las"]
    assert input_files([folder]) == [folder]


@pytest.mark.parametrize(
    ("names", "match"),
    [
        (["*.laz"], r"There is no file that .*\*\.laz stands for"),
        (["a.las", "out/a.las"], "different names"),
        (["a.las", "none.las"], r"There is no file .*none\.las\."),
    ],
)
def test_refused_arguments(folder, names, match):
    with pytest.raises(ParameterError, match=match):
        input_files([folder / name for name in names])


@pytest.mark.parametrize(
    ("outputs", "match"),
    [
        ([("-o", "a.las")], "-o must not write over a file that is read. Got .*a.las"),
        ([("-o", "new.las"), ("--report", "sub/../new.las")], "-o and --report must be different files"),
        ([("--save-model", "sub/b.las")], "b.las is already there. Choose another name"),
        ([("-o", "none/b.las")], "folder must exist"),
        ([("-o", "sub")], "must be a file"),
        ([("--questions", "questions.las")], "must end in .csv"),
    ],
)
def test_refused_outputs(folder, outputs, match):
    with pytest.raises(PinvGCNError, match=match):
        check_outputs([Output(option, folder / name) for option, name in outputs], inputs=[folder / "a.las"])


def test_what_a_job_has_written_may_be_there(folder):
    there, read = folder / "sub" / "b.las", folder / "a.las"
    check_outputs([Output("-o", there, own=True)], inputs=[read])
    check_outputs([Output("-o", there)], inputs=[read], force=True)
    check_outputs([Output("-o", folder / "new" / "b.las")], inputs=[read], folder=folder / "new")


def test_a_missing_folder_is_created_with_its_parents(tmp_path):
    folder = prepare_folder(tmp_path / "a" / "b")
    assert folder.is_dir()
    assert prepare_folder(folder) == folder
    assert list(folder.iterdir()) == []


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ParameterError, match="it is a file"):
        prepare_folder(tmp_path / "file")
    with pytest.raises(ParameterError, match=r"Got '.*file/below'"):
        prepare_folder(tmp_path / "file" / "below")
