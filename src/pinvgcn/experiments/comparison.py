"""Every method on the same labels: timed, scored on the rows that none of them had a label for.

``compare`` works in this process. ``compare_isolated`` has a process for each method: its memory is its own,
and one that fails or takes too long is noted and left out, without harm to the others.
"""

from __future__ import annotations

import contextlib
import importlib
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pinvgcn.checks import check_count
from pinvgcn.errors import TrainingWarning
from pinvgcn.experiments.task import Answer, Method, PreparedMethod, Sink, Task
from pinvgcn.experiments.worker_process import OVER_BUDGET, Message, Peak, Worker, failure, noted
from pinvgcn.report.evaluation import ConfusionMetrics


@dataclass(frozen=True, eq=False)
class RunScore(ConfusionMetrics):
    """How one method did on one split, over the unlabelled rows only."""

    method: str
    seed: int
    confusion: np.ndarray  # (m, m) counts; rows: the true class, columns: the answer
    seconds: dict[str, float]  # by stage, with the set-up that the runs share
    notes: tuple[str, ...] = ()  # warnings that the method gave
    memory: int | None = None  # bytes at most until then, beyond data and libraries; None if not known

    @property
    def total_seconds(self) -> float:
        return float(sum(self.seconds.values()))


@dataclass(frozen=True)
class Summary:
    """One method over all splits; standard deviations with n − 1, 0 for a single split."""

    method: str
    title: str
    description: str
    accuracy: float
    accuracy_sd: float
    macro_f1: float
    macro_f1_sd: float
    mean_recall: float
    recall: np.ndarray  # (m,)
    seconds: dict[str, float]  # mean per stage
    memory: int | None  # the most of all runs

    @property
    def total_seconds(self) -> float:
        return float(sum(self.seconds.values()))


@dataclass(frozen=True)
class Margin:
    """By how much a method is ahead of another on the same splits: positive where it is."""

    method: str
    other: str
    difference: float  # the mean over the splits
    standard_error: float | None  # of that mean; None for a single split


@dataclass(frozen=True)
class Comparison:
    """The scores of every method on every split, and the answers to the first split."""

    task: Task
    methods: tuple[Method, ...]
    scores: tuple[RunScore, ...]
    labels: np.ndarray  # (n,) the first split: the true class, or -1
    answers: dict[str, Answer]  # the first split, by method
    failures: dict[str, str] = field(default_factory=dict)  # methods without scores, and why

    def of(self, method: str) -> list[RunScore]:
        """The scores of one method, in the order of the splits."""
        return [score for score in self.scores if score.method == method]

    def confusion(self, method: str) -> np.ndarray:
        """The answers of one method to all splits (m, m)."""
        counts: np.ndarray = np.sum([score.confusion for score in self.of(method)], axis=0)
        return counts

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(score.seed for score in self.scores))

    def summaries(self) -> list[Summary]:
        """One line a method, the most accurate first."""
        lines = []
        for method in self.methods:
            scores = self.of(method.name)
            if not scores:
                continue
            known = [score.memory for score in scores if score.memory is not None]
            lines.append(
                Summary(
                    method=method.name,
                    title=method.title,
                    description=method.description,
                    **_mean_and_spread("accuracy", scores),
                    **_mean_and_spread("macro_f1", scores),
                    mean_recall=float(np.mean([score.mean_recall for score in scores])),
                    recall=np.mean([score.recall for score in scores], axis=0),
                    seconds={
                        stage: float(np.mean([score.seconds[stage] for score in scores]))
                        for stage in scores[0].seconds
                    },
                    memory=max(known) if known else None,
                )
            )
        return sorted(lines, key=lambda line: -line.accuracy)

    def margin(self, method: str, measure: str = "accuracy") -> Margin | None:
        """By how much a method is ahead of the best other one, by the mean of a property of ``RunScore``.

        The differences are paired: both have had the same labels. None where there is no other.
        """
        values = {m.name: np.array([getattr(s, measure) for s in self.of(m.name)]) for m in self.methods}
        mine = values.pop(method)
        others = {name: found for name, found in values.items() if len(found) == len(mine) > 0}
        if not others:
            return None
        best = max(others, key=lambda name: float(others[name].mean()))
        gaps = mine - others[best]
        error = float(np.std(gaps, ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else None
        return Margin(method, best, float(gaps.mean()), error)

    def notes(self) -> list[str]:
        """Every different warning once, with the method that gave it."""
        titles = {method.name: method.title for method in self.methods}
        return list(
            dict.fromkeys(f"{titles[score.method]}: {note}" for score in self.scores for note in score.notes)
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "task": self.task.name,
            "rows": self.task.rows,
            "classes": list(self.task.class_names),
            "class_sizes": self.task.class_sizes.tolist(),
            "labels_per_class": self.task.per_class,
            "seeds": list(self.seeds),
            "methods": {line.method: self._as_dict(line) for line in self.summaries()},
            "failures": self.failures,
        }

    def _as_dict(self, line: Summary) -> dict[str, Any]:
        numbers = {name: value for name, value in vars(line).items() if name not in ("method", "description")}
        recall = dict(zip(self.task.class_names, line.recall.tolist(), strict=True))
        measures = ("seed", "accuracy", "macro_f1", "mean_recall", "seconds")
        runs = [
            {name: getattr(score, name) for name in measures}
            | {"confusion": score.confusion.tolist(), "notes": list(score.notes)}
            for score in self.of(line.method)
        ]
        return numbers | {"recall": recall, "runs": runs}


def _mean_and_spread(measure: str, scores: Sequence[RunScore]) -> dict[str, float]:
    values = [getattr(score, measure) for score in scores]
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return {measure: float(np.mean(values)), f"{measure}_sd": spread}


def all_seconds(prepared: PreparedMethod, answer: Answer) -> dict[str, float]:
    """What this run on its own would have taken, by stage: the whole set-up, and the answer."""
    stages = dict.fromkeys((*prepared.seconds, *answer.seconds))
    return {stage: prepared.seconds.get(stage, 0.0) + answer.seconds.get(stage, 0.0) for stage in stages}


def compare(
    task: Task,
    methods: Sequence[Method],
    *,
    splits: int = 3,
    random_state: int = 0,
    only: range | None = None,
    progress: Sink = lambda line: None,
    answered: Callable[[Method, int, Answer], None] = lambda method, seed, answer: None,
) -> Comparison:
    """Let each method answer ``splits`` random choices of labels, seeded from ``random_state`` on.

    Or ``only`` some of these, counted from 0, where another process has the rest. ``answered`` is told each
    answer, with its method and its seed; those to the first choice are kept.
    """
    check_count("splits", splits)
    check_count("random_state", random_state, minimum=0)
    scores: list[RunScore] = []
    answers: dict[str, Answer] = {}
    prepared: dict[str, PreparedMethod] = {}
    numbers = range(splits) if only is None else only
    for number in numbers:
        seed = random_state + number
        labels = task.labels(seed)
        for method in methods:
            progress(f"{task.title}, split {number + 1} of {splits}: {method.title}")
            with noted() as notes:
                warnings.simplefilter("error", TrainingWarning)  # an interrupt ends all of it
                if method.name not in prepared:
                    prepared[method.name] = method.prepare(task)
                answer = prepared[method.name].answer(labels, seed)
            answered(method, seed, answer)
            confusion = task.confusion(labels, answer.codes)
            seconds = all_seconds(prepared[method.name], answer)
            scores.append(RunScore(method.name, seed, confusion, seconds, tuple(notes)))
            answers.setdefault(method.name, answer)
    first_labels = task.labels(random_state + numbers[0])
    return Comparison(task, tuple(methods), tuple(scores), first_labels, answers)


BUDGET = 1800.0  # seconds that a method may take for all choices of labels
# loaded before memory is measured
MODULES = ("pinvgcn.experiments.comparison", "pinvgcn.experiments.methods")


@dataclass(frozen=True)
class Job:
    """What a process is asked: a method's answers for these seeds."""

    task: Task
    method: Method
    seeds: tuple[int, ...]


def compare_isolated(
    task: Task,
    methods: Sequence[Method],
    *,
    seeds: Sequence[int],
    budget: float = BUDGET,
    progress: Sink = lambda line: None,
) -> Comparison:
    """Let each method answer for each seed, which stands for a random choice of labels.

    A method that fails, or is not through within ``budget`` seconds, has no scores, and its reason is among
    the ``failures``: a mean over fewer seeds could not be compared.
    """
    labels = task.labels(seeds[0])
    scores: list[RunScore] = []
    answers: dict[str, Answer] = {}
    failures: dict[str, str] = {}
    for method in methods:
        runs, failed = _runs(Job(task, method, tuple(seeds)), budget, progress)
        if failed:
            failures[method.name] = failed
            continue
        scores.extend(run["score"] for run in runs)
        answers[method.name] = Answer(runs[0]["codes"], runs[0]["score"].seconds)
    return Comparison(task, tuple(methods), tuple(scores), labels, answers, failures)


def _runs(job: Job, budget: float, progress: Sink) -> tuple[list[dict[str, Any]], str]:
    """The score and codes of each run of one method; or why it has none."""
    count = len(job.seeds)
    runs: list[dict[str, Any]] = []
    with contextlib.closing(Worker(_messages, modules=MODULES)) as worker:
        worker.send(job)
        kind, content = worker.receive(None)
        ends = time.monotonic() + budget  # the clock begins when the process has got its data
        while kind in ("begun", "run"):
            if kind == "run":
                runs.append(content)
            if len(runs) == count:
                return runs, ""
            progress(f"{job.task.title}, choice {len(runs) + 1} of {count}: {job.method.title}")
            kind, content = worker.receive(ends)
    if kind == OVER_BUDGET:
        return [], f"ended after {budget:g} s with {len(runs)} of {count} choices of labels done"
    return [], f"{content['reason']}: {content['message']}"


def _messages(job: Job) -> Iterator[Message]:
    yield "begun", {}
    for name in (*MODULES, *getattr(job.method, "libraries", ())):
        with contextlib.suppress(ImportError):  # the method says it better
            importlib.import_module(name)
    try:
        peak = Peak()
        with noted() as notes:
            prepared = job.method.prepare(job.task)
        for seed in job.seeds:
            labels = job.task.labels(seed)
            with noted() as more:
                answer = prepared.answer(labels, seed)
            confusion, seconds = job.task.confusion(labels, answer.codes), all_seconds(prepared, answer)
            said = tuple(dict.fromkeys(notes + more))
            score = RunScore(job.method.name, seed, confusion, seconds, said, peak.bytes())
            yield "run", {"score": score, "codes": answer.codes}
            notes = []
    except Exception as error:
        yield failure(error)
