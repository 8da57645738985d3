"""What methods that need a sparse graph see of a task."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from pinvgcn.errors import ParameterError
from pinvgcn.experiments.task import Task
from pinvgcn.graphs import Hypergraph, SparseGraph, nearest_points, sharing_most, undirected


def adjacency(task: Task, k: int | None, sigma: float | None = None) -> sp.csr_array:
    """A without loops (n, n): each row joined to its k nearest, or the edges of a network as they are.

    Points are near by distance, with weights exp(−|x_i − x_j|²/σ²), or 1 without ``sigma``; rows of a table
    by the number of hyperedges that they share, with weights 1.
    """
    if task.kind == "points":
        return undirected(nearest_points(task.X, required(task, k)), sigma=sigma)
    if isinstance(task.graph, SparseGraph):
        A = task.graph.adjacency
        return sp.csr_array(A - sp.diags_array(A.diagonal()))
    return undirected(sharing_most(hypergraph(task), required(task, k)))


def hypergraph(task: Task) -> Hypergraph:
    """The hypergraph of a table: the one that comes with it, or that of its values."""
    if isinstance(task.graph, Hypergraph):
        return task.graph
    if task.kind != "table":
        raise ParameterError(
            f"This method needs a table or a hypergraph. Got {task.title}, made of {task.noun}, instead."
        )
    return Hypergraph.from_table(task.X)


def features(task: Task) -> Any:
    """X (n, f) of the networks: coordinates as they are, incidences, or word counts divided by their sum."""
    if task.kind == "points":
        return np.asarray(task.X, dtype=np.float64)
    if task.kind == "table":
        return hypergraph(task).incidence
    X = sp.csr_array(task.X, dtype=np.float64)
    sums = np.asarray(X.sum(axis=1)).ravel()
    scale = np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0)  # some papers have no words
    return sp.csr_array(sp.diags_array(scale) @ X)


def required(task: Task, k: int | None) -> int:
    """k, without which rows that no edges join cannot be joined."""
    if k is None:
        raise ParameterError(
            f"k must be a whole number on {task.title}, which has no edges. Got None instead."
        )
    return k
