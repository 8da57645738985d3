"""All that a fit computes before it looks at labels: any number of fits may share it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import joblib
import numpy as np
import scipy.sparse as sp
import torch

from pinvgcn.distributed.group import Group
from pinvgcn.experts import NeighbourGraph, RowLabels, Seen, TrainingNodes
from pinvgcn.fitting.inputs import InputScaling, as_extra, joined
from pinvgcn.fitting.nodes import CloudNodes, Nodes
from pinvgcn.fitting.settings import ResolvedSettings
from pinvgcn.fitting.table_nodes import TableNodes, UnscaledRows
from pinvgcn.graphs import GaussianGraph, Graph, Hypergraph
from pinvgcn.graphs.distinct import Distinct, distinct_rows, distinct_subsample, row_hashes
from pinvgcn.nn import Basis, FilterBasis, Problem
from pinvgcn.spectra import Spectrum

# settings on which more depends than the training of one network
SHARED = (
    "sigma", "rank", "loops", "geometry", "solver", "tolerance", "bins", "binning", "missing", "min_size",
    "numbers", "scaling", "filters", "experts", "neighbours", "device",
)  # fmt: skip
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


@dataclass(frozen=True)
class Prepared:
    """Nodes, spectrum, and the training problem of the nodes that differ, all of this rank's rows.

    Nodes of a hypergraph with equal rows, features included, are equal in every layer: they are computed once
    and counted as often as they come. Of a large table a subsample of the distinct rows is what the spectrum,
    networks and diffusion are made of; they are then asked about all rows.
    """

    nodes: Nodes
    spectrum: Spectrum
    scaling: InputScaling
    distinct: Distinct | None  # None where every node is computed
    keys: np.ndarray  # 64-bit hashes of the distinct nodes; none where every node is computed
    subsample: RowSubsample | None  # of the distinct nodes; None for all
    inputs: Any  # (m, N₀) array or scipy sparse array, of the distinct nodes in the subsample
    extra: np.ndarray | None  # (n, …) numbers of a table, and what was handed in beside the nodes' features
    basis: Basis  # (m, k + r)
    sums: np.ndarray  # VᵀX of all processes, each node counted as often as it comes: (k + r, N₀)
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
        distinct, keys, some = _distinct(nodes, extra)
        scaled = (own, extra) if some is None else (own[some.rows], _at(extra, some.rows))
        table = isinstance(nodes, TableNodes)
        options: dict[str, Any] = {"coordinates": nodes.coordinates, "gaps": table, "group": graph.group}
        scale = InputScaling.of(*scaled, scaling=settings.asked.scaling, **options)
        graph.degrees  # noqa: B018 - part of making the graph, so that its time counts as such
        graph_done = time.perf_counter()
        spectrum = _spectrum(graph, some, settings)
        spectrum_done = time.perf_counter()
        counts = None
        if distinct is None:
            inputs, basis = scale(own, extra), Basis.of(spectrum)
            # by which dropout knows other nodes than those of tables
            ids = graph.start + np.arange(graph.n_nodes)
        else:
            assert isinstance(graph, Hypergraph)
            first, counts, ids = distinct.first, distinct.counts, keys
            if some is not None:
                first, counts, ids = (array[some.nodes] for array in (first, counts, ids))
            inputs = scale(own[first], _at(extra, first))
            if some is None:
                basis = Basis.of(spectrum, graph.incidence, nodes=first)
            else:
                assert isinstance(nodes, TableNodes)
                basis = UnscaledRows(nodes, scale, spectrum, graph.incidence[first], None).basis
        sums = basis.total(inputs, counts)
        problem = Problem.of(
            basis,
            inputs,
            FilterBasis.of(spectrum, settings.network.filters),
            sums=sums,
            like=torch.empty(0, device=settings.network.device),
            weights=counts,
            ids=ids.view(np.int64),
            places=graph.points if isinstance(graph, GaussianGraph) else _leading(basis, spectrum),
        )
        joins = None
        if settings.joined_rows is not None:
            assert isinstance(nodes, TableNodes)
            assert counts is not None
            joins = NeighbourGraph.of(
                nodes.values(inputs, scale), counts, ids, settings.joined_rows, group=graph.group
            )
        made, solved = seconds + graph_done - started, spectrum_done - graph_done
        stages = {"graph": made, "spectrum": solved, "training": time.perf_counter() - spectrum_done}
        return cls(
            nodes, spectrum, scale, distinct, keys, some, inputs, extra, basis, sums, problem, joins, stages
        )  # fmt: skip

    def seen(self, *, values: bool) -> Seen | UnscaledRows:
        """What experts see of the distinct nodes: with ``values``, also what others than networks see."""
        if self.subsample is None:
            return Seen(self.inputs, self.basis, self.values() if values else None)
        assert self.distinct is not None
        every = len(self.keys) == len(self.distinct.inverse)
        return self._rows if every else self._rows.take(self.distinct.first)

    @property
    def _rows(self) -> UnscaledRows:
        """All rows of a table."""
        assert isinstance(self.nodes, TableNodes)
        return UnscaledRows(self.nodes, self.scaling, self.spectrum, self.nodes.features, self.extra)

    @property
    def counts(self) -> np.ndarray | None:
        """How many rows are equal to each of the nodes that networks are trained on: (m,)."""
        if self.distinct is None:
            return None
        return self.distinct.counts[slice(None) if self.subsample is None else self.subsample.nodes]

    def training_nodes(self, labels: RowLabels) -> TrainingNodes:
        """All nodes, each on the process rank that has it."""
        start, nodes = self.nodes.start, np.full(len(labels.rows), -1)
        here = labels.are_within(start, self.nodes.count)
        nodes[here] = self.node_of(labels.rows[here] - start)
        if self.subsample is None:
            return TrainingNodes(self.problem, labels.rows, nodes)
        others = np.setdiff1d(nodes[here], self.subsample.nodes)
        every = np.append(self.subsample.nodes, others)
        order = np.argsort(every, kind="stable")
        nodes[here] = order[np.searchsorted(every, nodes[here], sorter=order)]
        return TrainingNodes(self._with(others), labels.rows, nodes)

    def _with(self, others: np.ndarray) -> Problem:
        """The problem of the subsample, with other distinct nodes that count for nothing in sums."""
        if not self.problem.group.largest(len(others)):
            return self.problem
        assert self.distinct is not None
        assert self.counts is not None
        added = self._rows.at(self.distinct.first[others])
        F = sp.csr_array(sp.vstack([self.basis.F, added.basis.F]))
        basis = replace(self.basis, F=F)
        return Problem.of(
            basis,
            sp.csr_array(sp.vstack([self.inputs, added.inputs])),
            self.problem.filters,
            like=torch.empty(0, device=self.problem.ids.device),
            weights=np.append(self.counts, np.zeros(len(others))),
            sums=self.sums,
            ids=np.append(self.problem.ids.cpu().numpy(), self.keys[others].view(np.int64)),
            places=_leading(basis, self.spectrum),
        )

    def values(self) -> Any:
        """What experts other than networks see of the distinct nodes: (m, v)."""
        if isinstance(self.nodes, TableNodes):
            return self.nodes.values(self.inputs, self.scaling)
        own, extra = self.nodes.features, self.extra
        if isinstance(self.nodes, CloudNodes) and self.nodes.geometry:
            return self.nodes.without_place(own, extra)
        if self.distinct is not None:
            own, extra = own[self.distinct.first], _at(extra, self.distinct.first)
        return self.scaling.unranked(self.inputs, own, extra)

    def node_of(self, rows: np.ndarray) -> np.ndarray:
        """Which of the distinct nodes these rows of X are."""
        return rows if self.distinct is None else self.distinct.inverse[rows]

    def of_all_rows(self, values: np.ndarray) -> np.ndarray:
        """Values of distinct nodes at every row of X."""
        return values if self.distinct is None else values[self.distinct.inverse]


def fingerprint(parameters: dict[str, Any], X: Any, features: Any) -> str:
    """Of all that ``Prepared`` depends on, by the parameters of a classifier."""
    graph = parameters["graph"]
    given = graph if isinstance(graph, str) else id(graph)  # which the kept nodes hold on to
    return str(joblib.hash((X, features, given, [parameters[name] for name in SHARED])))


def _distinct(
    nodes: Nodes, extra: np.ndarray | None
) -> tuple[Distinct | None, np.ndarray, RowSubsample | None]:
    """The distinct nodes of a hypergraph, their keys, and those of a large table that stand for all.

    Dropout knows the rows of a table by their keys, which are hashes of their contents: equal rows draw one
    mask wherever they are. Before scaling, whose last digits depend on how rows are shared out.
    """
    graph = nodes.graph
    if not isinstance(graph, Hypergraph):
        return None, np.empty(0), None
    H, own = graph.incidence, nodes.features
    parts = [H, *([] if own is H else [own]), *([] if extra is None else [extra])]
    distinct = graph.distinct if len(parts) == 1 else distinct_rows(*parts)
    keys = row_hashes(*parts)[distinct.first]
    some = RowSubsample.of(distinct, keys, graph.group) if isinstance(nodes, TableNodes) else None
    return distinct, keys, some


def _spectrum(graph: Graph, some: RowSubsample | None, settings: ResolvedSettings) -> Spectrum:
    asked = settings.asked
    options: dict[str, Any] = {"solver": asked.solver}
    if asked.tolerance is not None:
        options["tolerance"] = asked.tolerance
    if some is None:
        return graph.spectrum(asked.rank, **options)
    assert isinstance(graph, Hypergraph)
    return graph.spectrum_of(some.rows, asked.rank, **options)


def _at(extra: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    return None if extra is None else extra[rows]


def _leading(basis: Basis, spectrum: Spectrum) -> np.ndarray | None:
    """The first eigenvectors, (m, 3) or fewer: close where nodes are closely joined."""
    first = np.eye(basis.width)[:, spectrum.components :][:, :3]
    return basis @ first if spectrum.rank else None
