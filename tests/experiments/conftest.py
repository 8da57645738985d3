"""A demo in small: both kinds of data, few rows, few epochs, every part of the report."""

from __future__ import annotations

import numpy as np
import pytest

from pinvgcn.datasets import load_dataset
from pinvgcn.experiments.comparison import compare
from pinvgcn.experiments.demo import Demo, methods, run_survey, thinned
from pinvgcn.experiments.task import Task


@pytest.fixture(scope="session")
def small_demo() -> Demo:
    """All methods on 400 mushrooms and 4,000 points of each tile, two splits."""
    mushroom = load_dataset("mushroom")
    tiles = [thinned(load_dataset(name), 4_000) for name in ("ign1", "ign2")]
    using = methods(epochs=30)
    survey, next_tile, estimates = run_survey(*tiles, using, per_class=5, splits=2)
    rows = np.random.default_rng(0).choice(len(mushroom.y), 400, replace=False)
    table = mushroom.X.iloc[rows].reset_index(drop=True)
    task = Task("mushroom", "Mushroom", "table", table, mushroom.y[rows], mushroom.target_names, 10)
    return Demo(
        survey=survey,
        next_tile=next_tile,
        table=compare(task, using, splits=2),
        estimates=estimates,
        sources=(tiles[0].info, tiles[1].info, mushroom.info),
        splits=2,
        seed=0,
        quick=False,
        seconds=1.0,
    )
