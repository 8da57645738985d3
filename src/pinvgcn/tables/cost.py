"""What a table will take, before it is done: bytes and seconds from constants that were measured once.

They are meant to be right within a factor of two for a table like those that they were measured on, Mushroom
and random ones of 2,000 to 60,000 rows; seconds depend on the machine.
"""

from __future__ import annotations

import torch

from pinvgcn.fitting.settings import MEMBERS
from pinvgcn.io import TableSource
from pinvgcn.jobs.progress import LIBRARIES, START, Cost
from pinvgcn.tables.plan import TablePlan

CELL = 50.0  # bytes: its text, its place in a hyperedge, and what is made of that
BASIS = 8.0 * 3  # bytes for each distinct row and eigenvector
READ = 4e-7  # seconds for each cell: reading and placing it
PREPARED = 2.7e-4  # seconds for each distinct row: spectrum, first products and like rows
FIT = 2.8  # seconds of one core for all members, and ...
STEP = 5e-6  # ... for each node of an epoch, and each of its values and hidden columns, in all epochs,
SUMMED = 6e-5  # ... and for each distinct row once
HIDDEN = 32
ALL_NODES, SOME_NODES = 32_768, 4_096  # how many nodes an epoch visits: see nodes_per_epoch
CHUNK = 20_000  # rows that a prediction holds at a time
PREDICTION, PREDICTED_CELL = 1.0, 3e-6  # seconds, and for each cell: reading, placing, predicting, writing
FOREST = 0.4  # seconds, and ...
FOREST_ROW, FOREST_LABEL = 2e-5, 2e-4  # ... for each row, and for each labelled one


def cost_of(plan: TablePlan, folds: int) -> Cost:
    """Of ``classify_table`` on this plan, and of so many ``folds`` of held-out labels."""
    columns = len(plan.frame.columns)
    cells = plan.rows * max(columns, len(plan.source.columns))
    memory = LIBRARIES + CELL * cells + BASIS * plan.distinct * plan.hyperedges
    nodes = plan.distinct if plan.distinct <= ALL_NODES else SOME_NODES
    fit = FIT + STEP * nodes * (columns + HIDDEN) + SUMMED * plan.distinct
    side_by_side = min(torch.get_num_threads(), MEMBERS)
    simple = folds * (FOREST + FOREST_ROW * plan.rows + FOREST_LABEL * plan.labelled)
    seconds = READ * cells + PREPARED * plan.distinct + (folds + 1) * fit / side_by_side + simple
    return Cost(memory, START + seconds)


def cost_of_prediction(source: TableSource, columns: int) -> Cost:
    """Of ``predict_table`` from so many columns of this file."""
    width = len(source.columns)
    rows = source.count or _about_rows(source)
    memory = LIBRARIES + 3 * CELL * min(rows, CHUNK) * width
    return Cost(memory, START + PREDICTION + PREDICTED_CELL * rows * max(columns, width))


def _about_rows(source: TableSource) -> float:
    """How many rows a text file has, by the part of it that its first ones take."""
    first = next(iter(source.chunks(CHUNK)))
    whole = len(first) < CHUNK
    return len(first) / (1.0 if whole or not source.share else source.share)
