"""Scans larger than memory: peak memory, seconds and points per second of ``segment`` and ``predict``.

    python benchmarks/streaming.py                       20 million points; takes 15 GB of disk, and its time
    python benchmarks/streaming.py --points 1000000
    python benchmarks/streaming.py --points 100000000 --only segment

A row of generated streets is written as LAS with 100 labels a class. Both commands run as processes of their
own, whose peak memory the system reports; laspy reads what they wrote. Limits: 2 GiB for predict, 4 GiB for
segment. The answer of predict at unlabelled points must be that of segment.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import laspy
import numpy as np

from pinvgcn.datasets import Dataset, generate_street

STREET = 1_000_000  # points of a street, at most
DIFFERENT = 20  # streets, which then come again at other places
ROW = (110.0, 40.0)  # metres from one street to the next
LIMITS = {"segment": 4.0, "predict": 2.0}  # GiB


def write_streets(path: Path, count: int, *, per_class: int = 100) -> np.ndarray:
    """Different streets side by side, five in a row; the true classes (n,)."""
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.scales, header.offsets = np.full(3, 0.001), np.array([412_000.0, 5_654_000.0, 0.0])
    truth = np.empty(count, dtype=np.uint8)
    streets = -(-count // STREET)
    with laspy.open(path, mode="w", header=header) as writer:
        for number in range(streets):
            rows = slice(number * STREET, min((number + 1) * STREET, count))
            street = _street(rows.stop - rows.start, number % DIFFERENT)
            truth[rows] = street.y + 2
            points = laspy.ScaleAwarePointRecord.zeros(len(street.y), header=header)
            place = np.array([number % 5 * ROW[0], number // 5 * ROW[1], 200.0])
            points.x, points.y, points.z = (street.X + place + header.offsets).T
            points.classification = _labels(street.y, -(-per_class // streets), number)
            writer.write_points(points)
    return truth


@cache
def _street(count: int, number: int) -> Dataset:
    return generate_street(count, random_state=number)


def _labels(y: np.ndarray, per_class: int, seed: int) -> np.ndarray:
    """Class + 2 at so many points of each class, 1 elsewhere."""
    generator = np.random.default_rng(seed)
    labels = np.ones(len(y), dtype=np.uint8)
    for code in np.unique(y):
        rows = np.flatnonzero(y == code)
        labels[generator.choice(rows, min(per_class, len(rows)), replace=False)] = code + 2
    return labels


def run(*arguments: object) -> dict:
    """The command in a process of its own: what it says, its seconds and its peak memory in GiB."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pinvgcn", *map(str, arguments), "--json"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"pinvgcn {arguments[0]} ended with exit code {process.returncode}")
    seconds = time.perf_counter() - started
    peak = usage.ru_maxrss / 2**20  # or what this process held when it started the other, if that was more
    return {**json.loads(said), "wall_seconds": seconds, "peak_gib": peak}


def measure(count: int, folder: Path, only: str | None = None) -> dict:
    """Both commands on one scan, or ``only`` segment."""
    scan, model = folder / "streets.las", folder / "streets.model"
    truth = write_streets(scan, count)
    results = {
        "segment": run(
            "segment", scan, "--labels", "classification", "-o", folder / "segmented.las",
            "--save-model", model,
        ),
    }  # fmt: skip
    if only is None:
        results["predict"] = run("predict", model, scan, "-o", folder / "predicted.las")
    free = np.array(laspy.read(scan).classification) == 1
    classes = {name: np.array(laspy.read(folder / f"{name}ed.las").classification) for name in results}
    for name, found in classes.items():
        results[name]["accuracy"] = float((found == truth)[free].mean())
    differing = int((classes["segment"] != classes.get("predict", classes["segment"]))[free].sum())
    return {"points": count, "cores": os.cpu_count(), "differing": differing, "commands": results}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=int, default=20_000_000)
    parser.add_argument("--only", choices=["segment"], help="this command alone")
    parser.add_argument("--folder", type=Path, help="where the scan and the copies go for a while")
    parser.add_argument("--json", type=Path, help="write the numbers there, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        result = measure(arguments.points, Path(folder), arguments.only)
    print(f"{result['points']:,} points, {result['cores']} cores")
    print(f"{'':10}{'peak GiB':>10}{'limit':>8}{'seconds':>10}{'points/s':>10}{'accuracy':>10}")
    for name, one in result["commands"].items():
        rate = result["points"] / one["wall_seconds"]
        print(
            f"{name:10}{one['peak_gib']:10.2f}{LIMITS[name]:8.0f}{one['wall_seconds']:10.0f}{rate:10,.0f}"
            f"{100 * one['accuracy']:9.2f} %"
        )
    if arguments.only is None:
        print(f"points at which predict says something else than segment: {result['differing']}")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    if any(one["peak_gib"] > LIMITS[name] for name, one in result["commands"].items()):
        raise SystemExit("a command took more memory than it may")


if __name__ == "__main__":
    main()
