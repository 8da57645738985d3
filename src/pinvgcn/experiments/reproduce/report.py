"""``report.md`` and ``report.html``: every table and figure, ours beside the paper's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from pinvgcn.experiments.reproduce.blocks import Block, Cell, Figure, Lines, Table, Text
from pinvgcn.experiments.reproduce.experiment import Experiment, distinct, likely
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
        reported = experiment.reported(results)
        for whose, own in (("PinvGCN", True), ("other methods", False)):
            some = [(entry, cell) for entry, cell in reported if (entry.family == "pinvgcn") is own]
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
