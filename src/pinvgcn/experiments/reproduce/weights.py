"""The table of average absolute weights: how much each part of the filters is used."""

from __future__ import annotations

import numpy as np

from pinvgcn.experiments.methods.pinvgcn import pinv
from pinvgcn.experiments.reproduce.blocks import Block, Cell, Table
from pinvgcn.experiments.reproduce.experiment import (
    CLOUDS,
    TABLES,
    Entry,
    Experiment,
    distinct,
    in_words,
    ways_of,
)
from pinvgcn.experiments.reproduce.paper import difference, paper
from pinvgcn.experiments.reproduce.result_tables import (
    BOLD,
    eigenvectors,
    noteworthy,
    signed,
)
from pinvgcn.experiments.reproduce.results import Results
from pinvgcn.experiments.reproduce.tables import SPECS
from pinvgcn.experiments.task import TITLES

PARTS = ("zero impulse", "pseudoinverse", "high-pass")


def weight_rows() -> list[tuple[str, Entry, list[float]]]:
    """Label, entry and the paper's three numbers, in every way."""
    theirs = paper()["table_average_weights"]
    rows: list[tuple[str, Entry, list[float]]] = []
    for name in (*CLOUDS, *TABLES):
        numbers = theirs.get(name) or theirs[f"{name}_sigma100_rank100"]
        title = TITLES[name] + (", σ = 100, r = 100" if name in CLOUDS else "")
        method = pinv("paper", sigma=100.0, rank=100) if name in CLOUDS else pinv("paper")
        for way in ways_of(SPECS[name].kind):
            rows.append((f"{title}: {in_words(way)}", Entry(SPECS[name], method).apart(*way), numbers))
        if name in CLOUDS:
            corrected = Entry(SPECS[name], pinv("corrected", sigma=100.0, rank=100))
            rows.append((f"{title}: corrected", corrected, numbers))
    return rows


def _weight_blocks(results: Results) -> list[Block]:
    lines = []
    for label, entry, theirs in weight_rows():
        ours = results.weights(entry)
        if not ours and (entry.training, entry.coordinates) != ("text", "raw"):
            continue
        count = len(next(iter(ours.values()), []))
        used_ = eigenvectors(results, entry)
        lines.append([Cell(label, f"{used_} used" if used_ else "")])
        lines[-1] += [
            _weight(ours[part], number) if ours else Cell(results.why_not(entry), f"{number:.3f}")
            for part, number in zip(PARTS, theirs, strict=True)
        ]
        lines[-1].append(Cell(str(count)))
    head = ["Data set", "Part 1 (zero-impulse)", "Part 2 (pseudoinverse)", "Part 3 (high-pass)", "Runs"]
    caption = (
        "The mean absolute weight of each part, averaged over the two layers and over the runs; ours above ± "
        "their standard deviation over the runs; below the paper's, which has no standard deviations, and in "
        f"brackets the difference in standard errors (our standard deviation for both sides). {BOLD}"
    )
    return [Table(head, lines, caption)]


def _weight(ours: list[float], theirs: float) -> Cell:
    mean = float(np.mean(ours))
    if len(ours) < 2:
        return Cell(f"{mean:.3f}", f"{theirs:.3f}")
    sd = float(np.std(ours, ddof=1))
    apart = difference(mean, sd, len(ours), theirs, None)
    return Cell(f"{mean:.3f} ± {sd:.3f}", f"{theirs:.3f} ({signed(apart)})", strong=noteworthy(apart))


WEIGHTS = Experiment(
    "weights", "Learned weights", lambda: distinct(entry for _, entry, _ in weight_rows()), _weight_blocks
)
