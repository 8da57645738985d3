"""The simple methods that anything more elaborate must be measured against.

Each learns from the labelled rows alone. Tables are encoded once, from all of their rows: categories one-hot,
numbers scaled. A value that no labelled row has is a column, too, which is constant in training: linear
models do not see it, but it adds to distances, and trees draw it among their candidates. Networks are seen by
the features of their nodes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinvgcn.checks import UNLABELLED
from pinvgcn.experiments.methods.encoding import encoded
from pinvgcn.experiments.sight import Sight, look, votes
from pinvgcn.experiments.task import Answer, Method, Prepared, Ready, Task


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
    build: Callable[[Task, Sight, int], Any]  # the last is the seed -> an unfitted classifier
    trees: bool = False  # whether only thresholds of features count
    dense: bool = False  # whether it takes no sparse rows

    def prepare(self, task: Task) -> Prepared:
        """Look at the rows, and encode those of a table."""
        sight = look(task)
        if task.kind != "table":
            rows = sight.values if self.trees else sight.rows
            return PreparedSupervised(self, task, sight, rows, sight.seconds)
        start = time.perf_counter()
        rows = encoded(task.X, dense=self.dense)
        return PreparedSupervised(self, task, sight, rows, {"encoding": time.perf_counter() - start})


@dataclass(frozen=True)
class PreparedSupervised:
    """Any number of labels on the same rows."""

    method: Supervised
    task: Task
    sight: Sight
    rows: Any  # (n, f) numbers, possibly sparse
    seconds: dict[str, float]

    def answer(self, labels: np.ndarray, seed: int) -> Answer:
        """Fit on the labelled rows, predict every row."""
        known = labels != UNLABELLED
        model = self.method.build(self.task, self.sight, seed)
        start = time.perf_counter()
        model.fit(self.rows[known], labels[known])
        fitted = time.perf_counter()
        if self.sight.smoothing is None:
            codes = np.asarray(model.predict(self.rows))
        else:
            codes = self.sight.most_probable(votes(model, self.rows), model.classes_)
        seconds = {"fit": fitted - start, "predict": time.perf_counter() - fitted}
        return Answer(codes=codes, seconds=seconds, model=model)


def _scaled(task: Task, sight: Sight, classifier: Any) -> Any:
    """The classifier behind a scaling of coordinates, which may have any unit."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if task.kind == "points" and not sight.comparable:
        return make_pipeline(StandardScaler(), classifier)
    return classifier


def _logistic_regression(task: Task, sight: Sight, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return _scaled(task, sight, LogisticRegression(max_iter=1000))


def _nearest_neighbour(task: Task, sight: Sight, seed: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    # coordinates share a unit: scaling the axes apart would bend the distances
    return KNeighborsClassifier(n_neighbors=1)


def _extra_trees(task: Task, sight: Sight, seed: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(n_estimators=300, n_jobs=-1, random_state=seed)


def _random_forest(task: Task, sight: Sight, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=300, n_jobs=-1, random_state=seed)


def _support_vectors(task: Task, sight: Sight, seed: int) -> Any:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC

    if sight.smoothing is None or task.per_class is None or task.per_class < 2:
        return _scaled(task, sight, SVC())
    # to be averaged over neighbours it needs probabilities: Platt's, from labels that are held out in turn
    folds = min(5, task.per_class)
    return _scaled(task, sight, CalibratedClassifierCV(SVC(), cv=folds, ensemble=False))


def _gradient_boosting(task: Task, sight: Sight, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    # 20 rows in each leaf, scikit-learn's default, are more than there are where labels are few
    leaf = int(np.clip(task.given // 50, 1, 20))
    return HistGradientBoostingClassifier(min_samples_leaf=leaf, early_stopping=False, random_state=seed)


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
        trees=True,
    ),
    Supervised(
        "random_forest",
        "Random forest",
        "Lets 300 decision trees vote, each grown on rows drawn anew.",
        _random_forest,
        trees=True,
    ),
    Supervised(
        "support_vectors",
        "RBF support vectors",
        "Draws the widest border between the classes, by scikit-learn's defaults.",
        _support_vectors,
    ),
    Supervised(
        "gradient_boosting",
        "Gradient boosting",
        "Grows 100 decision trees, each of which corrects those before it.",
        _gradient_boosting,
        trees=True,
        dense=True,
    ),
)
