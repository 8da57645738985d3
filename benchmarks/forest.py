"""Speed of a forest's log p, and its ratio to scikit-learn's predict_proba with the same trees and rows.

    python benchmarks/forest.py [--dataset oakland2] [--trees 300] [--repeats 7] [--json FILE]

Trees are grown on 100 labels a class and the features of local_geometry, and see every point of the scan.
Both sides take turns in one run, on all cores; medians. Processor time counts the work of all threads. Data
that is not embedded is found through PINVGCN_DATA.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from pinvgcn.datasets import load_dataset, random_split
from pinvgcn.experts import Forest
from pinvgcn.experts.labels import RowLabels
from pinvgcn.features import local_geometry


def seconds(function: Callable[[], object]) -> tuple[float, float]:
    """Of all processors together, and on the clock."""
    start, busy = perf_counter(), process_time()
    function()
    return process_time() - busy, perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", default="oakland2")
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    data = load_dataset(arguments.dataset)
    X = local_geometry(data.X)
    labels = RowLabels.of(random_split(data.y, per_class=100, random_state=0), len(X))
    theirs = ExtraTreesClassifier(arguments.trees, random_state=0, n_jobs=-1)
    theirs.fit(X[labels.rows], labels.codes)
    forest = Forest.grown(X, labels, labels.rows, count=arguments.trees, seed=0)
    _, first = seconds(lambda: forest.log_proba(X[:1]))  # compiles, or reads what was compiled before
    times: dict[str, list[tuple[float, float]]] = {"scikit-learn": [], "Forest": []}
    for _ in range(arguments.repeats):
        times["scikit-learn"].append(seconds(lambda: theirs.predict_proba(X)))
        times["Forest"].append(seconds(lambda: forest.log_proba(X)))
    p, epsilon = theirs.predict_proba(X), 0.5 / (arguments.trees * len(labels.classes))
    mean = np.exp(forest.log_proba(X)) * (1 + epsilon * len(labels.classes)) - epsilon
    size = sum(array.nbytes for array in forest.state().values())
    print(f"{arguments.dataset}, {X.shape[0]} rows of {X.shape[1]} columns")
    print(
        f"{arguments.trees} trees of {len(forest.feature) / arguments.trees:.0f} nodes, {size / 1e6:.2f} MB"
    )
    print(f"first call {first:.2f} s; largest difference of probabilities {abs(mean - p).max():.1e}")
    print(f"{'side':<14}{'processor s':>12}{'ratio':>7}{'wall s':>9}{'ratio':>7}{'rows/s':>12}")
    results = {}
    for name, pairs in times.items():
        busy, wall = (median(column) for column in zip(*pairs, strict=True))
        ratios = [
            median(own[kind] / other[kind] for own, other in zip(pairs, times["scikit-learn"], strict=True))
            for kind in (0, 1)
        ]
        print(f"{name:<14}{busy:>12.3f}{ratios[0]:>7.2f}{wall:>9.3f}{ratios[1]:>7.2f}{len(X) / wall:>12,.0f}")
        results[name] = {
            "processor_seconds": busy,
            "processor_ratio": ratios[0],
            "seconds": wall,
            "ratio": ratios[1],
            "rows_per_second": len(X) / wall,
        }
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
