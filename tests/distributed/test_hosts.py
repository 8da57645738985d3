"""Several hosts: ranks in network namespaces of their own, which see each other over addresses alone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from street_files import COMMAND, environment, read_copies, said, write_streets

from pinvgcn.cli import main
from pinvgcn.fitting import settings

HOSTS = ("10.213.77.1", "10.213.77.2")
PORTS = (29_517, 29_518)  # namespaces have their own
SOON = 60.0  # seconds in which a job must have ended, on all hosts


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@contextmanager
def hosts() -> Iterator[list[str]]:
    """Namespaces joined by a bridge, gone at the end."""
    if shutil.which("ip") is None:
        pytest.skip("there is no ip program (iproute2), which makes network namespaces")
    tag = f"pg{os.getpid() % 10_000}"
    names = [f"{tag}h{number}" for number in range(len(HOSTS))]
    bridge = f"{tag}b"
    try:
        try:
            ip("link", "add", bridge, "type", "bridge")
            ip("link", "set", bridge, "up")
            for name, address in zip(names, HOSTS, strict=True):
                ip("netns", "add", name)
                ip("link", "add", f"{name}o", "type", "veth", "peer", "name", "net0", "netns", name)
                ip("link", "set", f"{name}o", "master", bridge, "up")
                ip("-n", name, "addr", "add", f"{address}/24", "dev", "net0")
                ip("-n", name, "link", "set", "net0", "up")
                ip("-n", name, "link", "set", "lo", "up")
        except subprocess.CalledProcessError as error:
            reason = " ".join(error.stderr.split())
            pytest.skip(f"network namespaces cannot be made here ({reason})")
        yield names
    finally:
        for words in (*(["netns", "del", name] for name in names), ["link", "del", bridge]):
            subprocess.run(["ip", *words], check=False, capture_output=True)


def start(host: str, rank: int, port: int, *arguments: object) -> subprocess.Popen[str]:
    """A rank on a host of its own, told where the others are as torchrun would tell it."""
    where = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": HOSTS[0], "MASTER_PORT": str(port)}
    return subprocess.Popen(
        ["ip", "netns", "exec", host, sys.executable, COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment(), **where, "GLOO_SOCKET_IFNAME": "net0"},
        start_new_session=True,
    )


def end(jobs: list[subprocess.Popen[str]]) -> None:
    for job in jobs:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()


def test_two_hosts(tmp_path, monkeypatch):
    """A rank is killed on the one: both end soon. Started again, they end with what one process finds."""
    write_streets(tmp_path / "tiles", 1_500)
    common = ["segment", tmp_path / "tiles" / "*.la?", "--labels", "classification"]
    work = tmp_path / "copies" / ".pinvgcn-work"
    with hosts() as names:
        again = [*common, "-o", tmp_path / "copies"]
        jobs = [start(name, rank, PORTS[0], *again) for rank, name in enumerate(names)]
        try:
            deadline = time.monotonic() + 200
            while not (work / "tiles.json").exists():
                assert all(job.poll() is None for job in jobs)
                assert time.monotonic() < deadline
                time.sleep(0.02)
            jobs[1].kill()
            killed = time.monotonic()
            ended = [job.communicate(timeout=120) for job in jobs]
            assert time.monotonic() - killed < SOON
            assert all(job.returncode != 0 for job in jobs)
            (line,) = said("".join(stderr for _, stderr in ended))
            assert line.startswith("pinvgcn: rank 1: ended without a message")

            jobs = [start(name, rank, PORTS[1], *again) for rank, name in enumerate(names)]
            ended = [job.communicate(timeout=280) for job in jobs]
            assert [job.returncode for job in jobs] == [0, 0], ended
        finally:
            end(jobs)
    assert "Written: " in ended[0][0]
    assert ended[1][0] == ""
    monkeypatch.setattr(settings, "EPOCHS", dict.fromkeys(settings.EPOCHS, 20))  # as quick.py does
    assert main([*map(str, common), "-o", str(tmp_path / "alone"), "--quiet"]) == 0
    classes, sure = read_copies(tmp_path / "copies")
    expected, sure_alone = read_copies(tmp_path / "alone")
    # in single precision epochs part a little
    assert np.abs(sure - sure_alone).mean() < 0.01
    firm = sure_alone > 0.6
    np.testing.assert_array_equal(classes[firm], expected[firm])
