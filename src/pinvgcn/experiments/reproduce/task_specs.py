"""The paper's data sets and the labels that are seen of them, by name.

A ``TaskSpec`` is small, equal to itself in every process and in every file; ``load`` makes the task of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinvgcn.checks import check_positive
from pinvgcn.datasets import Dataset, load_dataset
from pinvgcn.experiments.task import TITLES, Kind, Task
from pinvgcn.graphs import Hypergraph, SparseGraph

CLOUDS = ("oakland1", "oakland2")
TABLES = ("mushroom", "covertype45", "covertype67")
NETWORKS = ("citeseer", "cora", "pubmed")
LOOPS = 1.0  # of citation networks: only these give the eigengaps of the paper's table


@dataclass(frozen=True)
class TaskSpec:
    """``per_class`` labels a class, or the standard split; a network may be a regularized hypergraph."""

    data: str
    per_class: int | None = None
    regularization: float | None = None

    @property
    def key(self) -> str:
        """Its name in files of results."""
        form = "" if self.regularization is None else f" hypergraph R={self.regularization:g}"
        return f"{self.data}{form}, {self.labels}"

    @property
    def labels(self) -> str:
        """Which labels are seen."""
        return "standard split" if self.per_class is None else f"{self.per_class} per class"

    @property
    def title(self) -> str:
        """Its name in tables."""
        form = "" if self.regularization is None else f", R = {self.regularization:g}"
        return TITLES[self.data] + form

    @property
    def kind(self) -> Kind:
        """What its rows are."""
        return "points" if self.data in CLOUDS else "table" if self.data in TABLES else "network"

    def load(self) -> Task:
        """Read the data and make the graph, where it is not a Gaussian one."""
        dataset = _dataset(self.data)
        return Task(
            name=self.data,
            title=self.title,
            kind=self.kind,
            X=dataset.X,
            y=dataset.y,
            class_names=tuple(dataset.target_names),
            per_class=self.per_class,
            graph=self._graph(dataset),
            split=dataset.split,
        )

    def _graph(self, dataset: Dataset) -> Any:
        if self.kind == "points":
            return None
        if self.kind == "table":
            # hyperedges of a single row are kept: the paper's numbers of hyperedges need them
            return Hypergraph.from_table(dataset.X, min_size=1)
        if self.regularization is None:
            return SparseGraph(dataset.adjacency, LOOPS)
        return citation_hypergraph(dataset.adjacency, dataset.X, regularization=self.regularization)


@lru_cache(maxsize=4)
def _dataset(name: str) -> Dataset:
    """Read once, for all tasks about it; the largest takes seconds."""
    return load_dataset(name)


def citation_hypergraph(adjacency: Any, features: Any, *, regularization: float) -> Hypergraph:
    """The hypergraph of a network with adjacency (n, n) and features (n, f), both sparse."""
    R = check_positive("regularization", regularization)
    around = sp.csr_array(sp.csr_array(adjacency) + sp.eye_array(adjacency.shape[0]))  # (n, n)
    words = sp.csr_array(sp.csr_array(features) != 0, dtype=np.float64)  # (n, f)
    words = words[:, words.sum(axis=0) > 0]
    around.data[:] = 1.0
    weights = np.concatenate([np.ones(around.shape[1]), np.full(words.shape[1], R)])
    return Hypergraph(sp.hstack([around, words], format="csr"), weights)
