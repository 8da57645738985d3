"""Every array of a saved model has the shape that docs/file_format.md says, or the file is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinvgcn.errors import ModelFileError
from pinvgcn.features.averages import ONE
from pinvgcn.features.lattice import Lattice
from pinvgcn.features.normal_scores import KNOTS
from pinvgcn.fitting.estimate import AccuracyEstimate
from pinvgcn.fitting.table_nodes import TableNodes
from pinvgcn.io.tensors import Shapes
from pinvgcn.spectra import IncidenceExtension, KernelExtension, Spectrum

# n rows of training, k basis values of each, m classes, j members, N inputs of the network, d coordinates,
# v columns that experts of a table other than networks see, a anchors of a diffusion with e values
OF_A_MODEL = {
    "shift": "N",
    "scale": "N",
    "transduction_proba": "n m",
    "transduction": "n",
    "factors": "m",
    "priors": "m",
    "opinions": "o",
    "loss_curve": "epochs",
    "ranks.knots": "q f",
    "ranks.scores": "q f",
    "around.keys": "cells 3",
    "around.counts": "cells",
    "around.sums": "cells rm",
    "away": "w",
    "first": "2",
    "first.keys": "c1 3",
    "first.counts": "c1",
    "first.sums": "c1 m",
    "held_away": "2 m",
    "held_away.codes": "t1",
    "held_away.odds": "t1",
    "places": "t0 3",
    "places.cells": "c0 3",
    "trained": "m",
    "shapes.keys": "c 3",
    "shapes.first": "c 4",
    "shapes.second": "c 6",
    "shapes.height": "c 2",
    "features": "n own",
    "sets.odds": "t",
    "sets.codes": "t",
    "sets.members": "t",
    "sets.above": "n m",
    "sets.separate": "m",
    "sets.sums": "cells rjm",
    "diffusion.logs": "j a m",
    "diffusion.sizes": "2",
    "diffusion.starts": "starts",
    "diffusion.columns": "e",
    "diffusion.values": "e",
}
WHOLE = ("shapes.keys", "shapes.first", "shapes.second", "shapes.height", "around.keys", "around.counts",
         "around.sums", "sets.sums", "sets.above", "sets.separate", "transduction", "places.cells",
         "first.keys", "first.counts", "first.sums")  # fmt: skip
# what a scan with trees has, and nothing else has any of it
OF_A_SCAN = ("away", "places", "places.cells", "fine_trees.roots", "wide_trees.roots")
MOST_ROUNDS = 10  # of averages
TINY = np.finfo(float).tiny  # more than nothing
OF_TWO_LOOKS = ("first", "first.keys", "first.counts", "first.sums", "context_trees.roots")
TREES = ("trees", "fine_trees", "wide_trees", "context_trees", "forest")
OF_TREES = {"roots": "T", "feature": "nodes", "threshold": "nodes", "other": "nodes", "shares": "rows m"}
# experts of a table that a member has one model of each, l landmarks
BY_VALUES = {
    "linear": {"slopes": "v m", "offsets": "m"},
    "kernel": {"landmarks": "l v", "scale": "v", "coefficients": "l m", "offsets": "m"},
}
# an array of each expert but the network, in the file of whose model it is
OF_EXPERTS = (
    "forest.roots", "trees.roots", "fine_trees.roots", "wide_trees.roots", "context_trees.roots",
    "linear.offsets", "kernel.offsets", "diffusion.logs",
)  # fmt: skip
OF_A_TABLE = ("forest.", "linear.", "kernel.", "diffusion.")  # what experts of a table alone have


def check_shapes(description: dict[str, Any], arrays: dict[str, np.ndarray], spectrum: Spectrum) -> None:
    """Raise where an array has another shape than the others and the description ask for."""
    _check_numbers(description)
    members, classes, rounds = description["members"], len(description["classes"]), description["rounds"][0]
    shapes = Shapes(
        n=spectrum.n_nodes, k=spectrum.components + spectrum.rank, m=classes, j=members, jm=members * classes,
        o=1 + sum(name in arrays for name in OF_EXPERTS), w=3 if "first" in arrays else 2,
        rm=rounds * classes, rjm=rounds * members * classes,
    )  # fmt: skip
    extra, kind = description["n_extra"], description["nodes"]["kind"]
    for number in range(members):
        _check_member(shapes, arrays, f"member{number}." if number else "", description["depth"])
    inputs = shapes.known["h0"]
    shapes.known |= {"N": inputs, "own": inputs - extra, "f": extra}
    extension = spectrum.extension
    if kind == "gaussian" and isinstance(extension, KernelExtension):
        dimension, own = description["n_features_in"], extension.kernel.dimension
        _must(own == dimension, f"its kernel must be one of {dimension} coordinates. Got {own} instead")
        shapes.known |= {"d": dimension, "f": inputs - dimension}
        _check_cloud(description, arrays, inputs - dimension - extra)
    if kind == "categorical" and isinstance(extension, IncidenceExtension):
        shapes("spectrum.extension.weights", extension.weights, "own")
    _check_knots(arrays)
    _check_table(shapes, description, arrays)
    for name, letters in OF_A_MODEL.items():
        if name in arrays:
            shapes(name, arrays[name], letters)
    _check_places(description, arrays)
    places = {"sets.codes": "m", "held_away.codes": "m", "sets.members": "j", "transduction": "m"}
    for name, most in places.items():
        found = arrays.get(name, np.empty(0))
        there = ((found >= 0) & (found < shapes.known[most])).all()
        _must(there, f"its array {name!r} names what is not there")


def _must(holds: Any, message: str) -> None:
    if not holds:
        raise ModelFileError(f"{message}; save the model again.")


def _check_numbers(description: dict[str, Any]) -> None:
    """How often is averaged, how far inputs spread, and what was estimated."""
    rounds, spread, power = description["rounds"], description["spread"], description["away_power"]
    here, away = rounds
    _must(
        _is_whole(here, 1, MOST_ROUNDS) and _is_whole(away, 0, MOST_ROUNDS),
        f"its rounds must be whole numbers, from 1 and from 0 to {MOST_ROUNDS}. Got {rounds!r} instead",
    )
    sound = _is_number(spread) and 0 < spread < math.inf
    _must(sound, f"its spread must be a positive number. Got {spread!r} instead")
    sound = _is_number(power) and 0 <= power <= 1
    _must(sound, f"its away_power must be from 0 to 1. Got {power!r} instead")
    if description["estimate"] is None:
        return
    told = AccuracyEstimate(**description["estimate"])
    shares = [share for share in (told.accuracy, told.low, told.high) if share is not None]
    texts = [text for text in (told.reason, told.advice) if text is not None]
    _must(
        all(_is_number(share) and 0 <= share <= 1 for share in [*shares, told.coverage])
        and all(isinstance(text, str) for text in [*texts, told.basis]),
        f"its estimate must be shares and text. Got {description['estimate']!r} instead",
    )


def _check_places(description: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Where the place counts, and the weights where it does not."""
    nodes, reach = description["nodes"], description["reach"]
    scan = [name for name in OF_A_SCAN if name in arrays]
    looks = [name for name in OF_TWO_LOOKS if name in arrays]
    whole = not looks or (looks == list(OF_TWO_LOOKS) and scan)
    _must(whole, "it must have all that belongs to a second look, or nothing")
    if not scan and reach is None:
        return
    whole = scan == list(OF_A_SCAN) and reach is not None and "cell" in nodes and nodes["kind"] == "gaussian"
    _must(whole, "it must have all that belongs to a scan with trees, or nothing")
    distance, level = reach
    sound = _is_number(distance) and distance >= 0 and _is_whole(level, 0, nodes["levels"] - 1)
    wanted = f"a distance and a level below {nodes['levels']}"
    _must(sound, f"its reach must be {wanted}. Got {reach!r} instead")
    for name, least, most in (  # recalls are shares, beside them are counts of places
        ("away", TINY, np.inf), ("first", TINY, np.inf), ("held_away", 0.0, [[1.0], [np.inf]]),
        ("places", -np.inf, np.inf), ("places.cells", -np.inf, np.inf), ("trained", TINY, 1.0),
    ):  # fmt: skip
        array = arrays.get(name, np.ones(1))
        known = array.dtype.kind in "fiu" and array.size > 0 and np.isfinite(array).all()
        sound = known and (array >= least).all() and (array <= most).all()
        _must(sound, f"its array {name!r} does not hold what it should")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _is_whole(value: Any, least: int, most: float) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _check_cloud(description: dict[str, Any], arrays: dict[str, np.ndarray], shapes: int) -> None:
    """What compiled loops rely on, and what sums over cells can be; inputs have so many local ``shapes``."""
    nodes, k = description["nodes"], description["neighbours"]
    fixed = Lattice(nodes["cell"], nodes["levels"]).fixed if "cell" in nodes else 0
    _must(shapes == fixed, f"its network must see the shapes of its cells. Got {shapes} of them")
    sound = k is None or _is_whole(k, 1, math.inf)
    _must(sound, f"its neighbours must be a whole number, 1 or more. Got {k!r} instead")
    for name in WHOLE:
        whole = name not in arrays or arrays[name].dtype.kind in "iu"
        _must(whole, f"its array {name!r} must be whole numbers")
    counts, first = (arrays.get(f"{name}.counts", np.ones(1))[:, None] for name in ("around", "first"))
    wrong = {
        "shapes.first": (arrays.get("shapes.first", np.ones((1, 1)))[:, 0] < 1).any(),
        "shapes.height": (np.diff(arrays.get("shapes.height", np.zeros((1, 2)))) < 0).any(),
        "around.counts": (counts < 1).any(),
        "around.sums": _beyond(arrays.get("around.sums"), counts),
        "first.counts": (first < 1).any(),
        "first.sums": _beyond(arrays.get("first.sums"), first),
        "sets.sums": _beyond(arrays.get("sets.sums"), counts)
        or (k is not None and "sets.odds" in arrays and "sets.sums" not in arrays),
    }
    for name, bad in wrong.items():
        _must(not bad, f"its array {name!r} cannot be sums over cells")


def _check_knots(arrays: dict[str, np.ndarray]) -> None:
    """Of normal scores."""
    knots, scores = arrays.get("ranks.knots", np.zeros((1, 0))), arrays.get("ranks.scores", np.zeros((1, 0)))
    numbers = knots.dtype.kind == scores.dtype.kind == "f" and np.isfinite(scores).all()
    rising = numbers and len(knots) <= KNOTS and (np.diff(knots, axis=0) >= 0).all()
    _must(rising, "its array 'ranks.knots' must rise")


def _beyond(sums: np.ndarray | None, counts: np.ndarray) -> bool:
    """Whether they are no sums of so many probabilities."""
    return sums is not None and bool(((sums < 0) | (sums > counts * ONE)).any())


def _check_table(shapes: Shapes, description: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """What is seen of the rows of a table, and the experts that see it."""
    nodes, extra = description["nodes"], description["n_extra"]
    found = [name for name in arrays if _of_first(name).startswith(OF_A_TABLE)]
    if nodes["kind"] != "categorical":
        _must(not found, f"its array {next(iter(found), '')!r} must belong to a table")
        return
    flag = nodes["numbers"]
    _must(isinstance(flag, bool), f"its numbers must be true or false. Got {flag!r} instead")
    table = TableNodes.from_state(nodes, arrays)
    own, numbers = len(table.encoder.edge_columns), len(table.encoder.number_columns) * table.with_numbers
    wanted = f"{shapes.known['own']} values and {extra} numbers or fewer"
    sound = own == shapes.known["own"] and numbers <= extra
    _must(sound, f"its table must have {wanted}. Got {own} and {numbers} instead")
    shapes.known["v"] = width = len(table.columns(extra).number)
    for number in range(description["members"]):
        prefix = f"member{number}." if number else ""
        for expert, letters_of in BY_VALUES.items():
            if f"{expert}.offsets" not in arrays:
                continue
            own_shapes = Shapes(m=shapes.known["m"], v=width)
            for name, letters in letters_of.items():
                own_shapes(f"{prefix}{expert}.{name}", arrays[f"{prefix}{expert}.{name}"], letters)
    if "diffusion.logs" in arrays:
        shapes.known["a"] = len(arrays["diffusion.starts"]) - 1
        sizes = shapes("diffusion.sizes", arrays["diffusion.sizes"], "2")
        sound = sizes.dtype.kind in "iu" and sizes[1] == width
        _must(sound, f"its diffusion must see {width} columns. Got {sizes[1]} instead")
    for name in found:
        array, kinds = arrays[name], "iu" if name.endswith((".sizes", ".starts", ".columns")) else "f"
        sound = array.dtype.kind in kinds and np.isfinite(array).all()
        sound = sound or _of_first(name).startswith("forest.")
        _must(sound, f"its array {name!r} does not hold what it should")


def _of_first(name: str) -> str:
    """The name of an array of any member without that of the member."""
    member, _, rest = name.partition(".")
    return rest if member.startswith("member") and member[6:].isdecimal() else name


def _check_member(shapes: Shapes, arrays: dict[str, np.ndarray], prefix: str, depth: int) -> None:
    """Layer d is from h_d to h_(d + 1), the last one to the classes; all members are alike."""
    shapes.known[f"h{depth}"] = shapes.known["m"]
    for d in range(depth):
        before, after = f"h{d}", f"h{d + 1}"
        for name, letters in {
            f"layer{d}.direct": f"{before} {after}",
            f"layer{d}.spectral": f"k {after}",
            f"layer{d}.bias": after,
            f"weights{d}": f"parts {before} {after}",
            f"bias{d}": after,
        }.items():
            shapes(prefix + name, arrays[prefix + name], letters)
    for expert in TREES:
        trees = Shapes(m=shapes.known["m"])
        for name, letters in OF_TREES.items():
            whole = f"{prefix}{expert}.{name}"
            if whole in arrays:
                trees(whole, arrays[whole], letters)
