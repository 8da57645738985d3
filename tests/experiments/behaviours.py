"""Methods that do what can go wrong, in a module of their own: the worker process imports it too."""

from __future__ import annotations

import os
import signal
import time
import warnings
from dataclasses import dataclass

import numpy as np

from pinvgcn.errors import MissingDependencyError
from pinvgcn.experiments.task import Answer, PreparedMethod, Ready, Task

HELD = 200_000_000  # bytes


@dataclass(frozen=True)
class Behaves:
    """Knows every class, but for a share of errors, and then behaves in its own way."""

    name: str
    pause: float = 0.0
    wrong: float = 0.0  # share of errors

    @property
    def title(self) -> str:
        return self.name.capitalize()

    @property
    def description(self) -> str:
        return "For tests."

    def prepare(self, task: Task) -> PreparedMethod:
        if self.name == "unprepared":
            raise ValueError("no\n graph")
        return Ready(task, self._answer, {"graph": 2.0})

    def _answer(self, task: Task, labels: np.ndarray, seed: int) -> Answer:
        if self.name == "fails" and seed == 1:
            raise ZeroDivisionError("seed\n one")
        if self.name == "greedy":
            raise MemoryError("too much")
        if self.name == "allocator":
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")
        if self.name == "lonely":
            raise MissingDependencyError("install torch_geometric")
        if self.name == "sleepy" and seed == 1:
            time.sleep(600)
        if self.name == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.name == "leaves":
            os._exit(3)
        if self.name == "warns":
            warnings.warn("mind\n the gap", stacklevel=2)
        if self.name == "busy":
            end = time.process_time() + 0.1
            while time.process_time() < end:
                pass
        time.sleep(self.pause)
        if self.name == "hoards":
            np.ones(HELD // 8)
        # errors depend on the seed alone
        errors = np.random.default_rng(seed).random(task.rows) < (0.5 if self.name == "half" else self.wrong)
        codes = np.where(errors, (task.y + 1) % len(task.class_names), task.y)
        return Answer(codes, {"fit": 0.5 + seed}, facts={"seed": seed})
