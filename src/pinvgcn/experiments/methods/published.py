"""What the paper's text leaves open, or its published code does otherwise: training and coordinates.

==============  ==================================================================================
``text``        a learning rate of 0.01, and Adam built anew for each run
``published``   the habits of the authors' published code: 0.05, and one Adam for all runs
``raw``         coordinates of points as they are: features with a large offset
``centred``     their mean is taken off
==============  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

Training = Literal["text", "published"]
Coordinates = Literal["raw", "centred"]
TRAININGS: tuple[Training, ...] = ("text", "published")
COORDINATES: tuple[Coordinates, ...] = ("raw", "centred")
LEARNING_RATE = 0.05  # of the published code


class OneAdam:
    """Each optimizer begins with the moments and the number of steps of the one before it.

    A run depends on all runs before it: their order is that of the seeds, from 0.
    """

    def __init__(self) -> None:
        self._last: torch.optim.Optimizer | None = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Around the training of one run."""
        handle = register_optimizer_step_pre_hook(self._begin)
        try:
            yield
        finally:
            handle.remove()

    def _begin(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        if optimizer is self._last:
            return
        if self._last is not None:
            state = self._last.state_dict()["state"]
            optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
        self._last = optimizer


def apart(method: Any, training: Training, coordinates: Coordinates = "raw") -> Any:
    """The same method, trained or fed otherwise; its name tells nothing of the text's own way."""
    remarks = [word for word in (coordinates, training) if word not in ("raw", "text")]
    name = " ".join([method.name, *remarks])
    title = method.title + (f" ({', '.join(remarks)})" if remarks else "")
    return replace(method, name=name, title=title, training=training, coordinates=coordinates)
