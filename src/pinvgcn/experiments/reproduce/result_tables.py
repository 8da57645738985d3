"""What a report is made of, as values that the templates ``reproduce.html`` and ``reproduce.md`` show; and
tables of results beside the paper's: cells, rows, and which accuracies have to agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure as Drawing

from pinvgcn.experiments.reproduce.experiment import Entry, TaskSpec, Way, in_words, ways_of
from pinvgcn.experiments.reproduce.results import Difference, Reported, Results, by_whose
from pinvgcn.experiments.task import TITLES, Method
from pinvgcn.report.figures.drawing import inline_svg
from pinvgcn.wording import counted


@dataclass(frozen=True)
class Heading:
    """A title inside of a section."""

    text: str
    kind: ClassVar = "heading"


@dataclass(frozen=True)
class Text:
    text: str
    kind: ClassVar = "text"


@dataclass(frozen=True)
class Lines:
    lines: Sequence[str]
    kind: ClassVar = "lines"


@dataclass(frozen=True)
class Cell:
    """A number, and below it in small what it is compared with."""

    text: str
    below: str = ""
    strong: bool = False  # stands out


@dataclass(frozen=True)
class Table:
    """Columns with names, rows of cells, a caption."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    kind: ClassVar = "table"


@dataclass(frozen=True)
class Figure:
    """A drawing; in Markdown a file of its own in the folder ``figures``."""

    name: str
    drawing: Drawing
    caption: str
    alternative: str = ""
    kind: ClassVar = "figure"

    @property
    def svg(self) -> str:
        return inline_svg(self.drawing, self.name, self.alternative)


Block = Heading | Text | Lines | Table | Figure


NONE = "–"

BOLD = "Bold: beyond two, or of few runs as many more as are equally rare by Student's t."
CAPTION = (
    "Ours above, the paper's below. Accuracy in percent ± standard deviation over the runs. Difference: "
    f"ours minus the paper's, in standard errors of the difference of the two means. {BOLD} The paper's are "
    "taken for means over 100 runs; a few slow methods had 10, it does not say which. Time: seconds of a run "
    "on its own, set-up included, by the processor where other work held it up; ≤ where only the clock was "
    "read."
)


def compared(results: Results, entry: Entry, reported: Reported | None) -> list[Cell]:
    """Time, accuracy, and difference in standard errors with the number of runs: three cells."""
    summary = results.summary(entry)
    time = "" if reported is None or reported.seconds is None else seconds(reported.seconds)
    accuracy = "" if reported is None else reported.text
    if summary is None:
        return [Cell(NONE, time), Cell(results.why_not(entry), accuracy), Cell("")]
    difference = summary.against(reported)
    count = counted(summary.runs, "run") + used(results, entry)
    return [
        Cell(("" if summary.timed else "≤ ") + seconds(summary.seconds), time),
        Cell(summary.text, accuracy),
        Cell(signed(difference), count, strong=noteworthy(difference)),
    ]


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


def seconds(value: float) -> str:
    """With as many digits as matter."""
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s" if value < 100 else f"{value:,.0f} s"


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


def statistic(
    ours: Mapping[str, Any] | None, key: str, theirs: float, form: str, their_form: str = ""
) -> Cell:
    """A number of a data set, and the paper's below."""
    return Cell(NONE if ours is None else format(ours[key], form), format(theirs, their_form or form))


def side_by_side(
    results: Results, rows: Sequence[Row], data: Sequence[str], specs: Mapping[str, TaskSpec]
) -> list[Block]:
    """The paper's rows in every way to train and to hand in coordinates."""
    ways = ways_of(specs[data[0]].kind)
    lines = []
    reported: dict[Way, list[tuple[Entry, Reported]]] = {way: [] for way in ways}
    for row in rows:
        if not (row.theirs and row.counts):
            continue
        cells = [Cell(row.label + (f", σ = {row.sigma}" if row.sigma not in ("", NONE) else ""))]
        for name in data:
            theirs = row.reported(name)
            for way in ways:
                entry = Entry(specs[name], row.method).apart(*way)
                cells.append(_one_way(results, entry, theirs))
                if theirs is not None and theirs.accuracy is not None:
                    reported[way].append((entry, theirs))
            cells.append(Cell("" if theirs is None else theirs.text))
        lines.append(cells)
    if not any(results.summary(entry) for way in ways[1:] for entry, _ in reported[way]):
        return []
    tallies = []
    for way in ways:
        for whose, mine in by_whose(reported[way]):
            counts = [Cell(str(count)) for count in astuple(results.tally(mine))[1:]]
            tallies.append([Cell(f"{whose}, {in_words(way)}"), *counts, Cell(results.apart(mine) or NONE)])
    head = ["Method"]
    for name in data:
        first, *others = [in_words(way) for way in ways]
        head += [f"{TITLES[name]}: {first}", *others, "the paper"]
    explained = (
        "Accuracy in percent; below it the difference to the paper in standard errors, and our runs. "
        f"{BOLD} Text: learning rate 0.01, Adam anew for each run. Published: 0.05 and one Adam for all "
        "runs, as the authors' published code has it."
    )
    count = ["Way", "Computed", "Within two", "Better", "Worse", "Mean difference (points)"]
    return [
        Heading("In every way"),
        Table(head, lines, explained),
        Table(count, tallies, "How the paper's accuracies agree in each way, by Student's t."),
    ]


def _one_way(results: Results, entry: Entry, theirs: Reported | None) -> Cell:
    summary = results.summary(entry)
    if summary is None:
        return Cell(results.why_not(entry) if results.why_not(entry) != "not run" else NONE)
    apart = summary.against(theirs)
    return Cell(
        summary.text, f"{signed(apart)}; {summary.runs}{used(results, entry)}", strong=noteworthy(apart)
    )


PARTS = ("zero impulse", "pseudoinverse", "high-pass")
FORMS = (".1f", ".2f", ".3f", ".3f", ".3f")  # of distances in accuracy, spread and the three weights


def nearest_way(
    results: Results, reported: list[tuple[Entry, Reported]], weighed: list[tuple[Entry, list[float]]]
) -> list[Block]:
    """How far PinvGCN is from the paper in each way, by accuracy, spread and learned weights."""
    ways = ways_of(weighed[0][0].spec.kind)
    _, pairs = by_whose(reported)[0]
    ran = [([results.summary(one.apart(*way)) for way in ways], cell) for one, cell in pairs]
    cells = [(found, cell) for found, cell in ran if all(one and one.runs > 1 for one in found)]
    learned = [
        [np.abs(np.subtract([np.mean(mine[part]) for part in PARTS], theirs)) for mine in found]
        for entry, theirs in weighed
        if all(found := [results.weights(entry.apart(*way)) for way in ways])
    ]
    if not cells or not learned:
        return []
    ours, sds = (
        np.array([[getattr(one, name) for one in found] for found, _ in cells]) for name in ("accuracy", "sd")
    )
    accuracy, sd = (np.array([[getattr(cell, name)] for _, cell in cells]) for name in ("accuracy", "sd"))
    numbers = np.column_stack(
        [np.abs(ours - accuracy).mean(axis=0), np.median(sds / sd, axis=0), np.mean(learned, axis=0)]
    )
    nearest = [
        in_words(ways[int(np.argmin(distance))])
        for distance in (numbers[:, 0], np.abs(np.log(numbers[:, 1])), numbers[:, 2:4].mean(axis=1))
    ]
    caption = (
        f"How far PinvGCN is from the paper, over the {counted(len(cells), 'cell')} of the table and the "
        f"weights of {counted(len(learned), 'data set')} that ran in every way. Accuracy: mean distance in "
        "points. Spread: median of our standard deviation over the paper's. Weights: mean distance of each "
        f"part. Nearest by accuracy: {nearest[0]}; by spread: {nearest[1]}; by the first two weights: "
        f"{nearest[2]}. The paper's numbers were most probably made in the way “{nearest[2]}”: "
        "the learned weights tell ways apart more clearly than accuracies do."
    )
    shown = [
        [Cell(in_words(way)), *(Cell(format(value, form)) for value, form in zip(some, FORMS, strict=True))]
        for way, some in zip(ways, numbers, strict=True)
    ]
    return [Table(["Way", "Accuracy", "Spread", *(f"Weights: {part}" for part in PARTS)], shown, caption)]
