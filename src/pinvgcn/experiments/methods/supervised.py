"""Classifiers of scikit-learn, and CatBoost where it is installed.

Each learns from the labelled rows alone, except self-training. Tables are encoded once, from all of their
rows: categories one-hot, numbers scaled. A value that no labelled row has is a column too, constant in
training: linear models do not see it, but it adds to distances, and trees draw it among their candidates.
Networks are seen by the features of their nodes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from pinvgcn.checks import UNLABELLED
from pinvgcn.errors import MissingDependencyError, ParameterError
from pinvgcn.experiments.methods.inputs import (
    MethodInputs,
    as_text,
    class_probabilities,
    encoded,
    method_inputs,
    number_columns,
)
from pinvgcn.experiments.task import Answer, Method, PreparedMethod, Ready, Task


@dataclass(frozen=True)
class Majority:
    """Always the largest class.

    With equally many labels a class, the labels do not tell which class that is. This method is told,
    so its accuracy is the most that can be had without looking at a single row.
    """

    name: str = "majority"
    title: str = "Majority class"
    description: str = "Always answers the largest class, which it is told; the floor for everything else."

    def prepare(self, task: Task) -> PreparedMethod:
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
    build: Callable[[Task, MethodInputs, int], Any]  # the last is the seed -> an unfitted classifier
    trees: bool = False  # whether only thresholds of features count
    dense: bool = False  # whether it takes no sparse rows

    def prepare(self, task: Task) -> PreparedMethod:
        """Look at the rows, and encode those of a table."""
        inputs = method_inputs(task)
        if task.kind != "table":
            rows = inputs.values if self.trees else inputs.rows
            return PreparedSupervised(self, task, inputs, rows, inputs.seconds)
        start = time.perf_counter()
        rows = encoded(task.X, dense=self.dense)
        return PreparedSupervised(self, task, inputs, rows, {"encoding": time.perf_counter() - start})


@dataclass(frozen=True)
class PreparedSupervised:
    """Any number of labels on the same rows."""

    method: Supervised
    task: Task
    inputs: MethodInputs
    rows: Any  # (n, f) numbers, possibly sparse
    seconds: dict[str, float]

    def answer(self, labels: np.ndarray, seed: int) -> Answer:
        """Fit on the labelled rows, predict every row."""
        known = labels != UNLABELLED
        model = self.method.build(self.task, self.inputs, seed)
        start = time.perf_counter()
        model.fit(self.rows[known], labels[known])
        fitted = time.perf_counter()
        if self.inputs.smoothing is None:
            codes = np.asarray(model.predict(self.rows))
        else:
            codes = self.inputs.most_probable(class_probabilities(model, self.rows), model.classes_)
        seconds = {"fit": fitted - start, "predict": time.perf_counter() - fitted}
        return Answer(codes=codes, seconds=seconds, model=model)


def _scaled(task: Task, inputs: MethodInputs, classifier: Any) -> Any:
    """The classifier behind a scaling of coordinates, which may have any unit."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if task.kind == "points" and not inputs.comparable:
        return make_pipeline(StandardScaler(), classifier)
    return classifier


def _logistic_regression(task: Task, inputs: MethodInputs, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return _scaled(task, inputs, LogisticRegression(max_iter=1000))


def _nearest_neighbour(task: Task, inputs: MethodInputs, seed: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    # coordinates share a unit: scaling the axes apart would bend the distances
    return KNeighborsClassifier(n_neighbors=1)


def _extra_trees(task: Task, inputs: MethodInputs, seed: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(n_estimators=300, n_jobs=-1, random_state=seed)


def _random_forest(task: Task, inputs: MethodInputs, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=300, n_jobs=-1, random_state=seed)


def _support_vectors(task: Task, inputs: MethodInputs, seed: int) -> Any:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC

    if inputs.smoothing is None or task.per_class is None or task.per_class < 2:
        return _scaled(task, inputs, SVC())
    # to be averaged over neighbours it needs probabilities: Platt's, from labels that are held out in turn
    folds = min(5, task.per_class)
    return _scaled(task, inputs, CalibratedClassifierCV(SVC(), cv=folds, ensemble=False))


def _gradient_boosting(task: Task, inputs: MethodInputs, seed: int) -> Any:
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


@dataclass(frozen=True)
class SelfTraining:
    """Fit, take the answers with a probability of 0.75 or more as labels, and fit again, ten times at most:
    scikit-learn's defaults, around logistic regression."""

    name: str = "self_training"
    title: str = "Self-training"
    description: str = "Logistic regression that takes its own confident answers as further labels."

    def prepare(self, task: Task) -> PreparedMethod:
        """Look at the rows, and encode those of a table."""
        from sklearn.preprocessing import StandardScaler

        inputs = method_inputs(task)
        start = time.perf_counter()
        rows = inputs.rows
        if task.kind == "table":
            rows = encoded(task.X)
        elif task.kind == "points" and not inputs.comparable:
            rows = StandardScaler().fit_transform(rows)
        return PreparedSelfTraining(rows, inputs, {**inputs.seconds, "encoding": time.perf_counter() - start})


@dataclass(frozen=True)
class PreparedSelfTraining:
    """Any number of labels on the same rows."""

    rows: Any  # (n, f) numbers, possibly sparse
    inputs: MethodInputs
    seconds: dict[str, float]

    def answer(self, labels: np.ndarray, seed: int) -> Answer:
        """Fit on all rows, labelled or not."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.semi_supervised import SelfTrainingClassifier

        start = time.perf_counter()
        model = SelfTrainingClassifier(LogisticRegression(max_iter=1000))
        model.fit(self.rows, labels)
        fitted = time.perf_counter()
        codes = self.inputs.most_probable(model.predict_proba(self.rows), model.classes_)
        seconds = {"fit": fitted - start, "predict": time.perf_counter() - fitted}
        return Answer(codes=codes, seconds=seconds, model=model)


@dataclass(frozen=True)
class CatBoost:
    """``CatBoostClassifier`` with its defaults, on the labelled rows of a table."""

    name: str = "catboost"
    title: str = "CatBoost"
    description: str = "Grows decision trees on categories as they are, each of which corrects those before."
    libraries: ClassVar[tuple[str, ...]] = ("catboost",)  # not counted as memory of the method

    def prepare(self, task: Task) -> PreparedMethod:
        """Categories as text, numbers as they are, missing or not."""
        if task.kind != "table":
            raise ParameterError(
                f"CatBoost is compared on tables. Got {task.title}, made of {task.noun}, instead."
            )
        try:
            import catboost
        except ImportError:
            raise MissingDependencyError("This method needs CatBoost: pip install catboost") from None
        start = time.perf_counter()
        numbers = number_columns(task.X)
        others = [name for name in task.X if name not in set(numbers)]
        rows = pd.concat([task.X[numbers].astype(np.float64), as_text(task.X[others])], axis=1)
        seconds = {"encoding": time.perf_counter() - start}
        return PreparedCatBoost(catboost.CatBoostClassifier, rows, others, seconds)


@dataclass(frozen=True)
class PreparedCatBoost:
    """Any number of labels on the same rows."""

    classifier: Any
    rows: pd.DataFrame
    categories: list[Any]
    seconds: dict[str, float]

    def answer(self, labels: np.ndarray, seed: int) -> Answer:
        """Fit on the labelled rows, predict every row. Nothing is printed or written."""
        known = labels != UNLABELLED
        start = time.perf_counter()
        model = self.classifier(
            cat_features=self.categories,
            random_seed=seed,
            thread_count=-1,
            verbose=False,
            allow_writing_files=False,
        )
        model.fit(self.rows[known], labels[known])
        fitted = time.perf_counter()
        codes = np.asarray(model.predict(self.rows)).ravel().astype(np.int64)
        seconds = {"fit": fitted - start, "predict": time.perf_counter() - fitted}
        return Answer(codes=codes, seconds=seconds, model=model)
