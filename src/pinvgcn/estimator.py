"""The scikit-learn face of the method."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from pinvgcn.bandwidth import sigma_by_labels
from pinvgcn.checks import (
    as_points,
    as_sample_weight,
    check_choice,
    check_count,
    check_fraction,
    check_non_negative,
    check_positive,
    read_labels,
)
from pinvgcn.errors import ColumnError, LabelError, ModelFileError, ParameterError, TrainingError
from pinvgcn.graphs import GaussianGraph, TableEncoder
from pinvgcn.graphs.distinct import distinct_rows
from pinvgcn.inputs import SCALINGS, as_extra
from pinvgcn.io.tensors import load_tensors, save_tensors
from pinvgcn.members import (
    Ensemble,
    Member,
    Seen,
    as_epochs,
    as_members,
    as_sample,
    as_trees,
    as_weight_decay,
    side_by_side,
    weights_of,
)
from pinvgcn.model_file import model_state, restore_model, saved_parameters
from pinvgcn.nn import Labels, PinvGCN, TrainingSettings, train
from pinvgcn.nn.filters import parse_filters
from pinvgcn.nn.model import copy_weights, hidden_widths
from pinvgcn.nn.nodewise import fold
from pinvgcn.nn.progress import progress
from pinvgcn.nodes import CloudNodes, Nodes, nodes_of
from pinvgcn.outcome import Outcome, check_priors
from pinvgcn.prepared import Prepared
from pinvgcn.row_labels import RowLabels
from pinvgcn.sets import PredictionSets
from pinvgcn.trees import Trees

WARM_SHARE = 5  # a warm fit takes a fifth of the epochs: it begins near its end
# settings on which more depends than the training of one network
SHARED = (
    "sigma", "rank", "loops", "geometry", "solver", "tolerance", "bins", "binning", "missing", "min_size",
    "scaling", "filters", "neighbours", "device",
)  # fmt: skip


class PinvGCNClassifier(ClassifierMixin, BaseEstimator):
    """Classify all nodes of a dense graph from a few labels.

    Parameters
    ----------
    graph : {"gaussian", "categorical"} or Graph
        What joins the rows of X: distance between points, values shared in a table, or a graph that is
        given (X then holds features of its nodes, or is None).
    sigma : float, "auto" or "labels"
        "gaussian": the distance over which points see each other; "auto" takes it from the extent of
        the cloud, "labels" tries multiples of that on labels that are held out (docs/maths.md, 6.4).
    rank : int, optional
        How many eigenvectors the filter inverts. By default 60 for clouds, all that are meaningful for
        tables, 100 for sparse graphs.
    loops : float
        "gaussian": the weight that joins each point to itself. With 1 every eigenvector is a smooth
        function of position; the paper has 0.
    geometry : bool or "auto"
        "gaussian": whether the network sees the local shapes of ``local_geometry`` beside the coordinates,
        whose last must be the height. "auto": for points in space, 2,000 or more.
    solver, tolerance
        How the spectrum is computed and how large a residual is accepted; see ``Graph.spectrum``.
    bins, binning, missing, min_size
        "categorical": see ``Hypergraph.from_table``.
    scaling : {"ranks", "isotropic", "centre", "none", "standard"}
        What is done to points and other features before the network sees them: "isotropic" centres them,
        brings all coordinates by one common factor to a spread (root mean square) of 10, and each other
        feature by its own; "ranks" does so after it has replaced the values of the other features by their
        normal scores, which depend on ranks alone; "centre" keeps their units; "standard" gives each column
        a spread of 1. Tables stay 0 and 1, and the features of a given graph stay as they are.
    filters, hidden, dropout
        The network; see ``PinvGCN``.
    learning_rate
        Of its training; see ``TrainingSettings``.
    weight_decay, epochs : float and int, or "auto"
        The same. "auto" is 0.01 and 200 for tables, 0.0005 and 300 where trees stand beside the network, and
        0.0005 and 500 elsewhere.
    nodes_per_epoch : int, "auto" or None
        How many of the unlabelled nodes an epoch visits, spread evenly to stand for all of them; None for
        all, "auto" for all up to 32,768 and 4,096 of them beyond, and for 2,048 where trees stand beside the
        network. Prediction always sums over all nodes.
    patience, held_out : int or None, float
        With a number of epochs as patience, the share ``held_out`` of each class's labels is not learned
        from, and training stops when the loss there has not fallen for so long; the best weights are kept.
    class_weight : dict, "balanced" or None
        Importance of the classes in training.
    members : int or "auto"
        How many networks are trained, whose scores are averaged. Each of several goes without its own part of
        each class's labels, by which it is found how sure they may be and which classes a ``predict_set``
        holds. "auto" for 5 on tables and wherever ``geometry`` is used, 1 elsewhere.
    trees : int or "auto"
        How many extremely randomised trees each member grows beside its network, from the same inputs and
        labels; the probabilities of both are multiplied, with exponents found at the labels that the member
        has not seen. "auto" for 100 wherever ``geometry`` is used, 0 elsewhere.
    neighbours : int, "auto" or None
        "gaussian": over how many nearest points class probabilities are averaged; None for not at all,
        "auto" for 10 wherever ``geometry`` is used. "categorical": beside each network a walk goes from row
        to one of so many rows that share most values with it, and tells which labels it meets; None for no
        walk, "auto" for 5.
    priors : "estimated", "auto", dict or None
        How frequent the classes are, where that differs from their shares of the labels: "estimated" finds it
        from the unlabelled rows, a dict of class: share tells it, None takes the labels' shares. "auto" is
        "estimated" wherever ``geometry`` is used, None elsewhere.
    warm_start : bool
        A further ``fit`` to the same rows, with other labels, keeps the spectrum, begins at the weights that
        it finds and takes a fifth of the epochs.
    verbose : bool or callable
        Show a bar with epochs, loss and remaining time; or call ``verbose(done, total)`` after each epoch of
        all networks.
    device : str
        Where training runs: "cpu", or "cuda" (passed to PyTorch).
    random_state : int, RandomState or None
        Initial weights and dropout. The same seed gives the same bits on the same machine and threads.

    Attributes
    ----------
    transduction_ : (n,) array
        The class of every row of the fitted X, at labelled rows too: what the model says, not y.
    transduction_proba_ : (n, classes) array
        The probabilities behind it.
    classes_ : (classes,) array
    sigma_ : float
        "gaussian": the σ of the graph, chosen or given.
    priors_ : (classes,) array
        The share of each class, by ``priors``.
    graph_, spectrum_
        The graph and its spectrum.
    network_ : PinvGCN
        The trained network, the first of several.
    loss_curve_, n_iter_ : list of float, int
        The loss of each of its epochs, and how many there were.
    timings_ : dict
        Seconds for "graph", "spectrum" and "training".
    about_ : dict or None
        What was told ``about`` the model when it was saved.

    Examples
    --------
    >>> from pinvgcn import PinvGCNClassifier
    >>> from pinvgcn.datasets import load_dataset, random_split
    >>> mushroom = load_dataset("mushroom")
    >>> labels = random_split(mushroom.y, per_class=10, random_state=0)  # -1 where unlabelled
    >>> model = PinvGCNClassifier(graph="categorical").fit(mushroom.X, labels)
    >>> model.transduction_.shape
    (8124,)
    """

    classes_: np.ndarray
    network_: PinvGCN
    about_: dict[str, Any] | None = None

    def __init__(
        self,
        graph: Any = "gaussian",
        *,
        sigma: float | str = "auto",
        rank: int | None = None,
        loops: float = 1.0,
        geometry: bool | str = "auto",
        solver: str = "auto",
        tolerance: float | None = None,
        bins: int = 10,
        binning: str = "width",
        missing: str = "ignore",
        min_size: int = 2,
        scaling: str = "ranks",
        filters: Any = "three-part",
        hidden: int | Sequence[int] = 32,
        dropout: float = 0.5,
        learning_rate: float = 0.01,
        weight_decay: float | str = "auto",
        epochs: int | str = "auto",
        nodes_per_epoch: int | str | None = "auto",
        patience: int | None = None,
        held_out: float = 0.2,
        class_weight: Any = None,
        members: int | str = "auto",
        trees: int | str = "auto",
        neighbours: int | str | None = "auto",
        priors: Any = "auto",
        warm_start: bool = False,
        verbose: bool | Callable[[int, int], None] = False,
        device: str = "cpu",
        random_state: Any = 0,
    ) -> None:
        self.graph = graph
        self.sigma = sigma
        self.rank = rank
        self.loops = loops
        self.geometry = geometry
        self.solver = solver
        self.tolerance = tolerance
        self.bins = bins
        self.binning = binning
        self.missing = missing
        self.min_size = min_size
        self.scaling = scaling
        self.filters = filters
        self.hidden = hidden
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.epochs = epochs
        self.nodes_per_epoch = nodes_per_epoch
        self.patience = patience
        self.held_out = held_out
        self.class_weight = class_weight
        self.members = members
        self.trees = trees
        self.neighbours = neighbours
        self.priors = priors
        self.warm_start = warm_start
        self.verbose = verbose
        self.device = device
        self.random_state = random_state

    @classmethod
    def paper(
        cls, graph: Any = "gaussian", *, sigma: float = 100.0, rank: int | None = None, **others: Any
    ) -> PinvGCNClassifier:
        """The settings of the paper, fixed for ever: no loops, features as they are, 500 epochs at 0.01.

        ``rank`` is 100 by default for "gaussian" and the full honest rank for "categorical", where single-row
        hyperedges are kept, as in the paper's tables. Every epoch visits all nodes. ``others`` replace single
        settings.
        """
        if rank is None and isinstance(graph, str) and graph == "gaussian":
            rank = 100
        settings = {
            "loops": 0.0,
            "geometry": False,
            "solver": "auto",
            "tolerance": 1e-3 if isinstance(graph, str) and graph == "gaussian" else None,
            "bins": 10,
            "binning": "width",
            "missing": "ignore",
            "min_size": 1,
            "scaling": "none",
            "filters": "three-part",
            "hidden": 32,
            "dropout": 0.5,
            "learning_rate": 0.01,
            "weight_decay": 0.0005,
            "epochs": 500,
            "nodes_per_epoch": None,
            "patience": None,
            "class_weight": None,
            "members": 1,
            "trees": 0,
            "neighbours": None,
            "priors": None,
        }
        return cls(graph, sigma=sigma, rank=rank, **{**settings, **others})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        table = isinstance(self.graph, str) and self.graph == "categorical"
        tags.input_tags.categorical = table
        tags.input_tags.string = table
        tags.input_tags.allow_nan = table
        return tags

    def fit(
        self, X: Any, y: Any = None, *, features: Any = None, sample_weight: Any = None, shapes: Any = None
    ) -> PinvGCNClassifier:
        """Fit to the labelled rows and classify all.

        Parameters
        ----------
        X : (n, d) array or DataFrame
            Points, table rows, or features of the nodes of a graph that was given.
        y : (n,) array
            Classes; -1 (or None, NaN) where unlabelled.
        features : (n, f) array, optional
            More features of each row, beside its coordinates or values.
        sample_weight : (n,) array, optional
            Importance of the labelled rows in training.
        shapes : (n, f) array, optional
            "gaussian": the ``local_geometry`` of the rows within a larger cloud of which they are a part,
            instead of that among themselves. The whole cloud is then classified with ``among="own"``.
        """
        self._training_settings()
        seed = self._seed()
        beside = features if shapes is None else (features, shapes)
        kept = self._kept_for(X, beside)
        started = time.perf_counter()
        nodes = self._nodes_for(X, shapes) if kept is None else kept.nodes
        made = time.perf_counter() - started
        labels = self._labels(y, nodes, sample_weight)
        if kept is None and isinstance(nodes, CloudNodes) and self._by_labels:
            nodes = nodes.with_sigma(sigma_by_labels(self, nodes, labels, features))
            made = time.perf_counter() - started
        prepared = self._prepare(nodes, features, made) if kept is None else kept
        self._learn(prepared, labels, seed, warm=kept is not None)
        if self.warm_start and kept is None:
            self._kept = self._fingerprint(X, beside), prepared
        return self

    def predict_proba(self, X: Any, *, features: Any = None, among: str = "training") -> np.ndarray:
        """Probabilities of the classes at any rows, seen or not: (m, classes).

        The neighbourhoods of points, for local shapes and averages, are taken ``among`` the points of
        "training", or among their "own": the points of X, which are then a whole cloud.
        """
        return self._proba(X, features, among)

    def predict(self, X: Any, *, features: Any = None, among: str = "training") -> np.ndarray:
        """The most probable class at any rows, seen or not: (m,); see ``predict_proba``."""
        P = self._proba(X, features, among)
        return self.classes_[P.argmax(axis=1)]

    def predict_set(
        self, X: Any, *, coverage: float = 0.9, features: Any = None, among: str = "training"
    ) -> np.ndarray:
        """Which of the classes any rows, seen or not, may belong to: a mask (m, classes) over ``classes_``.

        Of the rows of each class, the share ``coverage`` has it in its set, provided that the labels of the
        class were picked at random (docs/maths.md, 9.5). A set may have several classes where the model is in
        doubt, and none where a row is unlike the labels of every class. Labels that some members have not
        seen decide: it needs ``members`` of 2 or more, and 9 labels of each class for a coverage of 0.9.
        """
        sets = self._sets_or_raise()
        places = sets.places(coverage, self.classes_)  # before there is work to lose
        return self._above(sets, X, features, among) < places

    def transduction_set(self, *, coverage: float = 0.9) -> np.ndarray:
        """``predict_set`` at the rows of the fitted X: (n, classes). What it promises holds where there is no
        label; at labelled rows, too, it is what the model says."""
        sets = self._sets_or_raise()
        return sets.above < sets.places(coverage, self.classes_)

    def _sets_or_raise(self) -> PredictionSets:
        check_is_fitted(self, "classes_")
        if self._sets is not None:
            return self._sets
        raise ParameterError(
            "Prediction sets need labels that some network has not seen: members must be 2 or more, and "
            f"a class must have two labels. Got members={self.members!r}, {len(self._ensemble.members)} in "
            "the end; fit again with members=5, on the command line with --sets."
        )

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, features: Any = None, among: str = "training"
    ) -> float:
        """The share of rows classified rightly, of those whose class is known: not -1, None or NaN."""
        predicted = self.predict(X, features=features, among=among)
        known, labelled = read_labels(y, len(predicted))
        if len(known) == 0:
            raise LabelError(f"y must have a label to compare with. Got {len(predicted)} unlabelled rows.")
        weights = as_sample_weight(sample_weight, len(predicted))
        return float(
            accuracy_score(
                known, predicted[labelled], sample_weight=None if weights is None else weights[labelled]
            )
        )

    def _proba(self, X: Any, features: Any, among: str) -> np.ndarray:
        seen, inverse, points, cloud = self._placed(X, features, among)
        return self._outcome(self._ensemble.joint(seen)[inverse], points, cloud)

    def _above(self, sets: PredictionSets, X: Any, features: Any, among: str) -> np.ndarray:
        seen, inverse, points, cloud = self._placed(X, features, among)
        alone = [self._ensemble.alone * scores[inverse] for scores in self._ensemble.each(seen)]
        return sets.at(alone, self._outcome, points, cloud)

    def _placed(self, X: Any, features: Any, among: str) -> tuple[Seen, Any, Any, Any]:
        """What members see of rows and where these have it, and points and the cloud of neighbours."""
        check_is_fitted(self, "classes_")
        check_choice("among", among, ("training", "own"))
        nodes = self._nodes
        if nodes.kind != "categorical" and getattr(X, "ndim", 2) == 2 and X is not None:
            self._columns(X, reset=False)
        V, own = nodes.place(X, self.spectrum_, among=among)
        extra = self._scaling.extra_like_in_fit(features, len(V))
        inputs = self._scaling(own, extra)
        ensemble = self._ensemble
        inverse: Any = slice(None)
        values = None if ensemble.members[0].trees is None else self._scaling.unranked(inputs, own, extra)
        seen = Seen(inputs, V, values)
        if sp.issparse(inputs):  # of a table: equal rows have equal scores
            first, inverse, _ = distinct_rows(inputs)
            seen = seen.at(first)
        if ensemble.walk is not None:
            seen = seen._replace(near=ensemble.walk.near(seen.inputs))
        if not isinstance(nodes, CloudNodes):
            return seen, inverse, None, None
        return seen, inverse, as_points(X, "X"), nodes.points if among == "training" else None

    def _training_settings(self, trees: int = 0) -> TrainingSettings:
        """Those of training; and all that need no nodes are checked, before there is work to lose.

        Also those of the other kind of graph: a mistake in them is a mistake in what was meant.
        """
        if not isinstance(self.sigma, str):
            check_positive("sigma", self.sigma)
        elif self.sigma not in ("auto", "labels"):
            raise ParameterError(
                f"sigma must be a positive number, 'auto' or 'labels'. Got {self.sigma!r} instead."
            )
        check_non_negative("loops", self.loops)
        TableEncoder(self.bins, binning=self.binning, missing=self.missing, min_size=self.min_size)
        if self.rank is not None:
            check_count("rank", self.rank)
        if self.tolerance is not None:
            check_positive("tolerance", self.tolerance)
        check_choice("scaling", self.scaling, SCALINGS)
        parse_filters(self.filters)
        hidden_widths(self.hidden)
        check_fraction("dropout", self.dropout)
        check_fraction("held_out", self.held_out)
        check_priors(self.priors)
        for name in ("members", "trees", "neighbours"):
            value = getattr(self, name)
            if isinstance(value, str) and value != "auto":
                none = ", 'auto' or None" if name == "neighbours" else " or 'auto'"
                raise ParameterError(f"{name} must be a whole number{none}. Got {value!r} instead.")
        self._device()
        table = isinstance(self.graph, str) and self.graph == "categorical"
        return TrainingSettings(
            self.learning_rate,
            as_weight_decay(self.weight_decay, table=table),
            as_epochs(self.epochs, trees=trees, table=table),
            as_sample(self.nodes_per_epoch, trees),
            self.patience,
        )

    def _seed(self) -> int:
        try:
            return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        except ValueError:
            raise ParameterError(
                "random_state must be None, a whole number from 0 to 2**32 - 1 or a numpy RandomState. "
                f"Got {self.random_state!r} instead."
            ) from None

    def _device(self) -> torch.device:
        try:
            device = torch.device(self.device)
            torch.zeros(1, device=device).item()
        except (RuntimeError, TypeError, AssertionError) as error:
            raise ParameterError(
                f"device must be one that PyTorch has here, such as 'cpu'. Got {self.device!r} "
                f"instead ({str(error).splitlines()[0]})."
            ) from None
        return device

    def _nodes_for(self, X: Any, shapes: Any = None) -> Nodes:
        nodes = nodes_of(
            X,
            self.graph,
            sigma="auto" if self._by_labels else self.sigma,
            loops=self.loops,
            geometry=self.geometry,
            bins=self.bins,
            binning=self.binning,
            missing=self.missing,
            min_size=self.min_size,
            shapes=shapes,
        )
        self._remember_columns(X)
        return nodes

    @property
    def _by_labels(self) -> bool:
        return isinstance(self.graph, str) and (self.graph, self.sigma) == ("gaussian", "labels")

    def _labels(self, y: Any, nodes: Nodes, sample_weight: Any = None) -> RowLabels:
        assert nodes.graph is not None
        n = nodes.graph.n_nodes
        return RowLabels.of(y, n, class_weight=self.class_weight, sample_weight=sample_weight)

    def _prepare(self, nodes: Nodes, features: Any, seconds: float) -> Prepared:
        assert nodes.graph is not None
        return Prepared.of(
            nodes,
            as_extra(features, nodes.graph.n_nodes),
            scaling=self.scaling,
            rank=self.rank,
            solver=self.solver,
            tolerance=self.tolerance,
            filters=self.filters,
            neighbours=self.neighbours,
            device=self._device(),
            seconds=seconds,
        )

    def _learn(
        self,
        prepared: Prepared,
        labels: RowLabels,
        seed: int,
        *,
        warm: bool,
        threads: int | None = None,
        tell: Callable[[int, float], None] | None = None,
    ) -> None:
        """Train networks, sum them over all nodes, and keep what they say together.

        ``tell`` hears of each epoch.
        """
        started = time.perf_counter()
        count = as_members(self.members, prepared.nodes)
        parts = labels.folds(count, seed)
        trees = as_trees(self.trees, prepared.nodes)
        values = prepared.unranked() if trees else None
        done = itertools.count()

        def learn(number: int, stop: threading.Event | None) -> Member:
            def on_epoch(epoch: int, loss: float) -> None:
                if stop is not None and stop.is_set():
                    raise KeyboardInterrupt
                if tell is not None:
                    tell(epoch, loss)
                if show is not None:
                    show(next(done), loss)

            before = self._ensemble.like(number).network if warm else None
            own = seed if number == 0 else int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
            own_threads = threads if count == 1 else 1
            mine = parts[number][0]
            member = self._train(prepared, mine, own, before, on_epoch, own_threads)
            if values is None:
                return member
            places = prepared.node_of(mine.rows)
            return replace(member, trees=Trees.grown(values, mine, places, count=trees, seed=own))

        epochs = count * self._settings(warm, prepared.nodes).epochs
        with progress(epochs, show=self.verbose) as show:
            members = side_by_side(learn, count, threads or torch.get_num_threads())
        with np.errstate(over="ignore", invalid="ignore"):  # checked right after
            seen = Seen(prepared.inputs, prepared.basis, values, prepared.near())
            ensemble = self._weighed(members, parts, prepared, seen)
            each = [prepared.of_all_rows(scores) for scores in ensemble.each(seen)]
            scores = np.mean(each, axis=0) if count > 1 else each[0]
        if not np.isfinite(scores).all():
            raise TrainingError(
                f"The scores became {scores[~np.isfinite(scores)][0]} in epoch {len(members[0].losses)}, "
                f"the last. Lower learning_rate (now {self.learning_rate:g}) or scale the features."
            )
        outcome, P = Outcome.of(
            scores,
            prepared.nodes,
            labels,
            neighbours=self.neighbours,
            priors=self.priors,
        )
        seconds = dict.fromkeys(prepared.seconds, 0.0) if warm else dict(prepared.seconds)
        seconds["training"] += time.perf_counter() - started

        self.classes_ = labels.classes
        self.graph_ = prepared.nodes.graph
        self.__dict__.pop("sigma_", None)
        if isinstance(self.graph_, GaussianGraph):
            self.sigma_ = self.graph_.sigma
        self.spectrum_ = prepared.spectrum
        self._ensemble = ensemble
        self.network_ = members[0].network
        self.loss_curve_ = members[0].losses
        self.n_iter_ = len(self.loss_curve_)
        self.timings_ = seconds
        self.about_ = None
        self._nodes = prepared.nodes
        self._scaling = prepared.scaling
        self._outcome = outcome
        alone = [ensemble.alone * scores for scores in each]
        self._sets = PredictionSets.of(alone, [held for _, held in parts], outcome, prepared.nodes)
        self.priors_ = labels.shares if outcome.factors is None else labels.shares * outcome.factors
        self.transduction_proba_ = P
        self.transduction_ = labels.classes[P.argmax(axis=1)]

    def _weighed(
        self, members: list[Member], parts: Sequence[Any], prepared: Prepared, seen: Seen
    ) -> Ensemble:
        """The members, their opinions weighed by the labels that were kept from each."""
        walk = None if prepared.steps is None else prepared.steps.walk([learned for learned, _ in parts])
        trees = members[0].trees is not None
        ensemble = Ensemble(members, walk, weights_of([], trees=trees, walk=walk is not None))
        kept = [(number, held) for number, (_, held) in enumerate(parts) if held is not None]
        if not kept:
            return ensemble
        rows = np.concatenate([held.rows for _, held in kept])
        ends = np.cumsum([len(held.rows) for _, held in kept])
        opinions = list(ensemble.opinions(seen.at(prepared.node_of(rows))))
        unseen = [
            (opinions[number][:, end - len(held.rows) : end], held.codes)
            for (number, held), end in zip(kept, ends, strict=True)
        ]
        return replace(ensemble, weights=weights_of(unseen, trees=trees, walk=walk is not None))

    def _settings(self, warm: bool, nodes: Nodes) -> TrainingSettings:
        settings = self._training_settings(as_trees(self.trees, nodes))
        return replace(settings, epochs=max(1, settings.epochs // WARM_SHARE)) if warm else settings

    def _train(
        self,
        prepared: Prepared,
        labels: RowLabels,
        seed: int,
        before: PinvGCN | None,
        on_epoch: Callable[[int, float], None],
        threads: int | None,
    ) -> Member:
        """One network, which begins where the one ``before`` has ended."""
        settings = self._settings(before is not None, prepared.nodes)
        network = PinvGCN(
            prepared.spectrum,
            prepared.inputs.shape[1],
            len(labels.classes),
            hidden=self.hidden,
            dropout=self.dropout,
            filters=self.filters,
            generator=torch.Generator().manual_seed(seed),
        ).to(self._device())
        if before is not None:
            copy_weights(before, self.classes_, network, labels.classes)
        watched = None
        if settings.patience is not None:
            labels, watched = labels.hold_out(self.held_out, seed)
        losses = train(
            network,
            prepared.problem,
            self._at_nodes(labels, prepared),
            settings,
            held_out=None if watched is None else self._at_nodes(watched, prepared),
            seed=seed,
            on_epoch=on_epoch,
            threads=threads,
        )
        counts = None if prepared.distinct is None else prepared.distinct.counts
        with np.errstate(over="ignore", invalid="ignore"):  # checked by who adds them up
            return Member(network, fold(network, prepared.inputs, prepared.basis, counts), losses)

    def _at_nodes(self, labels: RowLabels, prepared: Prepared) -> Labels:
        device = self._device()
        return Labels.of(
            torch.from_numpy(prepared.node_of(labels.rows)).to(device),
            torch.from_numpy(labels.codes).to(device),
            len(labels.classes),
            None if labels.weights is None else torch.from_numpy(labels.weights).to(device),
        )

    def _kept_for(self, X: Any, features: Any) -> Prepared | None:
        """What an earlier warm fit has kept, if it was to the same rows with the same settings."""
        if not self.warm_start or not hasattr(self, "_kept"):
            return None
        fingerprint, prepared = self._kept
        return prepared if fingerprint == self._fingerprint(X, features) else None

    def _fingerprint(self, X: Any, features: Any) -> str:
        """Of all that ``Prepared`` depends on."""
        settings = [getattr(self, name) for name in SHARED]
        graph = (
            self.graph if isinstance(self.graph, str) else id(self.graph)
        )  # which the kept nodes hold on to
        return str(joblib.hash((X, features, graph, settings)))

    def _remember_columns(self, X: Any) -> None:
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if X is not None:
            self._columns(X, reset=True)

    def _columns(self, X: Any, *, reset: bool) -> None:
        """Remember the number and names of columns, or compare with them, as scikit-learn does."""
        try:
            validate_data(self, X, skip_check_array=True, reset=reset)
        except (TypeError, ValueError) as error:
            raise ColumnError(" ".join(str(error).split())) from None

    def save(self, path: str | Path, *, about: dict[str, Any] | None = None) -> None:
        """Write the fitted model to a safetensors file (docs/file_format.md).

        ``about`` is kept with it as JSON, and is ``about_`` of the model that ``load`` returns: where data
        came from, which columns were used. None keeps the ``about_`` of a model that was loaded.
        """
        check_is_fitted(self, "classes_")
        save_tensors(path, "model", *model_state(self, self.about_ if about is None else about))

    @classmethod
    def load(cls, path: str | Path) -> PinvGCNClassifier:
        """Read a model that ``save`` wrote.

        ``graph_`` is not kept. A model of a given graph keeps the graph's spectrum, and so goes on
        classifying its nodes.
        """
        description, arrays = load_tensors(path, "model")
        try:
            model = cls(**saved_parameters(description))
            restore_model(model, description, arrays)
        except ModelFileError as error:
            raise ModelFileError(f"{path} cannot be used: {error}") from None
        except (KeyError, IndexError, RuntimeError, TypeError, ValueError) as error:
            raise ModelFileError(f"{path} is damaged: {error!r}. Save the model again.") from None
        return model
