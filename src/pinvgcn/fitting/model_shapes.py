"""Every array of a saved model has the shape and the numbers that docs/file_format.md says, or the file is
refused: compiled loops do not look where they read."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from pinvgcn.errors import ModelFileError
from pinvgcn.experts.seen import of_member
from pinvgcn.features.averages import ONE
from pinvgcn.features.lattice import Lattice
from pinvgcn.features.normal_scores import KNOTS
from pinvgcn.fitting.estimate import AccuracyEstimate
from pinvgcn.fitting.table_nodes import TableNodes
from pinvgcn.io.tensors import Shapes
from pinvgcn.spectra import IncidenceExtension, KernelExtension, Spectrum


class Holds(NamedTuple):
    """What an array must be: its sizes by name, and the least and the largest of its numbers."""

    shape: str
    least: float | None = None  # None where infinite ones are welcome
    most: float | str = math.inf  # or the name of a size, which is one more
    whole: bool = False


TINY = float(np.finfo(float).tiny)  # more than nothing
ANY = -math.inf  # any finite number
PLACE, COUNT = (ANY, math.inf, True), (1, math.inf, True)
# n rows of training, k basis values of each, m classes, j members, N inputs of the network, d coordinates,
# a anchors of a diffusion with e values, v columns that experts of a table other than networks see
OF_A_MODEL = {
    "shift": Holds("N"),
    "scale": Holds("N"),
    "transduction_proba": Holds("n m"),
    "transduction": Holds("n", 0, "m", whole=True),
    "factors": Holds("m"),
    "priors": Holds("m"),
    "opinions": Holds("o"),
    "loss_curve": Holds("epochs"),
    "ranks.knots": Holds("q f"),
    "ranks.scores": Holds("q f", ANY),
    "around.keys": Holds("cells 3", *PLACE),
    "around.counts": Holds("cells", *COUNT),
    "around.sums": Holds("cells rm", 0, whole=True),
    "away": Holds("w", TINY),
    "first": Holds("2", TINY),
    "first.keys": Holds("c1 3", *PLACE),
    "first.counts": Holds("c1", *COUNT),
    "first.sums": Holds("c1 m", 0, whole=True),
    "held_away": Holds("2 m", 0),
    "held_away.codes": Holds("t1", 0, "m", whole=True),
    "held_away.odds": Holds("t1"),
    "places": Holds("t0 3", ANY),
    "places.cells": Holds("c0 3", *PLACE),
    "trained": Holds("m", TINY, 1.0),
    "shapes.keys": Holds("c 3", *PLACE),
    "shapes.first": Holds("c 4", *PLACE),
    "shapes.second": Holds("c 6", *PLACE),
    "shapes.height": Holds("c 2", *PLACE),
    "features": Holds("n own"),
    "sets.odds": Holds("t"),
    "sets.codes": Holds("t", 0, "m", whole=True),
    "sets.members": Holds("t", 0, "j", whole=True),
    "sets.above": Holds("n m", *PLACE),
    "sets.separate": Holds("m", *PLACE),
    "sets.sums": Holds("cells rjm", 0, whole=True),
    "diffusion.logs": Holds("j a m", ANY),
    "diffusion.sizes": Holds("2", *PLACE),
    "diffusion.starts": Holds("starts", *PLACE),
    "diffusion.columns": Holds("e", *PLACE),
    "diffusion.values": Holds("e", ANY),
}
TREES = {name: Holds("nodes") for name in ("feature", "threshold", "other")}
TREES |= {"roots": Holds("T"), "shares": Holds("rows m")}
# experts of which each member has one, l landmarks; the arrays of trees, which lead from node to node, are
# looked at where they are read
OF_A_MEMBER = dict.fromkeys(("forest", "trees", "fine_trees", "wide_trees", "context_trees"), TREES) | {
    "linear": {"slopes": Holds("v m", ANY), "offsets": Holds("m", ANY)},
    "kernel": {
        "landmarks": Holds("l v", ANY), "scale": Holds("v", ANY), "coefficients": Holds("l m", ANY),
        "offsets": Holds("m", ANY),
    },
}  # fmt: skip
OF_A_TABLE = ("forest.", "linear.", "kernel.", "diffusion.")  # what experts of a table alone have
# what a scan with trees has, and nothing else has any of it
OF_A_SCAN = ("away", "places", "places.cells", "fine_trees.roots", "wide_trees.roots")
OF_TWO_LOOKS = ("first", "first.keys", "first.counts", "first.sums", "context_trees.roots")
MOST_ROUNDS = 10  # of averages


def check_shapes(description: dict[str, Any], arrays: dict[str, np.ndarray], spectrum: Spectrum) -> None:
    """Raise where an array has another shape than the others and the description ask for."""
    _check_numbers(description)
    members, classes, rounds = description["members"], len(description["classes"]), description["rounds"][0]
    experts = {name.partition(".")[0] for name in arrays} & {*OF_A_MEMBER, "diffusion"}
    shapes = Shapes(
        n=spectrum.n_nodes, k=spectrum.components + spectrum.rank, m=classes, j=members, jm=members * classes,
        o=1 + len(experts), w=3 if "first" in arrays else 2,
        rm=rounds * classes, rjm=rounds * members * classes,
    )  # fmt: skip
    extra, kind = description["n_extra"], description["nodes"]["kind"]
    for number in range(members):
        _check_network(shapes, arrays, of_member(number), description["depth"])
    inputs = shapes.known["h0"]
    shapes.known |= {"N": inputs, "own": inputs - extra, "f": extra}
    extension = spectrum.extension
    if kind == "gaussian" and isinstance(extension, KernelExtension):
        dimension, own = description["n_features_in"], extension.kernel.dimension
        _must(own == dimension, f"its kernel must be one of {dimension} coordinates. Got {own} instead")
        shapes.known |= {"d": dimension, "f": inputs - dimension}
        nodes = description["nodes"]
        fixed = Lattice(nodes["cell"], nodes["levels"]).fixed if "cell" in nodes else 0
        measured = inputs - dimension - extra
        _must(measured == fixed, f"its network must see the shapes of its cells. Got {measured} of them")
    if kind == "categorical" and isinstance(extension, IncidenceExtension):
        shapes("spectrum.extension.weights", extension.weights, "own")
    _check_table(shapes, description, arrays)
    common = {name: size for name, size in shapes.known.items() if name in ("m", "v")}
    for number in range(members):
        for expert, wanted in OF_A_MEMBER.items():
            own_shapes = Shapes(**common)
            begin = f"{of_member(number)}{expert}."
            if any(name.startswith(begin) for name in arrays):
                for name, holds in wanted.items():
                    _check_array(own_shapes, begin + name, arrays[begin + name], holds)
    for name, holds in OF_A_MODEL.items():
        if name in arrays:
            _check_array(shapes, name, arrays[name], holds)
    _check_cells(description, arrays)
    _check_places(description, arrays)


def _must(holds: Any, message: str) -> None:
    if not holds:
        raise ModelFileError(f"{message}; save the model again.")


def _check_array(shapes: Shapes, name: str, array: np.ndarray, holds: Holds) -> None:
    shapes(name, array, holds.shape)
    _must(array.dtype.kind in ("iu" if holds.whole else "fiu"), f"its array {name!r} must hold numbers")
    if isinstance(holds.most, str):
        there = ((array >= holds.least) & (array < shapes.known[holds.most])).all()
        _must(there, f"its array {name!r} names what is not there")
    elif holds.least is not None:
        sound = np.isfinite(array).all() and (array >= holds.least).all() and (array <= holds.most).all()
        _must(sound, f"its array {name!r} does not hold what it should")


def _check_network(shapes: Shapes, arrays: dict[str, np.ndarray], prefix: str, depth: int) -> None:
    """Layer d is from h_d to h_(d + 1), the last one to the classes; all members are alike."""
    shapes.known[f"h{depth}"] = shapes.known["m"]
    for d in range(depth):
        before, after = f"h{d}", f"h{d + 1}"
        wanted = {f"layer{d}.direct": f"{before} {after}", f"layer{d}.spectral": f"k {after}"}
        wanted |= {f"weights{d}": f"parts {before} {after}", f"layer{d}.bias": after, f"bias{d}": after}
        for name, letters in wanted.items():
            shapes(prefix + name, arrays[prefix + name], letters)


def _check_numbers(description: dict[str, Any]) -> None:
    """How often and over how many is averaged, how far inputs spread, and what was estimated."""
    rounds, spread, power = description["rounds"], description["spread"], description["away_power"]
    (here, away), k = rounds, description["neighbours"]
    sound = _is_whole(here, 1, MOST_ROUNDS) and _is_whole(away, 0, MOST_ROUNDS)
    wanted = f"whole numbers, from 1 and from 0 to {MOST_ROUNDS}"
    _must(sound, f"its rounds must be {wanted}. Got {rounds!r} instead")
    sound = k is None or _is_whole(k, 1, math.inf)
    _must(sound, f"its neighbours must be a whole number, 1 or more. Got {k!r} instead")
    sound = _is_number(spread) and 0 < spread < math.inf
    _must(sound, f"its spread must be a positive number. Got {spread!r} instead")
    _must(_is_share(power), f"its away_power must be from 0 to 1. Got {power!r} instead")
    if description["estimate"] is None:
        return
    told = AccuracyEstimate(**description["estimate"])
    shares = [share for share in (told.accuracy, told.low, told.high) if share is not None]
    texts = [text for text in (told.reason, told.advice) if text is not None]
    sound = all(map(_is_share, [*shares, told.coverage]))
    sound &= all(isinstance(text, str) for text in [*texts, told.basis])
    _must(sound, f"its estimate must be shares and text. Got {description['estimate']!r} instead")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_whole(value: Any, least: int, most: float) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _check_cells(description: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """What sums over cells can be, and the knots of normal scores."""
    missing = description["neighbours"] is not None and "sets.odds" in arrays and "sets.sums" not in arrays
    wrong = {
        "sets.sums": missing,
        "shapes.first": "shapes.first" in arrays and (arrays["shapes.first"][:, 0] < 1).any(),
        "shapes.height": "shapes.height" in arrays and (np.diff(arrays["shapes.height"]) < 0).any(),
    }
    for sums, counts in {"around": "around", "first": "first", "sets": "around"}.items():
        if f"{sums}.sums" in arrays:
            most = arrays[f"{counts}.counts"][:, None] * ONE
            wrong[f"{sums}.sums"] = (arrays[f"{sums}.sums"] > most).any()
    for name, bad in wrong.items():
        _must(not bad, f"its array {name!r} cannot be sums over cells")
    if "ranks.knots" in arrays:
        knots = arrays["ranks.knots"]
        rising = len(knots) <= KNOTS and np.isfinite(knots).all() and (np.diff(knots, axis=0) >= 0).all()
        _must(rising and knots.dtype.kind == "f", "its array 'ranks.knots' must rise")


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
    for name in ("places", "places.cells"):
        _must(len(arrays[name]), f"its array {name!r} must not be empty")
    recalls = arrays.get("held_away", np.zeros((1, 1)))[0]
    _must((recalls <= 1).all(), "its array 'held_away' must begin with shares")


def _check_table(shapes: Shapes, description: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """What is seen of the rows of a table, and that only a table has experts that see it."""
    nodes, extra = description["nodes"], description["n_extra"]
    if nodes["kind"] != "categorical":
        found = [name for name in arrays if name.startswith(OF_A_TABLE)]
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
    if "diffusion.logs" in arrays:
        shapes.known["a"] = len(arrays["diffusion.starts"]) - 1
        seen = shapes("diffusion.sizes", arrays["diffusion.sizes"], "2")[1]
        _must(seen == width, f"its diffusion must see {width} columns. Got {seen} instead")
