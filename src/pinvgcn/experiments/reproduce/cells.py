"""How a result stands beside the paper's in a table."""

from __future__ import annotations

import math

from pinvgcn.experiments.reproduce.blocks import Cell
from pinvgcn.experiments.reproduce.entry import Entry
from pinvgcn.experiments.reproduce.paper import Difference, Reported
from pinvgcn.experiments.reproduce.results import Results, Summary

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


def _time(summary: Summary | None, reported: Reported | None) -> Cell:
    below = "" if reported is None or reported.seconds is None else seconds(reported.seconds)
    if summary is None:
        return Cell(NONE, below)
    return Cell(("" if summary.timed else "≤ ") + seconds(summary.seconds), below)


def _accuracy(summary: Summary | None, reported: Reported | None, why: str) -> Cell:
    below = ""
    if reported is not None:
        below = reported.remark if reported.accuracy is None else spread(reported.accuracy, reported.sd)
    if summary is None:
        return Cell(why or NONE, below)
    return Cell(spread(summary.accuracy, summary.sd if summary.runs > 1 else None), below)


def _difference(summary: Summary | None, reported: Reported | None, used: str) -> Cell:
    """In standard errors, and of how many runs."""
    if summary is None:
        return Cell("")
    difference = summary.against(reported)
    return Cell(signed(difference), runs(summary) + used, strong=noteworthy(difference))


def runs(summary: Summary) -> str:
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
