"""How well the labels of some rows are found from those of the others.

The labels are dealt into folds, class by class. Each fold is predicted from the rest by every method, from
the same features. That is as good an estimate for the unlabelled rows as the labelled ones are like them.
``held_out_of_scan`` does it for the points of a scan, ``held_out_of_table`` for the rows of a table.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pinvgcn.checks import UNLABELLED
from pinvgcn.compute.interrupts import stopped_by_interrupts
from pinvgcn.distributed.rows import in_subsample
from pinvgcn.errors import PinvGCNWarning
from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.features.pyramid import LocalShapes
from pinvgcn.fitting.nodes import CloudNodes
from pinvgcn.repeated_fits import SharedRows
from pinvgcn.report.evaluation import Score
from pinvgcn.tables import Classified, TablePlan

OURS = "PinvGCN"
# (n,) labels, -1 where they are held out, and a seed -> a class for each row (n,), by the titles of methods
Answerer = Callable[[np.ndarray, int], dict[str, np.ndarray]]
SCAN_FOLDS, TABLE_FOLDS = 3, 5  # of the labels
ALL_FOLDS = 20_000  # labelled rows; of more, one fold of a subsample of about as many is enough
FEW = 10  # labels of a class, which are not thinned out
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
        return self.scores[0]

    @property
    def simple(self) -> tuple[Score, ...]:
        return tuple(score for score in self.scores if not score.title.startswith(OURS))

    @property
    def best_accuracy(self) -> float:
        return max(score.accuracy for score in self.scores)

    @property
    def best_simple(self) -> Score:
        return max(self.simple, key=lambda score: score.accuracy)

    def best_simple_under(self, prior: np.ndarray) -> Score:
        """The same where classes are as frequent as in ``prior`` (m,)."""
        return max(self.simple, key=lambda score: score.accuracy_under(prior)[0])

    def as_dict(self) -> dict[str, Any]:
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
    found = held_out(codes, classes, methods, folds=SCAN_FOLDS, random_state=random_state, progress=progress)
    if found is None or estimates_prior:
        return found
    return replace(found, scores=tuple(score for score in found.scores if score.title != AS_LABELLED))


def folds_of(labelled: int) -> tuple[int, int]:
    """Into how many folds so many labels are dealt, and how many of these are predicted."""
    folds = min(TABLE_FOLDS, max(2, labelled // 2))
    return folds, 1 if labelled > ALL_FOLDS else folds


def steps(labelled: int) -> int:
    """How many lines of progress ``held_out_of_table`` gives for so many labels, at most."""
    return 3 * folds_of(labelled)[1]


def held_out_of_table(
    result: Classified, *, progress: Callable[[str], None] = lambda line: None
) -> HeldOut | None:
    """All methods on the labelled rows, or on a subsample of very many; every process has the result."""
    started = time.perf_counter()
    plan, request, group = result.plan, result.request, result.plan.group
    codes, classes = plan.codes[plan.known], len(plan.target.classes)
    mine = sampled(plan)
    start, _ = group.offset(len(mine))

    def ours(labels: np.ndarray, seed: int) -> dict[str, np.ndarray]:
        seen = np.full(len(codes), UNLABELLED)
        seen[mine] = labels[start : start + len(mine)]
        # they warn as the first fit did
        with warnings.catch_warnings(record=True, action="always"), stopped_by_interrupts():
            said = result.rows.fit(seen, random_state=seed).transduction_
        return {OURS: group.rows(np.asarray(said, dtype=np.int64)[mine])}

    asked = group.rows(codes[mine])
    labelled = int((asked != UNLABELLED).sum())
    found = held_out(
        asked,
        classes,
        {OURS: ours, **simple_methods(plan, mine, request.class_weight)},
        folds=folds_of(labelled)[0],
        most=folds_of(max(labelled, plan.labelled))[1],
        random_state=request.random_state,
        progress=lambda title, fold, folds: progress(f"{title}, held-out part {fold} of {folds}"),
    )
    usable = group.sum(int((codes != UNLABELLED).sum()))
    if found is not None and found.labels < usable:
        found = replace(found, of_labels=usable)
    result.seconds["held-out estimate"] = time.perf_counter() - started
    return found


def simple_methods(plan: TablePlan, mine: np.ndarray, class_weight: Any) -> dict[str, Answerer]:
    """Methods that learn from the labelled rows ``mine`` alone, on the same columns.

    Numbers are scaled, with the median where one is missing; categories are one-hot. Where processes share
    the rows, the first one does it, with those of all.
    """
    rows, group = _of_all(plan, mine), plan.group
    numbers = [name for name in rows if rows[name].dtype.kind == "f"]
    categories = [name for name in rows if name not in numbers]
    for name in categories:
        column = rows[name].astype(object)
        rows[name] = column.where(column.notna(), "")
    encoder = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), categories),
    )

    def method(title: str, classifier: Any) -> Answerer:
        def answer(labels: np.ndarray, seed: int) -> dict[str, np.ndarray]:
            said = np.empty(0, dtype=np.int64)
            if group.rank == 0:
                given = labels != UNLABELLED
                model = make_pipeline(encoder, classifier(seed))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # iterations; columns that are empty in few labels
                    said = np.asarray(model.fit(rows[given], labels[given]).predict(rows))
            return {title: said if group.alone else group.first(said)}

        return answer

    weighed = {"class_weight": class_weight}
    classifiers = {
        "Logistic regression": lambda seed: LogisticRegression(max_iter=1000, **weighed),
        "Random forest": lambda seed: RandomForestClassifier(300, random_state=seed, **weighed),
    }
    return {title: method(title, classifier) for title, classifier in classifiers.items()}


def _of_all(plan: TablePlan, mine: np.ndarray) -> pd.DataFrame:
    """The rows of this process, and those of all others."""
    frame, group = plan.frame.iloc[mine], plan.group
    if group.alone:
        return frame.copy(deep=False)
    columns: dict[str, Any] = {}
    for name in frame:
        if frame[name].dtype.kind == "f":
            columns[str(name)] = group.rows(frame[name].to_numpy())
            continue
        cells = [None if pd.isna(cell) else str(cell) for cell in frame[name].astype(object)]
        columns[str(name)] = pd.Series([cell for part in group.values(cells) for cell in part], dtype=object)
    return pd.DataFrame(columns)


def sampled(plan: TablePlan) -> np.ndarray:
    """Which of the rows of this process that have a label take part: about 20,000 of those of all processes.

    They are chosen class by class and by their places alone.
    """
    codes, classes, group = plan.codes[plan.known], len(plan.target.classes), plan.group
    own = np.bincount(codes[codes != UNLABELLED], minlength=classes)
    everywhere = np.stack(group.parts(own))
    before, counts = everywhere[: group.rank].sum(axis=0), everywhere.sum(axis=0)
    share = ALL_FOLDS / max(int(counts.sum()), 1)
    rows = [np.empty(0, dtype=np.int64)]
    for code in range(classes):
        most = max(FEW, int(np.ceil(share * counts[code])))
        chosen = in_subsample(int(before[code]), int(own[code]), int(counts[code]), most=most)
        rows.append(np.flatnonzero(codes == code)[chosen])
    return np.sort(np.concatenate(rows))


def estimate_notes(result: Classified, found: HeldOut | None) -> list[str]:
    """What deserves attention in the estimate, in lines."""
    if found is None:
        return ["no class has two labels: how well this works cannot be estimated"]
    plan, notes = result.plan, []
    if found.alone:
        alone = ", ".join(repr(plan.target.classes[code]) for code in found.alone[:5])
        notes.append(f"only one row is labelled {alone}: how well such rows are found cannot be estimated")
    ours, best = found.ours, found.best_simple
    if best.accuracy > ours.accuracy:
        notes.append(
            f"{best.title.lower()} found more of the held-out labels than {OURS}: "
            f"{100 * best.accuracy:.1f} % against {100 * ours.accuracy:.1f} %"
        )
    if found.of_labels is not None:
        some = f"{found.labels:,} of the {found.of_labels:,} labels"
        notes.append(f"how well each method works was estimated with {some}")
    return notes
