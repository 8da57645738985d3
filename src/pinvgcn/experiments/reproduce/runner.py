"""Jobs done one after the other in a process of their own, each within its budget, each result kept at once.

The process can be ended when it takes too long, and may die without harm. It receives jobs and reports what
happens, one message at a time; data sets stay loaded from one job to the next.
"""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pinvgcn.datasets import dataset_info
from pinvgcn.errors import DatasetError
from pinvgcn.experiments.comparison import RunScore
from pinvgcn.experiments.reproduce.experiment import Entry, TaskSpec, statistics
from pinvgcn.experiments.reproduce.ledger import Ledger
from pinvgcn.experiments.reproduce.results import cost
from pinvgcn.experiments.task import Task
from pinvgcn.experiments.worker_process import (
    ERROR,
    NOT_INSTALLED,
    OVER_BUDGET,
    Message,
    Worker,
    failure,
    noted,
    one_line,
)
from pinvgcn.jobs import Progress, silent
from pinvgcn.report.page import commit

NETWORKS = ("gcn", "graphsage", "gdc", "arma")  # families of methods that need torch_geometric
MODULES = (__name__,)  # what a process needs, which none loads twice


@dataclass(frozen=True)
class Runs:
    """Let a method answer a task for these seeds."""

    entry: Entry
    seeds: tuple[int, ...]

    @property
    def spec(self) -> TaskSpec:
        return self.entry.spec

    @property
    def setup(self) -> tuple[Any, ...]:
        """Equal of jobs that share their set-up, or most of it."""
        return self.spec.title, self.entry.words

    @property
    def trainings(self) -> int:
        """With one Adam for all runs those of the seeds before are done again."""
        return self.seeds[-1] + 1 if self.entry.training == "published" else len(self.seeds)


@dataclass(frozen=True)
class Describe:
    spec: TaskSpec


@dataclass(frozen=True)
class Read:
    """Read the data, which may have to be downloaded."""

    spec: TaskSpec


Job = Runs | Describe | Read


def _messages(job: Job) -> Iterator[Message]:
    """What happens on the way; the last message is ``done``, ``missing`` or ``failed``."""
    try:
        try:
            with noted():  # what a data set warns about, a method does too
                task = job.spec.load()
        except DatasetError as error:
            yield "missing", {"message": one_line(error)}
            return
        yield "begun", {}
        if isinstance(job, Describe):
            with noted():
                numbers = statistics(task)
            yield "statistics", {"numbers": numbers}
        elif isinstance(job, Runs):
            yield from _answers(job, task)
        yield "done", {}
    except Exception as error:
        yield failure(error)


def _answers(job: Runs, task: Task) -> Iterator[Message]:
    if job.entry.family in NETWORKS:  # else the first one would seem slow for it
        with contextlib.suppress(ImportError):  # the method itself says what is missing
            importlib.import_module("torch_geometric.nn")
    before = time.process_time() + task.shared.cpu
    with noted() as notes:
        prepared = job.entry.method.prepare(task)
    cpu = round(time.process_time() + task.shared.cpu - before, 4)
    facts = getattr(prepared, "facts", {})
    yield "setup", {"seconds": rounded(prepared.seconds), "cpu": cpu, "facts": facts, "notes": notes}
    # with one Adam for all runs, a run begins where the one before it ended: those that were done earlier,
    # in another process, are done again
    chained = getattr(prepared, "one_adam", None) is not None
    for seed in range(job.seeds[-1] + 1) if chained else job.seeds:
        labels = task.labels(seed)
        before = time.process_time()
        with noted() as notes:
            answer = prepared.answer(labels, seed)
        cpu = round(time.process_time() - before, 4)
        if seed not in job.seeds:
            continue
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


BUDGET = 3600.0  # seconds that a method may take for a task


Seeds = Sequence[int] | Callable[[Entry], Sequence[int]]


@dataclass
class Runner:
    """Does what is not in the ledger yet.

    A method's clock for a task starts when the data are loaded. When its budget is used up, its process
    is ended, in the middle of a run if need be; what it finished until then stays.
    """

    ledger: Ledger
    budget: float = BUDGET
    retry: bool = False  # also what failed before
    again: bool = False  # also what another commit has done
    commit: str = field(default_factory=commit)
    progress: Progress = silent  # of runs, of which ``total`` are to be done
    note: Callable[[str], None] = lambda line: None  # trouble, worth a line that stays
    total: int = 0
    done: int = 0
    missing: dict[str, str] = field(default_factory=dict)  # data that are not here, and what to do
    _worker: Worker | None = None

    def plan(self, entries: Iterable[Entry], seeds: Seeds) -> list[Runs]:
        """The runs that are still to be done, as far as is known of the data: what takes least comes first,
        and what shares its set-up stays together."""
        left = [job for job in self._left(entries, seeds) if job.spec.data not in self.missing]
        jobs = [job for job in left if self._given_up(job.entry.key, job.seeds) is None]
        seconds = self.seconds(jobs)
        return sorted(jobs, key=lambda job: seconds[job.setup])

    def seconds(self, jobs: Iterable[Runs]) -> dict[tuple[Any, ...], float]:
        """Processor seconds of jobs, by what they share: a set-up that several share is made once."""
        found: dict[tuple[Any, ...], float] = {}
        for job in jobs:
            setup, run = cost(job.entry, self.ledger)
            found[job.setup] = found.get(job.setup, setup) + run * job.trainings
        return found

    def tell_given_up(self, entries: Iterable[Entry], seeds: Seeds) -> None:
        """Show what is left out because it failed before."""
        for job in self._left(entries, seeds):
            if (failure := self._given_up(job.entry.key, job.seeds)) is not None:
                what = f"{job.entry.title} failed before"
                self.note(f"{what} ({_why(failure)}); --retry tries it again")

    def _left(self, entries: Iterable[Entry], seeds: Seeds) -> list[Runs]:
        jobs = []
        for entry in entries:
            runs = self.ledger.runs(*entry.key)
            there = {seed for seed, run in runs.items() if not self.again or run.get("commit") == self.commit}
            asked = seeds(entry) if callable(seeds) else seeds
            if left := tuple(seed for seed in asked if seed not in there):
                jobs.append(Runs(entry, left))
        return jobs

    def _given_up(self, key: tuple[str, ...], seeds: Sequence[int] = ()) -> dict[str, Any] | None:
        """The failure for which it is not tried again, unless something has changed since:

        - it was too slow for a smaller budget than now, or only for all runs at once: the budget is that of
          one command, and the runs that it finished are behind us;
        - there was an error in a run whose seed is not asked for now;
        - a package was missing, which may be there by now.
        """
        failure = self.ledger.failure(*key)
        if failure is None or self.retry:
            return None
        reason = failure["reason"]
        slow = reason == OVER_BUDGET and (self.budget > failure["budget"] or failure["finished"] > 0)
        elsewhere = reason == ERROR and "seed" in failure and failure["seed"] not in seeds
        return None if slow or elsewhere or reason == NOT_INSTALLED else failure

    def fetch(self, specs: Iterable[TaskSpec]) -> None:
        """Download the data that are not on this machine, or know that they are missing."""
        for spec in {spec.data: spec for spec in specs}.values():
            if not dataset_info(spec.data).available:
                self._do(Read(spec), spec.title)

    def undescribed(self, specs: Iterable[TaskSpec]) -> list[TaskSpec]:
        """Whose statistics are still to be computed, as far as is known of the data."""
        left = [spec for spec in specs if not self.ledger.of("statistics", spec.key)]
        return [spec for spec in left if spec.data not in self.missing and not self._given_up((spec.key,))]

    def describe(self, specs: Iterable[TaskSpec]) -> None:
        """Compute the statistics that are not there yet."""
        for spec in self.undescribed(specs):
            self._do(Describe(spec), f"{spec.title}: statistics")

    def run(self, entries: Iterable[Entry], seeds: Seeds) -> None:
        """Answer every task with every method, for every seed."""
        for job in self.plan(entries, seeds):
            self._do(job, job.entry.title)

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _do(self, job: Job, title: str) -> None:
        total = len(job.seeds) if isinstance(job, Runs) else 0
        if job.spec.data in self.missing:
            return self._show("", total)
        if self._worker is None:
            self._worker = Worker(_messages, modules=MODULES)
        done = 0
        ready = False  # set-up is behind us
        self._show(f"{title}: reading the data")
        self._worker.send(job)
        ends: float | None = None  # nothing is timed before the data are there
        while True:
            kind, content = self._worker.receive(ends)
            if kind == "begun":
                ends = time.monotonic() + self.budget
                if not isinstance(job, Read):
                    self._show(f"{title}: set-up" if total else title)
            elif kind in ("setup", "run", "statistics"):
                self._keep(kind, job, content)
                ready = True
                if kind == "setup":
                    self._show(f"{title}: run 1 of {total}")
                elif kind == "run":
                    done += 1
                    self._show(f"{title}, seed {content['seed']}: {100 * content['accuracy']:.2f} %", 1)
            elif kind == "done":
                return None
            elif kind == "missing":
                self.missing[job.spec.data] = content["message"]
                self.note(f"{job.spec.title} left out: {content['message']}")
                return self._show("", total)
            else:
                # an error before that belongs to no seed
                seed = {"seed": job.seeds[done]} if isinstance(job, Runs) and ready else {}
                self._failed(job, title, kind, {**content, **seed}, done, total)
                return None

    def _show(self, line: str, finished: int = 0) -> None:
        self.done += finished
        self.progress(line, self.done, self.total)

    def _failed(
        self, job: Job, title: str, kind: str, content: dict[str, Any], done: int, total: int
    ) -> None:
        if kind != "failed":  # the process is gone, or has to go
            self.close()
        if kind == OVER_BUDGET:
            reached = f" with {done} of {total} runs" if done else " before its first run" if total else ""
            said = {"reason": OVER_BUDGET, "message": f"ended after {self.budget:g} s{reached}"}
            content = {**said, **content}
        self._keep("failure", job, {**content, "budget": self.budget, "finished": done})
        self.note(f"{title}: {content['reason']}: {content['message']}")
        self._show("", total - done)

    def _keep(self, kind: str, job: Job, content: dict[str, Any]) -> None:
        about = {"question": job.spec.key}
        if isinstance(job, Runs):
            about |= {"method": job.entry.method.name, "commit": self.commit}
        self.ledger.append(kind, **about, **content)


def _why(failure: dict[str, Any]) -> str:
    if failure["reason"] == OVER_BUDGET:
        return f"{OVER_BUDGET}, {failure['budget']:g} s"
    return f"{failure['reason']}: {failure['message']}"
