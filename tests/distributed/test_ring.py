"""The ring of watchers: a process that computes ends soon after another was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from ranks import free_port
from street_files import environment, said

COMPUTES = 90.0  # seconds, if nobody ends it
SOON = 20.0  # seconds; the machine may be busy
PROGRAM = f"""
import sys, time
import numpy as np
from pinvgcn.cli.failure import job

with job() as group:
    group.wait()
    print("ready", flush=True)
    matrix, end = np.eye(200), time.monotonic() + {COMPUTES}
    while time.monotonic() < end:  # no exchange: nothing but the ring can tell of the others
        matrix = matrix @ matrix
"""


def start(size: int) -> list[subprocess.Popen[str]]:
    port = free_port()
    return [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **environment(), "RANK": str(rank), "WORLD_SIZE": str(size),
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
            },
        )
        for rank in range(size)
    ]  # fmt: skip


@pytest.mark.parametrize("victim", [0, 1])
def test_a_peer_that_computes_ends_when_another_is_killed(victim):
    """Three processes, so that one of them learns of it from a neighbour; rank 0 keeps the store."""
    processes = start(3)
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", process.communicate()[1]
        os.kill(processes[victim].pid, signal.SIGKILL)
        killed = time.monotonic()
        ends = [process.communicate(timeout=COMPUTES)[1] for process in processes]
        assert time.monotonic() - killed < SOON
        assert [process.returncode for process in processes] == [
            -signal.SIGKILL if rank == victim else 1 for rank in range(3)
        ]
        lines = [line for stderr in ends for line in said(stderr)]
        assert lines == [
            f"pinvgcn: rank {victim}: ended without a message: it was killed, perhaps for want of memory, "
            "or its connection was closed"
        ]
    finally:
        for process in processes:
            process.kill()
            process.wait()
