"""A fitted model as a value: it places rows and gives opinions, probabilities and sets of classes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from pinvgcn.checks import as_points, check_choice
from pinvgcn.distributed.group import Group
from pinvgcn.errors import ExtrapolationWarning, ParameterError
from pinvgcn.experts import Networks, Seen
from pinvgcn.features.pyramid import Pyramid
from pinvgcn.fitting.conformal import PredictionSets, places_among
from pinvgcn.fitting.estimate import AccuracyEstimate, HeldOutRecalls
from pinvgcn.fitting.first_look import FirstLook, beside
from pinvgcn.fitting.inputs import InputScaling
from pinvgcn.fitting.nodes import SCAN, CloudNodes, GraphNodes, Nodes
from pinvgcn.fitting.pool import NETWORK, TREES, Ensemble
from pinvgcn.fitting.scan import LabelledPlaces
from pinvgcn.fitting.smoothing import Smoothing
from pinvgcn.fitting.table_nodes import TableNodes, UnscaledRows
from pinvgcn.graphs.distinct import distinct_rows
from pinvgcn.nn import Basis
from pinvgcn.spectra import Spectrum

AWAY_BASIS = "blocks of labels or whole scans held out, and the confidence of the model"
ELSEWHERE = 0.5  # of the points of a cloud outside the training cloud: it is another scan
BORDER = 0.01  # of the points may lie at the border of the cloud without a word
ASKED = 4_096  # points that tell in which cloud they lie


@dataclass(frozen=True)
class PlacedRows:
    """m rows as a fitted model sees them."""

    seen: Seen | UnscaledRows  # of the distinct rows, d of them
    inverse: Any  # which of these each row is: (m,), or slice(None) where all are distinct
    points: np.ndarray | None = None  # (m, 3 or fewer), where probabilities are averaged over neighbours
    among: str = "training"  # the points that surround them: those of "training", or their "own"
    elsewhere: bool = False  # whether they are another scan, most of which lies outside the training cloud


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
    places: LabelledPlaces | None = None  # of a scan, where labels lie
    estimate: AccuracyEstimate | None = None  # at the unlabelled points of training
    held_away: HeldOutRecalls | None = None  # of a scan, how labels of other scans or of blocks held out did
    first: FirstLook | None = None  # of a scan whose labels lie as its points do: trees look twice

    @property
    def networks(self) -> Networks:
        """The expert "network"."""
        networks = self.ensemble.experts[NETWORK]
        assert isinstance(networks, Networks)
        return networks

    @property
    def group(self) -> Group:
        """The processes that share out the training rows."""
        return self.nodes.group

    def place(self, X: Any, *, features: Any = None, among: str = "auto") -> PlacedRows:
        """What experts see of any rows; what surrounds points is taken ``among`` those of "training", or
        their "own": "auto" takes the cloud in which points lie closer together."""
        check_choice("among", among, ("auto", "training", "own"))
        nodes = self.nodes
        if isinstance(nodes, TableNodes):
            return self._placed_in_table(nodes, nodes.encoded(X, self.spectrum), X, features)
        if isinstance(nodes, GraphNodes):
            return self._placed(*nodes.place(X, self.spectrum), features, None, "training")
        assert isinstance(nodes, CloudNodes)
        points = as_points(X, "X")
        if among == "auto":
            among = self.surrounded_by(points)
        local = nodes.geometry or self.smoothing.neighbours is not None
        if among == "training" and local and not nodes.group.alone:
            raise ParameterError(  # neighbours of new points are on other process ranks too
                "among must be 'own' where several processes share out the training points, which surround "
                "others. Got 'training' instead; or save the model, and load it in one process."
            )
        if self.places is None:
            basis, own = nodes.place(X, self.spectrum, among=among)
            return self._placed(basis, own, features, points, among)
        V, trust = self.trusted(points)
        without = trust == 0
        elsewhere = among == "own" and float(without.mean()) > ELSEWHERE
        # another scan is what such a model is for: only a part of one, or some points, may be a mistake
        if float(without.mean()) > BORDER and not (elsewhere and len(points) >= SCAN):
            warnings.warn(
                f"{without.sum()} of {len(points)} points lie outside the training cloud: they are "
                "classified by their shapes alone, without their place.",
                ExtrapolationWarning,
                stacklevel=4,  # the caller of predict
            )
        own = nodes.features_of(points, among=among)
        return self._placed(Basis(V), own, features, points, among, trust, elsewhere)

    def surrounded_by(self, points: np.ndarray) -> str:
        """Where to look for what surrounds these points: "training" or "own"."""
        nodes = self.nodes
        assert isinstance(nodes, CloudNodes)
        if nodes.pyramid is None:
            return "training"
        some = points[:: max(1, len(points) // ASKED)]
        there = nodes.pyramid.crowd(some)
        here = Pyramid.of(points, nodes.pyramid.lattice).crowd(some)
        return "own" if here - 1 > there else "training"  # but for the point itself

    def trusted(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Basis values of points of a scan (m, k + r), and how far their place counts: (m,)."""
        assert self.places is not None
        assert isinstance(self.nodes, CloudNodes)
        trust = self.places.trust(points)
        V = np.zeros((len(points), self.spectrum.components + self.spectrum.rank))
        known = np.flatnonzero(trust)
        if len(known):
            V[known], outside = self.nodes.place_anywhere(points[known], self.spectrum)
            trust[known[outside]] = 0.0
        return V, trust

    def place_points(
        self,
        points: np.ndarray,
        V: np.ndarray,
        *,
        shapes: np.ndarray | None = None,
        features: Any = None,
        trust: np.ndarray | None = None,
        context: np.ndarray | None = None,
    ) -> PlacedRows:
        """What experts see of points (m, d) with known basis values V (m, k + r), local ``shapes`` and
        ``context``, whose place counts with ``trust`` (m,)."""
        assert (context is None) == (self.first is None)  # some points do not know those around all of them
        own = points if shapes is None else np.hstack([points, shapes])
        return self._placed(Basis(V), own, features, points, "own", trust, context=context)

    def first_probabilities(self, shapes: np.ndarray, features: Any) -> np.ndarray:
        """What trees first say of points with local ``shapes`` (m, …), from which contexts are made:
        (m, classes)."""
        assert self.first is not None
        assert isinstance(self.nodes, CloudNodes)
        extra = self.scaling.extra_like_in_fit(features, len(shapes))
        values = self.nodes.without_place(shapes, extra)
        nowhere = Basis(np.empty((len(shapes), 0)))
        return self.first.probabilities(Seen(None, nowhere, values))

    def _placed(
        self,
        basis: Basis,
        own: Any,
        features: Any,
        points: np.ndarray | None,
        among: str,
        trust: np.ndarray | None = None,
        elsewhere: bool = False,
        context: np.ndarray | None = None,
    ) -> PlacedRows:
        """From basis values (m, k + r), the rows' own features and those given beside them."""
        extra = self.scaling.extra_like_in_fit(features, len(basis))
        inputs = self.scaling(self.nodes.for_networks(own), extra)
        experts = self.ensemble.experts
        values = None
        if self.ensemble.away is not None:
            assert isinstance(self.nodes, CloudNodes)
            values = self.nodes.without_place(own, extra)
        elif TREES in experts:
            values = self.scaling.unranked(inputs, own, extra)
        seen = Seen(inputs, basis, values, trust)
        if context is not None:
            seen = beside(seen, context)
        elif self.first is not None:
            assert points is not None
            seen = self.first.second(seen, points, among)
        if not sp.issparse(inputs):
            return PlacedRows(seen, slice(None), points, among, elsewhere)
        first, inverse, _ = distinct_rows(inputs)  # equal rows have equal scores
        return PlacedRows(seen.at(first), inverse, points, among, elsewhere)

    def _placed_in_table(self, nodes: TableNodes, H: sp.csr_array, X: Any, features: Any) -> PlacedRows:
        """The rows of a table with incidences H (m, |E|)."""
        extra = self.scaling.extra_like_in_fit(features, H.shape[0], numbers=nodes.numbers_of(X))
        first, inverse, _ = distinct_rows(H) if extra is None else distinct_rows(H, extra)
        rows = UnscaledRows(nodes, self.scaling, self.spectrum, H, extra)
        all_differ = len(first) == len(inverse)
        return PlacedRows(rows, slice(None)) if all_differ else PlacedRows(rows.take(first), inverse)

    def _each(self, rows: PlacedRows) -> list[np.ndarray]:
        """Scores of each member at the distinct rows: (d, classes)."""
        if isinstance(rows.seen, UnscaledRows):
            return self.ensemble.of_many(rows.seen, len(rows.seen))
        return list(self.ensemble.each(rows.seen))

    def opinions(self, rows: PlacedRows) -> Iterator[dict[str, np.ndarray]]:
        """Of each member, the opinion (m, classes) of each expert, by its name."""
        seen = rows.seen
        whole = seen.at(np.arange(len(seen))) if isinstance(seen, UnscaledRows) else seen
        for opinions in self.ensemble.opinions(whole):
            yield {name: own[rows.inverse] for name, own in zip(self.ensemble.names, opinions, strict=True)}

    def probabilities(self, rows: PlacedRows) -> np.ndarray:
        """Of the classes: (m, classes)."""
        scores = self.ensemble.mean(self._each(rows))[rows.inverse]
        return self.smoothing(scores, rows.points, rows.among, elsewhere=rows.elsewhere)

    def expected(self, shares: np.ndarray, confidence: float, *, elsewhere: bool) -> AccuracyEstimate | None:
        """The accuracy at points of this scan; or ``elsewhere``, in another one, of which the ``shares``
        (classes,) have each class, with this mean ``confidence``."""
        unknown = self.estimate is not None and self.estimate.accuracy is None
        if not elsewhere or self.held_away is None or unknown:  # one place says less of other scans
            return self.estimate
        return self.held_away.expected(shares, confidence, basis=AWAY_BASIS)

    def point_probabilities(self, rows: PlacedRows, *, members: bool = False) -> np.ndarray:
        """Before they are averaged over neighbours: (m, classes); with ``members``, those of each member
        alone stand beside them: (m, (1 + members) · classes)."""
        scores = self._each(rows)
        told = [self.ensemble.mean(scores)]
        if members:
            told += [self.ensemble.alone * s for s in scores]
        return np.hstack([softmax(s[rows.inverse], axis=1) for s in told])

    def smoothed(self, flat: np.ndarray, *, elsewhere: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """From ``point_probabilities`` that are weighed and averaged: the probabilities (m, classes), and
        how many labels of each class have larger odds (m, classes) if the members' own are there."""
        joint, each = np.split(flat, [len(self.classes)], axis=1)
        above = np.empty((len(flat), 0), dtype=np.int32)
        if each.shape[1]:
            known = self._away_sets(elsewhere)
            above = self._conformal().from_averages(each) if known is None else known.above(joint)
        return joint, above

    def _away_sets(self, elsewhere: bool) -> HeldOutRecalls | None:
        """The labels that decide on the sets of another scan."""
        return self.held_away if elsewhere and self.held_away and self.held_away.odds is not None else None

    def thresholds(
        self, coverage: float, *, classes: Sequence[Any] | None = None, elsewhere: bool = False
    ) -> np.ndarray:
        """How many labels of each class may have larger odds, for a set of this coverage: (classes,).

        An error where labels do not suffice; it names the ``classes``, which may have other names in a table.
        """
        names = self.classes if classes is None else np.array(classes, dtype=object)
        known = self._away_sets(elsewhere)
        if known is None:
            return self._conformal().places(coverage, names)
        return places_among(np.bincount(known.codes, minlength=len(names)), coverage, names)

    def sets(self, rows: PlacedRows, *, coverage: float) -> np.ndarray:
        """The conformal sets: a mask (m, classes)."""
        thresholds, alone = self.thresholds(coverage, elsewhere=rows.elsewhere), self.ensemble.alone
        known = self._away_sets(rows.elsewhere)
        if known is not None:
            return known.above(self.probabilities(rows)) < thresholds
        each = [alone * scores[rows.inverse] for scores in self._each(rows)]
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
