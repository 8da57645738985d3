"""The scikit-learn face of the method."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from pinvgcn.checks import as_sample_weight, check_columns, read_labels
from pinvgcn.distributed.group import together
from pinvgcn.errors import LabelError, ParameterError
from pinvgcn.fitting.estimate import AccuracyEstimate
from pinvgcn.fitting.explanation import RowExplanation, explain_rows
from pinvgcn.fitting.fit import learn, sigma_by_labels
from pinvgcn.fitting.fitted_model import FittedModel, PlacedRows
from pinvgcn.fitting.importance import TableImportance, column_importance
from pinvgcn.fitting.mixed_rows import Sources
from pinvgcn.fitting.model_file import SavedModel
from pinvgcn.fitting.nodes import CloudNodes
from pinvgcn.fitting.prepared import Prepared, fingerprint
from pinvgcn.fitting.scan import scans_of
from pinvgcn.fitting.settings import FitSettings, group_of, seed_of
from pinvgcn.io.tensors import load_tensors, reading
from pinvgcn.nn import PinvGCN

PAPER = {
    "loops": 0.0, "geometry": False, "solver": "auto", "tolerance": None, "bins": 10, "binning": "width",
    "missing": "ignore", "min_size": 1, "numbers": False, "scaling": "none", "filters": "three-part",
    "hidden": 32, "dropout": 0.5, "learning_rate": 0.01, "weight_decay": 0.0005, "epochs": 500,
    "nodes_per_epoch": None, "patience": None, "class_weight": None, "members": 1, "experts": "network",
    "trees": 0, "neighbours": None, "priors": None,
}  # fmt: skip


class PinvGCNClassifier(ClassifierMixin, BaseEstimator):
    """Classify all nodes of a dense graph from a few labels.

    The defaults are meant to be left alone; docs/settings.md says what settings do, and when to change them.

    Parameters
    ----------
    graph : {"auto", "gaussian", "categorical"} or Graph
        What joins the rows of X: distance between points, values shared in a table, or a graph that is
        given (X then holds features of its nodes, or is None). "auto" is "categorical" for a frame of more
        than three columns or with one that is not of numbers, and for text; "gaussian" for other numbers.
    sigma : float, "auto" or "labels"
        "gaussian": the distance over which points see each other.
    rank, loops : int or None, float
        How many eigenvectors; "gaussian": the weight that joins each point to itself.
    geometry : bool or "auto"
        "gaussian": whether local shapes are seen, of points whose last coordinate is the height. "auto" for
        points in space, 2,000 or more.
    solver, tolerance; bins, binning, missing, min_size
        See ``Graph.spectrum``; "categorical": see ``Hypergraph.from_table``.
    numbers : bool
        "categorical": whether columns of numbers are seen as numbers too, not by their bins alone.
    scaling : {"ranks", "isotropic", "centre", "none", "standard"}
        What is done to points and extra features before the network sees them.
    filters, hidden, dropout; learning_rate, weight_decay, epochs, nodes_per_epoch
        The network, see ``PinvGCN``, and its training, see ``TrainingSettings``.
    patience, held_out : int or None, float
        With patience, the share ``held_out`` of the labels is not learned from, and training stops when the
        loss there has not fallen for so many epochs.
    class_weight : dict, "balanced" or None
        Importance of the classes in training.
    members : int or "auto"
        The ensemble's size; each of several is trained without one fold of the labels. "auto" for 5 on tables
        and scans, 1 elsewhere.
    experts : "auto", str or sequence of str
        "categorical": some of "network" (always), "forest", "trees", "linear", "kernel" and "diffusion".
    trees : int or "auto"
        Of each forest of a member, 0 for none; 40 for scans, 60 for tables, 0 elsewhere.
    neighbours : int, "auto" or None
        "gaussian": over about how many points probabilities are averaged. "categorical": to how many nearest
        rows the diffusion joins a row. None for neither.
    priors : "estimated", "auto", dict or None
        How frequent the classes are, where that differs from their shares of the labels.
    warm_start : bool
        A further ``fit`` to the same rows, with other labels, keeps the spectrum, begins at the weights that
        it finds and takes a fifth of the epochs.
    verbose : bool or callable
        Show a bar; or call ``verbose(done, total)`` after each epoch of all networks.
    device, random_state : str, int or RandomState or None
        Where PyTorch trains; the same seed gives the same bits on the same machine and threads.

    Attributes
    ----------
    transduction_, transduction_proba_ : (n,) array, (n, classes) array
        The class of every row of the fitted X, at labelled rows too: what the model says, not y; and the
        probabilities behind it, which a saved model of points does not keep.
    classes_, priors_ : (classes,) arrays
        The classes, and the share of each by ``priors``.
    graph_kind_, sigma_, graph_, spectrum_
        "gaussian", "categorical" or "given"; σ of a Gaussian graph; the graph; its spectrum.
    fitted_ : FittedModel
        All that was found, as a value: it places rows, asks its experts, and gives probabilities and sets.
    network_, loss_curve_, n_iter_
        The trained network (the first of several), the loss of each of its epochs, and their number.
    accuracy_estimate_ : AccuracyEstimate or None
        Of a scan: the share of unlabelled points expected to be right, or why that cannot be told.
    timings_, about_
        Seconds of "graph", "spectrum" and "training"; what was told ``about`` the model in its file.

    Examples
    --------
    >>> from pinvgcn import PinvGCNClassifier
    >>> from pinvgcn.datasets import load_dataset, random_split
    >>> mushroom = load_dataset("mushroom")
    >>> labels = random_split(mushroom.y, per_class=10, random_state=0)  # -1 where unlabelled
    >>> model = PinvGCNClassifier().fit(mushroom.X, labels)
    >>> model.transduction_.shape
    (8124,)
    """

    classes_: np.ndarray
    network_: PinvGCN
    fitted_: FittedModel
    feature_names_in_: np.ndarray
    n_features_in_: int
    about_: dict[str, Any] | None = None

    def __init__(
        self, graph: Any = "auto", *,
        sigma: float | str = "auto", rank: int | None = None, loops: float = 1.0,
        geometry: bool | str = "auto", solver: str = "auto", tolerance: float | None = None,
        bins: int = 10, binning: str = "quantile", missing: str = "ignore", min_size: int = 2,
        numbers: bool = True, scaling: str = "ranks", filters: Any = "three-part",
        hidden: int | Sequence[int] = 32, dropout: float = 0.5, learning_rate: float = 0.01,
        weight_decay: float | str = "auto", epochs: int | str = "auto",
        nodes_per_epoch: int | str | None = "auto", patience: int | None = None, held_out: float = 0.2,
        class_weight: Any = None, members: int | str = "auto", experts: str | Sequence[str] = "auto",
        trees: int | str = "auto", neighbours: int | str | None = "auto", priors: Any = "auto",
        warm_start: bool = False, verbose: bool | Callable[[int, int], None] = False,
        device: str = "cpu", random_state: Any = 0,
    ) -> None:  # fmt: skip
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    @classmethod
    def paper(
        cls, graph: Any = "gaussian", *, sigma: float = 100.0, rank: int | None = None, **others: Any
    ) -> PinvGCNClassifier:
        """The settings of the paper, fixed for ever: no loops, features as they are, 500 epochs at 0.01.

        ``rank`` is 100 by default for "gaussian" and the full honest rank for "categorical", where single-row
        hyperedges are kept, as in the paper's tables. Every epoch visits all nodes. ``others`` replace single
        settings.
        """
        if isinstance(graph, str) and graph == "auto":
            raise ParameterError(
                "graph must be 'gaussian', 'categorical' or a Graph: the paper's settings depend on it. "
                "Got 'auto' instead."
            )
        settings: dict[str, Any] = {"sigma": sigma, "rank": rank, **PAPER}
        if isinstance(graph, str) and graph == "gaussian":
            settings |= {"rank": 100 if rank is None else rank, "tolerance": 1e-3}
        return cls(graph, **settings | others)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        graph = self.graph if isinstance(self.graph, str) else ""
        tags.input_tags.categorical = tags.input_tags.string = graph in ("auto", "categorical")
        tags.input_tags.allow_nan = graph == "categorical"  # points must be finite
        return tags

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        features: Any = None,
        sample_weight: Any = None,
        shapes: Any = None,
        groups: Any = None,
        process_group: Any = None,
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
        shapes : LocalShapes, optional
            Of points that are a part of a larger cloud, the ``local_geometry`` within it, instead of that
            among themselves. The whole cloud is then classified with ``among="own"``.
        groups : (n,) array of whole numbers, optional
            The scan that each point is from, where several are fitted together: scans held out whole then
            tell how a new scan is classified, and how well that is expected to go.
        process_group : torch.distributed group, optional
            The processes that share out the rows: each calls ``fit`` with its own, maybe none, and with the
            same settings, and has the attributes of its own rows. The model is the one that a single process
            would find from all; ``predict`` needs no other process; ``save`` is called by all.
        """
        parameters = self.get_params(deep=False)
        group = group_of(parameters, process_group)
        with together(group):
            settings = FitSettings.of(parameters)
            seed = seed_of(self.random_state)
        seed = group.values(seed)[0]
        settings = settings.for_rows(X, group)
        beside = features if shapes is None else (features, shapes)
        kept = self.prepared_for(X, beside)
        started = time.perf_counter()
        if kept is None:
            nodes = settings.nodes(X, shapes=shapes, group=group)
            with together(group):
                self.remember_columns(X)
        else:
            nodes = kept.nodes
        made = time.perf_counter() - started
        labels = settings.labels(y, nodes, sample_weight=sample_weight)
        if kept is None and isinstance(nodes, CloudNodes) and settings.by_labels:
            nodes = nodes.with_sigma(sigma_by_labels(settings, nodes, labels, features=features))
            made = time.perf_counter() - started
        resolved = settings.resolved(nodes)
        prepared = Prepared.of(nodes, features, resolved, seconds=made) if kept is None else kept
        before = None if kept is None else self.fitted_
        scans = scans_of(groups, labels, nodes)
        self.adopt(learn(resolved, prepared, labels, seed, before=before, scans=scans))
        if self.warm_start and kept is None:
            self.prepared_ = prepared
            self._prepared_from = fingerprint(parameters, X, beside)
        return self

    def adopt(self, fitted: FittedModel) -> PinvGCNClassifier:
        """Become the classifier of a model that was fitted elsewhere, with the parameters of this one."""
        for name in ("graph_", "sigma_", "transduction_proba_"):
            self.__dict__.pop(name, None)
        network = fitted.networks.members[0]
        self.fitted_, self.classes_, self.priors_ = fitted, fitted.classes, fitted.priors
        self.graph_kind_, self.spectrum_ = fitted.nodes.kind, fitted.spectrum
        self.network_, self.loss_curve_, self.n_iter_ = network.network, network.losses, len(network.losses)
        self.timings_, self.accuracy_estimate_, self.about_ = fitted.seconds, fitted.estimate, None
        self.transduction_ = fitted.classes[fitted.transduction]
        if fitted.transduction_proba is not None:
            self.transduction_proba_ = fitted.transduction_proba
        if fitted.nodes.graph is not None:
            self.graph_ = fitted.nodes.graph
        if fitted.sigma is not None:
            self.sigma_ = fitted.sigma
        return self

    def predict_proba(self, X: Any, *, features: Any = None, among: str = "auto") -> np.ndarray:
        """Probabilities of the classes at any rows, seen or not: (m, classes).

        What surrounds a point, for local shapes and averages, is taken ``among`` the points of "training", or
        among their "own": the points of X, which are then a whole cloud. "auto" takes the cloud in which the
        points lie closer together: that of training for some points of it, their own for another scan.
        Points of a scan that lie outside the training cloud are classified by their shapes alone.
        """
        rows = self._placed(X, features, among)
        return self.fitted_.probabilities(rows)

    def predict(self, X: Any, *, features: Any = None, among: str = "auto") -> np.ndarray:
        """The most probable class at any rows, seen or not: (m,); see ``predict_proba``."""
        rows = self._placed(X, features, among)
        P = self.fitted_.probabilities(rows)
        return self.classes_[P.argmax(axis=1)]

    def predict_set(
        self, X: Any, *, coverage: float = 0.9, features: Any = None, among: str = "auto"
    ) -> np.ndarray:
        """Which of the classes any rows, seen or not, may belong to: a mask (m, classes) over ``classes_``.

        Of the rows of each class, the share ``coverage`` has it in its set, provided that the labels of the
        class were picked at random (docs/maths.md, 9.5). A set may have several classes where the model is in
        doubt, and none where a row is unlike the labels of every class. Labels that some members have not
        seen decide: it needs ``members`` of 2 or more, and 9 labels of each class for a coverage of 0.9.
        """
        check_is_fitted(self, "classes_")
        self.fitted_.thresholds(coverage)  # an error before there is work to lose
        return self.fitted_.sets(self._placed(X, features, among), coverage=coverage)

    def transduction_set(self, *, coverage: float = 0.9) -> np.ndarray:
        """``predict_set`` at the rows of the fitted X: (n, classes). What it promises holds where there is no
        label; at labelled rows, too, it is what the model says."""
        check_is_fitted(self, "classes_")
        return self.fitted_.transduction_sets(coverage=coverage)

    def estimate_accuracy(
        self, X: Any, *, features: Any = None, among: str = "auto"
    ) -> AccuracyEstimate | None:
        """Which share of the rows of X is expected to be classified correctly.

        Of points of the training cloud it is ``accuracy_estimate_``. Of another scan it is estimated from
        blocks of labels that were held out, or from whole scans if ``groups`` were given to ``fit``, and from
        the confidence there. None where the model cannot tell: not a scan, or no labels held out.
        """
        rows = self._placed(X, features, among)
        P = self.fitted_.probabilities(rows)
        confidence = float(P.max(axis=1).mean())
        return self.fitted_.expected(P.mean(axis=0), confidence, elsewhere=rows.elsewhere)

    def explain(
        self, X: Any, *, background: Any = None, sources: Sources | None = None, random_state: int = 0
    ) -> list[RowExplanation]:
        """How much each value of a row of a table moved the answer there: one explanation for each row of X,
        which may be a single one (a Series).

        Each has the ``answer``, its ``probability`` and ``log_odds``, their ``base`` and ``values``, whose
        ``moved`` are Shapley values of the log-odds: base + Σ moved = log_odds. They are exact with few
        columns, and have a standard error (``error``) with more (docs/maths.md, 9.9). Rows are compared with
        those of ``background``, by default up to 50 of training; about 20,000 are asked to explain one.
        ``sources`` are columns that count as one: the name of their source, and their names.
        """
        check_is_fitted(self, "classes_")
        options = {"background": background, "sources": sources, "random_state": random_state}
        return explain_rows(self.fitted_, X, classes=self.classes_, **options)

    def column_importance(
        self, X: Any, *, sources: Sources | None = None, permutations: int = 10, random_state: int = 0
    ) -> TableImportance:
        """What each column of the fitted table X is worth to the model: what is lost at held-out labels when
        its cells are permuted among them.

        The ``columns`` of what it returns have the ``log_likelihood`` lost by a label, with its standard
        ``error``, whether this is ``clear`` of none, and the ``accuracy`` lost (docs/maths.md, 9.9). The
        model must be the one that was fitted to X, not one from a file, with ``members`` of 2 or more. The
        columns of each of the ``sources`` (see ``explain``) are permuted together. Of many columns or labels
        each gets fewer ``permutations``, two at least; wide tables also fewer labels.
        """
        check_is_fitted(self, "classes_")
        return column_importance(
            self.fitted_, X, sources=sources, permutations=permutations, random_state=random_state
        )

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, features: Any = None, among: str = "auto"
    ) -> float:
        """The share of rows classified rightly, of those whose class is known: not -1, None or NaN."""
        predicted = self.predict(X, features=features, among=among)
        known, labelled, _ = read_labels(y, len(predicted))
        if len(known) == 0:
            raise LabelError(f"y must have a label to compare with. Got {len(predicted)} unlabelled rows.")
        weights = as_sample_weight(sample_weight, len(predicted))
        counted = None if weights is None else weights[labelled]
        return float(accuracy_score(known, predicted[labelled], sample_weight=counted))

    def _placed(self, X: Any, features: Any, among: str) -> PlacedRows:
        """Rows to predict, whose columns are those of ``fit``."""
        check_is_fitted(self, "classes_")
        if self.graph_kind_ != "categorical" and X is not None:
            check_columns(self, X, reset=False)
        return self.fitted_.place(X, features=features, among=among)

    def prepared_for(self, X: Any, features: Any) -> Prepared | None:
        """What an earlier warm fit has kept, if it was to the same rows with the same settings."""
        kept = self.warm_start and hasattr(self, "prepared_")
        same = kept and self._prepared_from == fingerprint(self.get_params(deep=False), X, features)
        return self.prepared_ if same else None

    def remember_columns(self, X: Any) -> PinvGCNClassifier:
        """Keep the number and names of the columns of X, to which those of later rows are compared."""
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if X is not None:
            check_columns(self, X, reset=True)
        return self

    def save(self, path: str | Path, *, about: dict[str, Any] | None = None) -> None:
        """Write the fitted model to a safetensors file (docs/file_format.md).

        ``about`` is kept with it as JSON, and is ``about_`` of the model that ``load`` returns; None keeps
        that of a model that was loaded. Processes that share out the rows all call this, with one path.
        """
        check_is_fitted(self, "classes_")
        columns = getattr(self, "feature_names_in_", np.array([])).tolist()
        about = self.about_ if about is None else about
        count = getattr(self, "n_features_in_", None)
        SavedModel(self.get_params(deep=False), self.fitted_, columns, count, about).write(path)

    @classmethod
    def load(cls, path: str | Path) -> PinvGCNClassifier:
        """Read a model that ``save`` wrote.

        ``graph_`` is not kept. A model of a given graph keeps the graph's spectrum, and so goes on
        classifying its nodes.
        """
        description, arrays = load_tensors(path, "model")
        with reading(path):
            saved = SavedModel.from_state(description, arrays)
            model = cls(**saved.parameters).adopt(saved.fitted)
        if saved.columns:
            model.feature_names_in_ = np.array(saved.columns, dtype=object)
        if saved.n_columns is not None:
            model.n_features_in_ = saved.n_columns
        model.about_ = saved.about
        return model
