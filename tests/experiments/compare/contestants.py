"""Methods of known behaviour, in a module of their own: the process that works imports it too."""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass

import numpy as np

from pinvgcn.experiments.task import Answer, PreparedMethod, Ready, Task

HELD = 200_000_000  # bytes


@dataclass(frozen=True)
class Contestant:
    """Knows every class, but for a share of errors, and then behaves in its own way."""

    name: str
    wrong: float = 0.0

    @property
    def title(self) -> str:
        return self.name.capitalize()

    @property
    def description(self) -> str:
        return "For tests."

    def prepare(self, task: Task) -> PreparedMethod:
        return Ready(task, self._answer, {"graph": 2.0})

    def _answer(self, task: Task, labels: np.ndarray, seed: int) -> Answer:
        if self.name == "fails" and seed == 1:
            raise ZeroDivisionError("seed\n one")
        if self.name == "sleeps" and seed == 1:
            time.sleep(600)
        if self.name == "leaves":
            os._exit(3)
        if self.name == "warns":
            warnings.warn("mind\n the gap", stacklevel=2)
        if self.name == "hoards":
            np.ones(HELD // 8)
        errors = np.random.default_rng(seed).random(task.rows) < self.wrong
        codes = np.where(errors, (task.y + 1) % len(task.class_names), task.y)
        return Answer(codes, {"fit": 0.5 + seed})
