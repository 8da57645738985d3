"""How well the labels of some rows are found from those of the others.

The labels are dealt into folds, class by class. Each fold is predicted from the rest by every method, from
the same features. That is as good an estimate for the unlabelled rows as the labelled ones are like them.
``held_out_of_scan`` does it for the points of a scan, ``held_out_tables`` for the rows of a table.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
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
from pinvgcn.fitting.nodes import CloudNodes
from pinvgcn.repeated_fits import SharedRows
from pinvgcn.report.evaluation import Score

OURS = "PinvGCN"
# (n,) labels, -1 where they are held out, and a seed -> a class for each row (n,), by the titles of methods
Answerer = Callable[[np.ndarray, int], dict[str, np.ndarray]]
FOLDS = 3  # of the labels of a scan
AS_LABELLED = f"{OURS}, classes as frequent as their labels"
SIMPLE: dict[str, Callable[[int], Any]] = {  # for scans: a seed -> an unfitted classifier
    "Extremely randomised trees": lambda seed: ExtraTreesClassifier(300, n_jobs=-1, random_state=seed),
    # coordinates share a unit: scaling the axes apart would bend the distances
    "1-nearest neighbour": lambda seed: KNeighborsClassifier(1),
    "Logistic regression": lambda seed: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
}


@dataclass(frozen=True)
class HeldOut:
    """All methods on the same folds, ours first."""

    scores: tuple[Score, ...]
    folds: int  # that were predicted
    alone: tuple[int, ...]  # classes with a single label, which is never held out
    labels: int  # that took part
    of_labels: int | None = None  # all that there are, where only a subsample took part

    @property
    def ours(self) -> Score:
        """PinvGCN."""
        return self.scores[0]

    @property
    def simple(self) -> tuple[Score, ...]:
        """The other methods."""
        return tuple(score for score in self.scores if not score.title.startswith(OURS))

    @property
    def best_accuracy(self) -> float:
        """Of all methods."""
        return max(score.accuracy for score in self.scores)

    @property
    def best_simple(self) -> Score:
        """The most accurate of the others."""
        return max(self.simple, key=lambda score: score.accuracy)

    def best_simple_under(self, prior: np.ndarray) -> Score:
        """The same where classes are as frequent as in ``prior`` (m,)."""
        return max(self.simple, key=lambda score: score.accuracy_under(prior)[0])

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {
            "rows": self.ours.count,
            "parts": self.folds,
            "methods": [score.as_dict() for score in self.scores],
            "best_simple_method": self.best_simple.title,
        }


def deal(codes: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """The fold of each row (n,), -1 where it has no label or the only one of its class."""
    rng = np.random.default_rng(seed)
    fold = np.full(len(codes), -1)
    for code in np.unique(codes[codes != UNLABELLED]):
        rows = rng.permutation(np.flatnonzero(codes == code))
        if len(rows) > 1:
            fold[rows] = (np.arange(len(rows)) + rng.integers(folds)) % folds
    return fold


def held_out(
    codes: np.ndarray,
    classes: int,
    methods: dict[str, Answerer],
    *,
    folds: int,
    most: int | None = None,
    random_state: int = 0,
    progress: Callable[[str, int, int], None] = lambda method, fold, folds: None,
) -> HeldOut | None:
    """Each method on each fold, or on the first ``most``; None where no class has two labels.

    ``progress`` hears which method comes next, on which fold of how many.
    """
    fold = deal(codes, folds, random_state)
    asked = [k for k in range(folds) if (fold == k).any()][:most]
    if not asked:
        return None
    counts: dict[str, np.ndarray] = {}
    for number, k in enumerate(asked, start=1):
        hidden = fold == k
        seen = np.where(hidden, UNLABELLED, codes)
        for title, answer in methods.items():
            progress(title, number, len(asked))
            for name, said in answer(seen, random_state).items():
                found = confusion_matrix(codes[hidden], said[hidden], labels=range(classes))
                counts[name] = counts.get(name, 0) + found
    sizes = np.bincount(codes[codes != UNLABELLED], minlength=classes)
    scores = tuple(Score(title, confusion) for title, confusion in counts.items())
    return HeldOut(scores, len(asked), tuple(np.flatnonzero(sizes == 1).tolist()), int(sizes.sum()))


def held_out_of_scan(
    model: PinvGCNClassifier,
    codes: np.ndarray,
    *,
    columns: np.ndarray | None = None,
    random_state: int = 0,
    progress: Callable[[str, int, int], None] = lambda method, fold, folds: None,
) -> HeldOut | None:
    """All methods on the points that the model was fitted to; ``codes`` (n,) are the labels, or -1.

    A model that estimates the class prior prefers frequent classes where it is in doubt. Labels have another
    prior, that of whoever picked them: a second line then has its answers under that one.
    """
    nodes = model.fitted_.nodes
    assert isinstance(nodes, CloudNodes)
    shapes = LocalShapes(nodes.features[:, 3:], nodes.lattice) if nodes.lattice is not None else None
    rows = SharedRows(model, nodes.points, features=columns, shapes=shapes)
    X = nodes.features if columns is None else np.hstack([nodes.features, columns])
    estimates_prior = False

    def ours(labels: np.ndarray, seed: int) -> dict[str, np.ndarray]:
        nonlocal estimates_prior
        with warnings.catch_warnings():  # the model that is kept has given its own
            warnings.simplefilter("ignore", PinvGCNWarning)
            with stopped_by_interrupts():
                fitted = rows.fit(labels, random_state=seed)
        P, factors = fitted.transduction_proba_, fitted.fitted_.smoothing.factors
        estimates_prior |= factors is not None
        as_labelled = P if factors is None else P / factors
        return {OURS: P.argmax(axis=1), AS_LABELLED: as_labelled.argmax(axis=1)}

    def simple(title: str) -> Answerer:
        def answer(labels: np.ndarray, seed: int) -> dict[str, np.ndarray]:
            known = labels != UNLABELLED
            return {title: SIMPLE[title](seed).fit(X[known], labels[known]).predict(X)}

        return answer

    methods = {OURS: ours, **{title: simple(title) for title in SIMPLE}}
    classes = int(codes.max()) + 1
    found = held_out(codes, classes, methods, folds=FOLDS, random_state=random_state, progress=progress)
    if found is None or estimates_prior:
        return found
    return replace(found, scores=tuple(score for score in found.scores if score.title != AS_LABELLED))
