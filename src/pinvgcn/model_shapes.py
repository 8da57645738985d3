"""Every array of a saved model has the shape that docs/file_format.md says, or the file is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvgcn.errors import ModelFileError
from pinvgcn.io.shapes import Shapes
from pinvgcn.spectra import IncidenceExtension, KernelExtension, Spectrum

# n rows of training, k basis values of each, m classes, j members, N inputs of the network, d coordinates
OF_A_MODEL = {
    "shift": "N",
    "scale": "N",
    "transduction_proba": "n m",
    "node_proba": "n m",
    "factors": "m",
    "priors": "m",
    "opinions": "o",
    "loss_curve": "epochs",
    "ranks.knots": "q f",
    "ranks.scores": "q f",
    "cloud": "n d",
    "features": "n own",
    "sets.odds": "t",
    "sets.codes": "t",
    "sets.members": "t",
    "sets.above": "n m",
    "sets.node_proba": "j n m",
    "walk.hits": "j a m",
    "walk.doubt": "j",
    "walk.sizes": "2",
    "walk.starts": "starts",
    "walk.values": "v",
}
OF_TREES = {
    "roots": "T", "depths": "T", "feature": "nodes", "threshold": "nodes", "child": "nodes",
    "shares": "nodes m",
}  # fmt: skip


def check_shapes(description: dict[str, Any], arrays: dict[str, np.ndarray], spectrum: Spectrum) -> None:
    """Raise where an array has another shape than the others and the description ask for."""
    members = description.get("members", 1)
    known = {
        "n": spectrum.n_nodes,
        "k": spectrum.basis.shape[1],
        "m": len(description["classes"]),
        "j": members,
        "o": 1 + ("trees.roots" in arrays) + ("walk.hits" in arrays),
    }
    shapes = Shapes(**known)
    extra, kind = description["n_extra"], description["nodes"]["kind"]
    for number in range(members):
        _check_member(shapes, arrays, f"member{number}." if number else "", description["depth"])
    inputs = shapes.known["h0"]
    shapes.known |= {"N": inputs, "own": inputs - extra, "f": extra}
    extension = spectrum.extension
    if kind == "gaussian" and isinstance(extension, KernelExtension):
        dimension = description["n_features_in"]
        if extension.kernel.dimension != dimension:
            raise ModelFileError(
                f"its kernel must be one of {dimension} coordinates. Got {extension.kernel.dimension} "
                "instead; save the model again."
            )
        shapes.known |= {"d": dimension, "f": inputs - dimension}
    if kind == "categorical" and isinstance(extension, IncidenceExtension):
        shapes("spectrum.extension.weights", extension.weights, "own")
    if "walk.hits" in arrays:
        shapes.known |= {"a": len(arrays["walk.starts"]) - 1, "v": int(arrays["walk.starts"].flat[-1])}
    for name, letters in OF_A_MODEL.items():
        if name in arrays:
            shapes(name, arrays[name], letters)
    for name, most in (("sets.codes", "m"), ("sets.members", "j")):
        found = arrays.get(name, np.empty(0))
        if ((found < 0) | (found >= shapes.known[most])).any():
            raise ModelFileError(f"its array {name!r} names what is not there; save the model again.")


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
    trees = Shapes(m=shapes.known["m"])
    for name, letters in OF_TREES.items():
        whole = f"{prefix}trees.{name}"
        if whole in arrays:
            trees(whole, arrays[whole], letters)
