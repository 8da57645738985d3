"""``report.md`` and ``report.html``: every table and figure, ours beside the paper's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from pinvgcn.experiments.reproduce.document import Block, Cell, Figure, Heading, Lines, Table, Text
from pinvgcn.experiments.reproduce.experiment import Entry, Experiment, distinct
from pinvgcn.experiments.reproduce.paper import NOTEWORTHY, Reported
from pinvgcn.experiments.reproduce.result_tables import noteworthy, probability, signed, spread
from pinvgcn.experiments.reproduce.results import Results
from pinvgcn.io.atomic import write_text
from pinvgcn.jobs.files import prepare_folder
from pinvgcn.report.figures.drawing import standalone_svg
from pinvgcn.report.page import render
from pinvgcn.wording import counted

TITLE = "The paper again, in numbers"
LEAD = (
    "Every table and figure of Alfke and Stoll, Pseudoinverse Graph Convolutional Networks (2021), "
    "computed again and set beside the paper's own numbers. What differs by more than two standard errors, "
    "or of few runs by as many more as are equally rare, stands in bold."
)
FEW = 10  # that are named one by one
UNKNOWN = "unknown"  # sessions before the state of the code was recorded


def write_report(results: Results, folder: Path, experiments: Sequence[Experiment]) -> Path:
    """Write both reports and the figures of the Markdown one; returns the path of the HTML one."""
    short = _in_short(results, experiments)
    sections = [("In short", short)] if short else []
    sections += [(experiment.title, experiment.blocks(results)) for experiment in experiments]
    sections = [
        *sections,
        ("Every difference beyond two standard errors", _differences(results, experiments)),
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
        reported = experiment.reported(results)
        for whose, own in (("PinvGCN", True), ("other methods", False)):
            some = [(entry, cell) for entry, cell in reported if (entry.family == "pinvgcn") is own]
            if some:
                counts = astuple(results.tally(some))
                rows.append([Cell(f"{experiment.title}: {whose}"), *(Cell(str(count)) for count in counts)])
    head = ["Part", "Accuracies in the paper", "Computed here", "Within two", "Better", "Worse"]
    caption = (
        "How many accuracies, of two runs or more, agree with the paper within two standard errors (of few "
        "runs as many more as are equally rare by Student's t), are better, or are worse. The same method in "
        "the same setting on the same data: what is computed otherwise here does not count, nor does a rank "
        "for which fewer eigenvectors were used."
    )
    return [Table(head, rows, caption)] if rows else []


def _differences(results: Results, experiments: Sequence[Experiment]) -> list[Block]:
    """Accuracies beyond two standard errors, in two lists: as the paper computes them, and otherwise."""
    own = [(experiment, *pair) for experiment in experiments for pair in experiment.reported(results)]
    other = [(experiment, *pair) for experiment in experiments for pair in experiment.otherwise(results)]
    rows, beside = _beyond_two(results, own), _beyond_two(results, other)
    caption = (
        "Accuracies; where the paper gives no standard deviation, the difference takes ours for both. p: how "
        "often chance alone would make equal means differ by so many standard errors, by Student's t; of a "
        "few runs, whose spread is hardly known, even many may be chance: what is not bold."
    )
    head = ["Where", "Ours (%)", "The paper's (%)", "Difference", "p", "Runs"]
    blocks: list[Block] = [Table(head, rows, caption)] if rows else [Text("None.")]
    if beside:
        what = "The same of rows that stand beside the paper's in its tables, but were computed otherwise."
        blocks += [Heading("Computed otherwise than in the paper"), Table(head, beside, what)]
    return blocks


def _beyond_two(results: Results, compared: Sequence[tuple[Experiment, Entry, Reported]]) -> list[list[Cell]]:
    rows = []
    for experiment, entry, cell in compared:
        summary = results.summary(entry)
        difference = None if summary is None else summary.against(cell)
        if summary is None or difference is None or abs(difference.errors) <= NOTEWORTHY:
            continue
        assert cell.accuracy is not None
        rows.append(
            [
                Cell(f"{experiment.title}: {entry.title}"),
                Cell(spread(summary.accuracy, summary.sd)),
                Cell(spread(cell.accuracy, cell.sd)),
                Cell(signed(difference), strong=noteworthy(difference)),
                Cell(probability(difference.chance)),
                Cell(str(summary.runs)),
            ]
        )
    return rows


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
    """The sessions that the results come from: commands, versions, threads."""
    sessions = [line for line in results.ledger.lines if line["kind"] == "session"]
    if not sessions:
        return [Text("Nothing has run yet.")]
    places = dict.fromkeys(_place(session["environment"]) for session in sessions)
    commands = dict.fromkeys(session["command"] for session in sessions)
    runs = counted(sum(line["kind"] == "run" for line in results.ledger.lines), "run")
    when = " to ".join(dict.fromkeys(session["started"][:10] for session in (sessions[0], sessions[-1])))
    states = Counter(session.get("source", UNKNOWN) for session in sessions)
    known = len(states) - (UNKNOWN in states)
    count = "one known state" if known == 1 else f"{known} known states"
    older = f" and older code ({counted(states[UNKNOWN], 'session')})" if UNKNOWN in states else ""
    return [
        Text(
            f"{runs} in {counted(len(sessions), 'session')}, {when}, by {count} of the code{older}. The seed "
            "of a run chooses its labels, too."
        ),
        Lines(
            [
                "Sessions by the code's SHA-256: "
                + ", ".join(f"{state} ({times})" for state, times in states.items()),
                *places,
                *commands,
            ]
        ),
    ]


def _place(surroundings: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in surroundings["versions"].items())
    return (
        f"{surroundings['system']}, {counted(surroundings['processors'], 'processor')}, "
        f"{counted(surroundings['torch_threads'], 'thread')}, Python {surroundings['python']}; {versions}"
    )
