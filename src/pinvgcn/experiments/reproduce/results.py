"""The paper's numbers, from ``paper.json``; what a ledger says about entries; how the two compare."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from pinvgcn.experiments.reproduce.experiment import Entry, TaskSpec
from pinvgcn.experiments.reproduce.ledger import Ledger

NOTEWORTHY = 2.0  # standard errors: differences beyond are listed
RARE = math.erfc(NOTEWORTHY / math.sqrt(2))  # how often chance alone gives more, where the spread is known
RUNS = 100  # of which the paper's averages are made; "a few slow baselines" had 10, it does not say which


@cache
def _numbers(name: str) -> dict[str, Any]:
    numbers: dict[str, Any] = json.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))
    return numbers


def paper() -> dict[str, Any]:
    """All tables and figures of the paper; accuracies in percent."""
    return _numbers("paper.json")


@dataclass(frozen=True)
class Reported:
    """One accuracy of the paper, in percent; without a standard deviation where it gives none."""

    accuracy: float | None
    sd: float | None = None
    seconds: float | None = None
    remark: str = ""  # stands in the place of a missing accuracy

    @classmethod
    def of(cls, cell: dict[str, Any] | None) -> Reported | None:
        if cell is None:
            return None
        if cell.get("out_of_memory"):
            return cls(None, remark="out of memory")
        return cls(cell["accuracy"], cell["sd"], cell["seconds"])

    @property
    def text(self) -> str:
        return self.remark if self.accuracy is None else spread(self.accuracy, self.sd)


def spread(mean: float, sd: float | None) -> str:
    """92.58 ± 1.42"""
    return f"{mean:.2f}" if sd is None else f"{mean:.2f} ± {sd:.2f}"


class Difference(NamedTuple):
    """How far our mean is from the paper's."""

    errors: float  # in standard errors
    chance: float  # how often equal means differ by so many, by Student's t

    @property
    def noteworthy(self) -> bool:
        """Beyond two standard errors, and of few runs as many more as are equally rare."""
        return self.chance < RARE


def difference(
    mean: float, sd: float, runs: int, paper_mean: float, paper_sd: float | None, paper_runs: int = RUNS
) -> Difference | None:
    """(mean − paper's) / √(sd²/runs + sd_p²/runs_p), and how often chance alone does that.

    Where the paper gives no standard deviation, ours stands for it. The degrees of freedom are Welch's, or
    then those of our runs: of two or three, whose spread is hardly known, many standard errors may be chance.
    None for a single run; ±∞ where neither varies and they differ.
    """
    from scipy.stats import t

    if runs < 2:
        return None
    own, theirs = sd**2 / runs, (sd if paper_sd is None else paper_sd) ** 2 / paper_runs
    apart, error = mean - paper_mean, math.sqrt(own + theirs)
    errors = apart / error if error else math.copysign(math.inf, apart) if apart else 0.0
    free = float(runs - 1)
    if paper_sd:
        free = (own + theirs) ** 2 / (own**2 / (runs - 1) + theirs**2 / (paper_runs - 1))
    return Difference(errors, float(2 * t.sf(abs(errors), free)))


@dataclass(frozen=True)
class RunSummary:
    """A method's runs on a task: accuracies in percent, the seconds of a run on its own."""

    runs: int
    accuracy: float
    sd: float  # over the runs, with n − 1; 0 for a single run
    seconds: float
    timed: bool = True  # False: by the clock alone, which other work on the machine may have held up

    @property
    def standard_error(self) -> float | None:
        """sd/√runs, of the mean accuracy; None for a single run, whose spread is unknown."""
        return None if self.runs < 2 else self.sd / math.sqrt(self.runs)

    @property
    def text(self) -> str:
        return spread(self.accuracy, self.sd if self.runs > 1 else None)

    def against(self, reported: Reported | None) -> Difference | None:
        """The difference to the paper, where both sides have a mean."""
        if reported is None or reported.accuracy is None:
            return None
        return difference(self.accuracy, self.sd, self.runs, reported.accuracy, reported.sd)


@dataclass(frozen=True)
class Tally:
    """How many of the paper's accuracies there are, were computed here, and how they compare."""

    reported: int
    computed: int
    within: int  # two standard errors, or as many more as few runs ask for
    better: int
    worse: int


def by_whose(pairs: list[tuple[Entry, Reported]]) -> list[tuple[str, list[tuple[Entry, Reported]]]]:
    """PinvGCN's apart from those of other methods."""
    return [
        (whose, [pair for pair in pairs if (pair[0].family == "pinvgcn") is own])
        for whose, own in (("PinvGCN", True), ("other methods", False))
    ]


@dataclass(frozen=True)
class Results:
    """A view of the ledger."""

    ledger: Ledger
    missing: dict[str, str] | None = None  # data that were not here

    def summary(self, entry: Entry) -> RunSummary | None:
        """None where no run has finished."""
        runs = list(self.ledger.runs(*entry.key).values())
        if not runs:
            return None
        accuracies = [100 * run["accuracy"] for run in runs]
        setup, setup_timed = typical_seconds(self.ledger.of("setup", *entry.key))
        own, own_timed = typical_seconds(runs)
        return RunSummary(
            runs=len(runs),
            accuracy=float(np.mean(accuracies)),
            sd=float(np.std(accuracies, ddof=1)) if len(runs) > 1 else 0.0,
            seconds=setup + own,
            timed=setup_timed and own_timed,
        )

    def tally(self, reported: list[tuple[Entry, Reported]]) -> Tally:
        """Of entries and what the paper reports for them."""
        summaries = [(self.summary(entry), cell) for entry, cell in reported]
        found = [summary.against(cell) for summary, cell in summaries if summary is not None]
        differences = [one for one in found if one is not None]
        beyond = [one.errors for one in differences if one.noteworthy]
        return Tally(
            reported=len(reported),
            computed=len(differences),
            within=len(differences) - len(beyond),
            better=sum(errors > 0 for errors in beyond),
            worse=sum(errors < 0 for errors in beyond),
        )

    def apart(self, reported: list[tuple[Entry, Reported]]) -> str | None:
        """Our accuracies minus the paper's, in points: their mean; None without any."""
        found = [(self.summary(entry), cell.accuracy) for entry, cell in reported]
        points = [ours.accuracy - theirs for ours, theirs in found if ours and theirs is not None]
        return f"{np.mean(points):+.1f}".replace("-", "−") if points else None

    def asked_for(self) -> set[str]:
        """The words of all commands that worked here, one of which may be ``all``.

        These have a part in a report. Runs alone do not give an experiment one: it may share them with
        another, and nobody has asked for the rest of it.
        """
        return {
            word
            for session in self.ledger.lines
            if session["kind"] == "session"
            for word in session["command"].removeprefix("pinvgcn reproduce ").split()[:1]
        }

    def why_not(self, entry: Entry) -> str:
        """Why there is no more of an entry, in a few words; empty where nothing is known to be wrong."""
        failure = self.ledger.failure(*entry.key)
        if failure is not None:
            return str(failure["reason"])
        if self.missing and entry.spec.data in self.missing:
            return "no data"
        return "" if self.ledger.runs(*entry.key) else "not run"

    def failures(self, entries: list[Entry]) -> list[tuple[Entry, dict[str, Any]]]:
        """What went wrong, with the whole message."""
        found = ((entry, self.ledger.failure(*entry.key)) for entry in entries)
        return [(entry, failure) for entry, failure in found if failure is not None]

    def ranks_used(self, entry: Entry) -> list[int]:
        """The numbers of eigenvectors that its set-ups found, each once; more than one where the code went on
        between the runs."""
        lines = self.ledger.of("setup", *entry.key)
        return sorted({int(line["facts"]["rank"]) for line in lines if "rank" in line["facts"]})

    def short_of(self, entry: Entry, rank: int | None) -> bool:
        """Whether it used fewer eigenvectors than ``rank``: those that exist and stand out from rounding."""
        return rank is not None and any(used < rank for used in self.ranks_used(entry))

    def weights(self, entry: Entry) -> dict[str, list[float]]:
        """The average absolute weight of each part, in each run; empty without runs."""
        found = [run["facts"]["weights"] for run in self.ledger.runs(*entry.key).values() if "facts" in run]
        return {part: [run[part] for run in found] for part in found[0]} if found else {}

    def statistics(self, spec: TaskSpec) -> dict[str, Any] | None:
        lines = self.ledger.of("statistics", spec.key)
        numbers: dict[str, Any] | None = lines[-1]["numbers"] if lines else None
        return numbers


def typical_seconds(lines: list[dict[str, Any]]) -> tuple[float, bool]:
    """The median seconds of set-ups or runs, and whether their processor time is known.

    A line counts by its processor time or by the clock, whichever is less: the first where other work held
    it up, the second where it had several threads. Lines without processor time count only where no line
    has it. The median, as the first set-up of a program also loads its libraries.
    """
    timed = [line for line in lines if "cpu" in line]
    seconds = [min(sum(line["seconds"].values()), line.get("cpu", float("inf"))) for line in timed or lines]
    return float(np.median(seconds or [0.0])), bool(timed) or not lines


UNKNOWN = (5.0, 5.0)  # of a set-up and of a run


def cost(entry: Entry, ledger: Ledger) -> tuple[float, float]:
    """Processor seconds of a set-up and of a run: as measured there, in any way to train and to feed the
    method, else for the package's report."""
    keys = [(entry.spec.key, name) for name in entry.alike]
    if runs := [run for key in keys for run in ledger.runs(*key).values()]:
        return _latest([line for key in keys for line in ledger.of("setup", *key)]), _latest(runs)
    of_data = _numbers("costs.json").get(entry.spec.data, {})  # (set-up, run), by data set and method
    for length in range(len(entry.words), 0, -1):  # gcn knn=10 sigma=100, gcn knn=10, gcn
        if (found := of_data.get(" ".join(entry.words[:length]))) is not None:
            return found[0], found[1]
    return UNKNOWN


def _latest(lines: list[dict[str, Any]]) -> float:
    """Typical seconds; lines from before each named its commit count only where no other is."""
    return typical_seconds([line for line in lines if "commit" in line] or lines)[0]
