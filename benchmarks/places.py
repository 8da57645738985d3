"""Labels in few places, and other tiles: how right the default is, and whether it knows.

    python benchmarks/places.py --results FILE.jsonl [--cases TEXT ...] [--seeds N]
    python benchmarks/places.py --results FILE.jsonl --markdown [FILE] --json [FILE] [--cases …] [--seeds N]

The first form runs what FILE.jsonl does not have yet, adds a line to it for each run and prints one. A run is
known by its kind of labels, its scans ("case") and its seed; begin a new file when the model has changed. The
second form runs nothing: it makes the tables from the file. ``--cases`` takes the cases whose kind and scans
("clicks-5 oakland1", "tile-100 oakland2 → oakland1") contain one of the texts. By default clicks and thirds
have 10 seeds, the others 3. The kinds:

- *random-N*: N labels a class at random. A class with fewer than 2 N points gives half of them.
- *clicks-N*: N places a class, each of 20 points.
- *third*: 100 labels a class, or all, in the third of the points that is nearest in plan to a random one;
  another one is drawn where a class has fewer than 20 points in it.
- *tile-N*: labels as in random-N in each of some tiles; all points of another tile are classified.

Accuracy and macro F1, in per cent, are those at points without a label whose class is known. The forest has
300 extremely randomised trees that see the same local shapes without coordinates; its probabilities are
averaged over the same cells, in as many rounds. "Ahead" is the difference to it on the same labels, with its
standard error: ✓ where it is at least −1 of that. The error of an estimate is its distance from the accuracy.
Oakland, its other tiles and IGN's are found through PINVGCN_DATA and need laspy and lazrs; of IGN's classes
ground, low, medium and high vegetation and building count.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import laspy
import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import f1_score

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import load_dataset
from pinvgcn.datasets.splits import clicked_split
from pinvgcn.errors import LabelError, ParameterError, PinvGCNError, PinvGCNWarning
from pinvgcn.features.averages import Averages
from pinvgcn.features.lattice import Lattice
from pinvgcn.features.pyramid import Pyramid

REFUSED = (ParameterError, LabelError)
PER_PLACE = 20  # points of a click; and points of each class that a third must have
PER_CLASS = 100  # labels in a third
NEIGHBOURS = 10  # how much the average around a point counts beside its own probabilities
COVERAGE = 0.9
BOTH, IGN = ("oakland1", "oakland2"), "ign_77050_627755"


@dataclass(frozen=True)
class Case:
    kind: str  # how labels are drawn
    learned: tuple[str, ...]  # the tiles that have labels
    asked: str | None = None  # the tile that is classified; None for the unlabelled points of the one learned
    least: float | None = None  # what is asked for; None for the forest less a point
    measure: str = "accuracy"  # for which it is asked for: or "f1"
    sets: float | None = None  # the coverage that is asked for
    seeds: int = 3

    @property
    def name(self) -> str:
        return " + ".join(self.learned) + (f" → {self.asked}" if self.asked else "")


def _tile(learned: tuple[str, ...], asked: str, least: float, per_class: int = 100, **others: Any) -> Case:
    return Case(f"tile-{per_class}", learned, asked, least, sets=80.0, **others)


CASES = [
    Case("random-100", ("oakland1",), least=99.0, sets=87.0),
    Case("random-100", ("oakland2",), least=99.1, sets=87.0),
    Case("random-50", (IGN,), least=96.0, sets=87.0),
    Case("clicks-5", ("oakland1",), least=96.5, sets=80.0, seeds=10),
    Case("clicks-5", ("oakland2",), least=97.5, sets=80.0, seeds=10),
    Case("clicks-2", ("oakland1",), least=86.0, seeds=10),
    Case("clicks-2", ("oakland2",), least=95.0, seeds=10),
    Case("clicks-1", ("oakland1",), seeds=10),
    Case("clicks-1", ("oakland2",), seeds=10),
    Case("third", ("oakland1",), least=90.5, seeds=10),
    Case("third", ("oakland2",), least=98.5, seeds=10),
    _tile(("oakland2",), "oakland1", 93.0),
    _tile(("oakland1",), "oakland2", 97.0),
    *(_tile(BOTH, f"oakland_{part}", 96.5) for part in ("part2_ac", "part2_ah", "part3_ak", "part3_ao")),
    _tile((IGN,), "ign_77055_627755", 93.0),
    _tile((IGN,), "ign_77060_627760", 85.0),
    _tile((IGN, "ign_77055_627755"), "ign_77060_627760", 89.0, per_class=500),
    _tile(("ign_km_0299_6802",), "ign_km_0300_6802", 60.0, measure="f1"),
]


@cache
def tile(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Points, and classes, −1 where they do not count."""
    if name in BOTH:
        data = load_dataset(name)
        return data.X, np.asarray(data.y)
    folder = "oakland/tiles" if name.startswith("oakland") else "ign"
    scan = laspy.read(Path(os.environ.get("PINVGCN_DATA", "")) / folder / f"{name}.laz")
    classes = np.array(scan.classification).astype(int)
    if name.startswith("oakland"):
        return np.array(scan.xyz), classes - 1  # numbered as those of Oakland 1 and 2; 0 is any other
    return np.array(scan.xyz), np.where(np.isin(classes, (2, 3, 4, 5, 6)), classes, -1)


@lru_cache(maxsize=4)
def shapes(name: str, lattice: Lattice) -> np.ndarray:
    points, _ = tile(name)
    return Pyramid.of(points, lattice).shapes(points)


def labels_of(case: Case, name: str, seed: int) -> np.ndarray:
    """The classes of a tile with all but the labels of this seed set to −1."""
    points, y = tile(name)
    kind, _, count = case.kind.partition("-")
    if kind == "clicks":
        return clicked_split(points, y, places=int(count), per_place=PER_PLACE, random_state=seed)
    generator = np.random.default_rng(seed)
    if kind == "third":
        y = third(points, y, generator)
        return drawn(y, lambda there: min(PER_CLASS, there), generator)
    return drawn(y, lambda there: min(int(count), there // 2), generator)


def drawn(y: np.ndarray, count: Callable[[int], int], generator: np.random.Generator) -> np.ndarray:
    """y with all but ``count(points)`` random points of each class set to −1."""
    labels = np.full_like(y, -1)
    for c in np.unique(y[y >= 0]):
        rows = np.flatnonzero(y == c)
        labels[generator.choice(rows, count(len(rows)), replace=False)] = c
    return labels


def third(points: np.ndarray, y: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """y with all but a third of the cloud set to −1."""
    classes = np.unique(y[y >= 0])
    for _ in range(1_000):
        centre = points[generator.choice(np.flatnonzero(y >= 0)), :2]
        near = np.argsort(((points[:, :2] - centre) ** 2).sum(axis=1), kind="stable")[: len(y) // 3]
        if all((y[near] == c).sum() >= PER_PLACE for c in classes):
            inside = np.full_like(y, -1)
            inside[near] = y[near]
            return inside
    raise LabelError(f"No third of the cloud has {PER_PLACE} points of every class in 1,000 draws.")


def run(case: Case, seed: int) -> dict[str, Any]:
    labels = [labels_of(case, name, seed) for name in case.learned]
    points, truth = tile(case.asked or case.learned[0])
    free = truth >= 0 if case.asked else (truth >= 0) & (labels[0] < 0)
    started = time.perf_counter()
    model = fitted(case, labels, seed)
    learned = time.perf_counter()
    chosen = inspect.signature(model.predict_proba).parameters["among"].default == "auto"
    how = {} if chosen else {"among": "own"}
    P = model.predict_proba(points, **how) if case.asked else model.transduction_proba_
    done = time.perf_counter()
    return {
        "kind": case.kind,
        "case": case.name,
        "seed": seed,
        **measures(model.classes_[P.argmax(axis=1)][free], truth[free]),
        "forest": measures(forest_classes(case, labels, model, seed)[free], truth[free]),
        "confidence": 100 * float(P.max(axis=1)[free].mean()),
        "estimate": estimate(model, points if case.asked else None),
        **sets(model, points if case.asked else None, truth, free, how),
        "weights": {name: float(weight) for name, weight in model.fitted_.ensemble.weights.items()},
        "rounds": rounds_of(model, bool(case.asked)),
        "fit_seconds": learned - started,
        "predict_seconds": done - learned,
    }


def fitted(case: Case, labels: Sequence[np.ndarray], seed: int) -> PinvGCNClassifier:
    model, groups = PinvGCNClassifier(random_state=seed), {}
    if len(labels) > 1 and "groups" in inspect.signature(model.fit).parameters:
        groups = {"groups": np.repeat(np.arange(len(labels)), [len(own) for own in labels])}
    return model.fit(np.vstack([tile(name)[0] for name in case.learned]), np.concatenate(labels), **groups)


def forest_classes(
    case: Case, labels: Sequence[np.ndarray], model: PinvGCNClassifier, seed: int
) -> np.ndarray:
    lattice, cell = model.fitted_.nodes.lattice, model.fitted_.smoothing.cell
    X = [shapes(name, lattice)[own >= 0] for name, own in zip(case.learned, labels, strict=True)]
    forest = ExtraTreesClassifier(300, n_jobs=-1, random_state=seed)
    forest.fit(np.vstack(X), np.concatenate([own[own >= 0] for own in labels]))
    asked = case.asked or case.learned[0]
    points, P = tile(asked)[0], forest.predict_proba(shapes(asked, lattice))
    for _ in range(rounds_of(model, bool(case.asked))):
        P = np.clip(P, 0, 1)  # but for rounding
        P = (P + NEIGHBOURS * Averages.of(points, P, cell).at(points, P)) / (NEIGHBOURS + 1)
    return forest.classes_[P.argmax(axis=1)]


def rounds_of(model: PinvGCNClassifier, elsewhere: bool) -> int:
    """How often the model averages its probabilities over what lies around a point."""
    return model.fitted_.smoothing.rounds_at(elsewhere)


def measures(found: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    f1 = f1_score(truth, found, labels=np.unique(truth), average="macro", zero_division=0.0)
    return {"accuracy": 100 * float((found == truth).mean()), "f1": 100 * float(f1)}


def estimate(model: Any, points: np.ndarray | None) -> dict[str, Any] | None:
    """What the model expects of its accuracy, at its own points or others; None where it cannot be asked."""
    try:
        name = "accuracy_estimate_" if points is None else "estimate_accuracy"
        found = getattr(model, name, None)
        if found is not None and points is not None:
            found = found(points)
    except REFUSED as error:
        return {"accuracy": None, "low": None, "high": None, "reason": str(error)}
    if found is None:
        return None
    shares = {name: getattr(found, name) for name in ("accuracy", "low", "high")}
    percent = {name: None if share is None else 100 * float(share) for name, share in shares.items()}
    return {**percent, "reason": None if found.reason is None else str(found.reason)}


def sets(
    model: PinvGCNClassifier, points: np.ndarray | None, truth: np.ndarray, free: np.ndarray, how: dict
) -> dict[str, Any]:
    """The share of points whose class is in their set, and the mean size of a set."""
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", PinvGCNWarning)
            if points is None:
                found = model.transduction_set(coverage=COVERAGE)
            else:
                found = model.predict_set(points, coverage=COVERAGE, **how)
    except REFUSED as error:
        return {"coverage": None, "set_size": None, "sets_refused": str(error)}
    doubt = any("Sets of coverage" in str(one.message) for one in said)
    covered = (found & (truth[:, None] == model.classes_)).any(axis=1)
    size = float(found.sum(axis=1)[free].mean())
    share = 100 * float(covered[free].mean())
    return {"coverage": share, "set_size": size, "sets_refused": None, "sets_doubted": doubt}


def summary(case: Case, runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of all runs of a case; pairs are a mean and its standard deviation, of "ahead" its standard error."""
    reached = np.mean([one[case.measure] for one in runs])
    ahead, spread = pair([one[case.measure] - one["forest"][case.measure] for one in runs])
    error = None if spread is None else spread / len(runs) ** 0.5
    covered = [one["coverage"] for one in runs if one["coverage"] is not None]
    coverage = float(np.mean(covered)) if covered else None
    return {
        "kind": case.kind,
        "case": case.name,
        "seeds": len(runs),
        "measure": case.measure,
        **{name: pair([one[name] for one in runs]) for name in ("accuracy", "f1", "confidence")},
        "forest": {name: pair([one["forest"][name] for one in runs]) for name in ("accuracy", "f1")},
        "asked": case.least,
        "met": ahead >= -1 if case.least is None else bool(reached >= case.least),
        "ahead": (ahead, error),
        "level": ahead + (error or 0) >= 0,
        "estimate": estimates(runs),
        "coverage": coverage,
        "covers": None if coverage is None or case.sets is None else coverage >= case.sets,
        "sets_refused": len(runs) - len(covered),
        "sets_doubted": sum(one.get("sets_doubted", False) for one in runs),
        "weights": {
            name: pair([one["weights"].get(name, 0.0) for one in runs])[0] for name in runs[0]["weights"]
        },
        "seconds": pair([one["fit_seconds"] + one["predict_seconds"] for one in runs])[0],
    }


def pair(values: Sequence[float]) -> tuple[float, float | None]:
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def told(one: dict[str, Any]) -> dict[str, Any] | None:
    """The estimate of a run; None where none was given."""
    guess = one["estimate"]
    return guess if guess and None not in (guess["accuracy"], guess["low"], guess["high"]) else None


def estimates(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How the estimates compare with the accuracies, over the runs in which one was given."""
    given = [(guess, one["accuracy"]) for one in runs if (guess := told(one))]
    found: dict[str, Any] = {"runs": len(runs), "given": len(given)}
    if given:
        over = np.array([guess["accuracy"] - truth for guess, truth in given])
        inside = [guess["low"] <= truth <= guess["high"] for guess, truth in given]
        found |= {"error": float(np.abs(over).mean()), "bias": float(over.mean())}
        found |= {"covered": 100 * float(np.mean(inside)), "too_high": float(over.max())}
    return found


def as_markdown(cases: Sequence[dict[str, Any]], every: dict[str, Any]) -> str:
    titles = (
        "labels", "scan", "seeds", "accuracy", "macro F1", "asked", "forest", "ahead", "estimates", "error",
        "cover", "too high by, at most", "90 % sets",
    )  # fmt: skip
    rows = [titles, ("---",) * len(titles)]
    for one in cases:
        unit, guess = ("F1 " if one["measure"] == "f1" else ""), one["estimate"]
        asked = "forest − 1" if one["asked"] is None else f"{unit}{one['asked']:.1f}"
        checked = ("–", "–", "–")
        if guess["given"]:
            checked = f"{guess['error']:.2f}", f"{guess['covered']:.0f} %", f"{guess['too_high']:+.1f}"
        sets = [] if one["coverage"] is None else [f"{one['coverage']:.1f}{mark(one['covers'])}"]
        sets += [f"{one['sets_refused']} refused"] if one["sets_refused"] else []
        sets += [f"{one['sets_doubted']} with a warning"] if one["sets_doubted"] else []
        rows.append((
            one["kind"], one["case"], str(one["seeds"]), shown(one["accuracy"]), shown(one["f1"]),
            asked + mark(one["met"]), unit + shown(one["forest"][one["measure"]]),
            shown(one["ahead"], "+.2f") + mark(one["level"]), f"{guess['given']} of {guess['runs']}",
            *checked, ", ".join(sets),
        ))  # fmt: skip
    text = f"Estimates: given in {every['given']} of {every['runs']} runs"
    if every["given"]:
        text += (
            f"; mean error {every['error']:.2f}{mark(every['error'] <= 3)} (bias {every['bias']:+.2f}), the "
            f"interval covers {every['covered']:.0f} %{mark(every['covered'] >= 80)}, at most "
            f"{every['too_high']:+.1f} too high{mark(every['too_high'] <= 6)}"
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + f"\n\n{text}."


def mark(good: bool | None) -> str:
    return "" if good is None else " ✓" if good else " ✗"


def shown(pair: tuple[float, float | None], form: str = ".2f") -> str:
    return f"{pair[0]:{form}}" + ("" if pair[1] is None else f" ± {pair[1]:.2f}")


def as_line(one: dict[str, Any]) -> str:
    guess, forest, coverage = told(one), one["forest"], one["coverage"]
    expected = f"{guess['accuracy']:.1f} [{guess['low']:.1f}, {guess['high']:.1f}]" if guess else "none"
    sets = "refused" if coverage is None else f"{coverage:.1f} of size {one['set_size']:.2f}"
    weights = ", ".join(f"{name} {weight:.2f}" for name, weight in one["weights"].items())
    return (
        f"accuracy {one['accuracy']:.2f}, F1 {one['f1']:.2f}; forest {forest['accuracy']:.2f}, "
        f"{forest['f1']:.2f}; confidence {one['confidence']:.1f}; estimate {expected}; sets {sets}; "
        f"{weights}; {one['fit_seconds']:.0f} + {one['predict_seconds']:.0f} s"
    )


def read(path: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    runs = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(one["kind"], one["case"], one["seed"]): one for one in runs}


def run_missing(cases: Sequence[Case], path: Path, seeds: int | None) -> int:
    """How many runs failed."""
    done, failed = read(path), 0
    for case in cases:
        for seed in range(seeds or case.seeds):
            if (case.kind, case.name, seed) in done:
                continue
            print(f"{case.kind} {case.name}, seed {seed}: ", end="", flush=True)
            try:
                for name in (*case.learned, case.asked or case.learned[0]):
                    tile(name)
            except OSError as error:
                print(f"SKIPPED, data missing: {error}", flush=True)
                break
            try:
                one = run(case, seed)
            except PinvGCNError as error:  # not in the file: the next time it is tried again
                print(f"FAILED: {type(error).__name__}: {error}", flush=True)
                failed += 1
                continue
            with path.open("a") as file:
                file.write(json.dumps(one) + "\n")
            print(as_line(one), flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, required=True, metavar="FILE.jsonl")
    parser.add_argument("--cases", nargs="+", default=[""], metavar="TEXT")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--markdown", nargs="?", const="-", metavar="FILE")
    parser.add_argument("--json", nargs="?", const="-", metavar="FILE")
    arguments = parser.parse_args()
    cases = [case for case in CASES if any(text in f"{case.kind} {case.name}" for text in arguments.cases)]
    if not cases:
        names = "\n".join(f"  {case.kind} {case.name}" for case in CASES)
        parser.error(f"--cases must be parts of these names. Got {arguments.cases} instead.\n{names}")
    if not (arguments.markdown or arguments.json):
        warnings.simplefilter("ignore", PinvGCNWarning)  # other tiles do lie outside
        return int(run_missing(cases, arguments.results, arguments.seeds) > 0)
    found = read(arguments.results)
    runs: dict[Case, list[dict[str, Any]]] = {case: [] for case in cases}
    for case, own in runs.items():
        seeds = sorted(seed for kind, name, seed in found if (kind, name) == (case.kind, case.name))
        own += [found[case.kind, case.name, seed] for seed in seeds[: arguments.seeds]]
    summaries = [summary(case, own) for case, own in runs.items() if own]
    every = estimates([one for own in runs.values() for one in own])
    as_json = json.dumps({"cases": summaries, "estimates": every}, indent=1)
    for text, path in ((as_markdown(summaries, every), arguments.markdown), (as_json, arguments.json)):
        if path == "-":
            print(text)
        elif path:
            Path(path).write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
