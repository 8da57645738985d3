"""Jobs done one after the other, each within its budget, and each result kept at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pinvgcn.datasets import dataset_info
from pinvgcn.experiments.reproduce.experiment import Entry
from pinvgcn.experiments.reproduce.ledger import Ledger
from pinvgcn.experiments.reproduce.task_specs import TaskSpec
from pinvgcn.experiments.reproduce.worker import Describe, Job, Read, Runs, serve
from pinvgcn.experiments.worker_process import ERROR, NOT_INSTALLED, OVER_BUDGET, Worker

BUDGET = 3600.0  # seconds that a method may take for a task


@dataclass(frozen=True)
class Event:
    """Something to show: the ``line`` of what is going on, and how many runs are now behind us."""

    line: str
    finished: int = 0
    trouble: bool = False  # worth a line that stays
    result: str = ""  # of a run that has ended


Show = Callable[[Event], None]


@dataclass
class Runner:
    """Does what is not in the ledger yet.

    A method's clock for a task starts when the data are loaded. When its budget is used up, its process
    is ended, in the middle of a run if need be; what it finished until then stays.
    """

    ledger: Ledger
    budget: float = BUDGET
    retry: bool = False  # also what failed before
    show: Show = lambda event: None
    missing: dict[str, str] = field(default_factory=dict)  # data that are not here, and what to do
    _worker: Worker | None = None

    def plan(self, entries: Iterable[Entry], seeds: Sequence[int]) -> list[Runs]:
        """The runs that are still to be done, as far as is known of the data."""
        left = [job for job in self._left(entries, seeds) if self._given_up(job) is None]
        return [job for job in left if job.spec.data not in self.missing]

    def tell_given_up(self, entries: Iterable[Entry], seeds: Sequence[int]) -> None:
        """Show what is left out because it failed before."""
        for job in self._left(entries, seeds):
            if (failure := self._given_up(job)) is not None:
                what = f"{job.entry.title} failed before"
                self.show(Event(f"{what} ({_why(failure)}); --retry tries it again", trouble=True))

    def _left(self, entries: Iterable[Entry], seeds: Sequence[int]) -> list[Runs]:
        jobs = []
        for entry in entries:
            there = self.ledger.runs(*entry.key)
            left = tuple(seed for seed in seeds if seed not in there)
            if left:
                jobs.append(Runs(entry, left))
        return jobs

    def _given_up(self, job: Runs) -> dict[str, Any] | None:
        """The failure for which it is not tried again, unless something has changed since:

        - it was too slow for a smaller budget than now, or only for all runs at once: the budget is that of
          one command, and the runs that it finished are behind us;
        - there was an error in a run whose seed is not asked for now;
        - a package was missing, which may be there by now.
        """
        failure = self.ledger.failure(*job.entry.key)
        if failure is None or self.retry:
            return None
        reason = failure["reason"]
        slow = reason == OVER_BUDGET and (self.budget > failure["budget"] or failure["finished"] > 0)
        elsewhere = reason == ERROR and failure.get("seed", job.seeds[0]) not in job.seeds
        return None if slow or elsewhere or reason == NOT_INSTALLED else failure

    def fetch(self, specs: Iterable[TaskSpec]) -> None:
        """Download the data that are not on this machine, or know that they are missing."""
        for spec in {spec.data: spec for spec in specs}.values():
            if not dataset_info(spec.data).available:
                self._do(Read(spec), spec.title)

    def undescribed(self, specs: Iterable[TaskSpec]) -> list[TaskSpec]:
        """Whose statistics are still to be computed, as far as is known of the data."""
        return [
            spec
            for spec in specs
            if not self.ledger.of("statistics", spec.key)
            and spec.data not in self.missing
            and not self._known_to_fail(spec)
        ]

    def _known_to_fail(self, spec: TaskSpec) -> bool:
        """Whether its statistics failed before, and nothing has changed since."""
        failure = self.ledger.failure(spec.key)
        if failure is None or self.retry:
            return False
        return not (failure["reason"] == OVER_BUDGET and self.budget > failure["budget"])

    def describe(self, specs: Iterable[TaskSpec]) -> None:
        """Compute the statistics that are not there yet."""
        for spec in self.undescribed(specs):
            self._do(Describe(spec), f"{spec.title}: statistics")

    def run(self, entries: Iterable[Entry], seeds: Sequence[int]) -> None:
        """Answer every task with every method, for every seed."""
        for job in self.plan(entries, seeds):
            self._do(job, job.entry.title)

    def close(self) -> None:
        """End the process that did the work."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _do(self, job: Job, title: str) -> None:
        if job.spec.data in self.missing:
            return self._skip(job)
        if self._worker is None:
            self._worker = Worker(serve)
        total = len(job.seeds) if isinstance(job, Runs) else 0
        done = 0
        ready = False  # set-up is behind us
        self.show(Event(f"{title}: reading the data"))
        self._worker.send(job)
        ends: float | None = None  # nothing is timed before the data are there
        while True:
            kind, content = self._worker.receive(ends)
            if kind == "begun":
                ends = time.monotonic() + self.budget
                if not isinstance(job, Read):
                    self.show(Event(f"{title}: set-up" if total else title))
            elif kind == "setup":
                self._keep("setup", job, content)
                ready = True
                self.show(Event(f"{title}: run 1 of {total}"))
            elif kind == "run":
                self._keep("run", job, content)
                done += 1
                result = f"{title}, seed {content['seed']}: {100 * content['accuracy']:.2f} %"
                line = f"{title}: run {min(done + 1, total)} of {total}"
                self.show(Event(line, finished=1, result=result))
            elif kind == "statistics":
                self._keep("statistics", job, content)
            elif kind == "done":
                return None
            elif kind == "missing":
                self.missing[job.spec.data] = content["message"]
                self.show(Event(f"{job.spec.title} left out: {content['message']}", trouble=True))
                return self._skip(job)
            else:
                # an error before that belongs to no seed
                seed = {"seed": job.seeds[done]} if isinstance(job, Runs) and ready else {}
                self._failed(job, title, kind, {**content, **seed}, done, total)
                return None

    def _skip(self, job: Job) -> None:
        self.show(Event("", finished=len(job.seeds) if isinstance(job, Runs) else 0))

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
        text = f"{title}: {content['reason']}: {content['message']}"
        self.show(Event(text, finished=total - done, trouble=True))

    def _keep(self, kind: str, job: Job, content: dict[str, Any]) -> None:
        about = {"question": job.spec.key}
        if isinstance(job, Runs):
            about["method"] = job.entry.method.name
        self.ledger.append(kind, **about, **content)


def _why(failure: dict[str, Any]) -> str:
    if failure["reason"] == OVER_BUDGET:
        return f"{OVER_BUDGET}, {failure['budget']:g} s"
    return f"{failure['reason']}: {failure['message']}"
