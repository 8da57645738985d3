"""A folder that one job uses at a time."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys

import filelock
import pytest

from pinvgcn.errors import OutputError, ParameterError
from pinvgcn.jobs import locked

CODE = (
    "import sys, time\nfrom pathlib import Path\nfrom pinvgcn.jobs import locked\n"
    "with locked(Path(sys.argv[1])):\n    print('here', flush=True)\n    time.sleep(100)\n"
)


def test_a_job_that_was_killed_releases_it_at_once(tmp_path):
    """Another job is told its process and host meanwhile."""
    folder = tmp_path / "deep" / "work"
    with subprocess.Popen([sys.executable, "-c", CODE, folder], stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        assert job.stdout.readline() == "here\n"
        said = rf"at work in .*work: process {job.pid} on {socket.gethostname()}, since \d\d:\d\d on "
        with pytest.raises(ParameterError, match=said), locked(folder):
            pass
        os.kill(job.pid, signal.SIGKILL)
        job.wait()
        with locked(folder):
            assert sorted(os.listdir(folder)) == [".holder.json", ".lock"]
    assert os.listdir(tmp_path / "deep") == []  # which the other one had made


def test_folders_that_it_made_go_and_what_is_in_them_stays(tmp_path):
    with locked(tmp_path / "a" / "b"):
        pass
    assert os.listdir(tmp_path) == []
    with locked(tmp_path / "a" / "b"):
        (tmp_path / "a" / "file").touch()
    assert os.listdir(tmp_path / "a") == ["file"]
    with locked(tmp_path / "a" / "b"):
        (tmp_path / "a" / "b" / "done").touch()
    assert sorted(os.listdir(tmp_path / "a" / "b")) == [".lock", "done"]


def test_a_message_names_the_folder_and_the_option_of_the_command(tmp_path):
    said = r"at work in results: process \d+ .* choose another --out\."
    other = locked(tmp_path, shown="results", option="--out")
    with locked(tmp_path), pytest.raises(ParameterError, match=said), other:
        pass


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be used"), locked(tmp_path / "file" / "work"):
        pass


def test_a_file_system_without_locks_is_not_guarded(tmp_path, monkeypatch):
    def refuse(self, **_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(filelock.FileLock, "acquire", refuse)
    with locked(tmp_path / "work"):
        assert (tmp_path / "work").is_dir()
    assert os.listdir(tmp_path) == []
