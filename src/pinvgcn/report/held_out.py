"""How well a scan's model does, by its own labels: each part of them in turn is held out and then asked for.

Simple methods are asked the same, from the same features: position, local shape and extra columns.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pinvgcn.checks import UNLABELLED
from pinvgcn.compute.interrupts import stopped_by_interrupts
from pinvgcn.errors import PinvGCNWarning
from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.features.pyramid import LocalShapes
from pinvgcn.repeated_fits import SharedRows

FOLDS = 3
SIMPLE: dict[str, Callable[[int], Any]] = {  # a seed -> an unfitted classifier
    "Extremely randomised trees": lambda seed: ExtraTreesClassifier(300, n_jobs=-1, random_state=seed),
    # coordinates share a unit: scaling the axes apart would bend the distances
    "1-nearest neighbour": lambda seed: KNeighborsClassifier(1),
    "Logistic regression": lambda seed: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
}
OURS = "PinvGCN"
AS_LABELLED = f"{OURS}, classes as frequent as their labels"
SURE = 1.959964  # standard deviations that hold 95 % of a normal distribution


@dataclass(frozen=True)
class HeldOut:
    """One method's answers to labels that it had not seen."""

    title: str
    confusion: np.ndarray  # (m, m); rows: the label, columns: the answer

    @property
    def accuracy(self) -> float:
        """The share that was right."""
        return float(np.trace(self.confusion) / self.confusion.sum())

    @property
    def recall(self) -> np.ndarray:
        """The same class by class, NaN where no label was asked for: (m,)"""
        sizes = self.confusion.sum(axis=1)
        return np.divide(np.diag(self.confusion), sizes, out=np.full(len(sizes), np.nan), where=sizes > 0)

    @property
    def mean_recall(self) -> float:
        """Its mean over the classes."""
        return float(np.nanmean(self.recall))

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the accuracy, as if labels were drawn one by one."""
        n, p = int(self.confusion.sum()), self.accuracy
        middle = (p + SURE**2 / (2 * n)) / (1 + SURE**2 / n)
        half = SURE / (1 + SURE**2 / n) * math.sqrt(p * (1 - p) / n + SURE**2 / (4 * n**2))
        return middle - half, middle + half

    def over_the_scan(self, shares: np.ndarray) -> tuple[float, float]:
        """Σ_c π_c r_c, the recalls r of classes weighed by their shares π of the scan, and 1.96
        of its standard deviations. A class of which no label was asked for is left out.

        Labels are often picked class by class: what is right of them is not what is right of the scan. In the
        deviation each class has one more label that was right and one that was wrong, so that a class of
        which all few were right is not taken for certain.
        """
        sizes, right = self.confusion.sum(axis=1), np.diag(self.confusion)
        asked = sizes > 0
        weight = shares[asked] / shares[asked].sum()
        recall = right[asked] / sizes[asked]
        careful = (right[asked] + 1) / (sizes[asked] + 2)
        variance = (weight**2 * careful * (1 - careful) / sizes[asked]).sum()
        return float((weight * recall).sum()), SURE * math.sqrt(variance)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {
            "method": self.title,
            "accuracy": self.accuracy,
            "interval_95": list(self.interval),
            "mean_recall": self.mean_recall,
            "recall": [None if np.isnan(share) else float(share) for share in self.recall],
            "confusion": self.confusion.tolist(),
        }


def held_out(
    model: PinvGCNClassifier,
    codes: np.ndarray,
    *,
    columns: np.ndarray | None = None,
    random_state: int = 0,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> list[HeldOut]:
    """The model's settings first, then simple methods, on the points that it was fitted to.

    The model finds how frequent classes are in the scan, and where it is in doubt prefers the frequent ones.
    Labels have other shares, those that somebody picked: a second line then answers with these.

    ``codes`` (n,) are the labels, or -1. A class with one label is never held out; where every class has but
    one, nothing can be tested and the list is empty.
    """
    parts = _parts(codes, random_state)
    if not (parts >= 0).any():
        return []
    nodes: Any = model.fitted_.nodes
    shapes = LocalShapes(nodes.features[:, 3:], nodes.lattice) if nodes.geometry else None
    X = nodes.features if columns is None else np.hstack([nodes.features, columns])
    m = int(codes.max()) + 1
    titles = [OURS, AS_LABELLED, *SIMPLE]
    counts = np.zeros((len(titles), m, m), dtype=int)
    rows = SharedRows(model, nodes.points, features=columns, shapes=shapes)
    prefers = False  # whether the model finds the shares of classes in the scan
    folds = [fold for fold in range(FOLDS) if (parts == fold).any()]
    for number, fold in enumerate(folds):
        hidden = parts == fold
        seen = np.where(hidden, UNLABELLED, codes)
        with warnings.catch_warnings():  # the model that is kept has given its own
            warnings.simplefilter("ignore", PinvGCNWarning)
            with stopped_by_interrupts():
                fitted = rows.fit(seen, random_state=random_state + fold)
        factors = fitted.fitted_.smoothing.factors
        prefers |= factors is not None
        P = fitted.transduction_proba_
        said = [P.argmax(axis=1), (P if factors is None else P / factors).argmax(axis=1)]
        known = seen != UNLABELLED
        for build in SIMPLE.values():
            said.append(build(random_state + fold).fit(X[known], codes[known]).predict(X))
        for count, answer in zip(counts, said, strict=True):
            count += confusion_matrix(codes[hidden], answer[hidden], labels=range(m))
        tell(number + 1, len(folds))
    tested = [HeldOut(title, count) for title, count in zip(titles, counts, strict=True)]
    return tested if prefers else [tested[0], *tested[2:]]


def simple_methods(tested: Sequence[HeldOut]) -> list[HeldOut]:
    """All but PinvGCN."""
    return [method for method in tested if not method.title.startswith(OURS)]


def _parts(codes: np.ndarray, random_state: int) -> np.ndarray:
    """The fold in which each label is held out, -1 for none: (n,). Each class is spread over all folds."""
    generator = np.random.default_rng(random_state)
    parts = np.full(len(codes), -1)
    for code in range(int(codes.max()) + 1):
        rows = np.flatnonzero(codes == code)
        if len(rows) > 1:
            parts[generator.permutation(rows)] = np.arange(len(rows)) % FOLDS
    return parts
