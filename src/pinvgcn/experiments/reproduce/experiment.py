"""What a table or figure of the paper is made of: its entries, each a method on a task for many seeds.

``statistics`` is what a table tells of a data set itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from pinvgcn.checks import check_positive
from pinvgcn.datasets import Dataset, load_dataset
from pinvgcn.experiments.methods import networks
from pinvgcn.experiments.methods.networks import Coordinates, Trained, Training, apart, remarks
from pinvgcn.experiments.methods.pinvgcn import PinvMethod
from pinvgcn.experiments.task import TITLES, Kind, Method, Task
from pinvgcn.graphs import GaussianGraph, Hypergraph, SparseGraph

if TYPE_CHECKING:
    from pinvgcn.experiments.reproduce.result_tables import Block
    from pinvgcn.experiments.reproduce.results import Reported, Results

CLOUDS = ("oakland1", "oakland2")
TABLES = ("mushroom", "covertype45", "covertype67")
NETWORKS = ("citeseer", "cora", "pubmed")
LABELS = dict.fromkeys(CLOUDS, 100) | dict.fromkeys(TABLES, 10)  # per class, in the paper's tables
LOOPS = 1.0  # of citation networks: only these give the eigengaps of the paper's table


@dataclass(frozen=True)
class TaskSpec:
    """``per_class`` labels a class, or the standard split; a network may be a regularized hypergraph."""

    data: str
    per_class: int | None = None
    regularization: float | None = None

    @property
    def key(self) -> str:
        form = "" if self.regularization is None else f" hypergraph R={self.regularization:g}"
        return f"{self.data}{form}, {self.labels}"

    @property
    def labels(self) -> str:
        return "standard split" if self.per_class is None else f"{self.per_class} per class"

    @property
    def title(self) -> str:
        form = "" if self.regularization is None else f", R = {self.regularization:g}"
        return TITLES[self.data] + form

    @property
    def kind(self) -> Kind:
        return "points" if self.data in CLOUDS else "table" if self.data in TABLES else "network"

    def load(self) -> Task:
        """Read the data and make the graph, where it is not a Gaussian one; tasks that differ by their labels
        alone share both."""
        return _task(replace(self, per_class=None)).with_labels(self.per_class)


@lru_cache(maxsize=2)
def _task(spec: TaskSpec) -> Task:
    dataset = _dataset(spec.data)
    return Task(
        name=spec.data,
        title=spec.title,
        kind=spec.kind,
        X=dataset.X,
        y=dataset.y,
        class_names=tuple(dataset.target_names),
        per_class=None,
        graph=_graph(spec, dataset),
        split=dataset.split,
    )


def _graph(spec: TaskSpec, dataset: Dataset) -> Any:
    if spec.kind == "points":
        return None
    if spec.kind == "table":
        # hyperedges of a single row are kept: the paper's numbers of hyperedges need them
        return Hypergraph.from_table(dataset.X, min_size=1)
    if spec.regularization is None:
        return SparseGraph(dataset.adjacency, LOOPS)
    return citation_hypergraph(dataset.adjacency, dataset.X, regularization=spec.regularization)


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


@dataclass(frozen=True)
class Experiment:
    """One word of ``pinvgcn reproduce``."""

    name: str
    title: str
    entries: Callable[[], list[Entry]]  # the work, in the order in which it is done
    blocks: Callable[[Results], list[Block]]  # the part of the report
    specs: tuple[TaskSpec, ...] = ()  # whose statistics are told
    # the same method on the same data in the paper: what has to agree with it, as far as results show that
    # it can (a rank may not exist)
    reported: Callable[[Results], list[tuple[Entry, Reported]]] = lambda results: []


Way = tuple[Training, Coordinates]
LIKELY: Way = ("published", "centred")  # how the paper's numbers of clouds were made, probably
SLOW = ("arma", "gdc", "knn=100")
TABULATED = {"points": (10, 30, 100), "network": (50, 200, 500)}  # ranks


@dataclass(frozen=True, eq=False)
class Entry:
    """The name of the method tells its settings: task, method and seed say which run it is."""

    spec: TaskSpec
    method: Method

    @property
    def key(self) -> tuple[str, str]:
        return self.spec.key, self.method.name

    @property
    def family(self) -> str:
        """The method without its settings, as ``--methods`` calls it."""
        return self.method.name.split()[0]

    @property
    def training(self) -> Training:
        return "published" if "published" in self.method.name.split() else "text"

    @property
    def coordinates(self) -> Coordinates:
        """What a method sees of points, where it may see either."""
        return "centred" if "centred" in self.method.name.split() else "raw"

    @property
    def in_ways(self) -> bool:
        """Whether the method may be trained, and see points, in either way."""
        return isinstance(self.method, Trained) or self.words[:2] == ("pinvgcn", "paper")

    def apart(self, training: Training, coordinates: Coordinates = "raw") -> Entry:
        """The same in another way; where a method knows but one, this one."""
        return replace(self, method=apart(self.method, training, coordinates)) if self.in_ways else self

    @property
    def words(self) -> tuple[str, ...]:
        """The name of the method, without its way."""
        return tuple(word for word in self.method.name.split() if word not in LIKELY)

    @property
    def alike(self) -> list[str]:
        """The names of this method in every way."""
        return [" ".join([*self.words, *remarks(*way)]) for way in ways_of(self.spec.kind)]

    @property
    def asked(self) -> int:
        """How many runs the package's own report is to have of it.

        100 of PinvGCN on hypergraphs with 10 labels; 30 of its other rows in tables as the text has them and
        in the probable way, 20 of methods that take seconds, 10 of both in other ways; 5 of slow methods and
        of points that are in figures alone.
        """
        words = self.words
        probable = (self.training, self.coordinates) in (("text", "raw"), likely(self.spec.kind))
        if any(word in SLOW for word in words):
            return 5
        if words[0] != "pinvgcn":
            return 20 if probable else 10
        if self.spec.kind == "table":
            main = self.spec.per_class == 10 and not any(word.startswith("rank=") for word in words)
            return 100 if main and words[1] == "paper" else 20 if main else 5
        if self.spec.regularization is not None or self.rank not in TABULATED[self.spec.kind]:
            return 5
        return 30 if probable or words[1] != "paper" else 10

    @property
    def rank(self) -> int | None:
        """How many eigenvectors are asked for, where a number is."""
        return self.method.settings.get("rank") if isinstance(self.method, PinvMethod) else None

    @property
    def title(self) -> str:
        return f"{self.spec.title} ({self.spec.labels}), {self.method.title}"


def ways_of(kind: Kind) -> list[Way]:
    """The text's way first; only points have coordinates."""
    seen = networks.COORDINATES[: 2 if kind == "points" else 1]
    return [(training, coordinates) for training in networks.TRAININGS for coordinates in seen]


def likely(kind: Kind) -> Way:
    """How the paper's numbers were made, probably."""
    return LIKELY[0], LIKELY[1] if kind == "points" else "raw"


def in_words(way: Way) -> str:
    return f"{way[0]}, {way[1]}"


def distinct(entries: Iterable[Entry]) -> list[Entry]:
    """Each entry once: tables and figures share many of them."""
    return list({entry.key: entry for entry in entries}.values())


SIGMAS = (10.0, 100.0)
FEW = 5  # eigenpairs, of which only the first is wanted


def statistics(task: Task) -> dict[str, Any]:
    described: dict[str, Any] = {
        "nodes": task.rows,
        "classes": len(task.class_names),
        "label_rate": round(100 * task.given / task.rows, 4),  # percent
    }
    if task.kind == "points":
        points = np.asarray(task.X, dtype=float)
        described["diameter"] = round(diameter(points), 4)
        described["eigengap"] = {
            f"{sigma:g}": _eigengap(GaussianGraph(points, sigma, loops=0.0)) for sigma in SIGMAS
        }
        return described
    spectrum = task.graph.spectrum(None if isinstance(task.graph, Hypergraph) else FEW)
    described["components"] = int(spectrum.components)
    described["eigengap"] = round(float(spectrum.eigengap), 6)
    if isinstance(task.graph, Hypergraph):
        described["hyperedges"] = task.graph.n_hyperedges
        described["largest_rank"] = int(spectrum.rank)
    return described


def _eigengap(graph: GaussianGraph) -> float:
    return round(float(graph.spectrum(FEW).eigengap), 6)


def diameter(points: np.ndarray) -> float:
    """The largest distance between two points (n, d): both are corners of the convex hull."""
    from scipy.spatial import ConvexHull
    from scipy.spatial.distance import pdist

    corners = points[ConvexHull(points).vertices]
    return float(pdist(corners).max())
