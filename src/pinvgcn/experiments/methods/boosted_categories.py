"""CatBoost, which takes the categories of a table as they are; where it is installed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from pinvgcn.checks import UNLABELLED
from pinvgcn.errors import MissingDependencyError, ParameterError
from pinvgcn.experiments.methods.encoding import as_text, number_columns
from pinvgcn.experiments.task import Answer, Prepared, Task


@dataclass(frozen=True)
class CatBoost:
    """``CatBoostClassifier`` with its defaults, on the labelled rows of a table."""

    name: str = "catboost"
    title: str = "CatBoost"
    description: str = "Grows decision trees on categories as they are, each of which corrects those before."
    libraries: ClassVar[tuple[str, ...]] = ("catboost",)  # not counted as memory of the method

    def prepare(self, task: Task) -> Prepared:
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
