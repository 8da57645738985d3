"""A classifier's file: its parameters, its columns, and the fitted model (docs/file_format.md)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pinvgcn.distributed.group import Group
from pinvgcn.errors import ParameterError
from pinvgcn.fitting.fitted_model import FittedModel
from pinvgcn.io.tensors import plain

BY_CLASS = ("class_weight", "priors")  # parameters that may be a dict with classes as keys
BY_NODE = {  # arrays with a row for each node or cell of a process, and the axis of these
    "spectrum.basis": 0,
    "transduction_proba": 0,
    "transduction": 0,
    "features": 0,
    "sets.above": 0,
    "sets.sums": 0,
    **dict.fromkeys(("around.keys", "around.counts", "around.sums"), 0),
    **dict.fromkeys(("first.keys", "first.counts", "first.sums"), 0),
    **dict.fromkeys(("shapes.keys", "shapes.first", "shapes.second", "shapes.height"), 0),
}


class SavedModel(NamedTuple):
    """What a file has of a classifier."""

    parameters: dict[str, Any]  # of the constructor
    fitted: FittedModel
    columns: list[str]  # the names of the columns of X, if they have names
    n_columns: int | None
    about: dict[str, Any] | None  # what was told about it

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, np.ndarray]) -> SavedModel:
        """From what ``state`` gave."""
        parameters = dict(description["parameters"])
        for name in BY_CLASS:
            if isinstance(parameters[name], list):
                parameters[name] = dict(parameters[name])
        fitted = FittedModel.from_state(
            description, arrays, dropout=parameters["dropout"], filters=parameters["filters"]
        )
        return cls(
            parameters, fitted, description["columns"], description["n_features_in"], description.get("about")
        )

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """A description for JSON, and arrays."""
        fitted, arrays = self.fitted.state()
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


def _as_about(about: Any) -> dict[str, Any] | None:
    """What is told about a model, if JSON gives back the same."""
    if about is None:
        return None
    kept = plain("about", about) if isinstance(about, dict) else None
    if kept is None or set(kept) != set(about):
        raise ParameterError(f"about must be a dict with text as keys, or None. Got {about!r} instead.")
    return kept
