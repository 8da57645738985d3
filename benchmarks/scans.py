"""The defaults for scans and what each part of them is worth, beside randomised trees on the same features.

    python benchmarks/scans.py [--data oakland1 oakland2] [--per-class 100] [--seeds 10] [--json FILE]

Accuracy and macro F1 in per cent, log-loss and expected calibration error (15 bins) at the points without a
label, means over the seeds. "averaged" trees have their probabilities averaged over 10 neighbours, as the
default has. Oakland is found through PINVGCN_DATA; ``street`` is generated.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import f1_score

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import load_dataset, random_split
from pinvgcn.features import local_average, local_geometry
from pinvgcn.runs import SharedRows

BINS = 15
SETTINGS: dict[str, dict[str, object]] = {
    "default": {},
    "one network": {"members": 1},
    "no average over neighbours": {"neighbours": None},
    "shares of the labels": {"priors": None},
    "no local shapes": {"geometry": False},
}


def measures(P: np.ndarray, y: np.ndarray) -> list[float]:
    """Accuracy, macro F1, log-loss, expected calibration error."""
    sure, right = P.max(axis=1), P.argmax(axis=1) == y
    place = np.minimum((BINS * sure).astype(int), BINS - 1)
    gaps = [abs(right[place == b].mean() - sure[place == b].mean()) * (place == b).mean() for b in set(place)]
    likely = np.maximum(P[np.arange(len(y)), y], 1e-7)
    f1 = f1_score(y, P.argmax(axis=1), average="macro")
    return [100 * right.mean(), 100 * f1, -np.log(likely).mean(), sum(gaps)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", default=["oakland1", "oakland2"])
    parser.add_argument("--per-class", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", nargs="+", default=[*SETTINGS, "trees"], choices=[*SETTINGS, "trees"])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results: dict[str, dict[str, list[list[float]]]] = {}
    print(
        f"{'':<12}{'':<36}{'accuracy':>9}{'sd':>6}{'F1':>7}{'log-loss':>10}{'ECE':>7}{'seconds a run':>15}",
        flush=True,
    )
    for name in arguments.data:
        data = load_dataset(name)
        splits = [
            random_split(data.y, per_class=arguments.per_class, random_state=s)
            for s in range(arguments.seeds)
        ]
        found = results[name] = {}

        def note(
            method: str,
            P: np.ndarray,
            labels: np.ndarray,
            name: str = name,
            y: np.ndarray = data.y,
            found: dict[str, list[list[float]]] = found,
        ) -> None:
            hidden = labels == -1
            found.setdefault(method, []).append(measures(P[hidden], y[hidden]))

        def show(method: str, seconds: float, name: str = name, found: dict = found) -> None:
            rows = np.array(found[method])
            spread = rows[:, 0].std(ddof=1) if len(rows) > 1 else 0.0
            accuracy, f1, loss, ece = rows.mean(axis=0)
            print(
                f"{name:<12}{method:<36}{accuracy:>9.2f}{spread:>6.2f}{f1:>7.2f}{loss:>10.4f}{ece:>7.3f}{seconds:>15.1f}",
                flush=True,
            )

        for method, settings in SETTINGS.items():
            if method in arguments.only:
                started = time.perf_counter()
                rows = SharedRows(PinvGCNClassifier(**settings), data.X)
                for seed, labels in enumerate(splits):
                    note(method, rows.fit(labels, random_state=seed).transduction_proba_, labels)
                show(method, (time.perf_counter() - started) / len(splits))
        if "trees" in arguments.only:
            started = time.perf_counter()
            features = np.hstack([data.X, local_geometry(data.X)])
            for seed, labels in enumerate(splits):
                known = labels >= 0
                trees = ExtraTreesClassifier(500, n_jobs=-1, random_state=seed)
                P = trees.fit(features[known], labels[known]).predict_proba(features)
                note("randomised trees", P, labels)
                note("randomised trees, averaged", local_average(data.X, P, neighbours=10), labels)
            for method in ("randomised trees", "randomised trees, averaged"):
                show(method, (time.perf_counter() - started) / len(splits))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
