"""Several hosts: ranks in network namespaces of their own, which see each other over addresses alone."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from street_files import TORCHRUN, environment, read_copies, said, write_streets

from pinvgcn.cli import main

HOSTS = ("10.213.77.1", "10.213.77.2")
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


def free_port() -> int:
    """One that nothing listens at; namespaces have their own, so that almost any is."""
    with socket.socket() as one:
        one.bind(("", 0))
        return int(one.getsockname()[1])


def start(host: str, number: int, port: int, *arguments: object) -> subprocess.Popen[str]:
    """torchrun on one host, as its user would type it there."""
    options = [
        "--nnodes=2", f"--node-rank={number}", "--nproc-per-node=1",
        f"--master-addr={HOSTS[0]}", f"--master-port={port}",
    ]  # fmt: skip
    return subprocess.Popen(
        ["ip", "netns", "exec", host, *TORCHRUN, *options, "-m", "pinvgcn", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment(), "GLOO_SOCKET_IFNAME": "net0"},
        start_new_session=True,
    )


def end(jobs: list[subprocess.Popen[str]]) -> None:
    for job in jobs:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()


def test_two_hosts(tmp_path):
    """A rank is killed on the one: both end soon. Started again, they end with what one process finds."""
    write_streets(tmp_path / "tiles", 1_500)
    common = ["segment", tmp_path / "tiles" / "*.la?", "--labels", "classification"]
    work = tmp_path / "copies" / ".pinvgcn-work"
    with hosts() as names:
        ports = free_port(), free_port()
        again = [*common, "-o", tmp_path / "copies"]
        jobs = [start(name, at, ports[0], *again) for at, name in enumerate(names)]
        try:
            deadline = time.monotonic() + 200
            while not (work / "tiles.json").exists():
                assert all(job.poll() is None for job in jobs)
                assert time.monotonic() < deadline
                time.sleep(0.02)
            (victim,) = Path(f"/proc/{jobs[1].pid}/task/{jobs[1].pid}/children").read_text().split()
            os.kill(int(victim), signal.SIGKILL)
            killed = time.monotonic()
            ended = [job.communicate(timeout=120) for job in jobs]
            assert time.monotonic() - killed < SOON
            assert all(job.returncode != 0 for job in jobs)
            lines = [line for _, stderr in ended for line in said(stderr)]
            assert len(lines) == 1
            assert lines[0].startswith("pinvgcn: rank 1: ended without a message")

            jobs = [start(name, at, ports[1], *again) for at, name in enumerate(names)]
            ended = [job.communicate(timeout=280) for job in jobs]
            assert [job.returncode for job in jobs] == [0, 0], ended
        finally:
            end(jobs)
    assert "Written: " in ended[0][0]
    assert ended[1][0] == ""
    assert main([*map(str, common), "-o", str(tmp_path / "alone"), "--quiet"]) == 0
    classes, sure = read_copies(tmp_path / "copies")
    expected, sure_alone = read_copies(tmp_path / "alone")
    # in single precision 500 epochs part a little
    assert np.abs(sure - sure_alone).mean() < 0.01
    firm = sure_alone > 0.6
    np.testing.assert_array_equal(classes[firm], expected[firm])
