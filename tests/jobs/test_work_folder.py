"""What an interrupted job has left is found by the same command, and by no other."""

from __future__ import annotations

import os

import pytest

from pinvgcn.distributed.group import ALONE
from pinvgcn.jobs import fingerprint, work_folder


def begun(folder, command="a job", **others):
    return work_folder(folder, command, group=ALONE, **{"force": False, **others})


def test_what_is_done_is_found_again(tmp_path):
    place = tmp_path / "work"
    with begun(place) as work:
        work.begin("a job")
        assert not work.resumed
        work.note("step-1")
        work.note("answer", {"classes": 3})
        work.path("values-7.npy").touch()
        work.path("part-3").mkdir()
        work.path(".half.part").touch()
    with begun(place) as work:
        assert work.resumed
        assert work.has("step-1")
        assert (work.numbers("step"), work.numbers("values")) == ({1}, {7})
        assert (work.noted("answer"), work.noted("nothing")) == ({"classes": 3}, None)
        work.begin("a job")
        left = {".lock", ".holder.json", "job.json", "step-1", "answer", "values-7.npy"}
        assert set(os.listdir(place)) == left
        work.remove()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("others", [{"command": "another job"}, {"force": True}])
def test_another_job_starts_over_but_a_refused_one_changes_nothing(tmp_path, others):
    place = tmp_path / "work"
    with begun(place) as work:
        work.begin("a job")
        work.note("step-1")
    with begun(place, **others) as work:  # and no further
        assert not work.resumed
    with begun(place) as work:
        assert work.has("step-1")
    with begun(place, **others) as work:
        work.begin("another job")
        assert sorted(os.listdir(place)) == [".holder.json", ".lock", "job.json"]


def test_a_fingerprint_changes_with_the_command_and_with_files(tmp_path):
    file = tmp_path / "scan.las"
    file.write_text("points")
    first = fingerprint({"sets": 0.9}, [file])
    assert fingerprint({"sets": 0.9}, [tmp_path / "." / "scan.las"]) == first
    assert fingerprint({"sets": 0.8}, [file]) != first
    os.utime(file, ns=(0, 0))
    assert fingerprint({"sets": 0.9}, [file]) != first
