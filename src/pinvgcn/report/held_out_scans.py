"""Held-out labels of a scan: the model's settings and simple methods, fitted without each fold in turn."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
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
from pinvgcn.report.held_out import OURS, Answerer, HeldOut, held_out

FOLDS = 3
AS_LABELLED = f"{OURS}, classes as frequent as their labels"
SIMPLE: dict[str, Callable[[int], Any]] = {  # a seed -> an unfitted classifier
    "Extremely randomised trees": lambda seed: ExtraTreesClassifier(300, n_jobs=-1, random_state=seed),
    # coordinates share a unit: scaling the axes apart would bend the distances
    "1-nearest neighbour": lambda seed: KNeighborsClassifier(1),
    "Logistic regression": lambda seed: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
}


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
