"""All that a fit computes before it looks at labels: any number of fits may share it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from pinvgcn.experts import NeighbourGraph, Seen, TrainingNodes
from pinvgcn.fitting.inputs import InputScaling, as_extra, joined
from pinvgcn.fitting.labels import RowLabels
from pinvgcn.fitting.nodes import CloudNodes, Nodes, TableNodes
from pinvgcn.fitting.settings import ResolvedSettings
from pinvgcn.graphs import GaussianGraph, Graph, Hypergraph
from pinvgcn.graphs.distinct import Distinct, distinct_rows, row_hashes
from pinvgcn.nn import Basis, FilterBasis, Problem
from pinvgcn.spectra import Spectrum


@dataclass(frozen=True)
class Prepared:
    """Nodes, spectrum, and the training problem of the nodes that differ, all of this rank's rows.

    Nodes of a hypergraph with equal rows, features included, are equal in every layer: they are computed once
    and counted as often as they come.
    """

    nodes: Nodes
    spectrum: Spectrum
    scaling: InputScaling
    distinct: Distinct | None  # None where every node is computed
    inputs: Any  # (m, N₀) array or scipy sparse array, of the distinct nodes
    extra: np.ndarray | None  # (n, …) numbers of a table, and what was handed in beside the nodes' features
    basis: Basis  # (m, k + r)
    problem: Problem
    neighbour_graph: NeighbourGraph | None  # of the rows of a table
    seconds: dict[str, float]

    @classmethod
    def of(cls, nodes: Nodes, features: Any, settings: ResolvedSettings, *, seconds: float = 0.0) -> Prepared:
        """Scale the features, compute spectrum and first products; to make the nodes took ``seconds``."""
        graph = nodes.graph
        assert graph is not None
        extra = as_extra(features, graph.n_nodes, group=graph.group)
        if isinstance(nodes, TableNodes):
            extra = joined(nodes.numbers, extra)
        started = time.perf_counter()
        own = nodes.for_networks(nodes.features)
        scale = InputScaling.of(
            own, extra, scaling=settings.scaling, coordinates=nodes.coordinates, group=graph.group
        )
        inputs = scale(own, extra)
        graph.degrees  # noqa: B018 - part of making the graph, so that its time counts as such
        graph_done = time.perf_counter()
        accuracy = {} if settings.tolerance is None else {"tolerance": settings.tolerance}
        spectrum = graph.spectrum(settings.rank, solver=settings.solver, **accuracy)
        spectrum_done = time.perf_counter()
        distinct, keys = None, np.empty(0)
        if isinstance(graph, Hypergraph):
            H = graph.incidence
            table = isinstance(nodes, TableNodes)  # whose inputs begin with H
            whole = inputs if table else sp.hstack([H, inputs])
            distinct = graph.distinct if inputs is H else distinct_rows(whole)
            inputs = inputs[distinct.first]
            basis = Basis.of(spectrum, H, nodes=distinct.first)
            keys = _keys(nodes, extra)[distinct.first]
        else:
            basis = Basis.of(spectrum)
        problem = Problem.of(
            basis,
            inputs,
            FilterBasis.of(spectrum, settings.network.filters),
            like=torch.empty(0, device=settings.network.device),
            weights=None if distinct is None else distinct.counts,
            ids=_numbers(graph) if distinct is None else keys.view(np.int64),
            places=graph.points if isinstance(graph, GaussianGraph) else _leading(basis, spectrum),
        )
        joins = None
        if settings.joined_rows is not None:
            assert isinstance(nodes, TableNodes)
            assert distinct is not None
            joins = NeighbourGraph.of(
                nodes.values(inputs, scale), distinct.counts, keys, settings.joined_rows, group=graph.group
            )
        stages = {
            "graph": seconds + graph_done - started,
            "spectrum": spectrum_done - graph_done,
            "training": time.perf_counter() - spectrum_done,
        }
        return cls(nodes, spectrum, scale, distinct, inputs, extra, basis, problem, joins, stages)

    def seen(self, *, values: bool) -> Seen:
        """What experts see of the distinct nodes: with ``values``, also what others than networks see."""
        return Seen(self.inputs, self.basis, self.values() if values else None)

    def training_nodes(self, labels: RowLabels) -> TrainingNodes:
        """All nodes, each on the process rank that has it."""
        graph = self.nodes.graph
        assert graph is not None
        nodes = np.full(len(labels.rows), -1)
        here = (labels.rows >= graph.start) & (labels.rows < graph.start + graph.n_nodes)
        nodes[here] = self.node_of(labels.rows[here] - graph.start)
        return TrainingNodes(self.problem, labels.rows, nodes)

    def values(self) -> Any:
        """What experts other than networks see of the distinct nodes: (m, v)."""
        if isinstance(self.nodes, TableNodes):
            return self.nodes.values(self.inputs, self.scaling)
        own, extra = self.nodes.features, self.extra
        if isinstance(self.nodes, CloudNodes) and self.nodes.geometry:
            return self.nodes.without_place(own, extra)
        if self.distinct is not None:
            own, extra = own[self.distinct.first], None if extra is None else extra[self.distinct.first]
        return self.scaling.unranked(self.inputs, own, extra)

    def node_of(self, rows: np.ndarray) -> np.ndarray:
        """Which of the distinct nodes these rows of X are."""
        return rows if self.distinct is None else self.distinct.inverse[rows]

    def of_all_rows(self, values: np.ndarray) -> np.ndarray:
        """Values of distinct nodes at every row of X."""
        return values if self.distinct is None else values[self.distinct.inverse]


def _numbers(graph: Graph) -> np.ndarray:
    """By what dropout knows other nodes: their numbers among those of all ranks."""
    return graph.start + np.arange(graph.n_nodes)


def _keys(nodes: Nodes, extra: np.ndarray | None) -> np.ndarray:
    """By what dropout knows the rows of a table, (n,): their contents, so that equal rows draw one mask
    wherever they are. Before scaling, whose last digits depend on how rows are shared out."""
    assert isinstance(nodes.graph, Hypergraph)
    H, own = nodes.graph.incidence, nodes.features
    parts = [H, *([] if own is H else [own]), *([] if extra is None else [extra])]
    rows = H if len(parts) == 1 else sp.csr_array(sp.hstack([sp.csr_array(part) for part in parts]))
    return row_hashes(rows)


def _leading(basis: Basis, spectrum: Spectrum) -> np.ndarray | None:
    """The first eigenvectors, (m, 3) or fewer: close where nodes are closely joined."""
    first = np.eye(basis.width)[:, spectrum.components :][:, :3]
    return basis @ first if spectrum.rank else None
