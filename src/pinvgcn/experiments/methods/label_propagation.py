"""Label spreading, by scikit-learn, and Poisson learning: labels travel along the edges of a graph."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import cg, splu
from sklearn.neighbors import NearestNeighbors
from sklearn.semi_supervised import LabelSpreading as Spreading

from pinvgcn.checks import UNLABELLED
from pinvgcn.errors import TrainingError
from pinvgcn.experiments.methods.inputs import adjacency, method_inputs, required
from pinvgcn.experiments.task import Answer, PreparedMethod, Ready, Task
from pinvgcn.graphs import nearest_points, undirected

SPREADING_ROUNDS = 1000  # at most: it converges in some tens


@dataclass(frozen=True)
class LabelSpreading:
    """F ← α D^(−1/2) A D^(−1/2) F + (1 − α) Y until it stays, on the k-nearest-neighbour graph or, where k is
    None, on the edges of a network, with scikit-learn's α = 0.2; from "Learning with Local and Global
    Consistency" (Zhou et al., 2003).

    Its dense graph (the kernel "rbf") has n² entries, 67 GB on Oakland 2, and no width that suits all data.
    """

    k: int | None = 10
    name: str = "label_spreading"
    title: str = "Label spreading, 10-NN"
    description: str = "Lets labels seep to the 10 nearest rows, again and again (all pairs would not fit)."

    def prepare(self, task: Task) -> PreparedMethod:
        inputs = method_inputs(task)
        start = time.perf_counter()
        if inputs.rows is task.X:
            A = adjacency(task, self.k)
        else:
            A = undirected(similar(inputs.rows, required(task, self.k)))
        seconds = {**inputs.seconds, "graph": time.perf_counter() - start}

        def answer(task: Task, labels: np.ndarray, seed: int) -> Answer:
            start = time.perf_counter()
            model = Spreading(kernel=lambda X, Y: sp.csr_matrix(A), max_iter=SPREADING_ROUNDS)
            model.fit(np.zeros((len(labels), 1)), labels)  # the graph alone counts
            codes = inputs.most_probable(model.label_distributions_, model.classes_)
            return Answer(codes=codes, seconds={"fit": time.perf_counter() - start}, model=model)

        return Ready(task, answer, seconds, A)


SPREADING_ALONG_EDGES = LabelSpreading(
    k=None, title="Label spreading", description="Lets labels seep along the edges, again and again."
)


def similar(rows: np.ndarray, k: int) -> sp.csr_array:
    """Distances of each row to the k nearest others (n, n), all pairs: in many columns no tree is quicker."""
    search = NearestNeighbors(n_neighbors=k, algorithm="brute", n_jobs=-1).fit(rows.astype(np.float32))
    return sp.csr_array(search.kneighbors_graph(mode="distance"))


TOLERANCE = 1e-6
POISSON_ROUNDS = 20_000


@dataclass(frozen=True)
class PoissonLearning:
    """L u = Σ_j (y_j − ȳ) δ_j over the labelled nodes j, Σ_i d_i u_i = 0, from "Poisson Learning: Graph Based
    Semi-Supervised Learning at Very Low Label Rates" (Calder, Cook, Thorpe and Slepčev, 2020), 10.8 of
    docs/maths.md; a node gets the class of the largest entry of u.

    On the k-nearest-neighbour graph, with the authors' weights exp(−4 |x_i − x_j|²/r_i²) on points, r_i the
    distance to the k-th neighbour, added in both directions; or, where k is None, on the edges of a network.
    """

    k: int | None = 10
    name: str = "poisson"
    title: str = "Poisson learning, 10-NN"
    description: str = "Treats labels as sources and sinks of a flow between the 10 nearest rows."

    def prepare(self, task: Task) -> PreparedMethod:
        start = time.perf_counter()
        in_space = task.kind == "points"
        if in_space:
            k = required(task, self.k)
            W = self_tuned(task.shared(("near", k), lambda: nearest_points(task.X, k)))
        else:
            W = adjacency(task, self.k)
        made = time.perf_counter()
        solver = Solver(W, factorised=in_space)
        seconds = {"graph": made - start, "factors": time.perf_counter() - made}

        def answer(task: Task, labels: np.ndarray, seed: int) -> Answer:
            start = time.perf_counter()
            codes = poisson_learning(solver, labels, len(task.class_names))
            return Answer(codes=codes, seconds={"solve": time.perf_counter() - start})

        return Ready(task, answer, seconds, W)


POISSON_ALONG_EDGES = PoissonLearning(
    k=None,
    title="Poisson learning",
    description="Treats labels as sources and sinks of a flow along the edges.",
)


def self_tuned(distances: sp.csr_array) -> sp.csr_array:
    """exp(−4 D_ij²/r_i²), r_i the largest distance of row i, plus its transpose."""
    D = distances.copy()
    r = np.repeat(D.max(axis=1).toarray().ravel(), np.diff(D.indptr))
    D.data = np.exp(-4 * np.divide(D.data, r, out=np.zeros_like(r), where=r > 0) ** 2)
    return sp.csr_array(D + D.T)


def poisson_learning(solver: Solver, labels: np.ndarray, n_classes: int) -> np.ndarray:
    """The class of each node (n,), from ``labels`` with -1 where none is known.

    Each connected piece of the graph is a problem of its own, with its own ȳ: nothing flows between them. A
    piece with labels of one class gets that class, one without labels the class with most labels elsewhere.
    """
    known = labels != UNLABELLED
    Y = np.zeros((len(labels), n_classes))
    Y[np.flatnonzero(known), labels[known]] = 1
    piece = solver.piece
    sums = np.zeros((solver.pieces, n_classes))
    np.add.at(sums, piece, Y)
    counts = sums.sum(axis=1, keepdims=True)
    mean = np.where(counts > 0, sums / np.maximum(counts, 1), Y[known].mean(axis=0))
    u = solver.solve(np.where(known[:, None], Y - mean[piece], 0))
    codes = u.argmax(axis=1)
    alone = np.count_nonzero(sums, axis=1) < 2
    codes[alone[piece]] = mean.argmax(axis=1)[piece][alone[piece]]
    return codes


class Solver:
    """u with (D − W) u = F and Σ d_i u_i = 0 on each connected piece, where F sums to zero.

    ``factorised``: by an LU factorisation with one node of each piece held at zero. For graphs of points in
    space, whose factors stay sparse, and whose thin connections make iterations slow (Oakland 2: 44 s for
    each set of labels, against 4 s for all of them). Else by conjugate gradients, preconditioned by D: for
    graphs without geometry, whose factors would fill up, but whose nodes are few steps apart.
    """

    def __init__(self, W: sp.csr_array, *, factorised: bool, tolerance: float = TOLERANCE) -> None:
        self.d = np.asarray(W.sum(axis=1)).ravel()
        self.pieces, self.piece = connected_components(W, directed=False)
        self.tolerance = tolerance
        self._L = sp.csc_array(sp.diags_array(self.d) - W)
        self._factors = None
        if factorised:
            self._free = np.ones(len(self.d), dtype=bool)
            self._free[np.unique(self.piece, return_index=True)[1]] = False
            if self._free.any():
                free = sp.csc_matrix(self._L[self._free][:, self._free])
                options = {"SymmetricMode": True}
                self._factors = splu(free, "MMD_AT_PLUS_A", diag_pivot_thresh=0, options=options)

    def solve(self, F: np.ndarray) -> np.ndarray:
        """u: (n, m), for F: (n, m)."""
        u = np.zeros_like(F)
        if self._factors is not None:
            u[self._free] = self._factors.solve(F[self._free])
        else:
            u = self._iterated(F)
        level = np.zeros((self.pieces, F.shape[1]))
        np.add.at(level, self.piece, self.d[:, None] * u)
        volume = np.bincount(self.piece, weights=self.d)[:, None]
        return u - np.divide(level, volume, out=np.zeros_like(level), where=volume > 0)[self.piece]

    def _iterated(self, F: np.ndarray) -> np.ndarray:
        L = sp.csr_array(self._L)
        inverse = sp.diags_array(np.divide(1, self.d, out=np.zeros_like(self.d), where=self.d > 0))
        u = np.zeros_like(F)
        for j, column in enumerate(F.T):
            u[:, j], rounds = cg(L, column, rtol=self.tolerance, maxiter=POISSON_ROUNDS, M=inverse)
            if rounds:
                raise TrainingError(
                    f"The equation of Poisson learning was not solved to {self.tolerance:g} in "
                    f"{POISSON_ROUNDS} rounds. The graph has pieces that hardly touch; use more neighbours."
                )
        return u
