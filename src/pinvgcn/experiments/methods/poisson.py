"""Poisson learning."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from pinvgcn.checks import UNLABELLED
from pinvgcn.errors import TrainingError
from pinvgcn.experiments.methods.joined import adjacency
from pinvgcn.experiments.task import Answer, Prepared, Task
from pinvgcn.graphs import nearest_points

TOLERANCE = 1e-6
ROUNDS = 20_000


@dataclass(frozen=True)
class PoissonLearning:
    """L u = Σ_j (y_j − ȳ) δ_j over the labelled nodes j, Σ_i d_i u_i = 0, from "Poisson Learning: Graph Based
    Semi-Supervised Learning at Very Low Label Rates" (Calder, Cook, Thorpe and Slepčev, 2020), 9.8 of
    docs/maths.md; a node gets the class of the largest entry of u.

    On the k-nearest-neighbour graph, with the authors' weights exp(−4 |x_i − x_j|²/r_i²) on points, r_i the
    distance to the k-th neighbour, added in both directions.
    """

    k: int = 10
    name: str = "poisson"
    title: str = "Poisson learning, 10-NN"
    description: str = "Treats labels as sources and sinks of a flow between the 10 nearest rows."

    def prepare(self, task: Task) -> Prepared:
        """Make the graph."""
        start = time.perf_counter()
        W = self_tuned(nearest_points(task.X, self.k)) if task.kind == "points" else adjacency(task, self.k)
        return PreparedPoisson(W, len(task.class_names), {"graph": time.perf_counter() - start})


@dataclass(frozen=True)
class PreparedPoisson:
    """Any number of labels on one graph."""

    W: sp.csr_array
    n_classes: int
    seconds: dict[str, float]

    def answer(self, labels: np.ndarray, seed: int) -> Answer:
        """Solve for u."""
        start = time.perf_counter()
        codes = poisson_learning(self.W, labels, self.n_classes)
        return Answer(codes=codes, seconds={"solve": time.perf_counter() - start})


def self_tuned(distances: sp.csr_array) -> sp.csr_array:
    """exp(−4 D_ij²/r_i²), r_i the largest distance of row i, plus its transpose."""
    D = distances.copy()
    r = np.repeat(D.max(axis=1).toarray().ravel(), np.diff(D.indptr))
    D.data = np.exp(-4 * np.divide(D.data, r, out=np.zeros_like(r), where=r > 0) ** 2)
    return sp.csr_array(D + D.T)


def poisson_learning(
    W: sp.csr_array, labels: np.ndarray, n_classes: int, *, priors: np.ndarray | None = None
) -> np.ndarray:
    """The class of each node (n,), from ``labels`` with -1 where none is known.

    ``priors``: the share of each class, where that is known; u_j is then multiplied by prior_j/ȳ_j. Each
    connected piece of the graph is a problem of its own, with its own ȳ: nothing flows between them. A piece
    with labels of one class gets that class, one without labels the class with most labels elsewhere.
    """
    known = labels != UNLABELLED
    Y = np.zeros((len(labels), n_classes))
    Y[np.flatnonzero(known), labels[known]] = 1
    pieces, piece = connected_components(W, directed=False)
    sums = np.zeros((pieces, n_classes))
    np.add.at(sums, piece, Y)
    counts = sums.sum(axis=1, keepdims=True)
    mean = np.where(counts > 0, sums / np.maximum(counts, 1), Y[known].mean(axis=0))
    F = np.where(known[:, None], Y - mean[piece], 0)
    u = solve_laplacian(W, F, piece)
    if priors is not None:
        u = u * np.divide(priors, mean, out=np.zeros_like(mean), where=mean > 0)[piece]
    codes = u.argmax(axis=1)
    alone = np.count_nonzero(sums, axis=1) < 2
    codes[alone[piece]] = mean.argmax(axis=1)[piece][alone[piece]]
    return codes


def solve_laplacian(
    W: sp.csr_array, F: np.ndarray, piece: np.ndarray, *, tolerance: float = TOLERANCE
) -> np.ndarray:
    """u with (D − W) u = F and Σ d_i u_i = 0 on each connected piece, where F sums to zero: (n, m).

    Conjugate gradients, preconditioned by D, for all columns at a time.
    """
    d = np.asarray(W.sum(axis=1)).ravel()
    inverse = np.divide(1, d, out=np.zeros_like(d), where=d > 0)[:, None]
    u = np.zeros_like(F)
    residual = F.copy()
    z = inverse * residual
    direction = z.copy()
    product = np.einsum("ij,ij->j", residual, z)
    goal = tolerance**2 * product
    for _ in range(ROUNDS):
        going = product > goal
        if not going.any():
            break
        image = d[:, None] * direction - W @ direction
        curvature = np.einsum("ij,ij->j", direction, image)
        step = np.divide(product, curvature, out=np.zeros_like(product), where=going & (curvature > 0))
        u += step * direction
        residual -= step * image
        z = inverse * residual
        before, product = product, np.einsum("ij,ij->j", residual, z)
        direction = z + np.divide(product, before, out=np.zeros_like(product), where=before > 0) * direction
    else:
        raise TrainingError(
            f"The equation of Poisson learning was not solved to {tolerance:g} in {ROUNDS} rounds. "
            "The graph has pieces that hardly touch; use more neighbours."
        )
    level = np.zeros((piece.max() + 1, F.shape[1]))
    np.add.at(level, piece, d[:, None] * u)
    volume = np.bincount(piece, weights=d)[:, None]
    return u - np.divide(level, volume, out=np.zeros_like(level), where=volume > 0)[piece]
