"""One street in four files, written by laspy, and commands that real processes run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import laspy
import numpy as np

from pinvgcn.datasets import generate_street, random_split

QUICK = {"epochs": 25, "members": 1, "rank": 12, "trees": 20}
NAMES = ("a.las", "b.las", "c.laz", "d.laz")
CORNER = np.array([412_345.0, 5_654_321.0, 230.0])
COMMAND = str(Path(__file__).with_name("quick.py"))


def write_streets(folder: Path, n: int = 6_000, *, per_class: int = 20) -> Path:
    """Four parts along the street, of unequal length, with a column and some noise; and the whole of it in
    the order of the parts, as ``whole.las`` beside the folder."""
    street = generate_street(n, random_state=0)
    labels = random_split(street.y, per_class=per_class, random_state=0)
    part = np.searchsorted(np.quantile(street.X[:, 0], [0.15, 0.5, 0.7]), street.X[:, 0])
    order = np.argsort(part, kind="stable")
    given = np.where(labels < 0, 1, street.y + 2)[order]
    given[:4] = 7
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.scales, header.offsets = np.full(3, 0.001), CORNER
    las = laspy.LasData(header)
    las.x, las.y, las.z = (street.X[order] + CORNER).T
    las.classification = given
    las.intensity = (np.random.default_rng(0).integers(0, 60, n) + 20 * street.y)[order]
    folder.mkdir()
    las.write(folder.with_name("whole.las"))
    for number, name in enumerate(NAMES):
        one = laspy.LasData(header)
        one.points = las.points[part[order] == number]
        one.write(folder / name)
    return folder


def read_copies(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Classes and confidence of all points, by laspy; nothing else may be in the folder."""
    assert sorted(path.name for path in folder.iterdir()) == list(NAMES)
    copies = [laspy.read(folder / name) for name in NAMES]
    classes = np.concatenate([np.array(one.classification) for one in copies])
    return classes, np.concatenate([np.array(one.confidence) for one in copies])


def environment() -> dict[str, str]:
    """For processes that share one machine with others."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "100"}


def launch(ranks: int, *arguments: object) -> subprocess.Popen[str]:
    """torchrun on this machine, with any free port."""
    options = ["--standalone", f"--nproc-per-node={ranks}", COMMAND]
    return subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", *options, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def said(stderr: str) -> list[str]:
    """The lines that this package says."""
    return [line for line in stderr.splitlines() if line.startswith("pinvgcn: ")]
