"""PinvGCN as a method like the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pinvgcn.experiments.task import Answer, Kind, Prepared, Task
from pinvgcn.report.learned import mean_weights

GRAPHS: dict[Kind, str] = {"points": "gaussian", "table": "categorical"}


@dataclass(frozen=True)
class Pinv:
    """The classifier with its own defaults, or with those of the paper, apart from ``settings``."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = "pinvgcn"
    title: str = "PinvGCN"
    description: str = "Joins all rows into one graph and lets the few labels travel along it."
    paper: bool = False

    def prepare(self, task: Task) -> Prepared:
        """Make the graph, its spectrum and the first layer's products."""
        from pinvgcn.estimator import PinvGCNClassifier
        from pinvgcn.repeated_fits import SharedRows

        make: Callable[..., PinvGCNClassifier] = PinvGCNClassifier.paper if self.paper else PinvGCNClassifier
        settings = {"geometry": "auto" if task.surroundings else False, **self.settings}
        # of a table, the classifier's own defaults begin with its hyperedges: the paper's are not given to it
        given = None if task.kind == "table" and not self.paper else task.graph
        model = make(GRAPHS[task.kind] if given is None else given, **settings)
        # the features of a table are its incidences, which a hypergraph that is given has itself
        X = None if task.kind == "table" and given is not None else task.X
        return PreparedPinv(SharedRows(model, X, features=task.extra))


@dataclass(frozen=True)
class PreparedPinv:
    """One graph and one spectrum for any number of trainings."""

    rows: Any  # pinvgcn.repeated_fits.SharedRows

    @property
    def seconds(self) -> dict[str, float]:
        """Graph, spectrum, and the part of training that does not depend on labels."""
        return dict(self.rows.prepared.seconds)

    @property
    def facts(self) -> dict[str, Any]:
        """What is known about the spectrum."""
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
        model = self.rows.fit(labels, random_state=seed)
        elapsed = time.perf_counter() - start
        training = float(model.timings_["training"] - self.rows.prepared.seconds["training"])
        # what fit spends outside of training (reading the labels) is not hidden
        seconds = {"training": training, "other": max(0.0, elapsed - training)}
        weights = {part: round(size, 5) for part, size in mean_weights(model).items()}
        codes = np.asarray(model.transduction_)
        return Answer(codes=codes, seconds=seconds, model=model, facts={"weights": weights})
