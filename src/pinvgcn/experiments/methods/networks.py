"""The networks of the paper's tables, as methods; and two ways to train and to feed any method.

What the paper's text leaves open, or its published code does otherwise:

==============  ==================================================================================
``text``        a learning rate of 0.01, and Adam built anew for each run
``published``   the habits of the authors' published code: 0.05, and one Adam for all runs
``raw``         coordinates of points as they are: features with a large offset
``centred``     their mean is taken off
==============  ==================================================================================
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from pinvgcn.experiments.methods.inputs import adjacency, features, hypergraph
from pinvgcn.experiments.task import Answer, PreparedMethod, Ready, Task
from pinvgcn.graphs import Mediators
from pinvgcn.nn.baselines import networks
from pinvgcn.nn.baselines.training import (
    EPOCHS,
    GraphInputs,
    HypergraphInputs,
    Inputs,
    classify,
    train_baseline,
)

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


def remarks(training: Training, coordinates: Coordinates) -> list[str]:
    """What the name of a method tells of its way; nothing of the text's own."""
    return [word for word in (coordinates, training) if word not in ("raw", "text")]


def apart(method: Any, training: Training, coordinates: Coordinates = "raw") -> Any:
    """The same method, trained or fed otherwise."""
    words = remarks(training, coordinates)
    name = " ".join([method.name, *words])
    title = method.title + (f" ({', '.join(words)})" if words else "")
    return replace(method, name=name, title=title, training=training, coordinates=coordinates)


InputsOfSeed = Callable[[int], Inputs]


@dataclass(frozen=True)
class Trained:
    """A network with the paper's settings: 2 layers, 32 hidden channels, 500 epochs."""

    name: str
    title: str
    description: str
    network: type[networks.Network]
    # of the adjacency A: (n, n) -> what the network multiplies by; None for a network on a hypergraph
    operator: Callable[[sp.csr_array], Any] | None = None
    k: int | None = None  # neighbours of each row, and ...
    sigma: float | None = None  # ... the width of their weights
    training: Training = "text"
    coordinates: Coordinates = "raw"
    epochs: int = EPOCHS

    def prepare(self, task: Task) -> PreparedMethod:
        """Make the graph and the first layer's products."""
        self.network(1, len(task.class_names))  # fails at once where its layers are not installed
        start = time.perf_counter() + task.shared.wall
        inputs = self._inputs(task)
        seconds = {"graph": time.perf_counter() - start + task.shared.wall}
        one_adam = OneAdam() if self.training == "published" else None
        return Ready(task, partial(self._answer, inputs, one_adam), seconds, one_adam=one_adam)

    def _inputs(self, task: Task) -> InputsOfSeed:
        """Graph and features; mediators are drawn with a run's seed."""
        X = features(task)
        if self.network is networks.HyperGCN:
            mediators = Mediators.of(hypergraph(task), None if task.kind == "table" else X)
            return lambda seed: GraphInputs(networks.renormalised(mediators.adjacency(seed)), X)
        if self.operator is None:
            inputs: Inputs = HypergraphInputs(hypergraph(task), X)
        else:
            operator, k, sigma = self.operator, self.k, self.sigma
            S = task.shared((operator, k, sigma), lambda: operator(adjacency(task, k, sigma)))
            inputs = GraphInputs(S, X - X.mean(axis=0) if self.coordinates == "centred" else X)
        return lambda seed: inputs

    def _answer(
        self, inputs_of: InputsOfSeed, one_adam: OneAdam | None, task: Task, labels: np.ndarray, seed: int
    ) -> Answer:
        """Train a network; its largest score at each node."""
        start = time.perf_counter()
        inputs = inputs_of(seed)
        settings: dict[str, Any] = {"epochs": self.epochs}
        if self.training == "published":
            settings["learning_rate"] = LEARNING_RATE
        with nullcontext() if one_adam is None else one_adam():
            model, _ = train_baseline(
                self.network, inputs, labels, len(task.class_names), seed=seed, **settings
            )
        trained = time.perf_counter()
        codes = classify(model, inputs)
        seconds = {"training": trained - start, "predict": time.perf_counter() - trained}
        return Answer(codes=codes, seconds=seconds, model=model)


KINDS: dict[str, tuple[str, str, type[networks.Network], Callable[[sp.csr_array], Any] | None]] = {
    "gcn": ("GCN", "Averages over neighbours, twice.", networks.GCN, networks.renormalised),
    "graphsage": (
        "GraphSAGE", "Weighs a row and the mean of its neighbours apart, twice.",
        networks.GraphSAGE, networks.averaging,
    ),
    "gdc": (
        "GDC", "A GCN on the 64 nodes that a random walk from each node meets most.",
        networks.GCN, networks.diffusion,
    ),
    "arma": (
        "ARMA", "Repeats a filter with feedback, in three parallel stacks.",
        networks.ARMA, networks.normalised,
    ),
    "hgnn": (
        "HGNN*", "Averages over the rows that share values, twice; by factors, not by a matrix of all pairs.",
        networks.HGNN, None,
    ),
    "hypergcn": (
        "FastHyperGCN",
        "A GCN on the edges from the two most different rows of each value to all that share it.",
        networks.HyperGCN, None,
    ),
}  # fmt: skip


def network(kind: str, k: int | None = None, sigma: float | None = None) -> Trained:
    """One of ``KINDS``; its name tells the settings."""
    title, description, module, operator = KINDS[kind]
    name = kind
    if k is not None:
        name, title = f"{name} knn={k}", f"{title}, {k}-NN"
    if sigma is not None:
        name, title = f"{name} sigma={sigma:g}", f"{title}, σ = {sigma:g}"
    return Trained(name, title, description, module, operator, k, sigma)
