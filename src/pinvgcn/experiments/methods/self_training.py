"""Self-training, by scikit-learn."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinvgcn.experiments.methods.encoding import encoded
from pinvgcn.experiments.sight import Sight, look
from pinvgcn.experiments.task import Answer, Prepared, Task


@dataclass(frozen=True)
class SelfTraining:
    """Fit, take the answers with a probability of 0.75 or more as labels, and fit again, ten times at most:
    scikit-learn's defaults, around logistic regression."""

    name: str = "self_training"
    title: str = "Self-training"
    description: str = "Logistic regression that takes its own confident answers as further labels."

    def prepare(self, task: Task) -> Prepared:
        """Look at the rows, and encode those of a table."""
        from sklearn.preprocessing import StandardScaler

        sight = look(task)
        start = time.perf_counter()
        rows = sight.rows
        if task.kind == "table":
            rows = encoded(task.X)
        elif task.kind == "points" and not sight.comparable:
            rows = StandardScaler().fit_transform(rows)
        return PreparedSelfTraining(rows, sight, {**sight.seconds, "encoding": time.perf_counter() - start})


@dataclass(frozen=True)
class PreparedSelfTraining:
    """Any number of labels on the same rows."""

    rows: Any  # (n, f) numbers, possibly sparse
    sight: Sight
    seconds: dict[str, float]

    def answer(self, labels: np.ndarray, seed: int) -> Answer:
        """Fit on all rows, labelled or not."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.semi_supervised import SelfTrainingClassifier

        start = time.perf_counter()
        model = SelfTrainingClassifier(LogisticRegression(max_iter=1000))
        model.fit(self.rows, labels)
        fitted = time.perf_counter()
        codes = self.sight.most_probable(model.predict_proba(self.rows), model.classes_)
        seconds = {"fit": fitted - start, "predict": time.perf_counter() - fitted}
        return Answer(codes=codes, seconds=seconds, model=model)
