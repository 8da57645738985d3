"""The settings of a fit: checked before there is work to lose, then resolved once for its nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state

from pinvgcn.checks import check_choice, check_count, check_fraction, check_non_negative, check_positive
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.errors import ParameterError
from pinvgcn.experts import NetworkSettings, RowLabels
from pinvgcn.features.geometry import cell_size
from pinvgcn.fitting.class_shares import check_priors
from pinvgcn.fitting.inputs import SCALINGS
from pinvgcn.fitting.nodes import CloudNodes, GraphNodes, Nodes, graph_kind, is_scan
from pinvgcn.fitting.pool import DIFFUSION, FOREST, NETWORK, OF_TABLES
from pinvgcn.fitting.pool import TREES as RANDOMISED_TREES
from pinvgcn.fitting.table_nodes import TableNodes
from pinvgcn.graphs import Graph, TableEncoder
from pinvgcn.nn import TrainingSettings
from pinvgcn.nn.filters import parse_filters
from pinvgcn.nn.model import hidden_widths

MEMBERS = 5  # each learns from four fifths of the labels
TREES = {"scan": 40, "table": 60}  # of each member: 100 are no better (docs/accuracy.md)
EPOCHS = {"trees": 300, "table": 200, "other": 500}  # of a network; beside others it needs fewer
WEIGHT_DECAY = {"table": 0.01, "other": 0.0005}  # the larger one makes networks of tables less sure
SAMPLE = 2_048  # of the unlabelled nodes, in an epoch beside trees
NEIGHBOURS = 10  # points that an average counts for, beside the point itself
JOINED_ROWS = 5  # nearest rows of a table that are joined to a row
WHOLE, OR_NONE = "a whole number or 'auto'", "a whole number, 'auto' or None"
OWN = ("verbose", "device", "random_state")  # process ranks may have these differently


@dataclass(frozen=True)
class ResolvedSettings:
    """The settings of a fit to certain nodes: what was asked for, and what each "auto" of it means there."""

    asked: FitSettings
    network: NetworkSettings
    members: int
    trees: int  # of each member
    neighbours: int | None  # k, over which probabilities at points are averaged
    averaging_cell: float | None  # the side of the finest cells of these averages
    experts: tuple[str, ...]  # of a table; else the network, and trees if there are any
    joined_rows: int | None  # k, the nearest rows of a table that a diffusion joins to a row
    priors: Any  # "estimated", "safely" where that is safe, a dict of class: share, or None


@dataclass(frozen=True)
class FitSettings:
    """The parameters of ``PinvGCNClassifier``, checked.

    Also those of the other kinds of graph: a mistake in them is a mistake in what was meant. What depends on
    the nodes is checked by ``resolved``.
    """

    graph: Any
    sigma: float | str
    rank: int | None
    loops: float
    geometry: bool | str
    solver: str
    tolerance: float | None
    bins: int
    binning: str
    missing: str
    min_size: int
    numbers: bool
    scaling: str
    filters: Any
    hidden: Any
    dropout: float
    learning_rate: float
    weight_decay: float | str
    epochs: int | str
    nodes_per_epoch: int | str | None
    patience: int | None
    held_out: float
    class_weight: Any
    members: int | str
    experts: Any
    trees: int | str
    neighbours: int | str | None
    priors: Any
    verbose: bool | Callable[[int, int], None]
    device: str
    random_state: Any

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> FitSettings:
        """From the parameters of a classifier, by name."""
        return cls(**{field.name: parameters[field.name] for field in fields(cls)})

    def for_rows(self, X: Any, group: Group = ALONE) -> FitSettings:
        """With what joins these rows, where ``graph`` is "auto"."""
        return replace(self, graph=graph_kind(X, group)) if _is_auto(self.graph) else self

    def nodes(self, X: Any, *, shapes: Any = None, group: Group = ALONE) -> Nodes:
        """The nodes that the rows of X are. Where labels are to find σ, it is "auto" to begin with."""
        kind = self.graph if isinstance(self.graph, str) else "given"
        if shapes is not None and kind != "gaussian":
            raise ParameterError(
                "shapes must be None but for graph='gaussian': only points have local shapes. "
                f"Got graph={self.graph!r}."
            )
        if isinstance(self.graph, Graph):
            return GraphNodes(self.graph, X)
        if kind == "gaussian":
            sigma = "auto" if self.by_labels else self.sigma
            return CloudNodes(
                X, sigma=sigma, loops=self.loops, geometry=self.geometry, shapes=shapes, group=group
            )
        if kind == "categorical":
            return TableNodes(X, self._encoder(), numbers=self.numbers, group=group)
        raise ParameterError(
            f"graph must be 'auto', 'gaussian', 'categorical' or a Graph. Got {self.graph!r} instead."
        )

    def _encoder(self) -> TableEncoder:
        return TableEncoder(self.bins, binning=self.binning, missing=self.missing, min_size=self.min_size)

    def labels(self, y: Any, nodes: Nodes, *, sample_weight: Any = None) -> RowLabels:
        """The labels of these nodes."""
        weights = {"class_weight": self.class_weight, "sample_weight": sample_weight}
        return RowLabels.of(y, nodes.count, **weights, group=nodes.group)

    def __post_init__(self) -> None:
        if not isinstance(self.sigma, str):
            check_positive("sigma", self.sigma)
        elif self.sigma not in ("auto", "labels"):
            raise ParameterError(
                f"sigma must be a positive number, 'auto' or 'labels'. Got {self.sigma!r} instead."
            )
        check_non_negative("loops", self.loops)
        self._encoder()
        if self.rank is not None:
            check_count("rank", self.rank)
        if self.tolerance is not None:
            check_positive("tolerance", self.tolerance)
        check_choice("scaling", self.scaling, SCALINGS)
        parse_filters(self.filters)
        hidden_widths(self.hidden)
        check_fraction("dropout", self.dropout)
        check_fraction("held_out", self.held_out)
        check_priors(self.priors)
        if not _is_auto(self.experts):
            given = self._named
            if not set(given) <= set(OF_TABLES) or NETWORK not in given or len(set(given)) < len(given):
                raise ParameterError(
                    f"experts must be 'auto' or some of {', '.join(OF_TABLES)}, each once, with network. "
                    f"Got {self.experts!r} instead."
                )
        if not isinstance(self.numbers, bool | np.bool_):
            raise ParameterError(f"numbers must be True or False. Got {self.numbers!r} instead.")
        _chosen("members", self.members, None)
        _chosen("trees", self.trees, None)
        _chosen("neighbours", self.neighbours, None, OR_NONE)
        as_device(self.device)
        self.training(0, table=isinstance(self.graph, str) and self.graph == "categorical")

    @property
    def _named(self) -> tuple[str, ...]:
        return (self.experts,) if isinstance(self.experts, str) else tuple(self.experts)

    def _experts(self, table: bool) -> tuple[str, ...]:
        """Of a table, those asked for but what ``trees`` and ``neighbours`` leave out."""
        if not table and not _is_auto(self.experts) and self._named != (NETWORK,):
            raise ParameterError(
                "experts must be 'auto' or 'network' where X is no table, whose trees are set by trees. "
                f"Got {self.experts!r} instead."
            )
        asked = {NETWORK} if not table else set(OF_TABLES if _is_auto(self.experts) else self._named)
        asked -= {FOREST, RANDOMISED_TREES} if self.trees == 0 else set()
        asked -= {DIFFUSION} if self.neighbours is None else set()
        return tuple(name for name in OF_TABLES if name in asked)

    @property
    def by_labels(self) -> bool:
        """Whether σ is found by held-out labels."""
        return isinstance(self.graph, str) and (self.graph, self.sigma) == ("gaussian", "labels")

    def training(self, trees: int, *, table: bool) -> TrainingSettings:
        """Those of a network's training beside this number of ``trees``, of a ``table`` or other nodes; it
        checks them itself."""
        kind, beside = "table" if table else "other", trees > 0 and not table
        return TrainingSettings(
            self.learning_rate,
            _chosen("weight_decay", self.weight_decay, WEIGHT_DECAY[kind], "a number or 'auto'"),
            _chosen("epochs", self.epochs, EPOCHS["trees" if beside else kind]),
            SAMPLE if _is_auto(self.nodes_per_epoch) and beside else self.nodes_per_epoch,
            self.patience,
        )

    def resolved(self, nodes: Nodes) -> ResolvedSettings:
        """With every "auto" replaced by what it means for these nodes."""
        scan, table = is_scan(nodes), isinstance(nodes, TableNodes)
        experts, priors = self._experts(table), self.priors
        usual = TREES["scan"] if scan else TREES["table"] if table else 0
        trees = check_count("trees", _chosen("trees", self.trees, usual), 0)
        members = _chosen("members", self.members, MEMBERS if scan or table else 1)
        if _is_auto(priors):
            # weights of classes that a user gives would be undone by the shares of a table
            safe = len(experts) > 1 and self.class_weight is None
            priors = "estimated" if scan else "safely" if safe else None
        joined = None
        if DIFFUSION in experts:
            joined = check_count("neighbours", _chosen("neighbours", self.neighbours, JOINED_ROWS))
        if not _is_auto(self.experts) and not {FOREST, RANDOMISED_TREES} & set(experts):
            trees = 0
        k, cell = averaging(self.neighbours, nodes)
        network = NetworkSettings(
            self.training(trees, table=table), self.hidden, self.dropout, self.filters, as_device(self.device)
        )
        return ResolvedSettings(
            asked=self,
            network=network,
            members=check_count("members", members),
            trees=trees,
            neighbours=k,
            averaging_cell=cell,
            experts=experts,
            joined_rows=joined,
            priors=priors,
        )


def averaging(neighbours: Any, nodes: Nodes) -> tuple[int | None, float | None]:
    """k of averages over the neighbours of these nodes, and the side of the finest cells that are averaged
    over: half of that at which the median point has 0.8 k points around it; for scans it is known. None twice
    where nothing is averaged."""
    k = _chosen("neighbours", neighbours, NEIGHBOURS if is_scan(nodes) else None, OR_NONE)
    if k is None:
        return None, None
    check_count("neighbours", k)
    if isinstance(nodes, GraphNodes):
        raise ParameterError(
            "neighbours must be 'auto' or None for given graphs, which have neither points nor a table. "
            f"Got {neighbours!r} instead."
        )
    if not isinstance(nodes, CloudNodes):
        return None, None  # of a table they are ``joined_rows``
    if nodes.coordinates > 3:
        raise ParameterError(
            f"neighbours must be 'auto' or None for points of more than three coordinates. Got {k} instead."
        )
    if isinstance(neighbours, str) and nodes.lattice is not None:
        return k, nodes.lattice.cell
    group, points = nodes.group, nodes.points
    return k, cell_size(lambda: [points], group.sum(len(points)), enough=0.8 * k, group=group) / 2


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _chosen(name: str, value: Any, automatic: Any, words: str = WHOLE) -> Any:
    """What was asked for, or what "auto" means."""
    if isinstance(value, str) and value != "auto":
        raise ParameterError(f"{name} must be {words}. Got {value!r} instead.")
    return automatic if _is_auto(value) else value


def seed_of(random_state: Any) -> int:
    """A number from what scikit-learn takes as ``random_state``; a RandomState moves on."""
    try:
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    except ValueError:
        raise ParameterError(
            "random_state must be None, a whole number from 0 to 2**32 - 1 or a numpy RandomState. "
            f"Got {random_state!r} instead."
        ) from None


def as_device(name: Any) -> torch.device:
    """Where training runs."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except (RuntimeError, TypeError, AssertionError) as error:
        raise ParameterError(
            f"device must be one that PyTorch has here, such as 'cpu'. Got {name!r} "
            f"instead ({str(error).splitlines()[0]})."
        ) from None
    return device


def group_of(parameters: Mapping[str, Any], process_group: Any) -> Group:
    """The processes of a fit, which must have the same parameters; those of its graph if it has one."""
    group, graph = Group.of(process_group), parameters["graph"]
    if isinstance(graph, Graph):
        if not group.alone and graph.group.size != group.size:
            raise ParameterError(
                f"process_group must be that of the graph, which {graph.group.size} of its {group.size} "
                "processes share. Make the graph with process_group=...; a SparseGraph has none."
            )
        group = graph.group
    if group.alone:
        return group
    told = {**parameters, "graph": graph if isinstance(graph, str) else None}
    first, *others = group.values({name: repr(told[name]) for name in told if name not in OWN})
    for rank, other in enumerate(others, start=1):
        for name in first:
            if other[name] != first[name]:
                raise ParameterError(
                    f"{name} must be the same on all ranks. "
                    f"Got {first[name]} on rank 0 and {other[name]} on rank {rank}."
                )
    # only now do all ranks know that they all will raise
    if parameters["warm_start"]:
        raise ParameterError("warm_start must be False with a process group. Got True instead.")
    if isinstance(parameters["sigma"], str) and parameters["sigma"] == "labels":
        raise ParameterError(
            "sigma must be a number or 'auto' with a process group. Got 'labels' instead; find it by a fit "
            "to some of the points."
        )
    return group
