"""A table whose rows are shared out: the hypergraph, its spectrum and its walks are those of one process."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ranks import SIZES, shares

import pinvgcn.graphs.training_values
import pinvgcn.walks
from pinvgcn import Hypergraph
from pinvgcn.datasets import load_dataset
from pinvgcn.errors import PinvGCNError
from pinvgcn.graphs import TableEncoder
from pinvgcn.graphs.distinct import distinct_rows, pooled, row_hashes
from pinvgcn.group import Group
from pinvgcn.row_labels import RowLabels
from pinvgcn.walks import Steps

KINDS = ("even", "uneven", "empty")
N = 300
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, N)
TABLE = pd.DataFrame(
    {f"c{j}": np.array(list("abcde"))[(2 * TRUTH * (j < 4) + RNG.integers(0, 3, N)) % 5] for j in range(6)}
).assign(
    late=np.where(np.arange(N) < 200, None, "z"),  # all missing on the first ranks
    place=np.array(["north", "south"])[np.arange(N) // 150],  # a value that only some ranks have
    size=np.round(RNG.normal(size=N), 2),
    flag=RNG.random(N) < 0.3,
)
FEW = np.where(np.arange(N) % 8 == 0, TRUTH, -1)


def own(group, table, kind):
    return table[shares(len(table), group.size, kind)[group.rank]]


def graph_of(process_group, table, kind, options):
    group = Group.of(process_group)
    graph = Hypergraph.from_table(own(group, table, kind), process_group=process_group, **options)
    return graph, graph.spectrum()


def described(process_group, table, kind, options):
    graph, spectrum = graph_of(process_group, table, kind, options)
    return {
        "learned": graph.encoder.to_dict(),
        "incidence": graph.incidence.toarray(),
        "nodes": (graph.n_nodes, graph.n_total, graph.start),
        "values": spectrum.values,
        "null": spectrum.null_vectors,
        "vectors": spectrum.vectors,
        "residuals": spectrum.residuals,
        "new": spectrum.extend_basis(graph.encoder.transform(table[:5])[0]),
        "product": graph.normalized_adjacency @ spectrum.vectors[:, :2],
    }


def check_same(found, table, options, *, vectors=True):
    """Against one process on all rows."""
    graph = Hypergraph.from_table(table, **options)
    spectrum = graph.spectrum()
    for one in found:
        assert one["learned"] == graph.encoder.to_dict()
        np.testing.assert_allclose(one["values"], spectrum.values, atol=1e-10)
        assert one["residuals"].max(initial=0) < 1e-8
    np.testing.assert_array_equal(np.vstack([one["incidence"] for one in found]), graph.incidence.toarray())
    assert [one["nodes"][1] for one in found] == [len(table)] * len(found)
    assert [one["nodes"][2] for one in found] == np.cumsum([0, *(one["nodes"][0] for one in found)])[
        :-1
    ].tolist()
    np.testing.assert_allclose(np.vstack([one["null"] for one in found]), spectrum.null_vectors, atol=1e-10)
    V = np.vstack([one["vectors"] for one in found])
    if vectors:
        np.testing.assert_allclose(V, spectrum.vectors, atol=1e-6)
    np.testing.assert_allclose(V @ V.T, spectrum.vectors @ spectrum.vectors.T, atol=1e-8)
    NV = np.vstack([one["product"] for one in found])
    np.testing.assert_allclose(NV, V[:, :2] * (1 - spectrum.values[:2]), atol=1e-8)
    at_first = np.hstack([spectrum.null_vectors[:5], V[:5]])
    for one in found:
        np.testing.assert_allclose(one["new"], at_first, atol=1e-8)


OPTIONS = {
    "width": {},
    "quantile": {"binning": "quantile", "bins": 7},
    "missing": {"missing": "value", "min_size": 1},
    "large": {"min_size": 40},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("options", OPTIONS)
def test_a_table_on_several_ranks(ranks, size, kind, options):
    check_same(ranks.run(size, described, TABLE, kind, OPTIONS[options]), TABLE, OPTIONS[options])
