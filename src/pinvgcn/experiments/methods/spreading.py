"""Label spreading, by scikit-learn."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from pinvgcn.experiments.methods.joined import adjacency, required
from pinvgcn.experiments.sight import Sight, look
from pinvgcn.experiments.task import Answer, Prepared, Task
from pinvgcn.graphs import undirected

ROUNDS = 1000  # at most: it converges in some tens


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

    def prepare(self, task: Task) -> Prepared:
        """Make the graph."""
        sight = look(task)
        start = time.perf_counter()
        if sight.rows is task.X:
            A = adjacency(task, self.k)
        else:
            A = undirected(similar(sight.rows, required(task, self.k)))
        return PreparedSpreading(A, {**sight.seconds, "graph": time.perf_counter() - start}, sight)


SPREADING_ALONG_EDGES = LabelSpreading(
    k=None, title="Label spreading", description="Lets labels seep along the edges, again and again."
)


def similar(rows: np.ndarray, k: int) -> sp.csr_array:
    """Distances of each row to the k nearest others (n, n), all pairs: in many columns no tree is quicker."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=k, algorithm="brute", n_jobs=-1).fit(rows.astype(np.float32))
    return sp.csr_array(search.kneighbors_graph(mode="distance"))


@dataclass(frozen=True)
class PreparedSpreading:
    """Any number of labels on one graph."""

    A: sp.csr_array
    seconds: dict[str, float]
    sight: Sight

    def answer(self, labels: np.ndarray, seed: int) -> Answer:
        """The labels that have seeped to each row."""
        from sklearn.semi_supervised import LabelSpreading as Spreading

        start = time.perf_counter()
        model = Spreading(kernel=lambda X, Y: sp.csr_matrix(self.A), max_iter=ROUNDS)
        model.fit(np.zeros((len(labels), 1)), labels)  # the graph alone counts
        codes = self.sight.most_probable(model.label_distributions_, model.classes_)
        return Answer(codes=codes, seconds={"fit": time.perf_counter() - start}, model=model)
