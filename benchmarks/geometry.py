"""Speed of local_geometry, and its ratio to the bare k-d tree queries that it cannot avoid.

    python benchmarks/geometry.py [--dataset oakland2] [--repeats 5] [--json FILE]

Features and queries take turns in one run; medians. The queries are for as many neighbours as the features
need, on all cores. Data that is not embedded is found through PINVGCN_DATA.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from scipy.spatial import cKDTree

from pinvgcn.datasets import load_dataset
from pinvgcn.features import local_geometry

SCALES, COLUMNS = (10, 40, 150), (50, 300)


def seconds(function: Callable[[], object]) -> float:
    start = perf_counter()
    function()
    return perf_counter() - start


def query(points: np.ndarray, k: int) -> None:
    cKDTree(points).query(points, k, workers=-1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", default="oakland2")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    points = load_dataset(arguments.dataset).X
    times: dict[str, list[tuple[float, float]]] = {"three scales": [], "two columns": [], "all": []}
    for _ in range(arguments.repeats):
        in_space = seconds(lambda: query(points, SCALES[-1]))
        in_plan = seconds(lambda: query(points[:, :2], COLUMNS[-1]))
        for name, neighbours, columns, bare in (
            ("three scales", SCALES, (), in_space),
            ("two columns", (), COLUMNS, in_plan),
            ("all", SCALES, COLUMNS, in_space + in_plan),
        ):
            taken = seconds(lambda k=neighbours, c=columns: local_geometry(points, neighbours=k, columns=c))
            times[name].append((taken, bare))
    print(f"{arguments.dataset}, {len(points)} points")
    print(f"{'features':<14}{'seconds':>9}{'points/s':>10}{'bare queries':>14}{'ratio':>7}")
    results = {}
    for name, pairs in times.items():
        taken, bare = median(t for t, _ in pairs), median(b for _, b in pairs)
        ratio = median(t / b for t, b in pairs)
        print(f"{name:<14}{taken:>9.2f}{len(points) / taken:>10.0f}{bare:>14.2f}{ratio:>7.2f}")
        results[name] = {"seconds": taken, "points_per_second": len(points) / taken, "ratio": ratio}
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
