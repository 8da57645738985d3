"""Every method in a process of its own: its memory is its own, and one that fails or takes too long is noted
and left out, without harm to the others."""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np

from pinvgcn.experiments.comparison import Comparison, RunScore, all_seconds
from pinvgcn.experiments.task import Answer, Method, Sink, Task
from pinvgcn.experiments.worker_process import OVER_BUDGET, Message, Peak, Worker, behave, failure, noted

BUDGET = 1800.0  # seconds that a method may take for all choices of labels
# loaded before memory is measured
MODULES = ("pinvgcn.experiments.compare.isolated", "pinvgcn.experiments.methods")


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
        mine: list[RunScore] = []
        try:
            for score, codes in _runs(Job(task, method, tuple(seeds)), budget, progress):
                mine.append(score)
                answers.setdefault(method.name, Answer(codes, score.seconds))
        except _Failed as failed:
            failures[method.name] = str(failed)
            answers.pop(method.name, None)
            continue
        scores.extend(mine)
    return Comparison(task, tuple(methods), tuple(scores), labels, answers, failures)


class _Failed(Exception):
    """Why a method has no scores."""


def _runs(job: Job, budget: float, progress: Sink) -> Iterator[tuple[RunScore, np.ndarray]]:
    """The scores and codes of one method, as they come."""
    count = len(job.seeds)
    ends: float | None = None  # the clock begins when the process has got its data
    worker = Worker(serve, modules=MODULES)
    try:
        worker.send(job)
        for number in range(1, count + 2):
            if number <= count:
                progress(f"{job.task.title}, choice {number} of {count}: {job.method.title}")
            kind, content = worker.receive(ends)
            if kind == "begun":
                ends = time.monotonic() + budget
                kind, content = worker.receive(ends)
            if kind == OVER_BUDGET:
                raise _Failed(f"ended after {budget:g} s with {number - 1} of {count} choices of labels done")
            if kind != "run":
                raise _Failed(f"{content['reason']}: {content['message']}")
            yield content["score"], content["codes"]
            if number == count:
                return
    finally:
        worker.end()


def serve(connection: Connection) -> None:
    """Answer the one job that arrives. Runs in a process of its own."""
    behave()
    for name in MODULES:
        importlib.import_module(name)
    with contextlib.suppress(EOFError, BrokenPipeError):  # the one who asked is gone
        job: Job = connection.recv()
        for message in _messages(job):
            connection.send(message)


def _messages(job: Job) -> Iterator[Message]:
    yield "begun", {}
    for name in getattr(job.method, "libraries", ()):
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
