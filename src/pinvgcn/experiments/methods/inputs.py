"""What the methods beside PinvGCN see of a task: features, encoded columns, sparse graphs.

Of points with surroundings they see what the network of ``PinvGCNClassifier()`` sees, and their class
probabilities are averaged over the same neighbours: the methods are compared, not their features.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from pinvgcn.errors import ParameterError
from pinvgcn.experiments.task import Task
from pinvgcn.fitting.inputs import SPREAD, InputScaling
from pinvgcn.fitting.nodes import CloudNodes
from pinvgcn.fitting.settings import averaging
from pinvgcn.fitting.smoothing import Smoothing
from pinvgcn.graphs import Hypergraph, SparseGraph, nearest_points, sharing_most, undirected


@dataclass(frozen=True)
class MethodInputs:
    """The rows of a task as a method sees them."""

    rows: Any  # a DataFrame, or (n, f) numbers
    values: Any  # the same as trees see it: features as they are, where ``rows`` has their ranks
    comparable: bool = False  # whether the columns have spreads that may be compared
    points: np.ndarray | None = None  # (n, 3)
    smoothing: Any = None  # how probabilities at the points are averaged; None for not at all
    seconds: dict[str, float] = field(default_factory=dict)

    def most_probable(self, P: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """The class of each row (n,), from probabilities (n, m) of ``classes`` (m,)."""
        if self.smoothing is not None:
            assert self.points is not None
            P = self.smoothing.averaged(P, self.points, None)
        found: np.ndarray = np.asarray(classes)[P.argmax(axis=1)]
        return found


def method_inputs(task: Task) -> MethodInputs:
    """What there is to see.

    Coordinates alone stay as they are. Beside other features they are brought to a common spread of 1, and
    the others to their normal scores, as for the network; trees see the values of the others, as the trees
    beside the network do.
    """
    if task.kind != "points" or not (task.surroundings or task.extra is not None):
        return MethodInputs(task.X, task.X)
    start = time.perf_counter()
    nodes = CloudNodes(task.X, sigma="auto", loops=1.0, geometry="auto" if task.surroundings else False)
    own = nodes.for_networks(nodes.features)
    scaled = InputScaling.of(own, task.extra, scaling="ranks", coordinates=nodes.coordinates)
    inputs = scaled(own, task.extra)
    values = scaled.unranked(inputs, own, task.extra)
    if nodes.geometry:  # trees see all shapes, as those beside the network do, and the place too
        values = np.hstack([inputs[:, : nodes.coordinates], nodes.without_place(nodes.features, task.extra)])
    k, cell = averaging("auto", nodes)
    return MethodInputs(
        inputs / SPREAD,
        values,
        comparable=True,
        points=nodes.points,
        smoothing=None if k is None else Smoothing(k, cell, None, None),
        seconds={"features": time.perf_counter() - start},
    )


def class_probabilities(classifier: ClassifierMixin, rows: Any) -> np.ndarray:
    """The probabilities of a fitted classifier (n, m); 0 and 1 from one that has none."""
    if hasattr(classifier, "predict_proba"):
        return np.asarray(classifier.predict_proba(rows))
    return (np.asarray(classifier.predict(rows))[:, None] == classifier.classes_).astype(float)


def encoded(frame: pd.DataFrame, *, dense: bool = False) -> Any:
    """The rows (n, f), sparse or an array: categories one-hot, numbers filled by their median and scaled.

    Booleans and missing categories are categories. Every value of a category has its column, and medians and
    scales are those of all rows, labelled or not.
    """
    numbers = number_columns(frame)
    others = [name for name in frame if name not in set(numbers)]
    parts: list[Any] = []
    if len(others):
        one_hot = OneHotEncoder(sparse_output=not dense)
        parts.append((make_pipeline(FunctionTransformer(as_text), one_hot), others))
    if len(numbers):
        filled = SimpleImputer(strategy="median", keep_empty_features=True)
        parts.append((make_pipeline(filled, StandardScaler()), numbers))
    return make_column_transformer(*parts, sparse_threshold=0.0 if dense else 1.0).fit_transform(frame)


def number_columns(frame: pd.DataFrame) -> list[Any]:
    """The names of the columns of numbers, but for booleans."""
    return [
        name
        for name, dtype in frame.dtypes.items()
        if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
    ]


def as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Every cell as text, so that a column may mix types."""
    return frame.astype(object).where(frame.notna(), "").astype(str)


def adjacency(task: Task, k: int | None, sigma: float | None = None) -> sp.csr_array:
    """A without loops (n, n): each row joined to its k nearest, or the edges of a network as they are.

    Points are near by distance, with weights exp(−|x_i − x_j|²/σ²), or 1 without ``sigma``; rows of a table
    by the number of hyperedges that they share, with weights 1.
    """
    if task.kind == "points":
        near = task.shared(("near", k), lambda: nearest_points(task.X, required(task, k)))
        return undirected(near, sigma=sigma)
    if isinstance(task.graph, SparseGraph):
        A = task.graph.adjacency
        return sp.csr_array(A - sp.diags_array(A.diagonal()))
    near = task.shared(("sharing", k), lambda: sharing_most(hypergraph(task), required(task, k)))
    return undirected(near)


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
