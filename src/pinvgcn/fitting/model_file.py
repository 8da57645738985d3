"""A fitted classifier as arrays and a JSON description, and back (docs/file_format.md).

The functions work on the attributes that ``fit`` sets; the classifier owns them.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from pinvgcn.errors import ParameterError
from pinvgcn.experts import Forest
from pinvgcn.experts.diffusion import Walk
from pinvgcn.features.averages import Averages
from pinvgcn.features.normal_scores import NormalScores
from pinvgcn.fitting.conformal import PredictionSets
from pinvgcn.fitting.inputs import InputScaling
from pinvgcn.fitting.model_shapes import check_shapes
from pinvgcn.fitting.nodes import CloudNodes, nodes_from_state
from pinvgcn.fitting.pool import Ensemble, Member
from pinvgcn.fitting.smoothing import Outcome
from pinvgcn.group import Group
from pinvgcn.nn import PinvGCN
from pinvgcn.nn.nodewise import NodeLayer
from pinvgcn.spectra import Spectrum

BY_CLASS = ("class_weight", "priors")  # parameters that may be a dict with classes as keys
BY_NODE = {  # arrays with a row for each node or cell of a process, and the axis of these
    "spectrum.basis": 0,
    "transduction_proba": 0,
    "transduction": 0,
    "features": 0,
    "sets.above": 0,
    "sets.sums": 0,
    **dict.fromkeys(("around.keys", "around.counts", "around.sums"), 0),
    **dict.fromkeys(("shapes.keys", "shapes.first", "shapes.second", "shapes.height"), 0),
}


def model_state(
    model: Any, about: dict[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """All that ``restore_model`` needs, and what is told ``about`` the model: a description for JSON, and
    arrays."""
    cloud = model._nodes if isinstance(model._nodes, CloudNodes) else None
    points = None  # at which a spectrum is evaluated anew
    if cloud is not None:
        points = model.spectrum_.n_nodes if cloud.graph is None else cloud.graph.n_total
    spectrum, arrays = model.spectrum_.state(without=points)
    arrays = {f"spectrum.{name}": array for name, array in arrays.items()}
    for number, member in enumerate(model._ensemble.members):
        for depth, (layer, conv) in enumerate(zip(member.layers, member.network.layers, strict=True)):
            mine = {f"layer{depth}.{name}": array for name, array in layer._asdict().items()}
            mine[f"weights{depth}"] = conv.weights.detach().cpu().numpy()
            mine[f"bias{depth}"] = conv.bias.detach().cpu().numpy()
            arrays |= {_of_member(number) + name: array for name, array in mine.items()}
        if member.trees is not None:
            grown = member.trees.state()
            arrays |= {f"{_of_member(number)}trees.{name}": array for name, array in grown.items()}
    arrays |= {
        "shift": model._scaling.shift,
        "scale": model._scaling.scale,
        "loss_curve": np.array(model.loss_curve_),
        "priors": model.priors_,
        "opinions": model._ensemble.weights,
    }
    if cloud is None:
        arrays["transduction_proba"] = model.transduction_proba_
    else:  # of a large scan the classes alone
        arrays["transduction"] = np.searchsorted(model.classes_, model.transduction_)
    ranks, outcome = model._scaling.ranks, model._outcome
    if ranks is not None:
        arrays |= {"ranks.knots": ranks.knots, "ranks.scores": ranks.scores}
    if outcome.factors is not None:
        arrays["factors"] = outcome.factors
    if outcome.around is not None:
        arrays |= {f"around.{name}": array for name, array in outcome.around.state().items()}
    if cloud is not None and cloud.pyramid is not None:
        arrays |= cloud.pyramid.state()
    if model._sets is not None:
        arrays |= model._sets.state()
        if model._sets.around is not None:  # the same points in the same cells
            arrays["sets.sums"] = model._sets.around.sums
    if model._ensemble.walk is not None:
        arrays |= model._ensemble.walk.state()
    parameters = model.get_params(deep=False)
    if model._nodes.kind == "given":
        parameters["graph"] = None
        features = model._nodes.features
        arrays["features"] = features.toarray() if sp.issparse(features) else features
    for name in BY_CLASS:
        if isinstance(parameters[name], dict):  # JSON would make text of its keys
            parameters[name] = list(parameters[name].items())
    description = {
        "parameters": {name: _plain(name, value) for name, value in parameters.items()},
        "classes": _plain("classes_", model.classes_),
        "classes_dtype": model.classes_.dtype.str if model.classes_.dtype != object else "object",
        "nodes": {"kind": model._nodes.kind, **model._nodes.state()},
        "spectrum": spectrum,
        "depth": len(model.network_.layers),
        "members": len(model._ensemble.members),
        "columns": getattr(model, "feature_names_in_", np.array([])).tolist(),
        "n_features_in": getattr(model, "n_features_in_", None),
        "n_extra": model._scaling.n_extra,
        "neighbours": outcome.neighbours,
        "averaged_over": outcome.cell,
        "sigma": getattr(model, "sigma_", None),
        "timings": model.timings_,
        "about": _as_about(about),
    }
    return description, arrays


def saved_parameters(description: dict[str, Any]) -> dict[str, Any]:
    """The constructor's arguments of a saved model."""
    parameters = dict(description["parameters"])
    for name in BY_CLASS:
        if isinstance(parameters[name], list):
            parameters[name] = dict(parameters[name])
    return parameters


def restore_model(model: Any, description: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Set what ``fit`` would have set."""
    prefix = "spectrum."
    mine = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
    model.spectrum_ = Spectrum.from_state(description["spectrum"], mine)
    check_shapes(description, arrays, model.spectrum_)
    model.classes_ = np.array(description["classes"], dtype=description["classes_dtype"])
    nodes = description["nodes"]
    model._nodes = nodes_from_state(nodes["kind"], nodes, arrays)
    ranks = NormalScores(arrays["ranks.knots"], arrays["ranks.scores"]) if "ranks.knots" in arrays else None
    model._scaling = InputScaling(arrays["shift"], arrays["scale"], description["n_extra"], ranks)
    around = each = None
    if description["neighbours"] is not None:
        kept = {name: arrays[f"around.{name}"] for name in ("keys", "counts", "sums")}
        around = Averages.from_state(description["averaged_over"], kept)
        if "sets.sums" in arrays:
            each = Averages.from_state(description["averaged_over"], {**kept, "sums": arrays["sets.sums"]})
    model._outcome = Outcome(
        description["neighbours"], description["averaged_over"], around, arrays.get("factors")
    )
    model._sets = PredictionSets.from_state(arrays, each)
    model.priors_ = arrays["priors"]
    if description["columns"]:
        model.feature_names_in_ = np.array(description["columns"], dtype=object)
    if description["n_features_in"] is not None:
        model.n_features_in_ = description["n_features_in"]
    members = [
        _restore_member(model, description["depth"], arrays, _of_member(number))
        for number in range(description["members"])
    ]
    model._ensemble = Ensemble(members, Walk.from_state(arrays), arrays["opinions"])
    model.network_ = members[0].network
    if "transduction" in arrays:
        model.transduction_ = model.classes_[arrays["transduction"]]
    else:
        model.transduction_proba_ = arrays["transduction_proba"]
        model.transduction_ = model.classes_[model.transduction_proba_.argmax(axis=1)]
    model.loss_curve_ = members[0].losses
    model.n_iter_ = len(model.loss_curve_)
    model.timings_ = description["timings"]
    model.about_ = description.get("about")
    if description.get("sigma") is not None:
        model.sigma_ = description["sigma"]


def narrowed(arrays: dict[str, np.ndarray], group: Group) -> dict[str, np.ndarray]:
    """The whole numbers of nodes and cells in as few bits as those of all processes need."""
    return {name: _fewest_bits(a, group) if name in BY_NODE else a for name, a in arrays.items()}


def _fewest_bits(array: np.ndarray, group: Group) -> np.ndarray:
    if array.dtype.kind != "i":
        return array
    least, most = group.smallest(int(array.min(initial=0))), group.largest(int(array.max(initial=0)))
    # of a type that has negative numbers where there are some
    widest = max(int(most), -1 - int(least))
    return array.astype(np.min_scalar_type(-1 - widest if least < 0 else widest))


def _of_member(number: int) -> str:
    """What the names of a member's arrays begin with; the first has none."""
    return f"member{number}." if number else ""


def _restore_member(model: Any, depth: int, arrays: dict[str, np.ndarray], prefix: str) -> Member:
    layers = tuple(
        NodeLayer(*(arrays[f"{prefix}layer{d}.{name}"] for name in NodeLayer._fields)) for d in range(depth)
    )
    weights = [torch.from_numpy(arrays[f"{prefix}weights{d}"]) for d in range(depth)]
    network = PinvGCN(
        model.spectrum_,
        weights[0].shape[1],
        weights[-1].shape[2],
        hidden=[w.shape[2] for w in weights[:-1]],
        dropout=model.dropout,
        filters=model.filters,
        generator=torch.Generator(),
    )
    with torch.no_grad():
        for d, conv in enumerate(network.layers):
            if conv.weights.shape != weights[d].shape:  # a copy would be broadcast
                raise ValueError(f"weights{d} must have the shape {tuple(conv.weights.shape)}")
            conv.weights.copy_(weights[d])
            conv.bias.copy_(torch.from_numpy(arrays[f"{prefix}bias{d}"]))
    network.eval()
    losses = [] if prefix else arrays["loss_curve"].tolist()  # the first one's are kept
    before = f"{prefix}trees."
    grown = {name.removeprefix(before): a for name, a in arrays.items() if name.startswith(before)}
    trees = Forest.from_state(grown, weights[0].shape[1]) if grown else None
    return Member(network, layers, losses, trees)


def _as_about(about: Any) -> dict[str, Any] | None:
    """What is told about a model, if JSON gives back the same."""
    if about is None:
        return None
    kept = _plain("about", about) if isinstance(about, dict) else None
    if kept is None or set(kept) != set(about):
        raise ParameterError(f"about must be a dict with text as keys, or None. Got {about!r} instead.")
    return kept


def _plain(name: str, value: Any) -> Any:
    """A parameter in the types that JSON keeps; numpy's numbers and arrays become Python's."""
    try:
        return json.loads(json.dumps(value, default=lambda array: array.tolist()))
    except (AttributeError, TypeError):
        raise ParameterError(
            f"A saved model keeps plain numbers and text only. Got {name}={value!r}; "
            f"call set_params({name}=...) with such a value before save."
        ) from None
