"""A fitted model as a value: it places rows and gives opinions, probabilities and sets of classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from pinvgcn.checks import as_points, check_choice
from pinvgcn.errors import ParameterError
from pinvgcn.experts import Forests, Networks, Seen, Walk
from pinvgcn.experts.member_arrays import arrays_after
from pinvgcn.features.averages import Averages
from pinvgcn.features.normal_scores import NormalScores
from pinvgcn.fitting.conformal import PredictionSets
from pinvgcn.fitting.inputs import InputScaling
from pinvgcn.fitting.model_shapes import check_shapes
from pinvgcn.fitting.nodes import CloudNodes, Nodes, nodes_from_state
from pinvgcn.fitting.plain_values import plain
from pinvgcn.fitting.pool import NETWORK, TREES, WALK, Ensemble, Expert
from pinvgcn.fitting.smoothing import Smoothing
from pinvgcn.graphs.distinct import distinct_rows
from pinvgcn.group import ALONE, Group
from pinvgcn.nn import Basis
from pinvgcn.spectra import Spectrum


@dataclass(frozen=True)
class PlacedRows:
    """m rows as a fitted model sees them."""

    seen: Seen  # of the distinct rows, d of them
    inverse: Any  # which of these each row is: (m,), or slice(None) where all are distinct
    points: np.ndarray | None = None  # (m, 3 or fewer), where probabilities are averaged over neighbours
    among: str = "training"  # the points that surround them: those of "training", or their "own"


@dataclass(frozen=True)
class FittedModel:
    """All that a fit has found, and nothing of how it was asked for.

    Rows are placed first; everything else is asked of placed rows::

        rows = fitted.place(X, features=…, among=…)
        fitted.probabilities(rows)               # (m, classes)
        fitted.sets(rows, coverage=0.9)          # a mask (m, classes)
        fitted.opinions(rows)                    # of each member, by the name of the expert
    """

    classes: np.ndarray  # (classes,)
    nodes: Nodes
    spectrum: Spectrum
    scaling: InputScaling
    ensemble: Ensemble
    smoothing: Smoothing
    conformal: PredictionSets | None  # None where no label was held out
    priors: np.ndarray  # (classes,) the share of each class
    transduction: np.ndarray  # (n,) the class codes of the training rows
    transduction_proba: np.ndarray | None  # (n, classes); a saved model of points does not keep it
    sigma: float | None  # of a Gaussian graph
    seconds: dict[str, float]  # of the stages of the fit

    @property
    def networks(self) -> Networks:
        """The expert "network"."""
        networks = self.ensemble.experts[NETWORK]
        assert isinstance(networks, Networks)
        return networks

    @property
    def group(self) -> Group:
        """The processes that share out the training rows."""
        return ALONE if self.nodes.graph is None else self.nodes.graph.group

    def place(self, X: Any, *, features: Any = None, among: str = "training") -> PlacedRows:
        """What experts see of any rows; what surrounds points is taken ``among`` those of "training", or
        their "own"."""
        check_choice("among", among, ("training", "own"))
        nodes = self.nodes
        if among == "training" and isinstance(nodes, CloudNodes):
            _check_here(nodes, self.smoothing)
        basis, own = nodes.place(X, self.spectrum, among=among)
        points = as_points(X, "X") if isinstance(nodes, CloudNodes) else None
        return self._placed(basis, own, features, points, among)

    def place_points(
        self, points: np.ndarray, V: np.ndarray, *, shapes: np.ndarray | None = None, features: Any = None
    ) -> PlacedRows:
        """What experts see of points (m, d) with known basis values V (m, k + r) and local ``shapes``."""
        own = points if shapes is None else np.hstack([points, shapes])
        return self._placed(Basis(V), own, features, points, "own")

    def _placed(
        self, basis: Basis, own: Any, features: Any, points: np.ndarray | None, among: str
    ) -> PlacedRows:
        """From basis values (m, k + r), the rows' own features and those given beside them."""
        extra = self.scaling.extra_like_in_fit(features, len(basis))
        inputs = self.scaling(own, extra)
        experts = self.ensemble.experts
        seen = Seen(inputs, basis, self.scaling.unranked(inputs, own, extra) if TREES in experts else None)
        inverse: Any = slice(None)
        if sp.issparse(inputs):  # of a table: equal rows have equal scores
            first, inverse, _ = distinct_rows(inputs)
            seen = seen.at(first)
        walk = experts.get(WALK)
        if isinstance(walk, Walk):
            seen = seen._replace(near=walk.near(seen.inputs))
        return PlacedRows(seen, inverse, points, among)

    def opinions(self, rows: PlacedRows) -> Iterator[dict[str, np.ndarray]]:
        """Of each member, the opinion (m, classes) of each expert, by its name."""
        for opinions in self.ensemble.opinions(rows.seen):
            yield {name: own[rows.inverse] for name, own in zip(self.ensemble.names, opinions, strict=True)}

    def probabilities(self, rows: PlacedRows) -> np.ndarray:
        """Of the classes: (m, classes)."""
        scores = self.ensemble.joint(rows.seen)[rows.inverse]
        return self.smoothing(scores, rows.points, rows.among)

    def point_probabilities(self, rows: PlacedRows, *, members: bool = False) -> np.ndarray:
        """Before they are averaged over neighbours: (m, classes); with ``members``, those of each member
        alone stand beside them: (m, (1 + members) · classes)."""
        scores = list(self.ensemble.each(rows.seen))
        told = [self.ensemble.mean(scores)]
        if members:
            told += [self.ensemble.alone * s for s in scores]
        return np.hstack([softmax(s[rows.inverse], axis=1) for s in told])

    def smoothed(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From ``point_probabilities`` that are averaged over neighbours: the probabilities (m, classes), and
        how many labels of each class have larger odds (m, classes) if the members' own are there."""
        joint, each = np.split(flat, [len(self.classes)], axis=1)
        above = np.empty((len(flat), 0), dtype=np.int32)
        if each.shape[1]:
            assert self.conformal is not None
            above = self.conformal.from_averages(each, self.smoothing)
        return self.smoothing.weighed(joint), above

    def thresholds(self, coverage: float, *, classes: Sequence[Any] | None = None) -> np.ndarray:
        """How many labels of each class may have larger odds, for a set of this coverage: (classes,).

        An error where labels do not suffice; it names the ``classes``, which may have other names in a table.
        """
        names = self.classes if classes is None else np.array(classes, dtype=object)
        return self._conformal().places(coverage, names)

    def sets(self, rows: PlacedRows, *, coverage: float) -> np.ndarray:
        """The conformal sets: a mask (m, classes)."""
        thresholds, alone = self.thresholds(coverage), self.ensemble.alone
        each = [alone * scores[rows.inverse] for scores in self.ensemble.each(rows.seen)]
        return self._conformal().at(each, self.smoothing, rows.points, rows.among) < thresholds

    def transduction_sets(self, *, coverage: float) -> np.ndarray:
        """The conformal sets of the training rows: a mask (n, classes)."""
        return self._conformal().above < self.thresholds(coverage)

    def _conformal(self) -> PredictionSets:
        if self.conformal is not None:
            return self.conformal
        raise ParameterError(
            "Prediction sets need labels that some network has not seen: members must be 2 or more, and "
            f"a class must have two labels. Got members={self.ensemble.members} in the end; fit again with "
            "members=5, on the command line with --sets."
        )

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """As a description for JSON, and arrays (docs/file_format.md)."""
        cloud = self.nodes if isinstance(self.nodes, CloudNodes) else None
        points = None  # at which a spectrum is evaluated anew
        if cloud is not None:
            points = self.spectrum.n_nodes if cloud.graph is None else cloud.graph.n_total
        spectrum, arrays = self.spectrum.state(without=points)
        arrays = {f"spectrum.{name}": array for name, array in arrays.items()}
        for expert in self.ensemble.experts.values():
            arrays |= expert.state()
        arrays |= {
            "shift": self.scaling.shift,
            "scale": self.scaling.scale,
            "priors": self.priors,
            "opinions": self.ensemble.exponents,
        }
        if cloud is not None:  # of a large scan the classes alone
            arrays["transduction"] = self.transduction
        elif self.transduction_proba is not None:
            arrays["transduction_proba"] = self.transduction_proba
        scores, smoothing = self.scaling.normal_scores, self.smoothing
        if scores is not None:
            arrays |= {"ranks.knots": scores.knots, "ranks.scores": scores.scores}
        if smoothing.factors is not None:
            arrays["factors"] = smoothing.factors
        if smoothing.around is not None:
            arrays |= {f"around.{name}": array for name, array in smoothing.around.state().items()}
        if cloud is not None and cloud.pyramid is not None:
            arrays |= cloud.pyramid.state()
        if self.conformal is not None:
            arrays |= self.conformal.state()
            if self.conformal.around is not None:  # the same points in the same cells
                arrays["sets.sums"] = self.conformal.around.sums
        if self.nodes.kind == "given":
            features = self.nodes.features
            arrays["features"] = features.toarray() if sp.issparse(features) else features
        description = {
            "classes": plain("classes_", self.classes),
            "classes_dtype": self.classes.dtype.str if self.classes.dtype != object else "object",
            "nodes": {"kind": self.nodes.kind, **self.nodes.state()},
            "spectrum": spectrum,
            "depth": self.networks.depth,
            "members": self.ensemble.members,
            "n_extra": self.scaling.n_extra,
            "neighbours": smoothing.neighbours,
            "averaged_over": smoothing.cell,
            "sigma": self.sigma,
            "timings": self.seconds,
        }
        return description, arrays

    @classmethod
    def from_state(
        cls, description: dict[str, Any], arrays: dict[str, np.ndarray], *, dropout: float, filters: Any
    ) -> FittedModel:
        """From what ``state`` gave, with the number of columns of X as "n_features_in" in the description;
        ``dropout`` and ``filters`` are those of its networks."""
        spectrum = Spectrum.from_state(description["spectrum"], arrays_after("spectrum.", arrays))
        check_shapes(description, arrays, spectrum)
        around = each = None
        if description["neighbours"] is not None:
            kept = {name: arrays[f"around.{name}"] for name in ("keys", "counts", "sums")}
            around = Averages.from_state(description["averaged_over"], kept)
            if "sets.sums" in arrays:
                sums = {**kept, "sums": arrays["sets.sums"]}
                each = Averages.from_state(description["averaged_over"], sums)
        scores = (
            NormalScores(arrays["ranks.knots"], arrays["ranks.scores"]) if "ranks.knots" in arrays else None
        )
        proba = arrays.get("transduction_proba")
        codes = arrays["transduction"].astype(np.int64) if proba is None else proba.argmax(axis=1)
        nodes = description["nodes"]
        return cls(
            classes=np.array(description["classes"], dtype=description["classes_dtype"]),
            nodes=nodes_from_state(nodes["kind"], nodes, arrays),
            spectrum=spectrum,
            scaling=InputScaling(arrays["shift"], arrays["scale"], description["n_extra"], scores),
            ensemble=_ensemble(description, arrays, spectrum, dropout, filters),
            smoothing=Smoothing(
                description["neighbours"], description["averaged_over"], around, arrays.get("factors")
            ),
            conformal=PredictionSets.from_state(arrays, each),
            priors=arrays["priors"],
            transduction=codes,
            transduction_proba=proba,
            sigma=description.get("sigma"),
            seconds=description["timings"],
        )


def _ensemble(
    description: dict[str, Any],
    arrays: dict[str, np.ndarray],
    spectrum: Spectrum,
    dropout: float,
    filters: Any,
) -> Ensemble:
    """The experts of a saved model, in the order of the opinions in its file."""
    members = description["members"]
    trees = Forests.from_state(arrays, len(arrays["shift"]), members=members)
    walk = Walk.from_state(arrays)
    networks = Networks.from_state(
        arrays, spectrum, members=members, depth=description["depth"], dropout=dropout, filters=filters,
        log_proba=trees is not None,
    )  # fmt: skip
    experts: dict[str, Expert] = {NETWORK: networks}
    if trees is not None:
        experts[TREES] = trees
    if walk is not None:
        experts[WALK] = walk
    return Ensemble(members, experts, dict(zip(experts, arrays["opinions"].tolist(), strict=True)))


def _check_here(nodes: CloudNodes, smoothing: Smoothing) -> None:
    """Neighbours of new points are on other process ranks too, which a prediction does not ask."""
    spread = nodes.graph is not None and not nodes.graph.group.alone
    if spread and nodes.is_local(smoothing.neighbours):
        raise ParameterError(
            "among must be 'own' where several processes share out the training points, which surround "
            "others. Got 'training' instead; or save the model, and load it in one process."
        )
