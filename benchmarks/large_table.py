"""A fit to all of Covertype and predictions of all its rows: seconds, memory, rows a second.

    python benchmarks/large_table.py [--kind raw binned] [--per-class 20] [--rows N] [--seed 0] [--json FILE]

581,012 rows, 20 labels of each of the seven classes. ``raw`` has the 54 columns of the file as numbers, so
that all rows differ; ``binned`` is the data set of the paper, whose ten numbers are categories, with 186,517
distinct rows. Each kind runs in a process of its own. Memory is the largest that the process had, with the
interpreter, its libraries and the table itself, whose size is printed. Processor seconds are those of all
cores: on a machine that others use they say more than the clock.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

KINDS = ("raw", "binned")
GIB = 2**20  # kilobytes, in which the system counts


def table(kind: str, rows: int | None) -> tuple[pd.DataFrame, np.ndarray]:
    """The columns and the classes of the first ``rows``, all by default."""
    from pinvgcn.datasets import load_dataset
    from pinvgcn.datasets.locate import read
    from pinvgcn.datasets.uci import BOOLEAN, FILE, NUMERIC

    if kind == "binned":
        data = load_dataset("covertype")
        return data.X[:rows], data.y[:rows]
    import io

    frame = pd.read_csv(io.BytesIO(read(FILE)), names=[*NUMERIC, *BOOLEAN, "Cover_Type"], nrows=rows)
    classes = frame.pop("Cover_Type").to_numpy() - 1
    return frame, classes


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What it gives, and the seconds by the clock and of the processors."""
    clock, processors = time.perf_counter(), time.process_time()
    found = work()
    return found, time.perf_counter() - clock, time.process_time() - processors


def peak() -> float:
    """The most memory that this process had, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / GIB


def measured(kind: str, per_class: int, rows: int | None, seed: int) -> dict[str, Any]:
    """Of one kind of table."""
    from pinvgcn import PinvGCNClassifier
    from pinvgcn.datasets import random_split

    X, y = table(kind, rows)
    before = peak()
    labels = random_split(y, per_class=per_class, random_state=seed)
    free = labels < 0
    PinvGCNClassifier("categorical", random_state=seed).fit(
        X[:500], np.where(np.arange(500) < 50, y[:500], -1)
    )  # compiled
    model = PinvGCNClassifier("categorical", random_state=seed)
    _, fit, fit_processors = timed(lambda: model.fit(X, labels))
    fitted = peak()
    again, predict, predict_processors = timed(lambda: model.predict(X))
    distinct = len(X) - int(X.duplicated().sum()) if kind == "binned" else len(X)
    return {
        "kind": kind,
        "rows": len(X),
        "distinct rows": distinct,
        "rows of the graph": model.spectrum_.n_nodes,
        "table, GiB": float(X.memory_usage(deep=True).sum() / 2**30),
        "memory before the fit, GiB": before,
        "memory of the fit, GiB": fitted,
        "memory with prediction, GiB": peak(),
        "fit, s": fit,
        "fit, processor s": fit_processors,
        "prediction, s": predict,
        "prediction, processor s": predict_processors,
        "rows a second": len(X) / predict,
        "distinct rows a second": distinct / predict,
        "accuracy": float(100 * (model.transduction_ == y)[free].mean()),
        "agree": float((again == model.transduction_).mean()),
        "weights": dict(model.fitted_.ensemble.weights),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--per-class", type=int, default=20)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # in this process
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.here:
        print(json.dumps(measured(asked.kind[0], asked.per_class, asked.rows, asked.seed)))
        return
    same = ["--per-class", str(asked.per_class), "--seed", str(asked.seed)]
    same += [] if asked.rows is None else ["--rows", str(asked.rows)]
    found = []
    for kind in asked.kind:
        command = [sys.executable, __file__, "--here", "--kind", kind, *same]
        found.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
    print("| | " + " | ".join(one["kind"] for one in found) + " |")
    print("|---" + "|---:" * len(found) + "|")
    for name in found[0]:
        if name not in ("kind", "weights"):
            print(
                f"| {name} | " + " | ".join(f"{one[name]:,.4g}".replace(".0 ", " ") for one in found) + " |"
            )
    for one in found:
        print(f"\nWeights, {one['kind']}: " + ", ".join(f"{k} {v:.3g}" for k, v in one["weights"].items()))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
