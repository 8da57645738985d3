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
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC

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
class Supervised:
    """A scikit-learn classifier."""

    name: str
    title: str
    description: str
    classifier: Any  # of scikit-learn, or a function of the task that makes one
    scaled: bool = False  # whether coordinates, which may have any unit, are scaled first
    trees: bool = False  # whether only thresholds of features count
    dense: bool = False  # whether it takes no sparse rows
    averaged: Callable[[Task, Any], Any] | None = None  # instead, where its probabilities are averaged
    all_rows: bool = False  # whether it is fitted to the unlabelled rows too

    def build(self, task: Task, seed: int) -> Any:
        model = self.classifier(task) if callable(self.classifier) else clone(self.classifier)
        draws = "random_state" in model.get_params() and not self.scaled
        return model.set_params(random_state=seed) if draws else model

    def encode(self, frame: pd.DataFrame) -> Any:
        """The rows of a table (n, f) as the classifier takes them."""
        return encoded(frame, dense=self.dense)

    def prepare(self, task: Task) -> PreparedMethod:
        """Look at the rows, and encode those of a table."""
        inputs = method_inputs(task)
        if task.kind == "table":
            start = time.perf_counter()
            rows = self.encode(task.X)
            seconds = {"encoding": time.perf_counter() - start}
        else:
            rows, seconds = inputs.values if self.trees else inputs.rows, inputs.seconds
        return Ready(task, partial(self._answer, inputs, rows), seconds)

    def _answer(self, inputs: MethodInputs, rows: Any, task: Task, labels: np.ndarray, seed: int) -> Answer:
        """Fit, and predict every row."""
        averaged = inputs.smoothing is not None
        model = self.build(task, seed)
        if averaged and self.averaged is not None:
            model = self.averaged(task, model)
        if self.scaled and task.kind == "points" and not inputs.comparable:
            model = make_pipeline(StandardScaler(), model)
        seen = np.ones(len(labels), dtype=bool) if self.all_rows else labels != UNLABELLED
        start = time.perf_counter()
        model.fit(rows[seen], labels[seen])
        fitted = time.perf_counter()
        if averaged:
            codes = inputs.most_probable(class_probabilities(model, rows), model.classes_)
        else:
            codes = np.asarray(model.predict(rows)).ravel().astype(np.int64)
        seconds = {"fit": fitted - start, "predict": time.perf_counter() - fitted}
        return Answer(codes=codes, seconds=seconds, model=model)


def _majority(task: Task) -> Any:
    # equally many labels a class do not tell which one is the largest
    return DummyClassifier(strategy="constant", constant=int(np.argmax(task.class_sizes)))


def _boosting(task: Task) -> Any:
    # 20 rows in each leaf, scikit-learn's default, are more than there are where labels are few
    leaf = int(np.clip(task.given // 50, 1, 20))
    return HistGradientBoostingClassifier(min_samples_leaf=leaf, early_stopping=False)


def _calibrated(task: Task, classifier: Any) -> Any:
    """Platt's probabilities, from labels that are held out in turn."""
    if task.per_class is None or task.per_class < 2:
        return classifier
    return CalibratedClassifierCV(classifier, cv=min(5, task.per_class), ensemble=False)


_linear = LogisticRegression(max_iter=1000)
SUPERVISED: tuple[Method, ...] = (
    Supervised(
        "majority", "Majority class",
        "Always answers the largest class, which it is told; the floor for everything else.", _majority,
    ),
    Supervised(
        "logistic_regression", "Logistic regression", "Weighs the columns and adds them up.", _linear,
        scaled=True,
    ),
    Supervised(  # not scaled: coordinates share a unit, and scaling the axes apart would bend the distances
        "nearest_neighbour", "1-nearest neighbour", "Copies the label of the most similar labelled row.",
        KNeighborsClassifier(n_neighbors=1),
    ),
    Supervised(
        "extra_trees", "Extremely randomised trees", "Lets 300 randomly grown decision trees vote.",
        ExtraTreesClassifier(n_estimators=300, n_jobs=-1), trees=True,
    ),
    Supervised(
        "random_forest", "Random forest", "Lets 300 decision trees vote, each grown on rows drawn anew.",
        RandomForestClassifier(n_estimators=300, n_jobs=-1), trees=True,
    ),
    Supervised(
        "support_vectors", "RBF support vectors",
        "Draws the widest border between the classes, by scikit-learn's defaults.", SVC(), scaled=True,
        averaged=_calibrated,
    ),
    Supervised(
        "gradient_boosting", "Gradient boosting",
        "Grows 100 decision trees, each of which corrects those before it.", _boosting, trees=True,
        dense=True,
    ),
)  # fmt: skip
SELF_TRAINING = Supervised(  # answers of probability 0.75 or more become labels, ten times at most
    "self_training", "Self-training", "Logistic regression that takes its own confident answers as labels.",
    SelfTrainingClassifier(_linear), scaled=True, all_rows=True,
)  # fmt: skip


@dataclass(frozen=True)
class CatBoost(Supervised):
    """``CatBoostClassifier`` with its defaults, on the labelled rows of a table, whose categories it takes
    as they are: as text, beside numbers, missing or not."""

    name: str = "catboost"
    title: str = "CatBoost"
    description: str = "Grows decision trees on categories as they are, each of which corrects those before."
    classifier: Any = None
    libraries: ClassVar[tuple[str, ...]] = ("catboost",)  # not counted as memory of the method

    def prepare(self, task: Task) -> PreparedMethod:
        """What cannot be done is refused first."""
        if task.kind != "table":
            raise ParameterError(
                f"CatBoost is compared on tables. Got {task.title}, made of {task.noun}, instead."
            )
        try:
            import catboost  # noqa: F401
        except ImportError:
            raise MissingDependencyError("This method needs CatBoost: pip install catboost") from None
        return super().prepare(task)

    def encode(self, frame: pd.DataFrame) -> pd.DataFrame:
        numbers = number_columns(frame)
        others = [name for name in frame if name not in set(numbers)]
        return pd.concat([frame[numbers].astype(np.float64), as_text(frame[others])], axis=1)

    def build(self, task: Task, seed: int) -> Any:
        """Nothing is printed or written."""
        from catboost import CatBoostClassifier

        numbers = set(number_columns(task.X))
        return CatBoostClassifier(
            cat_features=[name for name in task.X if name not in numbers],
            random_seed=seed,
            thread_count=-1,
            verbose=False,
            allow_writing_files=False,
        )
