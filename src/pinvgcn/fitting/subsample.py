"""Some of the distinct rows of a large table, that stand for all where a graph is made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pinvgcn.distributed.group import Group
from pinvgcn.graphs.distinct import Distinct, distinct_subsample

MOST = 2**16  # distinct rows of a table, up to which a graph is made of all


class RowSubsample(NamedTuple):
    """The distinct rows with the smallest hashes, 65,536 over all processes.

    Rows that are equal are in it together. Which rows are in it depends neither on their order nor on how
    processes share them out.
    """

    nodes: np.ndarray  # (s,) places among the distinct rows of this process, rising
    rows: np.ndarray  # (t,) the rows that are equal to these, rising

    @classmethod
    def of(cls, distinct: Distinct, hashes: np.ndarray, group: Group) -> RowSubsample | None:
        """Of distinct rows with these ``hashes`` (m,); None if there are no more than that."""
        chosen = distinct_subsample(np.empty((len(hashes), 0)), distinct.counts, hashes, group, most=MOST)
        if chosen.complete:
            return None
        inside = np.isin(hashes, chosen.hashes)
        return cls(np.flatnonzero(inside), np.flatnonzero(inside[distinct.inverse]))
