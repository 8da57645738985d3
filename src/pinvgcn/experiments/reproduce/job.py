"""``pinvgcn reproduce``: the work that is not done yet, then the report of all that is."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from pinvgcn.checks import check_choice, check_count, check_positive
from pinvgcn.datasets.locate import data_folder
from pinvgcn.errors import ParameterError
from pinvgcn.experiments.methods.networks import COORDINATES, TRAININGS
from pinvgcn.experiments.reproduce.experiment import Entry, Experiment, distinct, likely
from pinvgcn.experiments.reproduce.figures import RANK, REGULARIZATION, SPLIT_SIZE
from pinvgcn.experiments.reproduce.ledger import FORMAT, LONG, RESULTS, Ledger, ledger_of
from pinvgcn.experiments.reproduce.result_tables import Block, Cell, Figure, Lines, Table, Text
from pinvgcn.experiments.reproduce.results import Results, Tally, by_whose
from pinvgcn.experiments.reproduce.runner import BUDGET, Runner
from pinvgcn.experiments.reproduce.tables import CITATION, HYPERGRAPHS, OAKLAND, WEIGHTS
from pinvgcn.io.atomic import write_text
from pinvgcn.jobs import Progress, silent
from pinvgcn.jobs.files import prepare_folder
from pinvgcn.report.figures.drawing import standalone_svg
from pinvgcn.report.page import environment, render, source_digest
from pinvgcn.wording import counted

TITLE = "The paper again, in numbers"
LEAD = (
    "Every table and figure of Alfke and Stoll, Pseudoinverse Graph Convolutional Networks (2021), "
    "computed again and set beside the paper's own numbers. What differs by more than two standard errors, "
    "or of few runs by as many more as are equally rare, stands in bold."
)
FEW = 10  # that are named one by one
EARLIER = "earlier states of the code"  # before each line named its commit


def write_report(results: Results, folder: Path, experiments: Sequence[Experiment]) -> Path:
    """Write both reports and the figures of the Markdown one; returns the path of the HTML one."""
    short = _in_short(results, experiments)
    sections = [("In short", short)] if short else []
    sections += [(experiment.title, experiment.blocks(results)) for experiment in experiments]
    sections = [
        *sections,
        ("What could not be run", _troubles(results, experiments)),
        ("What it ran on", _surroundings(results)),
    ]
    for _, blocks in sections:
        for block in blocks:
            if isinstance(block, Figure):
                prepare_folder(folder / "figures")
                write_text(folder / "figures" / f"{block.name}.svg", standalone_svg(block.drawing))
    for name in ("reproduce.md", "reproduce.html"):
        page = render(name, title=TITLE, lead=LEAD, sections=sections)
        write_text(folder / f"report{Path(name).suffix}", page)
    return folder / "report.html"


def _in_short(results: Results, experiments: Sequence[Experiment]) -> list[Block]:
    """How many of the paper's accuracies came out, and how many did not, of its method and of the others."""
    rows = []
    for experiment in experiments:
        for whose, some in by_whose(experiment.reported(results)):
            probable = [(entry.apart(*likely(entry.spec.kind)), cell) for entry, cell in some]
            for name, group in (("", some), (", trained as published", probable)):
                tally = results.tally(group)
                if group and (tally.computed or not name):
                    counts = [Cell(str(count)) for count in astuple(tally)]
                    rows.append([Cell(f"{experiment.title}: {whose}{name}"), *counts])
    head = ["Part", "Accuracies in the paper", "Computed here", "Within two", "Better", "Worse"]
    caption = (
        "How many accuracies, of two runs or more, agree with the paper within two standard errors (of few "
        "runs as many more as are equally rare by Student's t), are better, or are worse. The same method on "
        "the same data, as the paper's text has it; or trained as the authors' published code has it, on "
        "clouds with centred coordinates, which is how the paper's numbers were probably made. A rank for "
        "which fewer eigenvectors were used does not count."
    )
    return [Table(head, rows, caption)] if rows else []


def _troubles(results: Results, experiments: Sequence[Experiment]) -> list[Block]:
    """Each failure in one line, with its reason."""
    entries = distinct(entry for experiment in experiments for entry in experiment.entries())
    lines = [f"{data}: no data. {message}" for data, message in (results.missing or {}).items()]
    for spec in dict.fromkeys(spec for experiment in experiments for spec in experiment.specs):
        if (failure := results.ledger.failure(spec.key)) is not None:
            lines.append(f"{spec.key}, statistics: {failure['reason']}, {failure['message']}.")
    for entry, failure in results.failures(entries):
        lines.append(f"{entry.spec.key}, {entry.method.title}: {failure['reason']}, {failure['message']}.")
    left = [entry for entry in entries if not results.summary(entry) and results.why_not(entry) == "not run"]
    if left:
        few = f": {'; '.join(entry.title for entry in left)}" if len(left) <= FEW else ""
        lines.append(
            f"{len(left)} of {len(entries)} rows and points have no run yet, and say “not run”{few}."
        )
    return [Lines(lines)] if lines else [Text("Everything ran.")]


def _surroundings(results: Results) -> list[Block]:
    """By which commits the runs were made, on what."""
    sessions = [line for line in results.ledger.lines if line["kind"] == "session"]
    if not sessions:
        return [Text("Nothing has run yet.")]
    commits = Counter(line.get("commit", EARLIER) for line in results.ledger.lines if line["kind"] == "run")
    when = " to ".join(dict.fromkeys(session["started"][:10] for session in (sessions[0], sessions[-1])))
    made = ", ".join(f"{counted(times, 'run')} by {commit}" for commit, times in commits.items())
    return [
        Text(f"{when}: {made or 'no run'}. The seed of a run chooses its labels, too."),
        Lines(
            [
                *dict.fromkeys(_place(session["environment"]) for session in sessions),
                *dict.fromkeys(session["command"] for session in sessions),
            ]
        ),
    ]


def _place(surroundings: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in surroundings["versions"].items())
    return (
        f"{surroundings['system']}, {counted(surroundings['processors'], 'processor')}, "
        f"{counted(surroundings['torch_threads'], 'thread')}, Python {surroundings['python']}; {versions}"
    )


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
        found = chosen_entries(chosen_experiments(self.experiment), self.methods or None)
        free = [entry for entry in found if entry.training in self.training]
        return [
            entry
            for entry in free
            if entry.coordinates in self.coordinates or entry.spec.kind != "points" or not entry.in_ways
        ]

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
    experiments = chosen_experiments(request.experiment)
    entries = request.entries()
    specs = [spec for experiment in experiments for spec in experiment.specs]
    with (
        ledger_of(Path(folder)) as ledger,
        Runner(ledger, request.budget, request.retry, request.again, progress=progress, note=note) as runner,
    ):
        results = Results(ledger, missing=runner.missing)
        if ledger.repaired:
            note(ledger.repaired)
        runner.tell_given_up(entries, request.seeds)
        jobs = runner.plan(entries, request.seeds)
        runner.fetch([*(job.spec for job in jobs), *runner.undescribed(specs)])
        jobs = runner.plan(entries, request.seeds)
        runner.total = sum(len(job.seeds) for job in jobs)
        note(f"{counted(runner.total, 'run')} to do")
        if jobs or runner.undescribed(specs) or request.experiment not in results.asked_for():
            now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
            about = {"command": request.command, "source": source_digest(), "environment": environment()}
            ledger.append("session", format=FORMAT, started=now, **about)
        try:
            runner.describe(specs)
            runner.run(entries, request.seeds)
        except KeyboardInterrupt:
            runner.close()
            # of what is there, as all of it may take days; read again, as it may have come in between
            _report(Results(Ledger.open(ledger.path), missing=runner.missing))
            raise
        runner.close()
        if len(ledger.lines) > LONG:
            ledger.shorten()
        return Outcome(
            _report(results),
            {experiment.title: results.tally(experiment.reported(results)) for experiment in experiments},
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
        seconds = sum(runner.seconds(jobs).values())
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
