"""``pinvgcn reproduce``: the work that is not done yet, then the report of all that is."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from pinvgcn.checks import check_choice, check_count, check_positive
from pinvgcn.datasets.locate import data_folder
from pinvgcn.errors import ParameterError
from pinvgcn.experiments.methods.published import COORDINATES, TRAININGS
from pinvgcn.experiments.reproduce.experiment import Entry, Experiment, distinct
from pinvgcn.experiments.reproduce.figures import RANK, REGULARIZATION, SPLIT_SIZE
from pinvgcn.experiments.reproduce.ledger import FORMAT, LONG, RESULTS, Ledger, ledger_of
from pinvgcn.experiments.reproduce.report import write_report
from pinvgcn.experiments.reproduce.results import Results, Tally, cost
from pinvgcn.experiments.reproduce.runner import BUDGET, Runner
from pinvgcn.experiments.reproduce.tables import CITATION, HYPERGRAPHS, OAKLAND
from pinvgcn.experiments.reproduce.weights import WEIGHTS
from pinvgcn.jobs import Progress, silent
from pinvgcn.report.page import environment, source_digest
from pinvgcn.wording import counted

ALL = "all"
EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (OAKLAND, HYPERGRAPHS, SPLIT_SIZE, CITATION, REGULARIZATION, RANK, WEIGHTS)
}


def chosen_experiments(name: str) -> list[Experiment]:
    """One experiment, or all of them in the paper's order."""
    check_choice("experiment", name, (*EXPERIMENTS, ALL))
    return list(EXPERIMENTS.values()) if name == ALL else [EXPERIMENTS[name]]


def chosen_entries(experiments: Collection[Experiment], families: Collection[str] | None) -> list[Entry]:
    """The work of some experiments, each entry once; only these methods, or all where that is None."""
    entries = distinct(entry for experiment in experiments for entry in experiment.entries())
    if families is None:
        return entries
    known = list(dict.fromkeys(entry.family for entry in entries))
    name = next(iter(experiments)).name if len(experiments) == 1 else ALL
    for family in families:
        check_choice(f"methods of {name}", family, known)
    return [entry for entry in entries if entry.family in families]


LAST_SEED = 2**32 - 1  # that the generators of random numbers take


@dataclass(frozen=True)
class ReproduceRequest:
    """What was typed."""

    experiment: str = ALL
    runs: int | None = None  # as many as the package's own report is to have
    methods: tuple[str, ...] = ()  # all where none is named
    seed_start: int = 0
    budget: float = BUDGET
    retry: bool = False
    training: tuple[str, ...] = ("text",)
    coordinates: tuple[str, ...] = ("raw",)
    again: bool = False

    def __post_init__(self) -> None:
        for name, known in (("training", TRAININGS), ("coordinates", COORDINATES)):
            for word in getattr(self, name):
                check_choice(name, word, known)
        chosen_entries(chosen_experiments(self.experiment), self.methods or None)
        if self.runs is not None:
            check_count("runs", self.runs)
        check_count("seed-start", self.seed_start, minimum=0)
        check_positive("budget", self.budget)
        if self.seed_start + (self.runs or 100) - 1 > LAST_SEED:
            raise ParameterError(
                f"seed-start must leave all seeds at {LAST_SEED} or below. Got {self.seed_start} with "
                f"{counted(self.runs or 100, 'run')} instead."
            )

    def seeds(self, entry: Entry) -> range:
        """The seeds of the choice of labels and of the method."""
        return range(self.seed_start, self.seed_start + (self.runs or entry.asked))

    def entries(self) -> list[Entry]:
        """The rows and points that are asked for."""
        found = chosen_entries(chosen_experiments(self.experiment), self.methods or None)
        ways = [entry for entry in found if entry.training in self.training]
        return [entry for entry in ways if not entry.either or entry.coordinates in self.coordinates]

    @property
    def command(self) -> str:
        """What to type to get the same again."""
        parts = ["pinvgcn reproduce", self.experiment]
        parts += [] if self.runs is None else [f"--runs {self.runs}"]
        parts += [f"--budget {self.budget:g}"]
        parts += [f"--methods {','.join(self.methods)}"] if self.methods else []
        parts += [f"--seed-start {self.seed_start}"] if self.seed_start else []
        parts += [] if self.training == ("text",) else [f"--training {','.join(self.training)}"]
        parts += [] if self.coordinates == ("raw",) else [f"--coordinates {','.join(self.coordinates)}"]
        return " ".join([*parts, *(["--again"] if self.again else [])])


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
    progress: Progress = silent,
    note: Callable[[str], None] = lambda line: None,
) -> Outcome:
    """Do the runs that the folder does not have yet, and write its report.

    ``progress`` counts runs; ``note`` receives how many there are to do, and what went wrong.
    """
    if not str(folder):
        raise ParameterError("out must name a folder. Got '' instead.")
    data_folder()  # a wrong one is no reason to leave out one data set after the other
    with ledger_of(Path(folder)) as ledger:
        return _reproduce(request, ledger, progress, note)


def _reproduce(
    request: ReproduceRequest, ledger: Ledger, progress: Progress, note: Callable[[str], None]
) -> Outcome:
    experiments = chosen_experiments(request.experiment)
    entries = request.entries()
    runner = Runner(ledger, request.budget, request.retry, request.again, progress=progress, note=note)
    with runner:
        results = Results(ledger, missing=runner.missing)
        if ledger.repaired:
            note(ledger.repaired)
        runner.tell_given_up(entries, request.seeds)
        specs = [spec for experiment in experiments for spec in experiment.specs]
        jobs = runner.plan(entries, request.seeds)
        runner.fetch([*(job.spec for job in jobs), *runner.undescribed(specs)])
        jobs = runner.plan(entries, request.seeds)
        runner.total = sum(len(job.seeds) for job in jobs)
        note(f"{counted(runner.total, 'run')} to do")
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
    if len(ledger.lines) > LONG:
        ledger.shorten()
    tallies = {experiment.title: results.tally(experiment.reported(results)) for experiment in experiments}
    return Outcome(
        _report(results),
        tallies,
        runner.missing,
        asked=sum(len(request.seeds(entry)) for entry in entries),
        done=sum(seed in ledger.runs(*entry.key) for entry in entries for seed in request.seeds(entry)),
    )


@dataclass(frozen=True)
class Planned:
    """What a command would do for one experiment."""

    title: str
    runs: int
    there: int
    hours: float  # of a processor, as measured before


def planned(request: ReproduceRequest, folder: str | Path) -> list[Planned]:
    """The runs that are asked for, how many are there, and what the others cost. Nothing is written."""
    ledger = Ledger.open(Path(folder) / RESULTS, mend=False)
    runner = Runner(ledger, budget=request.budget, retry=True, again=request.again)
    seen: set[tuple[str, str]] = set()
    found = []
    for experiment in chosen_experiments(request.experiment):
        own = {entry.key for entry in experiment.entries()} - seen
        entries = [entry for entry in request.entries() if entry.key in own]
        seen |= own
        jobs = runner.plan(entries, request.seeds)
        asked = sum(len(request.seeds(entry)) for entry in entries)
        left = sum(len(job.seeds) for job in jobs)
        seconds = sum(cost(job.entry, job.trainings, ledger) for job in jobs)
        found.append(Planned(experiment.title, asked, asked - left, seconds / 3600))
    return found


def _report(results: Results) -> Path:
    """On all that was asked for in this folder, by any command."""
    shown = [one for one in chosen_experiments(ALL) if {one.name, ALL} & results.asked_for()]
    return write_report(results, results.ledger.path.parent, shown)


def parse_names(option: str, text: str) -> tuple[str, ...]:
    """What stands between commas, at least one name."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ParameterError(f"{option} must be names with commas between them. Got {text!r} instead.")
    return names
