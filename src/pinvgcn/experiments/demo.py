"""The main job on embedded data: a table and a scan, each classified from a few labels."""

from __future__ import annotations

import time
from dataclasses import dataclass

from pinvgcn.checks import check_count
from pinvgcn.datasets import DatasetInfo, generate_street, load_dataset
from pinvgcn.experiments.compare.tasks import task_of
from pinvgcn.experiments.comparison import Comparison, compare
from pinvgcn.experiments.methods import BASELINES, SIMPLE
from pinvgcn.experiments.methods.pinvgcn import PinvMethod
from pinvgcn.experiments.task import TITLES, Method, Sink

POINTS = 30_000
SPLITS = 3


@dataclass(frozen=True)
class Demo:
    """Everything that the demo found out."""

    table: Comparison
    scan: Comparison
    sources: tuple[DatasetInfo, DatasetInfo]
    points: int
    splits: int
    seed: int
    seconds: float

    @property
    def comparisons(self) -> tuple[Comparison, Comparison]:
        """Both, in the order in which they ran."""
        return self.table, self.scan

    @property
    def command(self) -> str:
        """What to type to get the same numbers again."""
        return f"pinvgcn demo --seed {self.seed} --splits {self.splits} --points {self.points}"


def methods() -> tuple[Method, ...]:
    """PinvGCN with its own defaults, and every simple method; all see the same features."""
    return (PinvMethod(), *(BASELINES[name] for name in SIMPLE))


def steps(splits: int) -> int:
    """How many lines of progress ``run_demo`` reports."""
    return 2 * (1 + splits * len(methods()))


def run_demo(
    *, points: int = POINTS, splits: int = SPLITS, random_state: int = 0, progress: Sink = lambda line: None
) -> Demo:
    """Compare all methods on Mushroom (10 labels a class) and on the generated street (20 a class).

    ``random_state`` seeds the choice of labels and every method; the street itself is always the same.
    """
    check_count("points", points)
    check_count("splits", splits)
    check_count("random_state", random_state, minimum=0)
    start = time.perf_counter()
    progress("Mushroom: reading the table")
    mushroom = load_dataset("mushroom")
    table = task_of(mushroom, TITLES["mushroom"], per_class=10)
    of_table = compare(table, methods(), splits=splits, random_state=random_state, progress=progress)
    progress(f"Street scan: generating {points:,} points")
    street = generate_street(points, random_state=0)
    scan = task_of(street, TITLES["street"], per_class=20)
    of_scan = compare(scan, methods(), splits=splits, random_state=random_state, progress=progress)
    return Demo(
        table=of_table,
        scan=of_scan,
        sources=(mushroom.info, street.info),
        points=points,
        splits=splits,
        seed=random_state,
        seconds=time.perf_counter() - start,
    )
