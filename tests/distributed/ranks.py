"""Real processes that work on one graph: four ranks that stay, among them groups of two and of four."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import tempfile
import traceback
import warnings
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

WORLD = 4
SIZES = (2, 4)


def _serve(rank: int, store: str, pipe: Any) -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    warnings.simplefilter("error")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
    dist.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=WORLD, timeout=timedelta(seconds=120)
    )
    groups = {size: dist.new_group(list(range(size))) for size in SIZES}
    while True:
        task = pipe.recv()
        if task is None:
            break
        function, size, arguments, double = task
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64 if double else before)
        try:
            answer = True, function(groups[size], *arguments)
        except BaseException:
            answer = False, traceback.format_exc()
        torch.set_default_dtype(before)
        pipe.send(answer)
    dist.destroy_process_group()


class RankPool:
    """``run(size, function, *arguments)``: what ``function(process_group, *arguments)`` returns on each rank.

    The function must be importable: defined at the top of a module of the tests.
    """

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._folder = tempfile.TemporaryDirectory()
        store = str(Path(self._folder.name) / "store")
        self._pipes, self._processes = [], []
        for rank in range(WORLD):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(rank, store, there), daemon=True)
            process.start()
            self._pipes.append(here)
            self._processes.append(process)

    def run(self, size: int, function: Callable[..., Any], *arguments: Any, double: bool = True) -> list[Any]:
        """In double precision unless told otherwise; an error on any rank is raised here."""
        for pipe in self._pipes[:size]:
            pipe.send((function, size, arguments, double))
        answers = []
        for rank, pipe in enumerate(self._pipes[:size]):
            if not pipe.poll(180):
                raise AssertionError(f"rank {rank} of {size} does not answer")
            answers.append(pipe.recv())
        for rank, (fine, answer) in enumerate(answers):
            if not fine:
                raise AssertionError(f"rank {rank} of {size}:\n{answer}")
        return [answer for _, answer in answers]

    def end(self) -> None:
        for pipe in self._pipes:
            pipe.send(None)
        for process in self._processes:
            process.join(10)
            process.kill()
        self._folder.cleanup()


def free_port() -> int:
    """For a rendezvous on this machine."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


def shares(n: int, size: int, kind: str) -> list[slice]:
    """How n rows may be shared out: "even", "uneven", or with "empty" shares in the middle or at the end."""
    if kind == "even":
        ends = [n * (rank + 1) // size for rank in range(size)]
    elif kind == "uneven":
        ends = [n * (rank + 1) ** 2 // size**2 for rank in range(size)]
    else:
        ends = [n // 3] * (size - 1) + [n] if size > 2 else [n, n]
    return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
