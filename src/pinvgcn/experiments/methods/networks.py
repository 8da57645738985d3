"""The networks of the paper's tables, as methods."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinvgcn.experiments.methods.inputs import adjacency, features, hypergraph
from pinvgcn.experiments.task import Answer, PreparedMethod, Task
from pinvgcn.graphs import Mediators
from pinvgcn.nn.baselines import (
    ARMA,
    GCN,
    HGNN,
    GraphInputs,
    GraphSAGE,
    HyperGCN,
    HypergraphInputs,
    Inputs,
    Network,
    averaging,
    classify,
    diffusion,
    normalised,
    renormalised,
    train_baseline,
)
from pinvgcn.nn.baselines.training import EPOCHS, LEARNING_RATE

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
    epochs: int = EPOCHS
    learning_rate: float = LEARNING_RATE

    def prepare(self, task: Task) -> PreparedMethod:
        """Make the graph and the first layer's products."""
        self.network(1, len(task.class_names))  # fails at once where its layers are not installed
        start = time.perf_counter()
        inputs = self._inputs(task)
        seconds = {"graph": time.perf_counter() - start}
        return PreparedNetwork(self, inputs, len(task.class_names), seconds)

    def _inputs(self, task: Task) -> InputsOfSeed:
        """Graph and features; mediators are drawn with a run's seed."""
        X = features(task)
        if self.network is HyperGCN:
            mediators = Mediators.of(hypergraph(task), None if task.kind == "table" else X)
            return lambda seed: GraphInputs(renormalised(mediators.adjacency(seed)), X)
        if self.operator is None:
            inputs: Inputs = HypergraphInputs(hypergraph(task), X)
        else:
            inputs = GraphInputs(self.operator(adjacency(task, self.k, self.sigma)), X)
        return lambda seed: inputs


@dataclass(frozen=True)
class PreparedNetwork:
    """Any number of trainings on one graph."""

    method: Trained
    inputs: InputsOfSeed
    n_classes: int
    seconds: dict[str, float]

    def answer(self, labels: np.ndarray, seed: int) -> Answer:
        """Train a network; its largest score at each node."""
        start = time.perf_counter()
        inputs = self.inputs(seed)
        model, _ = train_baseline(
            self.method.network,
            inputs,
            labels,
            self.n_classes,
            seed=seed,
            epochs=self.method.epochs,
            learning_rate=self.method.learning_rate,
        )
        trained = time.perf_counter()
        codes = classify(model, inputs)
        seconds = {"training": trained - start, "predict": time.perf_counter() - trained}
        return Answer(codes=codes, seconds=seconds, model=model)


def gcn(k: int | None = None, sigma: float | None = None) -> Trained:
    """GCN."""
    name, title = _called("gcn", "GCN", k, sigma)
    return Trained(name, title, "Averages over neighbours, twice.", GCN, renormalised, k, sigma)


def graph_sage(k: int | None = None) -> Trained:
    """GraphSAGE."""
    name, title = _called("graphsage", "GraphSAGE", k)
    what = "Weighs a row and the mean of its neighbours apart, twice."
    return Trained(name, title, what, GraphSAGE, averaging, k)


def gdc(k: int | None = None) -> Trained:
    """GDC."""
    name, title = _called("gdc", "GDC", k)
    what = "A GCN on the 64 nodes that a random walk from each node meets most."
    return Trained(name, title, what, GCN, diffusion, k)


def arma(k: int | None = None, sigma: float | None = None) -> Trained:
    """ARMA."""
    name, title = _called("arma", "ARMA", k, sigma)
    what = "Repeats a filter with feedback, in three parallel stacks."
    return Trained(name, title, what, ARMA, normalised, k, sigma)


def hgnn() -> Trained:
    """HGNN*."""
    what = "Averages over the rows that share values, twice; by factors, without a matrix of all pairs."
    return Trained("hgnn", "HGNN*", what, HGNN)


def hypergcn() -> Trained:
    """FastHyperGCN with mediators."""
    what = "A GCN on the edges from the two most different rows of each value to all that share it."
    return Trained("hypergcn", "FastHyperGCN", what, HyperGCN)


def _called(name: str, title: str, k: int | None, sigma: float | None = None) -> tuple[str, str]:
    """The name tells the settings."""
    if k is not None:
        name += f" knn={k}"
        title += f", {k}-NN"
    if sigma is not None:
        name += f" sigma={sigma:g}"
        title += f", σ = {sigma:g}"
    return name, title
