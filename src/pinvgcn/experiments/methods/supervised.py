"""The simple methods that anything more elaborate must be measured against.

Each learns from the labelled rows alone. On tables the categories are one-hot encoded; a value that no
labelled row has is left out, which changes none of these methods: its column would be constant in training.
Networks are seen by the features of their nodes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinvgcn.checks import UNLABELLED
from pinvgcn.experiments.task import Answer, Kind, Method, Prepared, Ready, Task


@dataclass(frozen=True)
class Majority:
    """Always the largest class.

    With equally many labels a class, the labels do not tell which class that is. This method is told,
    so its accuracy is the most that can be had without looking at a single row.
    """

    name: str = "majority"
    title: str = "Majority class"
    description: str = "Always answers the largest class, which it is told; the floor for everything else."

    def prepare(self, task: Task) -> Prepared:
        """Nothing to set up."""
        return Ready(task, self._answer)

    def _answer(self, task: Task, labels: np.ndarray, seed: int) -> Answer:
        """The largest class of the task, for every row."""
        start = time.perf_counter()
        codes = np.full(task.rows, int(np.argmax(task.class_sizes)))
        return Answer(codes=codes, seconds={"fit": 0.0, "predict": time.perf_counter() - start})


@dataclass(frozen=True)
class Supervised:
    """A scikit-learn classifier, fitted on the labelled rows."""

    name: str
    title: str
    description: str
    build: Callable[[Kind, int], Any]  # kind of data, seed -> an unfitted classifier

    def prepare(self, task: Task) -> Prepared:
        """Nothing to set up."""
        return Ready(task, self._answer)

    def _answer(self, task: Task, labels: np.ndarray, seed: int) -> Answer:
        """Fit on the labelled rows, predict every row."""
        known = labels != UNLABELLED
        model = self.build(task.kind, seed)
        start = time.perf_counter()
        model.fit(task.take(known), labels[known])
        fitted = time.perf_counter()
        codes = np.asarray(model.predict(task.X))
        seconds = {"fit": fitted - start, "predict": time.perf_counter() - fitted}
        return Answer(codes=codes, seconds=seconds, model=model)


def _prepared(kind: Kind, classifier: Any, *, scale: bool = False) -> Any:
    """The classifier behind the encoding that its data need."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    if kind == "table":
        return make_pipeline(OneHotEncoder(handle_unknown="ignore"), classifier)
    return make_pipeline(StandardScaler(), classifier) if scale and kind == "points" else classifier


def _logistic_regression(kind: Kind, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return _prepared(kind, LogisticRegression(max_iter=1000), scale=True)


def _nearest_neighbour(kind: Kind, seed: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    # coordinates share a unit: scaling the axes apart would bend the distances
    return _prepared(kind, KNeighborsClassifier(n_neighbors=1))


def _extra_trees(kind: Kind, seed: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return _prepared(kind, ExtraTreesClassifier(n_estimators=300, random_state=seed))


def _random_forest(kind: Kind, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return _prepared(kind, RandomForestClassifier(n_estimators=300, random_state=seed))


def _support_vectors(kind: Kind, seed: int) -> Any:
    from sklearn.svm import SVC

    return _prepared(kind, SVC(), scale=True)


SUPERVISED: tuple[Method, ...] = (
    Majority(),
    Supervised(
        "logistic_regression",
        "Logistic regression",
        "Weighs the columns and adds them up.",
        _logistic_regression,
    ),
    Supervised(
        "nearest_neighbour",
        "1-nearest neighbour",
        "Copies the label of the most similar labelled row.",
        _nearest_neighbour,
    ),
    Supervised(
        "extra_trees",
        "Extremely randomised trees",
        "Lets 300 randomly grown decision trees vote.",
        _extra_trees,
    ),
    Supervised(
        "random_forest",
        "Random forest",
        "Lets 300 decision trees vote, each grown on rows drawn anew.",
        _random_forest,
    ),
    Supervised(
        "support_vectors",
        "RBF support vectors",
        "Draws the widest border between the classes, by scikit-learn's defaults.",
        _support_vectors,
    ),
)
