"""How many answers change when a scan is turned by 30°, or moved by a third of a cell against the lattice.

    python benchmarks/turned.py [--data oakland1 oakland2] [--seeds 3] [--json FILE]

The whole default is fitted with 100 labels a class to the cloud as it is and to the cloud moved, with equal
labels and seeds. Beside it what another seed changes: networks begin elsewhere and trees are drawn anew. The
share of points with another class, and accuracies, in per cent; and the share of points to which a forest of
100 trees on the local shapes alone, grown on the cloud as it is, gives another class when they are moved.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import load_dataset, random_split
from pinvgcn.features import local_geometry
from pinvgcn.features.geometry import lattice_for

ANGLE = np.radians(30)
TURN = np.array([[np.cos(ANGLE), np.sin(ANGLE), 0], [-np.sin(ANGLE), np.cos(ANGLE), 0], [0, 0, 1]])


def measured(name: str, seeds: int) -> dict:
    data = load_dataset(name)
    cell = lattice_for(data.X).cell
    moved = {"turned by 30°": data.X @ TURN, "moved by a third of a cell": data.X + cell / 3}
    rows: dict[str, dict[str, list[float]]] = {}
    for seed in range(seeds):
        y = random_split(data.y, per_class=100, random_state=seed)
        free = y < 0
        plain = PinvGCNClassifier(random_state=seed).fit(data.X, y).transduction_
        shapes = local_geometry(data.X, cell=cell)
        forest = ExtraTreesClassifier(100, n_jobs=-1, random_state=seed).fit(shapes[~free], y[~free])
        before = forest.predict(shapes)
        for case, points in [("as it is", data.X), *moved.items(), ("another seed", data.X)]:
            state = seed + 1000 * (case == "another seed")
            found = plain if case == "as it is" else None
            if found is None:
                found = PinvGCNClassifier(random_state=state).fit(points, y).transduction_
            after = forest.predict(local_geometry(points, cell=cell))
            row = rows.setdefault(case, {"changed": [], "accuracy": [], "forest changed": []})
            row["changed"].append(100 * float((found != plain)[free].mean()))
            row["accuracy"].append(100 * float((found == data.y)[free].mean()))
            row["forest changed"].append(100 * float((after != before)[free].mean()))
    return {case: {key: float(np.mean(values)) for key, values in row.items()} for case, row in rows.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", default=["oakland1", "oakland2"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    result = {name: measured(name, arguments.seeds) for name in arguments.data}
    for name, rows in result.items():
        print(
            f"{name}: {arguments.seeds} choices of labels\n{'':28}{'changed':>9}{'accuracy':>10}{'forest':>9}"
        )
        for case, row in rows.items():
            print(f"{case:28}{row['changed']:9.2f}{row['accuracy']:10.2f}{row['forest changed']:9.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
