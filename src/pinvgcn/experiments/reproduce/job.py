"""``pinvgcn reproduce``: the work that is not done yet, then the report of all that is."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pinvgcn.checks import check_count, check_positive
from pinvgcn.datasets.locate import data_folder
from pinvgcn.errors import ParameterError
from pinvgcn.experiments.reproduce.catalogue import ALL, chosen_entries, chosen_experiments
from pinvgcn.experiments.reproduce.ledger import FORMAT, Ledger, ledger_of
from pinvgcn.experiments.reproduce.report import write_report
from pinvgcn.experiments.reproduce.results import Results, Tally
from pinvgcn.experiments.reproduce.runner import BUDGET, Event, Runner, Show
from pinvgcn.report.page import environment, source_digest
from pinvgcn.wording import counted

LAST_SEED = 2**32 - 1  # that the generators of random numbers take


@dataclass(frozen=True)
class ReproduceRequest:
    """What was typed."""

    experiment: str = ALL
    runs: int = 100
    methods: tuple[str, ...] = ()  # all where none is named
    seed_start: int = 0
    budget: float = BUDGET
    retry: bool = False

    def __post_init__(self) -> None:
        chosen_entries(chosen_experiments(self.experiment), self.methods or None)
        check_count("runs", self.runs)
        check_count("seed-start", self.seed_start, minimum=0)
        check_positive("budget", self.budget)
        if self.seeds[-1] > LAST_SEED:
            raise ParameterError(
                f"seed-start must leave all seeds at {LAST_SEED} or below. Got {self.seed_start} with "
                f"{counted(self.runs, 'run')} instead."
            )

    @property
    def seeds(self) -> range:
        """The seeds of the choice of labels and of every method."""
        return range(self.seed_start, self.seed_start + self.runs)

    @property
    def command(self) -> str:
        """What to type to get the same again."""
        parts = ["pinvgcn reproduce", self.experiment, f"--runs {self.runs}", f"--budget {self.budget:g}"]
        parts += [f"--methods {','.join(self.methods)}"] if self.methods else []
        parts += [f"--seed-start {self.seed_start}"] if self.seed_start else []
        return " ".join(parts)


@dataclass(frozen=True)
class Outcome:
    """Where the report is, and what could not be done."""

    report: Path
    tallies: dict[str, Tally]  # by the title of each experiment that was asked for
    missing: dict[str, str]
    asked: int  # runs, done before or now
    done: int


def reproduce(
    request: ReproduceRequest,
    folder: str | Path,
    *,
    show: Show = lambda event: None,
    planned: Callable[[int], None] = lambda runs: None,
) -> Outcome:
    """Do the runs that the folder does not have yet, and write its report.

    ``planned`` is told how many runs there are to do, ``show`` what happens.
    """
    if not str(folder):
        raise ParameterError("out must name a folder. Got '' instead.")
    data_folder()  # a wrong one is no reason to leave out one data set after the other
    with ledger_of(Path(folder)) as ledger:
        return _reproduce(request, ledger, show, planned)


def _reproduce(
    request: ReproduceRequest, ledger: Ledger, show: Show, planned: Callable[[int], None]
) -> Outcome:
    experiments = chosen_experiments(request.experiment)
    entries = chosen_entries(experiments, request.methods or None)
    with Runner(ledger, budget=request.budget, retry=request.retry, show=show) as runner:
        results = Results(ledger, missing=runner.missing)
        if ledger.repaired:
            show(Event(ledger.repaired, trouble=True))
        runner.tell_given_up(entries, request.seeds)
        specs = [spec for experiment in experiments for spec in experiment.specs]
        jobs = runner.plan(entries, request.seeds)
        runner.fetch([*(job.spec for job in jobs), *runner.undescribed(specs)])
        jobs = runner.plan(entries, request.seeds)
        planned(sum(len(job.seeds) for job in jobs))
        if jobs or runner.undescribed(specs) or request.experiment not in results.asked_for():
            now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
            ledger.append(
                "session",
                format=FORMAT,
                started=now,
                command=request.command,
                source=source_digest(),
                environment=environment(),
            )
        try:
            runner.describe(specs)
            runner.run(entries, request.seeds)
        except KeyboardInterrupt:
            runner.close()
            # of what is there, as all of it may take days; read again, as it may have come in between
            _report(Results(Ledger.open(ledger.path), missing=runner.missing))
            raise
    tallies = {experiment.title: results.tally(experiment.reported(results)) for experiment in experiments}
    return Outcome(
        _report(results),
        tallies,
        runner.missing,
        asked=len(entries) * len(request.seeds),
        done=sum(seed in ledger.runs(*entry.key) for entry in entries for seed in request.seeds),
    )


def _report(results: Results) -> Path:
    """On all that was asked for in this folder, by any command."""
    shown = [one for one in chosen_experiments(ALL) if {one.name, ALL} & results.asked_for()]
    return write_report(results, results.ledger.path.parent, shown)


def parse_methods(text: str) -> tuple[str, ...]:
    """``gcn,pinvgcn`` as names."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ParameterError(f"methods must be names with commas between them. Got {text!r} instead.")
    return names
