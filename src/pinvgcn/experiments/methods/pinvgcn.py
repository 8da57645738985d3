"""PinvGCN as a method like the others, and in the settings that the reproduction compares.

============  ==================================================================================
"paper"       what the paper says: no loops, coordinates as they are, eigenvectors to 1e-3 (found by the
              solvers of this package, which return none that does not stand out from rounding)
"corrected"   loops of weight 1, centred coordinates, accurate eigenvectors
"default"     the defaults of this package, on coordinates alone like all others
============  ==================================================================================

On hypergraphs and networks, whose loops and features are given, only the first and the last differ.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.experiments.methods.networks import LEARNING_RATE, Coordinates, OneAdam, Training
from pinvgcn.experiments.task import Answer, Kind, PreparedMethod, Task
from pinvgcn.fitting.prepared import Prepared
from pinvgcn.repeated_fits import SharedRows

OURS = "pinvgcn"  # the method in its own defaults, among others
GRAPHS: dict[Kind, str] = {"points": "gaussian", "table": "categorical"}


@dataclass(frozen=True)
class PinvMethod:
    """The classifier with its own defaults, or with those of the paper, apart from ``settings``."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = OURS
    title: str = "PinvGCN"
    description: str = "Joins all rows into one graph and lets the few labels travel along it."
    paper: bool = False
    training: Training = "text"
    coordinates: Coordinates = "raw"

    def prepare(self, task: Task) -> PreparedMethod:
        """Make the graph, its spectrum and the first layer's products, which both ways to train share."""
        key = (self.paper, self.coordinates, *sorted(self.settings.items()))
        rows = task.shared(key, lambda: self._rows(task))
        if self.training == "text":
            return PreparedPinv(rows)
        return PreparedPinv(self._rows(task, rows.prepared, learning_rate=LEARNING_RATE), OneAdam())

    def _rows(self, task: Task, kept: Prepared | None = None, **more: float) -> SharedRows:
        make: Callable[..., PinvGCNClassifier] = PinvGCNClassifier.paper if self.paper else PinvGCNClassifier
        settings = {"geometry": "auto" if task.surroundings else False, **self.settings, **more}
        settings |= {"scaling": "centre"} if self.coordinates == "centred" else {}
        # of a table, the classifier's own defaults begin with its hyperedges: the paper's are not given to it
        given = None if task.kind == "table" and not self.paper else task.graph
        model = make(GRAPHS[task.kind] if given is None else given, **settings)
        # the features of a table are its incidences, which a hypergraph that is given has itself
        X = None if task.kind == "table" and given is not None else task.X
        return SharedRows(model, X, features=task.extra, kept=kept)


@dataclass(frozen=True)
class PreparedPinv:
    """One graph and one spectrum for any number of trainings."""

    rows: SharedRows
    one_adam: OneAdam | None = None  # for all runs

    @property
    def seconds(self) -> dict[str, float]:
        """Graph, spectrum, and the part of training that does not depend on labels."""
        return dict(self.rows.prepared.seconds)

    @property
    def facts(self) -> dict[str, Any]:
        spectrum = self.rows.prepared.spectrum
        return {
            "solver": str(spectrum.solver),
            "rank": int(spectrum.rank),
            "components": int(spectrum.components),
            "eigengap": round(float(spectrum.eigengap), 6),
        }

    def answer(self, labels: np.ndarray, seed: int) -> Answer:
        """Fit on all rows and the few labels; the answer is the transduction."""
        start = time.perf_counter()
        with nullcontext() if self.one_adam is None else self.one_adam():
            model = self.rows.fit(labels, random_state=seed)
        elapsed = time.perf_counter() - start
        training = float(model.timings_["training"] - self.rows.prepared.seconds["training"])
        # what fit spends outside of training (reading the labels) is not hidden
        seconds = {"training": training, "other": max(0.0, elapsed - training)}
        weights = {part: round(size, 5) for part, size in mean_weights(model).items()}
        codes = np.asarray(model.transduction_)
        return Answer(codes=codes, seconds=seconds, model=model, facts={"weights": weights})


Setting = Literal["paper", "corrected", "default"]
APART: dict[Setting, dict[str, Any]] = {  # from the paper's settings, or the package's own
    "paper": {},
    "corrected": {"loops": 1.0, "scaling": "centre", "tolerance": None},
    "default": {"geometry": False},
}
FILTERS = {"no-high-pass": " without high-pass", "low-rank": " without high-pass, γ = 0"}  # in titles


def pinv(
    setting: Setting = "paper",
    *,
    sigma: float | None = None,
    rank: int | None = None,
    filters: str = "three-part",
) -> PinvMethod:
    """A method whose name tells its settings; ``rank`` None is the largest that exists."""
    settings = dict(APART[setting])
    name = ["pinvgcn", setting]
    title = "PinvGCN"
    if sigma is not None:
        settings["sigma"] = sigma
        name.append(f"sigma={sigma:g}")
        title += f", σ = {sigma:g}"
    if rank is not None:
        settings["rank"] = rank
        name.append(f"rank={rank}")
        title += f", r = {rank}"
    if filters != "three-part":
        settings["filters"] = filters
        name.append(filters)
        title += FILTERS[filters]
    if setting != "paper":
        title += f" ({setting})"
    return PinvMethod(settings, name=" ".join(name), title=title, paper=setting != "default")


def mean_weights(model: PinvGCNClassifier) -> dict[str, float]:
    """μ_k = 1/L Σ_l mean |W⁽ˡ'ᵏ⁾|: how much a fitted ``PinvGCNClassifier`` uses each part of its filters."""
    weights = [layer.weights.detach().cpu().double().numpy() for layer in model.network_.layers]
    sizes = np.mean([np.abs(one).mean(axis=(1, 2)) for one in weights], axis=0)
    return dict(zip(model.network_.filter_basis.names, sizes.tolist(), strict=True))
