"""A job of several ranks whose file is damaged or whose process is killed: one line, and it can go on."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import laspy
import numpy as np
import pytest
from street_files import NAMES, QUICK, launch, read_copies, said, write_streets

from pinvgcn.cli import main
from pinvgcn.scans import SegmentRequest, segment

WORK = ".pinvgcn-work"
SOON = 60.0  # seconds in which a job must have ended


def rank_processes(agent: int) -> dict[int, int]:
    """The processes that torchrun has started, by their rank."""
    found = {}
    for process in Path(f"/proc/{agent}/task/{agent}/children").read_text().split():
        settings = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
        rank = [int(word.removeprefix(b"RANK=")) for word in settings if word.startswith(b"RANK=")]
        if rank:
            found[rank[0]] = int(process)
    return found


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="processes are found through /proc")
def test_a_rank_that_is_killed(tmp_path):
    """In the middle of the fit, where others wait for it; one process then goes on where they were."""
    write_streets(tmp_path / "tiles", 2_400)
    out = tmp_path / "copies"
    arguments = ["segment", str(tmp_path / "tiles" / "*.la?"), "--labels", "classification", "-o", str(out)]
    job = launch(3, *arguments)
    deadline = time.monotonic() + 200
    while not (out / WORK / "tiles.json").exists():
        assert job.poll() is None, job.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    victim = rank_processes(job.pid)[1]
    os.kill(victim, signal.SIGKILL)
    killed = time.monotonic()
    stdout, stderr = job.communicate(timeout=120)
    assert time.monotonic() - killed < SOON
    assert job.returncode != 0
    assert stdout == ""
    (line,) = said(stderr)
    assert line.startswith("pinvgcn: rank 1: ended without a message: it was killed")
    assert [path.name for path in out.iterdir()] == [WORK]
    stages: list[str] = []
    request = SegmentRequest(Path(arguments[1]), "classification", out)
    segment(request, lambda name, *_: stages.append(name))
    assert "Writing" in stages
    assert not {"Reading", "Sorting"} & set(stages)  # the tiles of the job that was killed were used
    classes, _ = read_copies(out)
    assert set(classes) <= {2, 3, 4, 5, 6, 7}


def test_a_file_that_cannot_be_read(tmp_path):
    """One rank finds it; the other one ends, too, and torchrun's report names it."""
    folder = write_streets(tmp_path / "tiles", 1_500)
    damaged = folder / NAMES[3]
    damaged.write_bytes(damaged.read_bytes()[:3_000])
    out = tmp_path / "copies"
    job = launch(2, "segment", folder / "*.la?", "--labels", "classification", "-o", out)
    assert job.stderr is not None
    before = ""
    while not said(before):  # from here on it is known; torchrun and libraries take their time to start
        line = job.stderr.readline()
        assert line, before
        before += line
    found = time.monotonic()
    stdout, rest = job.communicate(timeout=200)
    assert time.monotonic() - found < SOON
    stderr = before + rest
    assert job.returncode != 0
    assert stdout == ""
    (line,) = said(stderr)
    assert line.startswith(f"pinvgcn: rank 1: {damaged} is truncated or damaged")
    assert f"traceback : {line.removeprefix('pinvgcn: ')}" in stderr
    assert "Traceback" not in stderr.split("Root Cause")[1]
    assert "exitcode  : 2" in stderr.split("Root Cause")[1]
    assert not out.exists()


STAGES = ("Sorting", "Local shapes", "Fitting", "Classifying", "Averaging", "Writing", "Writing")


def test_what_is_done_is_not_done_again(tmp_path, capsys):
    """Interrupted in every stage, the job ends as if nothing had happened."""
    folder = write_streets(tmp_path / "tiles", 3_000)
    paths = [folder / "*.la?"]

    def request(name: str, **others) -> SegmentRequest:
        settings = {"settings": QUICK, "tile_points": 1_000, "fit_points": 2_000, **others}
        return SegmentRequest(folder / "*.la?", "classification", tmp_path / name, **settings)

    segment(request("alone"))
    out, seen, times = tmp_path / "copies", [], {}
    for number, stage in enumerate(STAGES):
        written = len(list(out.glob("*.la?")))

        def tell(name, done, total, stage=stage, written=written):
            seen.append((number, name))  # noqa: B023
            if name == stage and done and (stage != "Writing" or len(list(out.glob("*.la?"))) > written):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            segment(request("copies"), tell)
        assert (out / WORK).is_dir()
        for path in out.glob("*.la?"):
            laspy.read(path)  # whole
            assert times.setdefault(path, path.stat().st_mtime_ns) == path.stat().st_mtime_ns
    assert len(times) == 2
    assert not [path for path in out.iterdir() if path.name.endswith(".part")]
    segment(request("copies"), lambda *told: seen.append((len(STAGES), told[0])))
    assert all(path.stat().st_mtime_ns == before for path, before in times.items())
    for found, expected in zip(read_copies(out), read_copies(tmp_path / "alone"), strict=True):
        np.testing.assert_array_equal(found, expected)
    # what a start found done it did not do again
    for stage, last in (("Reading", 1), ("Sorting", 1), ("Local shapes", 3), ("Fitting", 3)):
        assert max(number for number, name in seen if name == stage) <= last

    arguments = ["segment", str(paths[0]), "--labels", "classification", "-o", str(out)]
    assert main(arguments) == 2
    assert "is already there. Choose another name" in capsys.readouterr().err


def test_another_command_starts_over(tmp_path):
    """What is left of a job with other settings, or of files that have changed, is not used."""
    folder = write_streets(tmp_path / "tiles", 1_500)
    out, paths = tmp_path / "copies", [folder / "*.la?"]
    stages: list[str] = []

    def tell(name, done, total):
        stages.append(name)
        if name == "Classifying":
            raise KeyboardInterrupt

    def start(**others):
        stages.clear()
        request = SegmentRequest(
            paths, "classification", out, settings={"epochs": 2}, fit_points=1_000, **others
        )
        with pytest.raises(KeyboardInterrupt):
            segment(request, tell)
        return set(stages)

    assert "Reading" in start()
    assert "Reading" not in start()
    assert "Reading" in start(random_state=1)
    assert "Reading" not in start(random_state=1)
    assert "Reading" in start(random_state=1, force=True)
    (folder / NAMES[0]).touch()
    assert "Reading" in start(random_state=1)
