"""The process that does the work: it can be ended when it takes too long, and may die without harm.

It receives jobs and reports what happens, one message at a time. Data sets stay loaded from one job to
the next.
"""

from __future__ import annotations

import contextlib
import importlib
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from pinvgcn.errors import DatasetError
from pinvgcn.experiments.comparison import RunScore
from pinvgcn.experiments.reproduce.experiment import Entry
from pinvgcn.experiments.reproduce.task_specs import TaskSpec
from pinvgcn.experiments.task import Task
from pinvgcn.experiments.worker_process import Message, behave, failure, noted, one_line
from pinvgcn.graphs import GaussianGraph, Hypergraph

KEPT = 4  # tasks in memory
NETWORKS = ("gcn", "graphsage", "gdc", "arma")  # families of methods that need torch_geometric


@dataclass(frozen=True)
class Runs:
    """Let a method answer a task for these seeds."""

    entry: Entry
    seeds: tuple[int, ...]

    @property
    def spec(self) -> TaskSpec:
        return self.entry.spec


@dataclass(frozen=True)
class Describe:
    """Compute the statistics of a data set."""

    spec: TaskSpec


@dataclass(frozen=True)
class Read:
    """Read the data, which may have to be downloaded."""

    spec: TaskSpec


Job = Runs | Describe | Read


def serve(connection: Connection) -> None:
    """Do the jobs that arrive until None does. Runs in a process of its own."""
    behave()
    tasks: dict[TaskSpec, Task] = {}
    with contextlib.suppress(EOFError, BrokenPipeError):  # the one who asked is gone
        while (job := connection.recv()) is not None:
            for message in _messages(job, tasks):
                connection.send(message)


def _messages(job: Job, tasks: dict[TaskSpec, Task]) -> Iterator[Message]:
    """What happens on the way; the last message is ``done``, ``missing`` or ``failed``."""
    try:
        try:
            task = _task(job.spec, tasks)
        except DatasetError as error:
            yield "missing", {"message": one_line(error)}
            return
        yield "begun", {}
        if isinstance(job, Describe):
            yield from _described(task)
        elif isinstance(job, Runs):
            yield from _answers(job, task)
        yield "done", {}
    except Exception as error:
        yield failure(error)


def _task(spec: TaskSpec, tasks: dict[TaskSpec, Task]) -> Task:
    if spec not in tasks:
        while len(tasks) >= KEPT:
            del tasks[next(iter(tasks))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a data set warns about, a method does too
            tasks[spec] = spec.load()
    return tasks[spec]


def _described(task: Task) -> Iterator[Message]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield "statistics", {"numbers": statistics(task)}


def _answers(job: Runs, task: Task) -> Iterator[Message]:
    if job.entry.family in NETWORKS:  # else the first one would seem slow for it
        with contextlib.suppress(ImportError):  # the method itself says what is missing
            importlib.import_module("torch_geometric.nn")
    before = time.process_time()
    with noted() as notes:
        prepared = job.entry.method.prepare(task)
    cpu = round(time.process_time() - before, 4)
    facts = getattr(prepared, "facts", {})
    yield "setup", {"seconds": rounded(prepared.seconds), "cpu": cpu, "facts": facts, "notes": notes}
    for seed in job.seeds:
        labels = task.labels(seed)
        before = time.process_time()
        with noted() as notes:
            answer = prepared.answer(labels, seed)
        cpu = round(time.process_time() - before, 4)
        score = RunScore(job.entry.method.name, seed, task.confusion(labels, answer.codes), answer.seconds)
        yield (
            "run",
            {
                "seed": seed,
                "accuracy": round(score.accuracy, 6),
                "mean_recall": round(score.mean_recall, 6),
                "seconds": rounded(answer.seconds),
                "cpu": cpu,
                **({"facts": answer.facts} if answer.facts else {}),
                **({"notes": notes} if notes else {}),
            },
        )


def rounded(seconds: dict[str, float]) -> dict[str, float]:
    """To tenths of a millisecond."""
    return {stage: round(value, 4) for stage, value in seconds.items()}


SIGMAS = (10.0, 100.0)
FEW = 5  # eigenpairs, of which only the first is wanted


def statistics(task: Task) -> dict[str, Any]:
    """Plain numbers, for JSON."""
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
