"""What two habits of the authors' published code, which the paper does not mention, do to its numbers.

    python benchmarks/published_code.py [--rows mushroom oakland1-100 …] [--runs 10] [--json F]

The paper trains with a learning rate of 0.01; its code has 0.05, and builds Adam once, so that every run but
the first begins with the moments that the run before it ended with. Each row of the paper is trained as the
text says and with either and both of these; point clouds with centred coordinates, without which both
collapse. The paper's own numbers stand below.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from pinvgcn.experiments.ours import Pinv
from pinvgcn.experiments.reproduce import citation, hypergraphs, oakland
from pinvgcn.experiments.reproduce.paper import paper, standard_errors
from pinvgcn.experiments.reproduce.pinv import pinv
from pinvgcn.experiments.reproduce.question import Question

PARTS = ("zero impulse", "pseudoinverse", "high-pass")
WAYS = {  # learning rate, and whether Adam's moments are kept
    "as the text says": (0.01, False),
    "learning rate 0.05": (0.05, False),
    "one Adam for all runs": (0.01, True),
    "both": (0.05, True),
}


@dataclass(frozen=True)
class Row:
    """A row of the paper's tables: the question, the method, and what the paper found."""

    question: Question
    method: Pinv
    accuracy: float
    sd: float | None
    weights: list[float] | None


def rows() -> dict[str, Row]:
    """All of PinvGCN with high-pass, by the names that ``--rows`` takes."""
    numbers, found = paper(), {}
    weights = numbers["table_average_weights"]
    for row in numbers["table_hypergraphs"]["rows"]:
        if row["method"] == "PinvGCN":
            for data, question in hypergraphs.QUESTIONS.items():
                cell = row[data]
                found[data] = Row(question, pinv(), cell["accuracy"], cell["sd"], weights[data])
    for row in numbers["table_oakland"]["rows"]:
        if row["method"] == "PinvGCN":
            sigma, rank = float(row["sigma"]), int(row["rank"])
            method = pinv("paper", sigma=sigma, rank=rank)
            centred = replace(method, settings={**method.settings, "scaling": "centre"})
            for data, question in oakland.QUESTIONS.items():
                theirs = weights.get(f"{data}_sigma{sigma:g}_rank{rank}")
                cell = row[data]
                name = f"{data}-{sigma:g}-{rank}"
                found[name] = Row(question, centred, cell["accuracy"], cell["sd"], theirs)
    for data, question in citation.QUESTIONS.items():
        for rank in (50, 200, 500):
            accuracy = numbers["table_citation"][data][f"rank{rank}"]
            found[f"{data}-{rank}"] = Row(question, pinv("paper", rank=rank), accuracy, None, None)
    return found


@contextmanager
def one_adam() -> Iterator[None]:
    """Every ``torch.optim.Adam`` that is built begins with the moments and steps of the one before it."""
    original: Callable[..., torch.optim.Adam] = torch.optim.Adam
    last: list[torch.optim.Adam] = []

    def build(*args: Any, **settings: Any) -> torch.optim.Adam:
        new = original(*args, **settings)
        if last:
            new.load_state_dict({**new.state_dict(), "state": last.pop().state_dict()["state"]})
        last.append(new)
        return new

    with patch.object(torch.optim, "Adam", build):
        yield


@contextmanager
def separate() -> Iterator[None]:
    """Every run for itself."""
    yield


def measure(row: Row, runs: int) -> dict[str, dict[str, Any]]:
    """Accuracies in percent and mean absolute weights, for each way of training."""
    task = row.question.load()
    found = {}
    for way, (rate, kept) in WAYS.items():
        method = replace(row.method, settings={**row.method.settings, "learning_rate": rate})
        prepared = method.prepare(task)
        accuracies, weights = [], []
        with one_adam() if kept else separate():
            for seed in range(runs):
                labels = task.labels(seed)
                asked = task.asked(labels)
                answer = prepared.answer(labels, seed)
                accuracies.append(100 * float((answer.codes[asked] == task.y[asked]).mean()))
                weights.append([answer.facts["weights"][part] for part in PARTS])
        found[way] = {"accuracies": accuracies, "weights": np.mean(weights, axis=0).tolist()}
    return found


def show(name: str, row: Row, found: dict[str, dict[str, Any]]) -> None:
    """A table of the ways and the paper."""
    print(f"\n{name:<26}{'accuracy (%)':>18}{'st. errors':>12}" + "".join(f"{part:>16}" for part in PARTS))
    for way, numbers in found.items():
        values = np.array(numbers["accuracies"])
        mean, sd = values.mean(), values.std(ddof=1)
        errors = standard_errors(mean, sd, len(values), row.accuracy, row.sd)
        cells = "".join(f"{size:>16.3f}" for size in numbers["weights"])
        print(f"{way:<26}{f'{mean:.2f} ± {sd:.2f}':>18}{errors:>+12.1f}{cells}")
    sd = "" if row.sd is None else f" ± {row.sd:.2f}"
    cells = "".join(f"{size:>16.3f}" for size in row.weights or [])
    print(f"{'the paper':<26}{f'{row.accuracy:.2f}{sd}':>18}{'':>12}{cells}", flush=True)


def main() -> None:
    known = rows()
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", nargs="+", choices=known, default=list(known), metavar="ROW")
    parser.add_argument("--runs", type=int, default=10, help="at least 2")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.runs < 2:
        parser.error(f"--runs must be at least 2 for a standard deviation. Got {arguments.runs} instead.")
    results = {}
    for name in arguments.rows:
        results[name] = measure(known[name], arguments.runs)
        show(name, known[name], results[name])
        if arguments.json:
            arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
