"""The main job on embedded data: two tiles of a survey and a table, classified from a few labels."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext, redirect_stderr
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from pinvgcn.checks import UNLABELLED, check_count
from pinvgcn.compute.parallel import cores
from pinvgcn.datasets import Dataset, DatasetInfo, load_dataset
from pinvgcn.errors import PinvGCNError
from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.experiments.comparison import Comparison, RunScore, compare
from pinvgcn.experiments.methods import BASELINES, SIMPLE
from pinvgcn.experiments.methods.inputs import class_probabilities
from pinvgcn.experiments.methods.pinvgcn import OURS, PinvMethod
from pinvgcn.experiments.methods.supervised import Supervised
from pinvgcn.experiments.task import TITLES, Answer, Method, Sink, Task, task_of
from pinvgcn.experiments.worker_process import Message, Worker, failure
from pinvgcn.features.averages import Averages
from pinvgcn.features.pyramid import Pyramid
from pinvgcn.fitting.estimate import AccuracyEstimate
from pinvgcn.fitting.nodes import CloudNodes

Rest = tuple[Comparison, tuple[RunScore, ...], tuple[RunScore, ...]]
SPLITS = 3
TILES = "ign1", "ign2"
QUICK = 15_000  # points of each tile
NEIGHBOURS = 10  # how much the average around a point counts beside its own probabilities


@dataclass(frozen=True)
class Demo:
    """Everything that the demo found out."""

    survey: Comparison  # the tile with labels, at its other points
    next_tile: Comparison  # the tile beside it, which has none
    table: Comparison
    estimates: tuple[AccuracyEstimate | None, AccuracyEstimate | None]  # of both tiles, first split
    sources: tuple[DatasetInfo, ...]
    splits: int
    seed: int
    quick: bool
    seconds: float

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """All, in the order in which they are shown."""
        return self.survey, self.next_tile, self.table

    @property
    def fitted(self) -> tuple[Comparison, ...]:
        """Those whose answers come with a model that was fitted for them."""
        return self.survey, self.table

    @property
    def command(self) -> str:
        """What to type to get the same numbers again."""
        return f"pinvgcn demo --seed {self.seed} " + ("--quick" if self.quick else f"--splits {self.splits}")


def methods(**settings: Any) -> tuple[Method, ...]:
    """PinvGCN with its own defaults, and every simple method; all see the same features."""
    return (PinvMethod(settings), *(BASELINES[name] for name in SIMPLE))


def steps(splits: int) -> int:
    """How many lines of progress ``run_demo`` reports."""
    return 2 + splits * 3 * len(methods())


def run_demo(
    *, splits: int = SPLITS, random_state: int = 0, quick: bool = False, progress: Sink = lambda line: None
) -> Demo:
    """Compare all methods on the survey (20 labels a class of one tile) and on Mushroom (10 a class).

    ``random_state`` seeds the choice of labels and every method. ``quick`` takes one choice, and 15,000
    points of each tile. Otherwise, on two cores, a second process has Mushroom and every third choice.
    """
    splits = 1 if quick else check_count("splits", splits)
    check_count("random_state", random_state, minimum=0)
    start = time.perf_counter()
    beside = not quick and cores() > 1
    here, points = range(splits - splits // 3 if beside else splits), QUICK if quick else None
    job = {"splits": splits, "random_state": random_state, "points": points, "only": range(here.stop, splits)}
    with in_another_process(job, progress) if beside else nullcontext(lambda: do_rest(job, progress)) as rest:
        progress("Survey: reading two tiles")
        first, second = (thinned(load_dataset(name), points) for name in TILES)
        survey, next_tile, estimates = run_survey(
            first, second, methods(), splits=splits, random_state=random_state, only=here, progress=progress
        )
        table, at_home, away = rest()
    return Demo(
        survey=replace(survey, scores=(*survey.scores, *at_home)),
        next_tile=replace(next_tile, scores=(*next_tile.scores, *away)),
        table=table,
        estimates=estimates,
        sources=(first.info, second.info, load_dataset("mushroom").info),
        splits=splits,
        seed=random_state,
        quick=quick,
        seconds=time.perf_counter() - start,
    )


def do_rest(job: Mapping[str, Any], progress: Sink) -> Rest:
    """The comparison of the table, and the scores of ``only`` some choices of the survey at both tiles."""
    progress("Mushroom: reading the table")
    task = task_of(load_dataset("mushroom"), TITLES["mushroom"], per_class=10)
    given = {"splits": job["splits"], "random_state": job["random_state"], "progress": progress}
    using = methods(**job.get("settings", {}))
    table = compare(task, using, **given)
    if not job["only"]:
        return table, (), ()
    first, second = (thinned(load_dataset(name), job["points"]) for name in TILES)
    at_home, away, _ = run_survey(first, second, using, only=job["only"], **given)
    return table, at_home.scores, away.scores


@contextmanager
def in_another_process(job: Mapping[str, Any], progress: Sink) -> Iterator[Callable[[], Rest]]:
    """Gives what waits for the job, which has begun; it ends with this context."""

    def messages() -> Rest:
        while (received := worker.receive(None))[0] == "said":
            progress(received[1]["line"])
        if received[0] != "done":
            raise PinvGCNError(f"The second process of the demo failed: {received[1]['message']}")
        return pickle.loads(received[1]["rest"])  # tensors that are sent as such end with their process

    with ThreadPoolExecutor(1) as reading, closing(Worker(messages_of)) as worker:
        worker.send(job)
        yield reading.submit(messages).result


def messages_of(job: Mapping[str, Any]) -> Iterator[Message]:
    """What another process answers: lines of progress, when all is done, and the result."""
    told: list[str] = []
    # the process that asked tells whoever waits that loops are compiled
    with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):
        try:
            rest = do_rest(job, told.append)
        except Exception as error:
            yield failure(error)
            return
    yield from (("said", {"line": line}) for line in told)
    yield "done", {"rest": pickle.dumps(rest)}


def thinned(tile: Dataset, points: int | None) -> Dataset:
    """A random part of a scan, in the order of the file; all of it for None."""
    if points is None:
        return tile
    rows = np.sort(np.random.default_rng(0).choice(len(tile.y), min(points, len(tile.y)), replace=False))
    assert tile.features is not None
    return replace(tile, X=tile.X[rows], y=tile.y[rows], features=tile.features[rows])


def run_survey(
    first: Dataset,
    second: Dataset,
    using: Sequence[Method],
    *,
    per_class: int = 20,
    splits: int,
    random_state: int = 0,
    only: range | None = None,
    progress: Sink = lambda line: None,
) -> tuple[Comparison, Comparison, tuple[AccuracyEstimate | None, AccuracyEstimate | None]]:
    """Both tiles with labels in the first alone; and the accuracy that the first model expects of itself."""
    home = task_of(first, TITLES["ign1"], per_class=per_class)
    away = replace(task_of(second, TITLES["ign2"]), per_class=0)
    models: dict[int, PinvGCNClassifier] = {}

    def keep(method: Method, seed: int, answer: Answer) -> None:
        if method.name == OURS:
            models[seed] = answer.model

    compared = compare(
        home, using, splits=splits, random_state=random_state, only=only, progress=progress, answered=keep
    )
    first_seed = min(models)
    others = SimpleMethodsElsewhere(home, away, models[first_seed])
    scores: list[RunScore] = []
    answers: dict[str, Answer] = {}
    nothing = np.full(away.rows, UNLABELLED)
    for seed, model in models.items():
        labels = home.labels(seed)
        for method in using:
            progress(f"{away.title}, split {seed - random_state + 1} of {splits}: {method.title}")
            if method.name == OURS:
                started = time.perf_counter()
                P = model.predict_proba(away.X, features=away.extra)
                answer = Answer(P.argmax(axis=1), {"predict": time.perf_counter() - started}, model, {"P": P})
            elif isinstance(method, Supervised):
                answer = others.answer(method, labels, seed)
            else:
                answer = method.prepare(away).answer(nothing, seed)
            scores.append(RunScore(method.name, seed, away.confusion(nothing, answer.codes), answer.seconds))
            answers.setdefault(method.name, answer)
    model = models[first_seed]
    estimates = model.accuracy_estimate_, model.estimate_accuracy(away.X, features=away.extra)
    return compared, Comparison(away, tuple(using), tuple(scores), nothing, answers), estimates


class SimpleMethodsElsewhere:
    """Simple methods, fitted to a labelled tile, at another one.

    They see the shapes around a point that PinvGCN sees, and the columns of the file, but no coordinates,
    which would only harm them. Their probabilities are averaged over the same cells, in as many rounds.
    """

    def __init__(self, home: Task, away: Task, model: PinvGCNClassifier) -> None:
        start = time.perf_counter()
        fitted, nodes = model.fitted_, model.fitted_.nodes
        assert isinstance(nodes, CloudNodes) and nodes.lattice is not None  # noqa: PT018
        assert fitted.smoothing.cell is not None
        self.home, self.points = home, away.X
        self.cell, self.rounds = fitted.smoothing.cell, fitted.smoothing.rounds_at(True)
        shapes = [Pyramid.of(task.X, nodes.lattice).shapes(task.X) for task in (home, away)]
        plain = [
            np.column_stack([own, np.asarray(task.extra)])
            for own, task in zip(shapes, (home, away), strict=True)
        ]
        scaling = StandardScaler().fit(plain[0])
        self.rows = {True: plain, False: [scaling.transform(rows) for rows in plain]}  # for trees, or not
        self.seconds = time.perf_counter() - start

    def answer(self, method: Supervised, labels: np.ndarray, seed: int) -> Answer:
        """A class for every point of the other tile."""
        model = method.build(self.home, seed)
        (here, there), seen = self.rows[method.trees], labels != UNLABELLED
        start = time.perf_counter()
        model.fit(here[seen], labels[seen])
        learned = time.perf_counter()
        P = class_probabilities(model, there)
        for _ in range(self.rounds):
            around = Averages.of(self.points, P, self.cell).at(self.points, P)
            P = (P + NEIGHBOURS * around) / (NEIGHBOURS + 1)
        seconds = {"features": self.seconds, "fit": learned - start, "predict": time.perf_counter() - learned}
        return Answer(model.classes_[P.argmax(axis=1)], seconds, model)
