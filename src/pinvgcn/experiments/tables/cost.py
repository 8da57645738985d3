"""What a table will take, before it is done: bytes and seconds from constants that were measured once.

They are meant to be right within a factor of three, on an ordinary core.
"""

from __future__ import annotations

from dataclasses import dataclass

from pinvgcn.experiments.tables.heldout import folds_of
from pinvgcn.experiments.tables.plan import TablePlan
from pinvgcn.io import TableSource

LIBRARIES = 0.6 * 2**30  # bytes, before there is any table
CELL = 50.0  # bytes: its text, its place in a hyperedge, and what is made of that
BASIS = 8.0 * 3  # bytes for each distinct row and eigenvector
READ = 4e-7  # seconds for each cell: reading and placing it
EPOCHS = 500
STEP = 1e-8  # seconds for each node, and each of its values and hidden columns, in an epoch
HIDDEN = 32
ALL_NODES, SOME_NODES = 32_768, 4_096  # how many nodes an epoch visits: see nodes_per_epoch
CHUNK = 20_000  # rows that a prediction holds at a time
PREDICTED_CELL = 1e-6  # seconds: reading, placing, predicting and writing
TEXT_CELL = 6.0  # bytes of a cell in a text file
FOREST = 0.6  # seconds, and ...
FOREST_ROW = 2e-4  # ... for each labelled row


@dataclass(frozen=True)
class Cost:
    """Bytes at the peak, and seconds."""

    memory: float
    seconds: float

    def __str__(self) -> str:
        minutes = (
            f"{self.seconds / 60:.0f} minutes" if self.seconds >= 90 else f"{max(self.seconds, 1):.0f} s"
        )
        return f"about {self.memory / 2**30:.1f} GiB and {minutes}"


def cost_of(plan: TablePlan) -> Cost:
    """Of ``classify_table`` on this plan."""
    columns = len(plan.frame.columns)
    cells = plan.rows * max(columns, len(plan.source.columns))
    memory = LIBRARIES + CELL * cells + BASIS * plan.distinct * plan.hyperedges
    nodes = plan.distinct if plan.distinct <= ALL_NODES else SOME_NODES
    runs = folds_of(plan.labelled)[1]
    fit = EPOCHS * nodes * (columns + HIDDEN) * STEP
    simple = runs * (FOREST + FOREST_ROW * plan.labelled)
    return Cost(memory, READ * cells + (runs + 1) * fit + simple)


def cost_of_prediction(source: TableSource, columns: int) -> Cost:
    """Of ``predict_table`` from so many columns of this file."""
    width = len(source.columns)
    rows = source.count or source.path.stat().st_size / (TEXT_CELL * width)
    memory = LIBRARIES + 3 * CELL * min(rows, CHUNK) * width
    return Cost(memory, 1 + PREDICTED_CELL * rows * max(columns, width))
