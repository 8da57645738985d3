"""How many labels it takes: 1 to 100 a class at random, and labels that come as clicks in a few places.

    python benchmarks/label_efficiency.py [--data oakland1 mushroom ...] [--seeds 3] [--results FILE]
    python benchmarks/label_efficiency.py --results docs/label-efficiency.jsonl --draw FIGURE.png

Every run is one line of FILE (label-efficiency.jsonl) as soon as it is through; what is there is not done
again. ``--draw`` makes the figure and prints the tables of docs/label-efficiency.md from that file alone.
Accuracy and macro F1 at the rows without a label. All methods see the same features, and on scans their
probabilities are averaged over the same neighbours. Oakland and Covertype are found through PINVGCN_DATA.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.datasets import clicked_split, generate_street
from pinvgcn.experiments.comparison import RunScore
from pinvgcn.experiments.methods import BASELINES
from pinvgcn.experiments.methods.pinvgcn import PinvMethod
from pinvgcn.experiments.task import TITLES, Method, PreparedMethod, Task, load_task, task_of
from pinvgcn.report.figures.drawing import BLUE, GREEN, INK, ORANGE, VERMILLION, drawing, light_grid

DATA = ("oakland1", "oakland2", "street", "mushroom", "covertype67")
STREET = 30_000  # points
COUNTS = (1, 2, 5, 10, 20, 50, 100)
CLICKS = ((1, 20), (2, 20), (5, 20))  # places a class, points a click
METHODS: tuple[Method, ...] = (
    PinvMethod(),
    BASELINES["extra_trees"],
    BASELINES["nearest_neighbour"],
    BASELINES["logistic_regression"],
)
LOOKS = {"pinvgcn": (BLUE, "o"), "extra_trees": (VERMILLION, "s"), "nearest_neighbour": (GREEN, "^")}
LOOKS["logistic_regression"] = (ORANGE, "D")

Row = dict[str, Any]


def task_for(data: str, points: int | None) -> Task:
    """The task of a data set; scans with so many random points, or all."""
    if data == "street":
        return task_of(generate_street(STREET if points is None else points), TITLES[data], per_class=1)
    task = load_task(data, per_class=1)
    if points is None or task.kind != "points" or task.rows <= points:
        return task
    rows = np.sort(np.random.default_rng(0).choice(task.rows, points, replace=False))
    return replace(task, X=task.X[rows], y=task.y[rows])


def plans(task: Task, seed: int) -> Iterator[tuple[Row, np.ndarray]]:
    """What is asked, and the labels that are seen."""
    for count in COUNTS:
        if count < task.class_sizes.min():
            labels = replace(task, per_class=count).labels(seed)
            yield {"labels": "random", "per_class": count, "places": count, "seed": seed}, labels
    if task.kind == "points":
        for places, each in CLICKS:
            if places * each < task.class_sizes.min():
                labels = clicked_split(task.X, task.y, places=places, per_place=each, random_state=seed)
                yield (
                    {"labels": "clicks", "per_class": places * each, "places": places, "seed": seed},
                    labels,
                )


class Bench:
    """A data set on which methods are prepared once."""

    def __init__(self, data: str, points: int | None) -> None:
        self.data, self.task = data, task_for(data, points)
        self.prepared: dict[str, PreparedMethod] = {}

    def measure(self, seed: int, results: Path, only: list[str]) -> None:
        """Do what is not in the file yet."""
        done = {tuple(row[key] for key in KEYS) for row in read(results)}
        for about, labels in plans(self.task, seed):
            for method in METHODS:
                row: Row = {"data": self.data, "rows": self.task.rows, "method": method.name, **about}
                if method.name not in only or tuple(row[key] for key in KEYS) in done:
                    continue
                row |= self._score(method, labels, seed)
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
                print(
                    f"{self.data:<12}{method.name:<22}{about['labels']:<8}{about['per_class']:>4} labels, "
                    f"seed {seed}: {100 * row['accuracy']:6.2f} %",
                    flush=True,
                )

    def _score(self, method: Method, labels: np.ndarray, seed: int) -> Row:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if method.name not in self.prepared:
                self.prepared[method.name] = method.prepare(self.task)
            start = time.perf_counter()
            codes = self.prepared[method.name].answer(labels, seed).codes
        score = RunScore(method.name, seed, self.task.confusion(labels, codes), {})
        return {
            "accuracy": round(score.accuracy, 5),
            "macro_f1": round(score.macro_f1, 5),
            "seconds": round(time.perf_counter() - start, 2),
        }


KEYS = ("data", "rows", "method", "labels", "per_class", "places", "seed")


def read(results: Path) -> list[Row]:
    """The lines of the file."""
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]


def grouped(rows: list[Row]) -> dict[tuple[str, str, str, int], list[Row]]:
    """By data, method, way of labelling and labels a class."""
    groups: dict[tuple[str, str, str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["data"], row["method"], row["labels"], row["per_class"]), []).append(row)
    return groups


def tables(rows: list[Row]) -> Iterator[str]:
    """The tables of the page, as Markdown: accuracy and macro F1 in per cent, the best accuracy in bold."""
    groups = grouped(rows)
    for way, head in (("random", "labels a class"), ("clicks", "labels a class, places")):
        for data in DATA:
            columns = sorted({key[3] for key in groups if key[0] == data and key[2] == way})
            if not columns:
                continue
            one = next(row for row in rows if row["data"] == data)
            places = {row["per_class"]: row["places"] for row in rows if row["labels"] == "clicks"}
            names = [f"{c} in {places[c]}" if way == "clicks" else str(c) for c in columns]
            yield f"\n| {TITLES[data]} ({one['rows']:,}), {head} | {' | '.join(names)} |"
            yield "|---" * (len(columns) + 1) + "|"
            best = {c: max(_mean(groups, data, m.name, way, c)[0] for m in METHODS) for c in columns}
            for method in METHODS:
                cells = []
                for c in columns:
                    accuracy, f1 = _mean(groups, data, method.name, way, c)
                    mark = "**" if accuracy == best[c] > 0 else ""
                    cells.append(f"{mark}{accuracy:.1f}{mark} / {f1:.1f}" if accuracy > 0 else "–")
                yield f"| {method.title} | {' | '.join(cells)} |"


def _mean(groups: dict[Any, list[Row]], data: str, method: str, way: str, count: int) -> tuple[float, float]:
    found = groups.get((data, method, way, count), [])
    if not found:
        return 0.0, 0.0
    return tuple(100 * float(np.mean([row[key] for row in found])) for key in ("accuracy", "macro_f1"))  # type: ignore[return-value]


def draw(rows: list[Row], path: Path) -> None:
    """Accuracy against labels, a panel a data set; hollow marks and dashes are clicks."""
    groups = grouped(rows)
    there = [data for data in DATA if any(row["data"] == data for row in rows)]
    down, across = -(-len(there) // 3), min(3, len(there))
    with drawing(10.0, 3.1 * down + 0.3) as figure:
        panels = figure.subplots(down, across, squeeze=False).ravel()
        for axes in panels[len(there) :]:
            axes.set_axis_off()
        for axes, data in zip(panels, there, strict=False):
            for method in METHODS:
                colour, shape = LOOKS[method.name]
                for way, line, fill in (("random", "-", colour), ("clicks", ":", "white")):
                    counts = sorted(c for d, m, w, c in groups if (d, m, w) == (data, method.name, way))
                    if not counts:
                        continue
                    runs = [[100 * r["accuracy"] for r in groups[data, method.name, way, c]] for c in counts]
                    axes.plot(
                        counts, [np.mean(r) for r in runs], line, color=colour, marker=shape, markersize=5,
                        markerfacecolor=fill, linewidth=1.3,
                        label=method.title if way == "random" else "_",
                    )  # fmt: skip
                    if way == "random":
                        low, high = [min(r) for r in runs], [max(r) for r in runs]
                        axes.fill_between(counts, low, high, color=colour, alpha=0.12, linewidth=0)
            axes.set_xscale("log")
            axes.set_xticks(COUNTS, [str(c) for c in COUNTS])
            axes.minorticks_off()
            axes.set_xlim(0.85, 118)
            axes.set_xlabel("labels per class")
            axes.set_ylabel("accuracy, %")
            axes.set_title(TITLES[data])
            light_grid(axes)
        handles, names = panels[0].get_legend_handles_labels()
        (dots,) = panels[0].plot([], [], ":", color=INK, marker="o", markerfacecolor="white", label="_")
        figure.legend(
            [*handles, dots], [*names, "labels as clicks in 1, 2 and 5 places a class"],
            loc="outside lower center", ncols=len(names) + 1,
        )  # fmt: skip
        figure.savefig(
            path, dpi=150, facecolor="white", metadata={"Date": None} if path.suffix == ".svg" else {}
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [method.name for method in METHODS]
    parser.add_argument("--data", nargs="+", default=[*DATA], choices=DATA)
    parser.add_argument("--methods", nargs="+", default=names, choices=names)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--points", type=int, help="thin scans to so many random points")
    parser.add_argument("--results", type=Path, default=Path("label-efficiency.jsonl"))
    parser.add_argument("--draw", type=Path, help="draw from the results, and measure nothing")
    arguments = parser.parse_args()
    if arguments.draw is None:
        benches = [Bench(data, arguments.points) for data in arguments.data]
        for seed in range(arguments.seeds):
            for bench in benches:
                bench.measure(seed, arguments.results, arguments.methods)
        return
    rows = read(arguments.results)
    draw(rows, arguments.draw)
    print("\n".join(tables(rows)))


if __name__ == "__main__":
    main()
