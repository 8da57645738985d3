"""The networks of the paper's tables, as methods."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinvgcn.experiments.methods.inputs import adjacency, features, hypergraph
from pinvgcn.experiments.methods.published import LEARNING_RATE, Coordinates, OneAdam, Training
from pinvgcn.experiments.task import Answer, PreparedMethod, Task
from pinvgcn.graphs import Mediators
from pinvgcn.nn.baselines.gdc import diffusion
from pinvgcn.nn.baselines.inputs import GraphInputs, HypergraphInputs, Inputs
from pinvgcn.nn.baselines.networks import (
    ARMA,
    GCN,
    HGNN,
    GraphSAGE,
    HyperGCN,
    Network,
    averaging,
    normalised,
    renormalised,
)
from pinvgcn.nn.baselines.training import EPOCHS, classify, train_baseline

InputsOfSeed = Callable[[int], Inputs]


@dataclass(frozen=True)
class Trained:
    """A network with the paper's settings: 2 layers, 32 hidden channels, 500 epochs."""

    name: str
    title: str
    description: str
    network: type[Network]
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
        return PreparedNetwork(self, inputs, len(task.class_names), seconds, one_adam)

    def _inputs(self, task: Task) -> InputsOfSeed:
        """Graph and features; mediators are drawn with a run's seed."""
        X = features(task)
        if self.network is HyperGCN:
            mediators = Mediators.of(hypergraph(task), None if task.kind == "table" else X)
            return lambda seed: GraphInputs(renormalised(mediators.adjacency(seed)), X)
        if self.operator is None:
            inputs: Inputs = HypergraphInputs(hypergraph(task), X)
        else:
            operator, k, sigma = self.operator, self.k, self.sigma
            S = task.shared((operator, k, sigma), lambda: operator(adjacency(task, k, sigma)))
            inputs = GraphInputs(S, X - X.mean(axis=0) if self.coordinates == "centred" else X)
        return lambda seed: inputs


@dataclass(frozen=True)
class PreparedNetwork:
    """Any number of trainings on one graph."""

    method: Trained
    inputs: InputsOfSeed
    n_classes: int
    seconds: dict[str, float]
    one_adam: OneAdam | None = None  # for all runs

    def answer(self, labels: np.ndarray, seed: int) -> Answer:
        """Train a network; its largest score at each node."""
        start = time.perf_counter()
        inputs = self.inputs(seed)
        network = self.method.network
        settings: dict[str, Any] = {"epochs": self.method.epochs}
        if self.method.training == "published":
            settings["learning_rate"] = LEARNING_RATE
        with nullcontext() if self.one_adam is None else self.one_adam():
            model, _ = train_baseline(network, inputs, labels, self.n_classes, seed=seed, **settings)
        trained = time.perf_counter()
        codes = classify(model, inputs)
        seconds = {"training": trained - start, "predict": time.perf_counter() - trained}
        return Answer(codes=codes, seconds=seconds, model=model)


KINDS: dict[str, tuple[str, str, type[Network], Callable[[sp.csr_array], Any] | None]] = {
    "gcn": ("GCN", "Averages over neighbours, twice.", GCN, renormalised),
    "graphsage": (
        "GraphSAGE", "Weighs a row and the mean of its neighbours apart, twice.", GraphSAGE, averaging,
    ),
    "gdc": ("GDC", "A GCN on the 64 nodes that a random walk from each node meets most.", GCN, diffusion),
    "arma": ("ARMA", "Repeats a filter with feedback, in three parallel stacks.", ARMA, normalised),
    "hgnn": (
        "HGNN*", "Averages over the rows that share values, twice; by factors, not by a matrix of all pairs.",
        HGNN, None,
    ),
    "hypergcn": (
        "FastHyperGCN",
        "A GCN on the edges from the two most different rows of each value to all that share it.",
        HyperGCN, None,
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
