"""The table of average absolute weights: how much each part of the filters is used."""

from __future__ import annotations

import numpy as np

from pinvgcn.experiments.methods.pinvgcn import pinv
from pinvgcn.experiments.reproduce import hypergraphs, oakland
from pinvgcn.experiments.reproduce.document import Block, Cell, Table
from pinvgcn.experiments.reproduce.experiment import Entry, Experiment
from pinvgcn.experiments.reproduce.paper import difference, paper
from pinvgcn.experiments.reproduce.result_tables import BOLD, eigenvectors, noteworthy, signed
from pinvgcn.experiments.reproduce.results import Results
from pinvgcn.experiments.reproduce.task_specs import CLOUDS, TABLES
from pinvgcn.experiments.task import TITLES

PARTS = ("zero impulse", "pseudoinverse", "high-pass")
SIGMA, RANK = 100.0, 100


def _rows() -> list[tuple[str, str, Entry, list[float]]]:
    """Data set, rank, entry, and the paper's three numbers."""
    theirs = paper()["table_average_weights"]
    rows: list[tuple[str, str, Entry, list[float]]] = []
    for name in CLOUDS:
        method = pinv("paper", sigma=SIGMA, rank=RANK)
        numbers = theirs[f"{name}_sigma100_rank100"]
        rows.append((f"{TITLES[name]}, σ = 100", "100", Entry(oakland.SPECS[name], method), numbers))
    for name in CLOUDS:
        method = pinv("corrected", sigma=SIGMA, rank=RANK)
        numbers = theirs[f"{name}_sigma100_rank100"]
        rows.append(
            (f"{TITLES[name]}, σ = 100, corrected", "100", Entry(oakland.SPECS[name], method), numbers)
        )
    for name in TABLES:
        entry = Entry(hypergraphs.SPECS[name], pinv("paper"))
        rows.append((TITLES[name], "full", entry, theirs[name]))
    return rows


def entries() -> list[Entry]:
    """The same runs as in the tables of results."""
    return [entry for _, _, entry, _ in _rows()]


def blocks(results: Results) -> list[Block]:
    """The table."""
    rows = []
    for label, rank, entry, theirs in _rows():
        ours = results.weights(entry)
        used = eigenvectors(results, entry)
        cells = [Cell(label), Cell(rank, f"{used} used" if used else "")]
        cells += [
            _cell(ours[part], number) if ours else Cell(results.why_not(entry), f"{number:.3f}")
            for part, number in zip(PARTS, theirs, strict=True)
        ]
        runs = len(results.ledger.runs(*entry.key))
        cells.append(Cell(str(runs)))
        rows.append(cells)
    head = [
        "Dataset",
        "Rank",
        "Part 1 (zero-impulse)",
        "Part 2 (pseudoinverse)",
        "Part 3 (high-pass)",
        "Runs",
    ]
    caption = (
        "The mean absolute weight of each part, averaged over the two layers and over the runs; ours "
        "above ± their standard deviation over the runs; below the paper's, which has no standard "
        "deviations, and in brackets the difference in standard errors (our standard deviation for both "
        f"sides). {BOLD} Corrected rows stand beside the paper's as in the table of accuracies."
    )
    return [Table(head, rows, caption)]


def _cell(ours: list[float], theirs: float) -> Cell:
    mean = float(np.mean(ours))
    if len(ours) < 2:
        return Cell(f"{mean:.3f}", f"{theirs:.3f}")
    sd = float(np.std(ours, ddof=1))
    apart = difference(mean, sd, len(ours), theirs, None)
    return Cell(f"{mean:.3f} ± {sd:.3f}", f"{theirs:.3f} ({signed(apart)})", strong=noteworthy(apart))


WEIGHTS = Experiment("weights", "Learned weights", entries, blocks)
