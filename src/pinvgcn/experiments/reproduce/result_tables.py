"""Tables of results beside the paper's: cells, rows, and which accuracies have to agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pinvgcn.experiments.reproduce.document import Block, Cell, Heading, Table
from pinvgcn.experiments.reproduce.experiment import Entry, Experiment
from pinvgcn.experiments.reproduce.paper import Difference, Reported
from pinvgcn.experiments.reproduce.results import Results, RunSummary
from pinvgcn.experiments.reproduce.task_specs import TaskSpec
from pinvgcn.experiments.task import TITLES, Method
from pinvgcn.report.figures.curves import Curve, Look

NONE = "–"

BOLD = "Bold: beyond two, or of few runs as many more as are equally rare by Student's t."
CAPTION = (
    "Ours above, the paper's below. Accuracy in percent ± standard deviation over the runs. Difference: "
    f"ours minus the paper's, in standard errors of the difference of the two means. {BOLD} The paper's are "
    "taken for means over 100 runs; a few slow methods had 10, it does not say which. Time: seconds of a run "
    "on its own, set-up included, by the processor where other work held it up; ≤ where only the clock was "
    "read."
)


def compared(results: Results, entry: Entry | None, reported: Reported | None) -> list[Cell]:
    """Time, accuracy and difference: three cells."""
    summary = results.summary(entry) if entry is not None else None
    return [
        _time(summary, reported),
        _accuracy(summary, reported, results.why_not(entry) if entry is not None else ""),
        _difference(summary, reported, used(results, entry) if entry is not None else ""),
    ]


def _time(summary: RunSummary | None, reported: Reported | None) -> Cell:
    below = "" if reported is None or reported.seconds is None else seconds(reported.seconds)
    if summary is None:
        return Cell(NONE, below)
    return Cell(("" if summary.timed else "≤ ") + seconds(summary.seconds), below)


def _accuracy(summary: RunSummary | None, reported: Reported | None, why: str) -> Cell:
    below = ""
    if reported is not None:
        below = reported.remark if reported.accuracy is None else spread(reported.accuracy, reported.sd)
    if summary is None:
        return Cell(why or NONE, below)
    return Cell(spread(summary.accuracy, summary.sd if summary.runs > 1 else None), below)


def _difference(summary: RunSummary | None, reported: Reported | None, used: str) -> Cell:
    """In standard errors, and of how many runs."""
    if summary is None:
        return Cell("")
    difference = summary.against(reported)
    return Cell(signed(difference), runs(summary) + used, strong=noteworthy(difference))


def runs(summary: RunSummary) -> str:
    """1 run, 2 runs"""
    return f"{summary.runs} run{'s' if summary.runs > 1 else ''}"


def used(results: Results, entry: Entry) -> str:
    """ ", 65 used" where fewer eigenvectors than the rank that is asked for exist; else nothing."""
    return f", {eigenvectors(results, entry)} used" if results.short_of(entry, entry.rank) else ""


def eigenvectors(results: Results, entry: Entry) -> str:
    """65, or 97 to 100 where the set-ups differ"""
    found = results.ranks_used(entry)
    return " to ".join(str(rank) for rank in dict.fromkeys((found[0], found[-1]))) if found else ""


def brief(results: Results, entry: Entry, theirs: float, digits: int, *, rate: bool = False) -> Cell:
    """One number in percent; below the paper's, and in brackets the difference in standard errors and the
    number of runs. An accuracy, or a ``rate`` of misclassification."""
    below = f"{theirs:.{digits}f}"
    summary = results.summary(entry)
    if summary is None:
        return Cell(results.why_not(entry), below)
    value = 100 - summary.accuracy if rate else summary.accuracy
    difference = summary.against(Reported(100 - theirs if rate else theirs))
    # more errors than the paper are a negative difference in accuracy
    shown = signed(difference, turned=rate)
    return Cell(
        f"{value:.{digits}f}",
        f"{below} ({shown}; {summary.runs}{used(results, entry)})",
        strong=noteworthy(difference),
    )


def noteworthy(difference: Difference | None) -> bool:
    """Whether it stands out."""
    return difference is not None and difference.noteworthy


def signed(difference: Difference | None, *, turned: bool = False) -> str:
    """+1.3 or −0.2 standard errors, or nothing where there is nothing to compare; ``turned`` for rates of
    errors, of which more are less."""
    if difference is None:
        return NONE
    errors = -difference.errors if turned else difference.errors
    if math.isinf(errors):
        return "+∞" if errors > 0 else "−∞"
    return f"{errors:+.1f}".replace("-", "−")


def probability(p: float) -> str:
    """0.03, or below 0.001"""
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.01 else f"{p:.2f}"


def spread(mean: float, sd: float | None) -> str:
    """92.58 ± 1.42"""
    return f"{mean:.2f}" if sd is None else f"{mean:.2f} ± {sd:.2f}"


def seconds(value: float) -> str:
    """With as many digits as matter."""
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s" if value < 100 else f"{value:,.0f} s"


TaskSpecs = Mapping[str, TaskSpec]  # by data set


@dataclass(frozen=True)
class Row:
    """A line of the table, with the paper's own where it has one."""

    label: str
    method: Method
    theirs: Mapping[str, Any] = field(default_factory=dict)  # cells of ``paper.json`` by data set
    counts: bool = True  # False: it is computed otherwise, and stands beside the paper's only to be compared
    sigma: str = ""

    def reported(self, data: str) -> Reported | None:
        """What the paper has in this line."""
        return Reported.of(self.theirs.get(data))


def entries_of(rows: Sequence[Row], specs: TaskSpecs) -> list[Entry]:
    """Row by row."""
    return [Entry(spec, row.method) for row in rows for spec in specs.values()]


def reported_of(
    rows: Sequence[Row], specs: TaskSpecs, results: Results, *, otherwise: bool = False
) -> list[tuple[Entry, Reported]]:
    """The paper's accuracies that were computed as the paper says; or those that were computed otherwise, to
    which a rank belongs that fewer eigenvectors were used for."""
    beside = [
        (row.counts, Entry(spec, row.method), cell)
        for row in rows
        for data, spec in specs.items()
        if (cell := row.reported(data)) is not None and cell.accuracy is not None
    ]
    return [
        (entry, cell)
        for counts, entry, cell in beside
        if (counts and not results.short_of(entry, entry.rank)) is not otherwise
    ]


def head_of(specs: TaskSpecs) -> list[str]:
    """The names of the columns that ``cells_of`` fills."""
    return [name for data in specs for name in (f"{TITLES[data]}: time", "Accuracy (%)", "Difference")]


def cells_of(results: Results, row: Row, specs: TaskSpecs) -> list[Cell]:
    """Time, accuracy and difference on each data set."""
    return [
        cell
        for data, spec in specs.items()
        for cell in compared(results, Entry(spec, row.method), row.reported(data))
    ]


def table_experiment(
    name: str,
    title: str,
    rows: Callable[[], list[Row]],
    specs: TaskSpecs,
    information: Callable[[Results], Table],
    *,
    headings: tuple[str, str],
    caption: str,
    sigma: bool = False,  # whether σ has a column
) -> Experiment:
    """Two tables of the paper: ``information`` on its data sets, and results, ours beside its own."""

    def blocks(results: Results) -> list[Block]:
        lines = [
            [Cell(row.label), *([Cell(row.sigma)] if sigma else []), *cells_of(results, row, specs)]
            for row in rows()
        ]
        head = ["Method", *(["σ"] if sigma else []), *head_of(specs)]
        found = Table(head, lines, CAPTION + caption)
        return [Heading(headings[0]), information(results), Heading(headings[1]), found]

    return Experiment(
        name,
        title,
        entries=lambda: entries_of(rows(), specs),
        blocks=blocks,
        specs=tuple(specs.values()),
        reported=lambda results: reported_of(rows(), specs, results),
        otherwise=lambda results: reported_of(rows(), specs, results, otherwise=True),
    )


def statistic(
    ours: Mapping[str, Any] | None, key: str, theirs: float, form: str, their_form: str = ""
) -> Cell:
    """A number of a data set, and the paper's below."""
    return Cell(NONE if ours is None else format(ours[key], form), format(theirs, their_form or form))


def our_curve(look: Look, results: Results, entries: Mapping[float, Entry], *, rate: bool = False) -> Curve:
    """Accuracies over x with their standard errors, or rates of misclassification."""
    found = [(x, results.summary(entry)) for x, entry in entries.items()]
    there = [(x, one) for x, one in found if one is not None]
    points = [(float(x), 100 - one.accuracy if rate else one.accuracy) for x, one in there]
    return Curve(look, points, [one.standard_error for _, one in there])
