"""A demo in small: both kinds of data, few rows, few epochs, every part of the report."""

from __future__ import annotations

import numpy as np
import pytest

from pinvgcn.datasets import generate_street, load_dataset
from pinvgcn.experiments.comparison import Comparison, compare
from pinvgcn.experiments.demo import Demo
from pinvgcn.experiments.methods import BASELINES, SIMPLE
from pinvgcn.experiments.methods.pinvgcn import PinvMethod
from pinvgcn.experiments.task import Task


@pytest.fixture(scope="session")
def small_demo() -> Demo:
    """All methods on 400 mushrooms and 2,100 points of the street, two splits."""
    mushroom, street = load_dataset("mushroom"), generate_street(2_100)
    rows = np.random.default_rng(0).choice(len(mushroom.y), 400, replace=False)
    methods = (PinvMethod({"epochs": 30}), *(BASELINES[name] for name in SIMPLE))

    def run(task: Task) -> Comparison:
        return compare(task, methods, splits=2)

    table = mushroom.X.iloc[rows].reset_index(drop=True)
    return Demo(
        table=run(Task("mushroom", "Mushroom", "table", table, mushroom.y[rows], mushroom.target_names, 10)),
        scan=run(
            Task(
                "street",
                "Street scan",
                "points",
                street.X,
                street.y,
                street.target_names,
                5,
                surroundings=True,
            )
        ),
        sources=(mushroom.info, street.info),
        points=2_100,
        splits=2,
        seed=0,
        seconds=1.0,
    )
