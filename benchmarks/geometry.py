"""Speed of local_geometry, beside one k-d tree query for 20 neighbours, which it does without.

    python benchmarks/geometry.py [--dataset oakland2] [--repeats 9] [--json FILE]

Features and query take turns in one run, both with all cores; medians. The cell size is found and the lattice
is summed each time. Data that is not embedded is found through PINVGCN_DATA.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

from scipy.spatial import cKDTree

from pinvgcn.datasets import load_dataset
from pinvgcn.features import local_geometry

NEIGHBOURS = 20


def seconds(function: Callable[[], object]) -> float:
    start = perf_counter()
    function()
    return perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", default="oakland2")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    points = load_dataset(arguments.dataset).X
    first = seconds(lambda: local_geometry(points))
    pairs = []
    for _ in range(arguments.repeats):
        query = seconds(lambda: cKDTree(points).query(points, NEIGHBOURS, workers=-1))
        pairs.append((seconds(lambda: local_geometry(points)), query))
    taken, query = median(t for t, _ in pairs), median(q for _, q in pairs)
    ratio = median(t / q for t, q in pairs)
    print(f"{arguments.dataset}, {len(points):,} points, {local_geometry(points[:9]).shape[1]} features")
    print(
        f"features {taken:.3f} s, {len(points) / taken:,.0f} points a second (the first time {first:.2f} s)"
    )
    print(f"k-d tree {query:.3f} s, built and asked for {NEIGHBOURS} neighbours")
    print(f"ratio    {ratio:.2f}")
    if arguments.json:
        result = {"seconds": taken, "points_per_second": len(points) / taken, "query": query, "ratio": ratio}
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
