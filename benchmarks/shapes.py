"""How far local shapes carry: randomised trees on them alone, at home and on other tiles.

    python benchmarks/shapes.py [--seeds 3] [--per-class 100] [--json FILE]

Trees see the features of local_geometry without coordinates, measured by the cells of the tiles that they
learn from; nothing is averaged. At home: accuracy at the points without a label. Elsewhere: at all points of
tiles of which no label was seen. Oakland, its other tiles and IGN's are found through PINVGCN_DATA; of IGN's
classes ground, low, medium and high vegetation and building count.
"""

from __future__ import annotations

import argparse
import json
import os
from functools import cache
from pathlib import Path

import laspy
import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from pinvgcn.datasets import load_dataset, random_split
from pinvgcn.features.geometry import lattice_for
from pinvgcn.features.lattice import Lattice
from pinvgcn.features.pyramid import Pyramid

IGN, BOTH = "ign_77050_627755", ("oakland1", "oakland2")
ELSEWHERE = [  # tiles to learn from, the tile to classify, and how many times as many labels
    (("oakland2",), "oakland1", 1),
    (("oakland1",), "oakland2", 1),
    *((BOTH, f"oakland_{tile}", 1) for tile in ("part2_ac", "part2_ah", "part3_ak", "part3_ao")),
    *(((IGN,), f"ign_{tile}", 1) for tile in ("77055_627755", "77055_627760", "77060_627760")),
    ((IGN, "ign_77055_627755"), "ign_77060_627760", 5),
    (("ign_km_0299_6802",), "ign_km_0300_6802", 1),
]  # fmt: skip


@cache
def tile(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Points, and classes, −1 where they do not count."""
    if name in ("oakland1", "oakland2"):
        data = load_dataset(name)
        return data.X, np.asarray(data.y)
    folder = "oakland/tiles" if name.startswith("oakland") else "ign"
    scan = laspy.read(Path(os.environ["PINVGCN_DATA"]) / folder / f"{name}.laz")
    classes = np.array(scan.classification).astype(int)
    if name.startswith("oakland"):
        return np.array(scan.xyz), classes - 1  # numbered as those of Oakland 1 and 2; 0 is any other
    return np.array(scan.xyz), np.where(np.isin(classes, (2, 3, 4, 5, 6)), classes, -1)


@cache
def shapes(name: str, cell: float) -> np.ndarray:
    points, _ = tile(name)
    return Pyramid.of(points, Lattice(cell)).shapes(points)


def labels_of(name: str, per_class: int, seed: int) -> np.ndarray:
    y = tile(name)[1]
    fewest = np.bincount(y[y >= 0])[np.unique(y[y >= 0])].min()
    return random_split(y, per_class=min(per_class, int(fewest) // 2), random_state=seed)


def accuracy(learned: tuple[str, ...], asked: str, per_class: int, seeds: int) -> float:
    cell = lattice_for(np.vstack([tile(name)[0] for name in learned])).cell
    found = []
    for seed in range(seeds):
        y = [labels_of(name, per_class, seed) for name in learned]
        X = np.vstack([shapes(name, cell)[known >= 0] for name, known in zip(learned, y, strict=True)])
        forest = ExtraTreesClassifier(300, n_jobs=-1, random_state=seed)
        forest.fit(X, np.concatenate([known[known >= 0] for known in y]))
        truth = tile(asked)[1]
        free = truth >= 0
        if asked in learned:
            free &= y[learned.index(asked)] < 0
        found.append(100 * float((forest.predict(shapes(asked, cell)) == truth)[free].mean()))
    return float(np.mean(found))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--per-class", type=int, default=100)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    result: dict[str, dict[str, float]] = {"home": {}, "elsewhere": {}}
    for name in ("oakland1", "oakland2", IGN):
        result["home"][name] = accuracy((name,), name, arguments.per_class, arguments.seeds)
        print(f"{name:58}{result['home'][name]:7.2f}", flush=True)
    for learned, asked, times in ELSEWHERE:
        way = f"{' + '.join(learned)} → {asked}"
        result["elsewhere"][way] = accuracy(learned, asked, times * arguments.per_class, arguments.seeds)
        print(f"{way:58}{result['elsewhere'][way]:7.2f}", flush=True)
    print(f"{'mean elsewhere':58}{np.mean(list(result['elsewhere'].values())):7.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
