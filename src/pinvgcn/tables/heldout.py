"""How well the classes of some labelled rows are found from those of the others.

The labels are dealt into folds, class by class; each fold is predicted from the rest, by every method, from
the same columns. That is as good an estimate for the unlabelled rows as the labelled ones are like them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.checks import UNLABELLED
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.distributed.subsample import in_pool

FOLDS = 5
ALL_FOLDS = 20_000  # labelled rows, beyond which one fold of about so many says enough
FEW = 10  # labels of a class, which are not thinned out
RESAMPLES = 500
Z = 1.96  # of a 95 % interval
Answerer = Callable[[np.ndarray, int], np.ndarray]  # labels with -1 where hidden, seed -> codes (n,)


@dataclass(frozen=True)
class Score:
    """One method on the rows that were held out."""

    name: str
    confusion: np.ndarray  # (m, m) counts; rows: the true class, columns: the answer
    f1_interval: tuple[float, float]

    @property
    def count(self) -> int:
        """How many rows were held out."""
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """The share that was right."""
        return float(np.trace(self.confusion) / self.count)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the accuracy."""
        n, p = self.count, self.accuracy
        centre, spread = p + Z**2 / (2 * n), Z * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
        low, high = (centre - spread) / (1 + Z**2 / n), (centre + spread) / (1 + Z**2 / n)
        return float(max(min(low, p), 0)), float(min(max(high, p), 1))  # to the last bit

    @property
    def recall(self) -> np.ndarray:
        """The share found of each class; NaN where none was held out."""
        sizes = self.confusion.sum(axis=1)
        return np.divide(np.diag(self.confusion), sizes, out=np.full(len(sizes), np.nan), where=sizes > 0)

    @property
    def macro_f1(self) -> float:
        """The mean over classes of 2 · precision · recall/(precision + recall)."""
        return macro_f1(self.confusion)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {
            "method": self.name,
            "accuracy": self.accuracy,
            "accuracy_95": list(self.interval),
            "macro_f1": self.macro_f1,
            "macro_f1_95": list(self.f1_interval),
            "recall": [None if np.isnan(share) else float(share) for share in self.recall],
            "confusion": self.confusion.tolist(),
        }


@dataclass(frozen=True)
class HeldOut:
    """All methods on the same folds, ours first."""

    scores: tuple[Score, ...]
    folds: int  # that were predicted
    alone: tuple[int, ...]  # classes with a single label, which nobody can do without

    @property
    def ours(self) -> Score:
        """PinvGCN."""
        return self.scores[0]

    @property
    def best_simple(self) -> Score:
        """The most accurate of the others."""
        return max(self.scores[1:], key=lambda score: score.accuracy)


def macro_f1(confusion: np.ndarray) -> float:
    """Over the classes that have rows or were answered."""
    right = np.diag(confusion)
    either = confusion.sum(axis=0) + confusion.sum(axis=1)
    present = either > 0
    return float((2 * right[present] / either[present]).mean())


def deal(codes: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """The fold of each row (n,), -1 where it has no label or the only one of its class."""
    rng = np.random.default_rng(seed)
    fold = np.full(len(codes), -1)
    for code in np.unique(codes[codes != UNLABELLED]):
        mine = rng.permutation(np.flatnonzero(codes == code))
        if len(mine) > 1:
            fold[mine] = (np.arange(len(mine)) + rng.integers(folds)) % folds
    return fold


def fold_count(codes: np.ndarray) -> tuple[int, int]:
    """Into how many folds the labels are dealt, and how many of them are predicted."""
    return folds_of(int((codes != UNLABELLED).sum()))


def folds_of(labelled: int) -> tuple[int, int]:
    """The same, of so many labels."""
    folds = min(FOLDS, max(2, labelled // 2))
    return folds, 1 if labelled > ALL_FOLDS else folds


def sampled(codes: np.ndarray, classes: int, *, group: Group = ALONE) -> np.ndarray:
    """Which of this rank's rows (n,) with a label take part in the estimate: about 20,000 of those of all
    ranks, class by class and by their places alone."""
    own = np.bincount(codes[codes != UNLABELLED], minlength=classes)
    everywhere = np.stack(group.parts(own))
    before, counts = everywhere[: group.rank].sum(axis=0), everywhere.sum(axis=0)
    share = ALL_FOLDS / max(int(counts.sum()), 1)
    rows = [np.empty(0, dtype=np.int64)]
    for code in range(classes):
        most = max(FEW, int(np.ceil(share * counts[code])))
        chosen = in_pool(int(before[code]), int(own[code]), int(counts[code]), most=most)
        rows.append(np.flatnonzero(codes == code)[chosen])
    return np.sort(np.concatenate(rows))


def held_out(
    codes: np.ndarray,
    classes: int,
    methods: dict[str, Answerer],
    *,
    labelled: int = 0,
    random_state: int = 0,
    progress: Callable[[str], None] = lambda line: None,
) -> HeldOut | None:
    """Each method on each fold, on one where ``labelled``, all labels that there are, are many; None where
    no class has two labels."""
    folds, predicted = fold_count(codes)
    predicted = 1 if labelled > ALL_FOLDS else predicted
    fold = deal(codes, folds, random_state)
    asked = [f for f in range(folds) if (fold == f).any()][:predicted]
    if not asked:
        return None
    truth = np.concatenate([codes[fold == f] for f in asked])
    scores = []
    for name, answer in methods.items():
        answers = []
        for number, f in enumerate(asked, start=1):
            progress(f"{name}, held-out part {number} of {len(asked)}")
            hidden = np.where(fold == f, UNLABELLED, codes)
            answers.append(answer(hidden, random_state)[fold == f])
        said = np.concatenate(answers)
        scores.append(Score(name, _confusion(truth, said, classes), _f1_interval(truth, said, classes)))
    sizes = np.bincount(codes[codes != UNLABELLED], minlength=classes)
    return HeldOut(tuple(scores), len(asked), tuple(np.flatnonzero(sizes == 1).tolist()))


def simple_methods(frame: pd.DataFrame, class_weight: Any, *, group: Group = ALONE) -> dict[str, Answerer]:
    """What learns from the labelled rows ``frame`` alone, on the same columns.

    Of rows that ranks share out, the first rank does it, with the labelled ones of all.
    """
    rows = _of_all(frame, group)

    def told(method: _Simple) -> Answerer:
        def answer(labels: np.ndarray, seed: int) -> np.ndarray:
            return group.first(method(labels, seed) if group.rank == 0 else np.empty(0))

        return method if group.alone else answer

    return {
        "Logistic regression": told(_Simple(rows, class_weight, "logistic")),
        "Random forest": told(_Simple(rows, class_weight, "forest")),
    }


def _of_all(frame: pd.DataFrame, group: Group) -> pd.DataFrame:
    if group.alone:
        return frame
    columns: dict[str, Any] = {}
    for name in frame:
        if frame[name].dtype.kind == "f":
            columns[str(name)] = group.rows(frame[name].to_numpy())
            continue
        cells = [None if pd.isna(cell) else str(cell) for cell in frame[name].astype(object)]
        columns[str(name)] = pd.Series([cell for part in group.values(cells) for cell in part], dtype=object)
    return pd.DataFrame(columns)


class _Simple:
    """A scikit-learn classifier: numbers scaled, with the median where one is missing; categories one-hot."""

    def __init__(self, frame: pd.DataFrame, class_weight: Any, kind: str) -> None:
        self.numbers = [name for name in frame if frame[name].dtype.kind == "f"]
        self.categories = [name for name in frame if name not in self.numbers]
        self.frame = frame.copy(deep=False)
        for name in self.categories:
            column = frame[name].astype(object)
            self.frame[name] = column.where(column.notna(), "")
        self.class_weight, self.kind = class_weight, kind

    def __call__(self, labels: np.ndarray, seed: int) -> np.ndarray:
        given = labels != UNLABELLED
        model = self._pipeline(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of iterations and of columns that are missing among few labels
            model.fit(self.frame[given], labels[given])
            return np.asarray(model.predict(self.frame))

    def _pipeline(self, seed: int) -> Any:
        from sklearn.compose import make_column_transformer
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.impute import SimpleImputer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        columns = make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), self.numbers),
            (OneHotEncoder(handle_unknown="ignore"), self.categories),
        )
        if self.kind == "logistic":
            return make_pipeline(columns, LogisticRegression(max_iter=1000, class_weight=self.class_weight))
        forest = RandomForestClassifier(n_estimators=300, class_weight=self.class_weight, random_state=seed)
        return make_pipeline(columns, forest)


def _confusion(truth: np.ndarray, said: np.ndarray, classes: int) -> np.ndarray:
    return np.bincount(truth * classes + said, minlength=classes * classes).reshape(classes, classes)


def _f1_interval(truth: np.ndarray, said: np.ndarray, classes: int) -> tuple[float, float]:
    """95 % of the values that resampled rows give."""
    rng = np.random.default_rng(0)
    pairs = truth * classes + said
    counts = np.bincount(pairs, minlength=classes * classes)
    drawn = rng.multinomial(len(pairs), counts / len(pairs), size=RESAMPLES)
    values = [macro_f1(c.reshape(classes, classes)) for c in drawn]
    return float(np.quantile(values, 0.025)), float(np.quantile(values, 0.975))
