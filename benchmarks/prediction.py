"""What a point costs: the default model on a whole scan, beside a forest of 300 trees on the same features.

    python benchmarks/prediction.py [--dataset oakland2] [--repeats 9] [--json FILE]

A model is fitted with 100 labels a class. ``predict_proba(points, among="own")`` measures shapes, places
points, asks five networks and 200 trees, and averages. It takes turns in one run with scikit-learn's
``ExtraTreesClassifier(300, n_jobs=-1).predict_proba`` on features that are there already; medians. Also: the
seconds of the fit and the size of the saved model.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import load_dataset, random_split
from pinvgcn.features import local_geometry


def seconds(function: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor time."""
    start, used = perf_counter(), process_time()
    function()
    return perf_counter() - start, process_time() - used


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", default="oakland2")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    data = load_dataset(arguments.dataset)
    points, n = data.X, len(data.X)
    y = random_split(data.y, per_class=100, random_state=0)
    PinvGCNClassifier(epochs=1).fit(points, y)  # what is loaded and compiled once
    model = PinvGCNClassifier()
    fit = [seconds(lambda: model.fit(points, y))[0] for _ in range(3)]
    features = np.hstack([points, local_geometry(points)])
    forest = ExtraTreesClassifier(300, n_jobs=-1, random_state=0).fit(features[y >= 0], y[y >= 0])
    ours, theirs = [], []
    for _ in range(arguments.repeats):
        ours.append(seconds(lambda: model.predict_proba(points, among="own")))
        theirs.append(seconds(lambda: forest.predict_proba(features)))
    wall, used = (median(a[i] / b[i] for a, b in zip(ours, theirs, strict=True)) for i in (0, 1))
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        size = (Path(folder) / "model").stat().st_size / 1e6
    taken = median(a for a, _ in ours)
    print(f"{arguments.dataset}, {n:,} points")
    print(f"predict_proba  {taken:.2f} s, {n / taken:,.0f} points a second")
    print(f"300 trees      {median(a for a, _ in theirs):.2f} s")
    print(f"ratio          {wall:.2f}, of processor time {used:.2f}")
    print(f"fit            {median(fit):.1f} s")
    print(f"saved model    {size:.1f} MB")
    if arguments.json:
        result = {"seconds": taken, "ratio": wall, "processor": used, "fit": median(fit), "megabytes": size}
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
