"""A classifier's file: its parameters, its columns, and the fitted model (docs/file_format.md)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from pinvgcn.distributed.group import Group, together
from pinvgcn.errors import ParameterError
from pinvgcn.experts import (
    ByValues,
    Diffusion,
    Forest,
    Forests,
    KernelMachine,
    Linear,
    Networks,
    TrainedNetwork,
)
from pinvgcn.experts.seen import arrays_after, of_member
from pinvgcn.features.averages import Averages, context_width
from pinvgcn.features.lattice import Lattice
from pinvgcn.features.normal_scores import NormalScores
from pinvgcn.fitting import pool
from pinvgcn.fitting.conformal import PredictionSets
from pinvgcn.fitting.estimate import AccuracyEstimate, HeldOutRecalls
from pinvgcn.fitting.first_look import FirstLook
from pinvgcn.fitting.fitted_model import FittedModel
from pinvgcn.fitting.inputs import InputScaling
from pinvgcn.fitting.model_shapes import check_shapes
from pinvgcn.fitting.nodes import CloudNodes, GraphNodes, Nodes
from pinvgcn.fitting.pool import NETWORK, PLACE_FREE, Ensemble, Expert
from pinvgcn.fitting.scan import LabelledPlaces
from pinvgcn.fitting.smoothing import Smoothing
from pinvgcn.fitting.table_nodes import TableNodes
from pinvgcn.io.tensors import plain, save_tensors
from pinvgcn.spectra import Spectrum

KINDS: dict[str, type[Nodes]] = {kind.kind: kind for kind in (CloudNodes, TableNodes, GraphNodes)}
BY_CLASS = ("class_weight", "priors")  # parameters that may be a dict with classes as keys
BY_NODE = dict.fromkeys(  # arrays with a row for each node or cell of a process, and the axis of these
    (
        "spectrum.basis", "transduction_proba", "transduction", "features", "sets.above", "sets.sums",
        "around.keys", "around.counts", "around.sums", "first.keys", "first.counts", "first.sums",
        "shapes.keys", "shapes.first", "shapes.second", "shapes.height",
    ),
    0,
)  # fmt: skip


class SavedModel(NamedTuple):
    """What a file has of a classifier."""

    parameters: dict[str, Any]  # of the constructor
    fitted: FittedModel
    columns: list[str]  # the names of the columns of X, if they have names
    n_columns: int | None
    about: dict[str, Any] | None  # what was told about it

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, np.ndarray]) -> SavedModel:
        """From what a file has."""
        parameters = dict(description["parameters"])
        for name in BY_CLASS:
            if isinstance(parameters[name], list):
                parameters[name] = dict(parameters[name])
        network = {name: parameters[name] for name in ("dropout", "filters")}
        fitted = fitted_from_state(description, arrays, **network)
        kept = (description[name] for name in ("columns", "n_features_in", "about"))
        return cls(parameters, fitted, *kept)

    def write(self, path: str | Path) -> None:
        """The file, by all processes that share out the rows; the first one writes it."""
        group = self.fitted.group
        with together(group):
            description, arrays = self._state()
        arrays = {name: narrowed(a, group) if name in BY_NODE else a for name, a in arrays.items()}
        save_tensors(path, "model", description, arrays, by_node=BY_NODE, group=group)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """A description for JSON, and arrays."""
        fitted, arrays = fitted_state(self.fitted)
        parameters = dict(self.parameters)
        if self.fitted.nodes.kind == "given":
            parameters["graph"] = None
        for name in BY_CLASS:
            if isinstance(parameters[name], dict):  # JSON would make text of its keys
                parameters[name] = list(parameters[name].items())
        description = {
            "parameters": {name: plain(name, value) for name, value in parameters.items()},
            **fitted,
            "columns": self.columns,
            "n_features_in": self.n_columns,
            "about": _as_about(self.about),
        }
        return description, arrays


def fitted_state(fitted: FittedModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """As a description for JSON, and arrays (docs/file_format.md)."""
    nodes, ensemble, scaling, smoothing = fitted.nodes, fitted.ensemble, fitted.scaling, fitted.smoothing
    scores, places, held, first = scaling.normal_scores, fitted.places, fitted.held_away, fitted.first
    cloud = nodes if isinstance(nodes, CloudNodes) else None
    rows = None  # at which a spectrum is evaluated anew
    if nodes.kind != "given":
        rows = fitted.spectrum.n_nodes if nodes.graph is None else nodes.graph.n_total
    spectrum, own = fitted.spectrum.state(without=rows)
    arrays = {f"spectrum.{name}": array for name, array in own.items()}
    for expert in ensemble.experts.values():  # those of a first look are among them
        arrays |= expert.state()
    arrays |= {"shift": scaling.shift, "scale": scaling.scale}
    arrays |= {"priors": fitted.priors, "opinions": ensemble.exponents}
    if ensemble.away is not None and places is not None:
        arrays["away"] = np.array(list(ensemble.away.values()))
        arrays |= {"places": places.points, "places.cells": places.cells}
    if held is not None:
        arrays |= {"held_away": np.stack([held.recalls, held.places]), "held_away.codes": held.codes}
    if first is not None:
        arrays["first"] = first.trees.exponents
        arrays |= {f"first.{name}": array for name, array in first.around.state().items()}
    if scores is not None:
        arrays |= {"ranks.knots": scores.knots, "ranks.scores": scores.scores}
    if smoothing.around is not None:
        arrays |= {f"around.{name}": array for name, array in smoothing.around.state().items()}
    if cloud is not None and cloud.pyramid is not None:
        arrays |= cloud.pyramid.state()
    if fitted.conformal is not None:
        arrays |= fitted.conformal.state()
    if nodes.kind == "given":
        arrays["features"] = nodes.features.toarray() if sp.issparse(nodes.features) else nodes.features
    some = {
        "held_away.odds": None if held is None else held.odds,
        "trained": smoothing.trained,
        "factors": smoothing.factors,
        # of a large scan the classes alone
        "transduction": None if cloud is None else fitted.transduction,
        "transduction_proba": fitted.transduction_proba if cloud is None else None,
    }
    arrays |= {name: array for name, array in some.items() if array is not None}
    description = {
        "classes": plain("classes_", fitted.classes),
        "classes_dtype": fitted.classes.dtype.str if fitted.classes.dtype != object else "object",
        "nodes": {"kind": nodes.kind, **nodes.state()},
        "spectrum": spectrum,
        "depth": fitted.networks.depth,
        "members": ensemble.members,
        "n_extra": scaling.n_extra,
        "spread": scaling.spread,
        "neighbours": smoothing.neighbours,
        "averaged_over": smoothing.cell,
        "rounds": [smoothing.rounds, smoothing.away_rounds],
        "away_power": smoothing.away_power,
        "reach": None if places is None else [places.reach, places.level],
        "estimate": None if fitted.estimate is None else fitted.estimate.as_dict(),
        "sigma": fitted.sigma,
        "timings": fitted.seconds,
    }
    return description, arrays


def fitted_from_state(
    description: dict[str, Any], arrays: dict[str, np.ndarray], *, dropout: float, filters: Any
) -> FittedModel:
    """From what ``fitted_state`` gave, with the number of columns of X as "n_features_in" in the description;
    ``dropout`` and ``filters`` are those of its networks."""
    spectrum = Spectrum.from_state(description["spectrum"], arrays_after("spectrum.", arrays))
    check_shapes(description, arrays, spectrum)
    around = each = scores = None
    if description["neighbours"] is not None:
        cell, kept = description["averaged_over"], arrays_after("around.", arrays)
        around = Averages.from_state(cell, kept)
        if "sets.sums" in arrays:  # the same points in the same cells
            each = Averages.from_state(cell, kept | {"sums": arrays["sets.sums"]})
    if "ranks.knots" in arrays:
        scores = NormalScores(arrays["ranks.knots"], arrays["ranks.scores"])
    proba, saved, told = arrays.get("transduction_proba"), description["nodes"], description["estimate"]
    nodes = KINDS[saved["kind"]].from_state(saved, arrays)
    ensemble, first = _ensemble(description, arrays, nodes, spectrum, dropout, filters)
    places, held_away = _places(description, arrays)
    here, elsewhere = description["rounds"]
    smoothing = Smoothing(
        description["neighbours"], description["averaged_over"], around, arrays.get("factors"),
        here, elsewhere, arrays.get("trained"), description["away_power"],
    )  # fmt: skip
    return FittedModel(
        classes=np.array(description["classes"], dtype=description["classes_dtype"]),
        nodes=nodes,
        spectrum=spectrum,
        scaling=InputScaling(
            arrays["shift"], arrays["scale"], description["n_extra"], scores, description["spread"]
        ),
        ensemble=ensemble,
        smoothing=smoothing,
        conformal=PredictionSets.from_state(arrays, each),
        priors=arrays["priors"],
        transduction=arrays["transduction"].astype(np.int64) if proba is None else proba.argmax(axis=1),
        transduction_proba=proba,
        sigma=description.get("sigma"),
        seconds=description["timings"],
        places=places,
        estimate=None if told is None else AccuracyEstimate(**told),
        held_away=held_away,
        first=first,
    )


def _ensemble(
    description: dict[str, Any],
    arrays: dict[str, np.ndarray],
    nodes: Nodes,
    spectrum: Spectrum,
    dropout: float,
    filters: Any,
) -> tuple[Ensemble, FirstLook | None]:
    """The experts of a saved model, in the order of the opinions in its file; those of a first look apart."""
    members, lattice = description["members"], nodes.lattice if isinstance(nodes, CloudNodes) else None
    seen = wider = len(arrays["shift"])  # columns that trees see
    if isinstance(nodes, TableNodes):
        seen = len(nodes.columns(description["n_extra"]).number)
    if lattice is not None:
        seen = len(lattice.names) + description["n_extra"]
        wider = seen + context_width(lattice.levels) * len(description["classes"])
    found: dict[str, Expert | None] = {}
    forests = dict.fromkeys((pool.FOREST, pool.TREES, *PLACE_FREE), seen) | {pool.CONTEXT_TREES: wider}
    for name, width in forests.items():
        sound = partial(Forest.from_state, width)
        found[name] = Forests.from_state(arrays, sound, members=members, name=name)
    for name, kind in {pool.LINEAR: Linear, pool.KERNEL: KernelMachine}.items():
        found[name] = ByValues.from_state(arrays, kind, members=members, name=name)
    found[pool.DIFFUSION] = Diffusion.from_state(arrays)
    others = {name: expert for name, expert in found.items() if expert is not None}
    options = {"depth": description["depth"], "dropout": dropout, "filters": filters}
    each = [arrays_after(of_member(number), arrays) for number in range(members)]
    networks = Networks([TrainedNetwork.from_state(a, spectrum, **options) for a in each], bool(others))
    first = None
    if "first" in arrays and lattice is not None:
        weights = dict(zip(PLACE_FREE, arrays["first"].tolist(), strict=True))
        cells = Averages.from_state(lattice.cell, arrays_after("first.", arrays), levels=lattice.levels)
        trees = Ensemble(members, {name: others[name] for name in weights}, weights)
        first = FirstLook(trees, lattice, cells)
    experts: dict[str, Expert] = {NETWORK: networks, **others}
    away = None
    if "away" in arrays:
        free = [name for name in (*PLACE_FREE, pool.CONTEXT_TREES) if name in others]
        away = dict(zip(free, arrays["away"].tolist(), strict=True))
    weights = dict(zip(experts, arrays["opinions"].tolist(), strict=True))
    return Ensemble(members, experts, weights, away), first


def _places(
    description: dict[str, Any], arrays: dict[str, np.ndarray]
) -> tuple[LabelledPlaces | None, HeldOutRecalls | None]:
    """Of a scan, where its labels lie, and how labels of other scans or of blocks held out did."""
    places = away = None
    if "places" in arrays:
        lattice = Lattice(description["nodes"]["cell"], description["nodes"]["levels"])
        cells, (reach, level) = arrays["places.cells"].astype(np.int64), description["reach"]
        places = LabelledPlaces(arrays["places"], reach, lattice, level, cells)
    if "held_away" in arrays:
        (recalls, separate), codes = arrays["held_away"], arrays["held_away.codes"].astype(np.int64)
        away = HeldOutRecalls(recalls, separate, codes, arrays.get("held_away.odds"))
    return places, away


def narrowed(array: np.ndarray, group: Group) -> np.ndarray:
    """Whole numbers of nodes and cells in as few bits as those of all processes need."""
    if array.dtype.kind != "i":
        return array
    least, most = group.smallest(int(array.min(initial=0))), group.largest(int(array.max(initial=0)))
    # of a type that has negative numbers where there are some
    widest = max(int(most), -1 - int(least))
    return array.astype(np.min_scalar_type(-1 - widest if least < 0 else widest))


def _as_about(about: Any) -> dict[str, Any] | None:
    """What is told about a model, if JSON gives back the same."""
    if about is None:
        return None
    kept = plain("about", about) if isinstance(about, dict) else None
    if kept is None or set(kept) != set(about):
        raise ParameterError(f"about must be a dict with text as keys, or None. Got {about!r} instead.")
    return kept
