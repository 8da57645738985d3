"""The defaults for tables, what each part of them is worth, and other methods on the same labels.

    python benchmarks/tables.py [--data mushroom covertype45 covertype67] [--per-class 10] [--seeds 10]
                                [--only default others ...] [--json FILE]

Accuracy and macro F1 in per cent, log-loss and expected calibration error (15 bins) at the rows without a
label, means over the seeds; the paired difference in accuracy to the default, with its standard error; and of
prediction sets of coverage 0.9 the share that holds the true class, the same for the class where it is
smallest, and the mean number of classes in a set. "no spectral part" has the default's members, folds, walk
and training with 𝒦 = I instead of the filters: two plain layers. The other methods see the table one-hot.
Covertype is found through PINVGCN_DATA.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from scipy.special import log_softmax, softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import load_dataset, random_split
from pinvgcn.experts.diffusion import Steps
from pinvgcn.fitting.folds import folds_of
from pinvgcn.fitting.labels import RowLabels
from pinvgcn.fitting.pool import NETWORK, WALK, weights_of
from pinvgcn.fitting.settings import LIKE_ROWS, seed_of
from pinvgcn.graphs import Hypergraph
from pinvgcn.graphs.neighbours import sharing_most, undirected
from pinvgcn.shared_rows import SharedRows

BINS = 15
LARGE = 20_000  # rows: beyond, support vectors and spreading are left out
SETTINGS: dict[str, dict[str, object]] = {
    "default": {},
    "no walk": {"neighbours": None},
    "one network": {"members": 1},
    "weight decay 0.0005": {"weight_decay": 0.0005},
    "estimated priors": {"priors": "estimated"},
    "one network, no walk, as the paper": {
        "members": 1, "neighbours": None, "weight_decay": 0.0005, "epochs": 500,
    },
}  # fmt: skip


def measures(P: np.ndarray, y: np.ndarray) -> list[float]:
    """Accuracy, macro F1, log-loss, expected calibration error."""
    sure, right = P.max(axis=1), P.argmax(axis=1) == y
    place = np.minimum((BINS * sure).astype(int), BINS - 1)
    gaps = [abs(right[place == b].mean() - sure[place == b].mean()) * (place == b).mean() for b in set(place)]
    likely = np.maximum(P[np.arange(len(y)), y], 1e-7)
    f1 = f1_score(y, P.argmax(axis=1), average="macro")
    if set(np.unique(P)) <= {0.0, 1.0}:  # classes without probabilities
        return [100 * right.mean(), 100 * f1, np.nan, np.nan]
    return [100 * right.mean(), 100 * f1, -np.log(likely).mean(), sum(gaps)]


def coverage(sets: np.ndarray, y: np.ndarray) -> list[float]:
    """How often the true class is in its set, the same of the worst class, the mean size."""
    hit = sets[np.arange(len(y)), y]
    return [hit.mean(), min(hit[y == c].mean() for c in np.unique(y)), sets.sum(axis=1).mean()]


def rivals(seed: int) -> dict[str, object]:
    """Classifiers that learn from the labelled rows alone."""
    return {
        "1-nearest neighbour": KNeighborsClassifier(1),
        "logistic regression": LogisticRegression(max_iter=1000),
        "logistic regression, calibrated": CalibratedClassifierCV(LogisticRegression(max_iter=1000), cv=5),
        "random forest": RandomForestClassifier(300, random_state=seed),
        "randomised trees": ExtraTreesClassifier(300, random_state=seed),
        "gradient boosting": HistGradientBoostingClassifier(min_samples_leaf=2, random_state=seed),
        "RBF support vectors": SVC(random_state=seed),
    }


def plain_network(H: np.ndarray, labels: RowLabels, seed: int) -> np.ndarray:
    """Scores of two layers that see each row alone, trained as the default is: (n, classes)."""
    torch.manual_seed(seed)
    net = torch.nn.Sequential(
        torch.nn.Linear(H.shape[1], 32),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.5),
        torch.nn.Linear(32, len(labels.classes)),
    )
    weights, biases = ([p for p in net.parameters() if (p.ndim > 1) == flag] for flag in (True, False))
    groups = [{"params": weights, "weight_decay": 0.01}, {"params": biases, "weight_decay": 0.0}]
    adam = torch.optim.Adam(groups, lr=0.01)
    X, y = torch.from_numpy(H[labels.rows]), torch.from_numpy(labels.codes)
    for _ in range(200):
        adam.zero_grad()
        torch.nn.functional.cross_entropy(net(X), y).backward()
        adam.step()
    net.eval()
    with torch.no_grad():
        return net(torch.from_numpy(H)).numpy().astype(np.float64)


def without_spectrum(graph: Hypergraph, splits: list[np.ndarray]) -> list[np.ndarray]:
    """Probabilities by plain networks in the place of the default's."""
    H, steps = graph.incidence.toarray().astype(np.float32), Steps.of(graph, LIKE_ROWS)
    result = []
    for seed, y in enumerate(splits):
        parts = folds_of(RowLabels.of(y, len(y)), 5, seed_of(seed))
        scores = [plain_network(H, learned, 5 * seed + j) for j, (learned, _) in enumerate(parts)]
        walk = steps.walk([learned for learned, _ in parts])
        logs = walk.logs(steps.nearest)[:, steps.inverse]
        opinions = [np.stack(pair) for pair in zip(scores, logs, strict=True)]
        kept = [
            (both[:, held.rows], held.codes) for both, (_, held) in zip(opinions, parts, strict=True) if held
        ]
        weights = list(weights_of([NETWORK, WALK], kept).values())
        result.append(softmax(np.tensordot(weights, np.mean(opinions, axis=0), axes=1), axis=1))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [*SETTINGS, "no spectral part", "others"]
    parser.add_argument("--data", nargs="+", default=["mushroom", "covertype45", "covertype67"])
    parser.add_argument("--per-class", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", nargs="+", default=names, choices=names)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_default_dtype(torch.float32)
    results: dict[str, dict[str, dict[str, list[list[float]]]]] = {}
    print(
        f"{'':<12}{'':<36}{'accuracy':>9}{'sd':>6}{'ahead by':>16}{'F1':>7}{'log-loss':>10}{'ECE':>7}"
        f"{'covered':>9}{'least':>7}{'size':>6}{'s a run':>9}",
        flush=True,
    )
    for name in arguments.data:
        data = load_dataset(name)
        splits = [
            random_split(data.y, per_class=arguments.per_class, random_state=s)
            for s in range(arguments.seeds)
        ]
        hidden = [labels == -1 for labels in splits]
        found = results[name] = {}
        graph = Hypergraph.from_table(data.X)
        H = graph.incidence.toarray().astype(np.float32)

        def show(
            method: str,
            P: list[np.ndarray],
            seconds: float,
            sets: list[np.ndarray] | None = None,
            name: str = name,
            y: np.ndarray = data.y,
            hidden: list[np.ndarray] = hidden,
            found: dict = found,
        ) -> None:
            rows = np.array([measures(p[h], y[h]) for p, h in zip(P, hidden, strict=True)])
            mine = found[method] = {"measures": rows.tolist(), "seconds": [seconds]}
            spread = rows[:, 0].std(ddof=1) if len(rows) > 1 else 0.0
            paired = ""
            if "default" in found and method != "default" and len(rows) > 1:
                gains = rows[:, 0] - np.array(found["default"]["measures"])[:, 0]
                paired = f"{gains.mean():+.2f} ± {gains.std(ddof=1) / len(gains) ** 0.5:.2f}"
            line = f"{name:<12}{method:<36}{rows[:, 0].mean():>9.2f}{spread:>6.2f}{paired:>16}"
            line += f"{rows[:, 1].mean():>7.2f}{rows[:, 2].mean():>10.4f}{rows[:, 3].mean():>7.3f}"
            if sets is not None:
                mine["sets"] = [coverage(s[h], y[h]) for s, h in zip(sets, hidden, strict=True)]
                covered, least, size = np.mean(mine["sets"], axis=0)
                line += f"{covered:>9.3f}{least:>7.3f}{size:>6.2f}"
            else:
                line += " " * 22
            print(f"{line}{seconds:>9.1f}", flush=True)

        def timed(
            work: Callable[[], list[np.ndarray]], runs: int = len(splits)
        ) -> tuple[list[np.ndarray], float]:
            started = time.perf_counter()
            done = work()
            return done, (time.perf_counter() - started) / runs

        for method, settings in SETTINGS.items():
            if method in arguments.only:
                started = time.perf_counter()
                rows = SharedRows(PinvGCNClassifier("categorical", **settings), data.X)
                models = [rows.fit(labels, random_state=seed) for seed, labels in enumerate(splits)]
                seconds = (time.perf_counter() - started) / len(splits)
                sets = None
                if models[0].fitted_.ensemble.members > 1 and arguments.per_class >= 9:
                    sets = [model.transduction_set(coverage=0.9) for model in models]
                show(method, [model.transduction_proba_ for model in models], seconds, sets)
        if "no spectral part" in arguments.only:
            show("no spectral part", *timed(lambda g=graph, s=splits: without_spectrum(g, s)))
        if "others" not in arguments.only:
            continue
        for method in rivals(0):
            if len(H) > LARGE and method == "RBF support vectors":
                continue

            def fitted(method: str = method, H: np.ndarray = H, splits: list = splits) -> list[np.ndarray]:
                P = []
                for seed, labels in enumerate(splits):
                    model = rivals(seed)[method].fit(H[labels >= 0], labels[labels >= 0])
                    if method == "RBF support vectors":  # it has no probabilities, only a side
                        P.append(np.eye(labels.max() + 1)[model.predict(H)])
                    else:
                        P.append(model.predict_proba(H))
                return P

            show(method, *timed(fitted))

        def trained(H: np.ndarray = H, splits: list = splits) -> list[np.ndarray]:
            base = LogisticRegression(max_iter=1000)
            return [SelfTrainingClassifier(base, threshold=0.9).fit(H, y).predict_proba(H) for y in splits]

        def spread_out(H: np.ndarray = H, splits: list = splits, graph: Hypergraph = graph) -> list:
            A = undirected(sharing_most(graph, 10)).tocsr()
            P = []
            for y in splits:
                model = LabelSpreading(kernel=lambda X, Y, A=A: A, max_iter=1000)
                share = model.fit(np.zeros((len(H), 1)), y).label_distributions_
                P.append(softmax(log_softmax(np.log(np.nan_to_num(share) + 1e-6), axis=1), axis=1))
            return P

        show("self-training, logistic", *timed(trained))
        if len(H) <= LARGE:
            show("label spreading, 10-NN", *timed(spread_out))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
