"""Runs the shell and the Python of a README, in the current folder, on files that are made here.

    python readme.py README.md

The scans are the tiles of the package: one has 20 labelled points a class, the other none.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import laspy
import numpy as np
import pandas as pd

from pinvgcn.datasets import load_dataset, random_split
from pinvgcn.datasets.locate import EMBEDDED

SECONDS = 300


def make_files() -> None:
    """``town.laz``, ``next.laz`` and ``mushrooms.csv``."""
    scan = laspy.read(EMBEDDED / "ign_77050_627755.laz")
    classes = np.array(scan.classification).astype(int)
    labels = random_split(np.where(classes > 1, classes, -1), per_class=20)
    scan.classification = np.where(labels > 1, labels, 0)
    scan.write("town.laz")
    scan = laspy.read(EMBEDDED / "ign_77055_627755.laz")
    scan.classification = np.zeros(len(scan.points), dtype=np.uint8)
    scan.write("next.laz")
    mushrooms = load_dataset("mushroom")
    codes = random_split(mushrooms.y, per_class=10)
    names = np.array([*mushrooms.target_names, ""])
    pd.DataFrame(mushrooms.X).assign(edibility=names[codes]).to_csv("mushrooms.csv", index=False)


def shell(text: str) -> None:
    """Each line that begins with ``pinvgcn``; the page, which waits for a person, for some seconds."""
    for line in text.replace("\\\n", " ").splitlines():
        command = line.partition("#")[0].split()
        if not command or command[0] != "pinvgcn":
            continue
        print("$", *command, flush=True)
        page = command[1] == "label"
        if page:
            command = ["timeout", "--signal=INT", "20", *command, "--no-browser", "--port", "0"]
        code = subprocess.run(command, timeout=SECONDS, check=False).returncode
        if code not in ((124, 130) if page else (0,)):
            sys.exit(f"exit code {code} of: {' '.join(command)}")


def python(text: str) -> None:
    """A block, given ``points``, ``labels`` and ``more_points``."""
    print(text, flush=True)
    tiles = [load_dataset(name) for name in ("ign1", "ign2")]
    names = {
        "points": tiles[0].X,
        "labels": random_split(tiles[0].y, per_class=20),
        "other_points": tiles[1].X,
        "frame": load_dataset("mushroom").X,
    }
    exec(compile(text, "README.md", "exec"), names)


def main() -> None:
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    make_files()
    for kind, block in re.findall(r"^```(console|python)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        (shell if kind == "console" else python)(block)


if __name__ == "__main__":
    main()
