"""The defaults for scans, what each part of them is worth, and other methods with the same features.

    python benchmarks/scans.py [--data oakland1 oakland2] [--per-class 100] [--seeds 10] [--only METHOD ...]
                               [--json FILE]

Accuracy (with its standard deviation) and macro F1 in per cent, log-loss and expected calibration error (15
bins) at the points without a label, means over the seeds; and by how much the default is more accurate on the
same labels, with the standard error of that. The other methods see the features that the default sees, as
normal scores where they measure distances, and their probabilities are averaged in the same way.
Label spreading knows the points alone.

Oakland is found through PINVGCN_DATA, as is ``lidar``, an aerial scan of which the classes with 300 points
or more count and that needs laspy and lazrs; ``lidar+`` is the same with intensity and returns as features.
``street`` is generated. With a FILE that exists, what it has is not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from pinvgcn import GaussianGraph, PinvGCNClassifier
from pinvgcn.datasets import load_dataset, random_split
from pinvgcn.features import local_geometry
from pinvgcn.features.averages import Averages
from pinvgcn.features.geometry import lattice_for
from pinvgcn.fitting.inputs import InputScaling
from pinvgcn.repeated_fits import SharedRows

BINS = 15
NEIGHBOURS = 10
FEWEST = 300  # points of a class of the aerial scan
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "no trees": {"trees": 0},
    "20 trees a network": {"trees": 20},
    "40 trees a network": {"trees": 40},
    "no spectral part": {"filters": "identity"},  # replaced below: what it is depends on the graph
    "one network": {"members": 1},
    "no average over neighbours": {"neighbours": None},
    "shares of the labels": {"priors": None},
    "no local shapes": {"geometry": False},
}
# seed -> a classifier with predict_proba; whether it measures distances
OTHERS: dict[str, tuple[Callable[[int], Any], bool]] = {
    "randomised trees": (lambda s: ExtraTreesClassifier(500, n_jobs=-1, random_state=s), False),
    "randomised trees, calibrated": (
        lambda s: CalibratedClassifierCV(ExtraTreesClassifier(300, random_state=s), cv=3),
        False,
    ),
    "random forest": (lambda s: RandomForestClassifier(500, n_jobs=-1, random_state=s), False),
    "gradient boosting": (
        lambda s: HistGradientBoostingClassifier(min_samples_leaf=5, random_state=s),
        False,
    ),
    "1-nearest neighbour": (lambda s: KNeighborsClassifier(1), True),
    "RBF support vectors": (lambda s: CalibratedClassifierCV(SVC(C=10.0), ensemble=False), True),
    "logistic regression": (lambda s: LogisticRegression(max_iter=2_000), True),
    "self-training": (
        lambda s: SelfTrainingClassifier(
            ExtraTreesClassifier(100, n_jobs=-1, random_state=s), threshold=0.9, max_iter=3
        ),
        False,
    ),
}
SPREADING = "label spreading"
METHODS = [*SETTINGS, *OTHERS, SPREADING]


def scan(name: str) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Points, other features, and classes, −1 where a class is too small."""
    if not name.startswith("lidar"):
        data = load_dataset(name)
        return data.X, None, data.y
    import laspy

    file = laspy.read(Path(os.environ["PINVGCN_DATA"]) / "lidar" / "french_lidar_thinned.laz")
    code = np.asarray(file.classification)
    classes, counts = np.unique(code, return_counts=True)
    kept = classes[counts >= FEWEST]
    y = np.where(np.isin(code, kept), np.searchsorted(kept, code), -1)
    columns = ("intensity", "return_number", "number_of_returns")
    extra = np.stack([np.asarray(file[column], dtype=float) for column in columns], axis=1)
    return np.stack([file.x, file.y, file.z], axis=1), extra if name.endswith("+") else None, y


def measures(P: np.ndarray, y: np.ndarray) -> list[float]:
    """Accuracy, macro F1, log-loss, expected calibration error."""
    sure, right = P.max(axis=1), P.argmax(axis=1) == y
    place = np.minimum((BINS * sure).astype(int), BINS - 1)
    gaps = [abs(right[place == b].mean() - sure[place == b].mean()) * (place == b).mean() for b in set(place)]
    likely = np.maximum(P[np.arange(len(y)), y], 1e-7)
    f1 = f1_score(y, P.argmax(axis=1), average="macro")
    return [100 * right.mean(), 100 * f1, -np.log(likely).mean(), sum(gaps)]


class Runs:
    """All methods on one scan; what they share is made once, when it is first asked for."""

    def __init__(self, name: str) -> None:
        self.X, self.extra, self.y = scan(name)
        self.X = self.X - 1024 * np.round(self.X.mean(axis=0) / 1024)  # the lattice stays where it is
        self._made: dict[str, Any] = {}

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def proba(self, method: str, labels: np.ndarray, seed: int) -> np.ndarray:
        if method in SETTINGS:
            rows = self.once(method, lambda: SharedRows(self.model(method), self.X, features=self.extra))
            return rows.fit(labels, random_state=seed).transduction_proba_
        P = self.spread(labels) if method == SPREADING else self.other(method, labels, seed)
        cell = self.once("cell", lambda: lattice_for(self.X).cell)
        around = Averages.of(self.X, np.clip(P, 0, 1), cell).at(self.X, P)
        return (P + NEIGHBOURS * around) / (NEIGHBOURS + 1)

    def model(self, method: str) -> PinvGCNClassifier:
        settings = SETTINGS[method]
        if method == "no spectral part":  # φ = λ₁ on the whole spectrum: each layer sees its own node alone
            gap = GaussianGraph(self.X, "auto", loops=1.0).spectrum(1).eigengap
            settings = {"rank": 1, "filters": (gap, gap, 1.0)}
        return PinvGCNClassifier(**settings)

    def other(self, method: str, labels: np.ndarray, seed: int) -> np.ndarray:
        build, distances = OTHERS[method]
        features = self.once("features", self.features)
        if distances:
            scale = InputScaling.of(features.copy(), None, scaling="ranks", coordinates=3)
            features = self.once("scores", lambda: scale(features, None) / 10)  # of spread 1
        known = labels >= 0
        if method == "self-training":
            return build(seed).fit(features, labels).predict_proba(features)
        return build(seed).fit(features[known], labels[known]).predict_proba(features)

    def features(self) -> np.ndarray:
        return np.hstack([self.X, local_geometry(self.X), *([] if self.extra is None else [self.extra])])

    def spread(self, labels: np.ndarray) -> np.ndarray:
        graph = self.once("graph", self.graph)
        model = LabelSpreading(kernel=lambda X, Y: graph, max_iter=1_000)
        P = model.fit(np.zeros((len(labels), 1)), labels).label_distributions_
        return np.where(np.isfinite(P), P, 1 / P.shape[1])  # pieces without a label

    def graph(self) -> sp.csr_matrix:
        """Each point and its nearest."""
        n = len(self.X)
        near = cKDTree(self.X).query(self.X, NEIGHBOURS + 1)[1]
        A = sp.csr_matrix(
            (np.ones(near.size), (np.repeat(np.arange(n), near.shape[1]), near.ravel())), (n, n)
        )
        return A.maximum(A.T)


def show(name: str, found: dict[str, dict[str, list[float]]]) -> None:
    best = found.get("default", {})
    for method in filter(found.get, METHODS):
        runs = found[method]
        rows = np.array(list(runs.values()))
        spread = rows[:, 0].std(ddof=1) if len(rows) > 1 else 0.0
        accuracy, f1, loss, ece, seconds = rows.mean(axis=0)
        ahead = [best[seed][0] - runs[seed][0] for seed in runs if seed in best]
        paired = ""
        if method != "default" and len(ahead) > 1:
            paired = f"{np.mean(ahead):+.2f} ± {np.std(ahead, ddof=1) / len(ahead) ** 0.5:.2f}"
        print(
            f"{name:<10}{method:<30}{len(rows):>5}{accuracy:>9.2f}{spread:>6.2f}{f1:>7.2f}{loss:>9.4f}"
            f"{ece:>7.3f}{seconds:>7.1f}{paired:>16}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", default=["oakland1", "oakland2"])
    parser.add_argument("--per-class", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results: dict[str, dict[str, dict[str, list[float]]]] = {}
    if arguments.json and arguments.json.exists():
        results = json.loads(arguments.json.read_text())
    print(
        f"{'':<40}{'seeds':>5}{'accuracy':>9}{'sd':>6}{'F1':>7}{'log-loss':>9}{'ECE':>7}{'s':>7}"
        f"{'default ahead':>16}",
        flush=True,
    )
    for name in arguments.data:
        runs = Runs(name)
        key = f"{name} {arguments.per_class}"
        for method in arguments.only:
            found = results.setdefault(key, {}).setdefault(method, {})
            for seed in range(arguments.seeds):
                if str(seed) in found:
                    continue
                labels = random_split(runs.y, per_class=arguments.per_class, random_state=seed)
                started = time.perf_counter()
                P = runs.proba(method, labels, seed)
                seconds = time.perf_counter() - started
                asked = (labels == -1) & (runs.y >= 0)
                found[str(seed)] = [*measures(P[asked], runs.y[asked]), seconds]
                if arguments.json:
                    arguments.json.write_text(json.dumps(results, indent=1))
        show(name, results[key])


if __name__ == "__main__":
    main()
