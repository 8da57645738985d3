"""The settings of a classifier: checked before there is work to lose, and as training takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state

from pinvgcn.checks import check_choice, check_count, check_fraction, check_non_negative, check_positive
from pinvgcn.errors import ParameterError
from pinvgcn.fitting.inputs import SCALINGS
from pinvgcn.fitting.pool import as_epochs, as_sample, as_weight_decay
from pinvgcn.fitting.smoothing import check_priors
from pinvgcn.graphs import Graph, TableEncoder
from pinvgcn.group import Group
from pinvgcn.nn import TrainingSettings
from pinvgcn.nn.filters import parse_filters
from pinvgcn.nn.model import hidden_widths

OWN = ("verbose", "device", "random_state")  # what ranks may have differently


def training_settings(model: Any, trees: int = 0) -> TrainingSettings:
    """Those of training, beside so many trees; and all settings that need no nodes are checked.

    Also those of the other kind of graph: a mistake in them is a mistake in what was meant.
    """
    if not isinstance(model.sigma, str):
        check_positive("sigma", model.sigma)
    elif model.sigma not in ("auto", "labels"):
        raise ParameterError(
            f"sigma must be a positive number, 'auto' or 'labels'. Got {model.sigma!r} instead."
        )
    check_non_negative("loops", model.loops)
    TableEncoder(model.bins, binning=model.binning, missing=model.missing, min_size=model.min_size)
    if model.rank is not None:
        check_count("rank", model.rank)
    if model.tolerance is not None:
        check_positive("tolerance", model.tolerance)
    check_choice("scaling", model.scaling, SCALINGS)
    parse_filters(model.filters)
    hidden_widths(model.hidden)
    check_fraction("dropout", model.dropout)
    check_fraction("held_out", model.held_out)
    check_priors(model.priors)
    for name in ("members", "trees", "neighbours"):
        value = getattr(model, name)
        if isinstance(value, str) and value != "auto":
            none = ", 'auto' or None" if name == "neighbours" else " or 'auto'"
            raise ParameterError(f"{name} must be a whole number{none}. Got {value!r} instead.")
    as_device(model.device)
    table = isinstance(model.graph, str) and model.graph == "categorical"
    return TrainingSettings(
        model.learning_rate,
        as_weight_decay(model.weight_decay, table=table),
        as_epochs(model.epochs, trees=trees, table=table),
        as_sample(model.nodes_per_epoch, trees),
        model.patience,
    )


def seed_of(random_state: Any) -> int:
    """A number from what scikit-learn takes as ``random_state``."""
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


def shared_by(model: Any, process_group: Any) -> Group:
    """The processes that fit ``model`` together, with the same settings; those of its graph if it has one."""
    group, graph = Group.of(process_group), model.graph
    if isinstance(graph, Graph):
        if not group.alone and graph.group.size != group.size:
            raise ParameterError(
                f"process_group must be that of the graph, which {graph.group.size} of its {group.size} "
                "processes share. Make the graph with process_group=...; a SparseGraph has none."
            )
        group = graph.group
    if group.alone:
        return group
    settings = model.get_params(deep=False)
    settings["graph"] = graph if isinstance(graph, str) else None
    first, *others = group.values({name: repr(settings[name]) for name in settings if name not in OWN})
    for rank, other in enumerate(others, start=1):
        for name in first:
            if other[name] != first[name]:
                raise ParameterError(
                    f"{name} must be the same on all ranks. "
                    f"Got {first[name]} on rank 0 and {other[name]} on rank {rank}."
                )
    # only now do all ranks know that they all will raise
    if model.warm_start:
        raise ParameterError("warm_start must be False with a process group. Got True instead.")
    if isinstance(model.sigma, str) and model.sigma == "labels":
        raise ParameterError(
            "sigma must be a number or 'auto' with a process group. Got 'labels' instead; find it by a fit "
            "to some of the points."
        )
    return group
