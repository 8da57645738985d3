"""The scikit-learn face of the method."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from pinvgcn.checks import as_sample_weight, check_columns, read_labels
from pinvgcn.distributed.group import together
from pinvgcn.errors import LabelError, ModelFileError, ParameterError
from pinvgcn.fitting.bandwidth import sigma_by_labels
from pinvgcn.fitting.estimate import AccuracyEstimate
from pinvgcn.fitting.explanation import RowExplanation, explain_rows
from pinvgcn.fitting.fit import learn
from pinvgcn.fitting.fitted_model import FittedModel, PlacedRows
from pinvgcn.fitting.importance import TableImportance, column_importance
from pinvgcn.fitting.mixed_rows import Sources
from pinvgcn.fitting.model_file import BY_NODE, SavedModel, narrowed
from pinvgcn.fitting.nodes import CloudNodes
from pinvgcn.fitting.prepared import Prepared
from pinvgcn.fitting.scan import scans_of
from pinvgcn.fitting.settings import FitSettings, group_of, seed_of
from pinvgcn.io.tensors import load_tensors, save_tensors, save_together
from pinvgcn.nn import PinvGCN

# settings on which more depends than the training of one network
SHARED = (
    "sigma", "rank", "loops", "geometry", "solver", "tolerance", "bins", "binning", "missing", "min_size",
    "numbers", "scaling", "filters", "experts", "neighbours", "device",
)  # fmt: skip


class PinvGCNClassifier(ClassifierMixin, BaseEstimator):
    """Classify all nodes of a dense graph from a few labels.

    Parameters
    ----------
    graph : {"auto", "gaussian", "categorical"} or Graph
        What joins the rows of X: distance between points, values shared in a table, or a graph that is
        given (X then holds features of its nodes, or is None). "auto" is "categorical" for a DataFrame with a
        column that is not of numbers (text, categories, truth values, objects) and for an array with text,
        and "gaussian" for numbers, in an array or a DataFrame, however many columns there are: scale columns
        of different units, or pass "categorical".
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
        whose last must be the height, and trees see them alone. "auto": for points in space, 2,000 or more.
    solver, tolerance
        How the spectrum is computed and how large a residual is accepted; see ``Graph.spectrum``.
    bins, binning, missing, min_size
        "categorical": see ``Hypergraph.from_table``. By default bins hold equally many rows
        (``binning="quantile"``).
    numbers : bool
        "categorical": whether columns of numbers are seen as numbers too. Networks see them beside their
        bins, the other experts in place of them. A missing number is the median, one beyond those of training
        the nearest of them. Without, only the bin counts.
    scaling : {"ranks", "isotropic", "centre", "none", "standard"}
        What is done to points and other features before the network sees them: "isotropic" centres them,
        brings all coordinates by one common factor to a spread (root mean square) of 10, and each other
        feature by its own; "ranks" does so after it has replaced the values of the other features by their
        normal scores, which depend on ranks alone; "centre" keeps their units; "standard" gives each column
        a spread of 1. Categories and bins of tables stay 0 and 1; their numbers are such other features. The
        features of a given graph stay as they are.
    filters, hidden, dropout
        The network; see ``PinvGCN``.
    learning_rate
        Of its training; see ``TrainingSettings``.
    weight_decay, epochs : float and int, or "auto"
        The same. "auto" is 0.01 and 200 for tables, 0.0005 and 300 elsewhere where trees stand beside the
        network, and 0.0005 and 500 without them.
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
        How many networks are trained, whose scores are averaged. Each of several goes without one fold of the
        labels, by which it is found how sure they may be, how much each expert counts, which classes a
        ``predict_set`` holds and, for scans, how well they do. Folds are random, or for scans such that
        held-out labels lie as far from others as unlabelled points (docs/maths.md, 9.7). "auto" for 5 on
        tables and wherever ``geometry`` is used, 1 elsewhere.
    experts : "auto", str or sequence of str
        "categorical": what each member has, some of "network", "forest" (a random forest), "trees" (extremely
        randomised ones), "linear" (logistic regression), "kernel" (logistic regression with a Gaussian
        kernel) and "diffusion" (labels spread over a graph of nearest rows); the network is always among
        them. Their probabilities are multiplied, with exponents found at the labels that the member has not
        seen: an expert that does badly there counts for nothing (docs/maths.md, 9.6). "auto" for all six.
        Elsewhere "auto" or "network".
    trees : int or "auto"
        How many trees each forest of a member has; 0 for no forest. Of points and graphs these are extremely
        randomised trees beside the network, from the same labels; the probabilities of all are multiplied,
        with exponents found at the labels that the member has not seen.
        Those of scans do not know the place, so that they classify other scans. They look twice: half as many
        see fine shapes, half as many wide ones, and so many see what these say of the surroundings of a point
        (docs/maths.md, 9.8); where labels lie in few places, or none is held out, the first two have so many
        each and there are no others. Without ``geometry`` one forest sees what the network sees. "auto" for
        40 wherever ``geometry`` is used, 60 for tables, 0 elsewhere.
    neighbours : int, "auto" or None
        "gaussian": class probabilities are averaged over what lies around a point, about as widely as over so
        many nearest points; None for not at all, "auto" for 10 wherever ``geometry`` is used. There are three
        rounds of it where labels of a scan lie in few places (docs/maths.md, 9.1).
        "categorical": how many of the nearest rows a row is joined to in the graph on which labels spread;
        None for no diffusion, "auto" for 5.
    priors : "estimated", "auto", dict or None
        How frequent the classes are, where that differs from their shares of the labels: "estimated" finds it
        from the unlabelled rows, a dict of class: share tells it, None takes the labels' shares. Where labels
        of a scan lie in few places, and in other scans, "estimated" corrects by one step at half power
        (docs/maths.md, 9.2). Of a table it is the more careful the fewer labels there are. "auto" is
        "estimated" wherever ``geometry`` is used, and for tables with several experts if labels look picked
        class by class, ten of each or more, and there is no ``class_weight``; None elsewhere.
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
        The probabilities behind it. A saved model of points does not keep them.
    classes_ : (classes,) array
    graph_kind_ : {"gaussian", "categorical", "given"}
        What joins the rows, chosen or told; "given" for a Graph.
    sigma_ : float
        "gaussian": the σ of the graph, chosen or given.
    priors_ : (classes,) array
        The share of each class, by ``priors``.
    graph_, spectrum_
        The graph and its spectrum.
    fitted_ : FittedModel
        All that was found, as a value: it places rows, asks its experts, and gives probabilities and sets.
    network_ : PinvGCN
        The trained network, the first of several.
    loss_curve_, n_iter_ : list of float, int
        The loss of each of its epochs, and how many there were.
    accuracy_estimate_ : AccuracyEstimate or None
        Of a scan: which share of the unlabelled points is expected to be classified correctly, with a 90 %
        interval; or why that cannot be told.
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
    >>> model = PinvGCNClassifier().fit(mushroom.X, labels)
    >>> model.graph_kind_
    'categorical'
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
        self,
        graph: Any = "auto",
        *,
        sigma: float | str = "auto",
        rank: int | None = None,
        loops: float = 1.0,
        geometry: bool | str = "auto",
        solver: str = "auto",
        tolerance: float | None = None,
        bins: int = 10,
        binning: str = "quantile",
        missing: str = "ignore",
        min_size: int = 2,
        numbers: bool = True,
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
        experts: str | Sequence[str] = "auto",
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
        self.numbers = numbers
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
        self.experts = experts
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
        if isinstance(graph, str) and graph == "auto":
            raise ParameterError(
                "graph must be 'gaussian', 'categorical' or a Graph: the paper's settings depend on it. "
                "Got 'auto' instead."
            )
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
            "numbers": False,
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
            "experts": "network",
            "trees": 0,
            "neighbours": None,
            "priors": None,
        }
        return cls(graph, sigma=sigma, rank=rank, **{**settings, **others})

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
            "gaussian": the ``local_geometry`` of the rows within a larger cloud of which they are a part,
            instead of that among themselves, and its cells. The whole cloud is then classified with
            ``among="own"``.
        groups : (n,) array of whole numbers, optional
            "gaussian": the scan that each point is from, where several are fitted together. How a new scan is
            classified, and how well that is expected to go, is then found by scans that are held out whole.
        process_group : torch.distributed group, optional
            The processes that share out the rows: each calls ``fit`` with its own, maybe none, and with the
            same settings. Together they find the model that one process would find from all rows, in the
            order of the ranks. ``transduction_``, ``transduction_proba_`` and the rows of ``spectrum_`` are
            those of this process; ``predict`` needs no other one; ``save`` is called by all, for one file.
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
            self.prepared_, self._prepared_from = prepared, self._fingerprint(X, beside)
        return self

    def adopt(self, fitted: FittedModel) -> PinvGCNClassifier:
        """Become the classifier of a model that was fitted elsewhere, with the parameters of this one."""
        for name in ("graph_", "sigma_", "transduction_proba_"):
            self.__dict__.pop(name, None)
        self.fitted_ = fitted
        self.classes_ = fitted.classes
        self.graph_kind_ = fitted.nodes.kind
        self.spectrum_ = fitted.spectrum
        self.priors_ = fitted.priors
        self.network_ = fitted.networks.members[0].network
        self.loss_curve_ = fitted.networks.members[0].losses
        self.n_iter_ = len(self.loss_curve_)
        self.timings_ = fitted.seconds
        self.accuracy_estimate_ = fitted.estimate
        self.about_ = None
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
        """How much each value of a row of a table moved the answer there: one explanation for each row of X.

        Each has the ``answer``, its ``probability`` and ``log_odds``, their ``base`` and ``values``, whose
        ``moved`` are Shapley values of the log-odds: base + Σ moved = log_odds. They are exact with few
        columns, and have a standard error (``error``) with more (docs/maths.md, 9.9).

        Parameters
        ----------
        X : DataFrame, one row of it (a Series), or array
            Rows with the columns of ``fit``. About 20,000 rows are asked to explain one.
        background : DataFrame or array, optional
            Rows to compare with; by default up to 50 rows of training, which the model keeps.
        sources : dict, optional
            Columns that count as one, as those made of one date: the name of their source, and their names.
        """
        check_is_fitted(self, "classes_")
        return explain_rows(
            self.fitted_,
            X,
            classes=self.classes_,
            background=background,
            sources=sources,
            random_state=random_state,
        )

    def column_importance(
        self, X: Any, *, sources: Sources | None = None, permutations: int = 10, random_state: int = 0
    ) -> TableImportance:
        """What each column of the fitted table X is worth to the model: what is lost at held-out labels when
        its cells are permuted among them.

        The ``columns`` of what it returns have the ``log_likelihood`` lost by a label, with its standard
        ``error``, whether this is ``clear`` of none, and the ``accuracy`` lost (docs/maths.md, 9.9). The
        model must be the one that was fitted, not one from a file, with ``members`` of 2 or more.

        Parameters
        ----------
        X : DataFrame or array
            The rows that the model was fitted to.
        sources : dict, optional
            Columns that are permuted together, as those made of one date: the name of their source, and their
            names.
        permutations : int
            Of each column. Many columns or labels get fewer, two at least; wide tables also fewer labels.
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
        known, labelled = read_labels(y, len(predicted))
        if len(known) == 0:
            raise LabelError(f"y must have a label to compare with. Got {len(predicted)} unlabelled rows.")
        weights = as_sample_weight(sample_weight, len(predicted))
        return float(
            accuracy_score(
                known, predicted[labelled], sample_weight=None if weights is None else weights[labelled]
            )
        )

    def _placed(self, X: Any, features: Any, among: str) -> PlacedRows:
        """Rows to predict, whose columns are those of ``fit``."""
        check_is_fitted(self, "classes_")
        if self.graph_kind_ != "categorical" and X is not None:
            check_columns(self, X, reset=False)
        return self.fitted_.place(X, features=features, among=among)

    def prepared_for(self, X: Any, features: Any) -> Prepared | None:
        """What an earlier warm fit has kept, if it was to the same rows with the same settings."""
        if not self.warm_start or not hasattr(self, "prepared_"):
            return None
        return self.prepared_ if self._prepared_from == self._fingerprint(X, features) else None

    def _fingerprint(self, X: Any, features: Any) -> str:
        """Of all that ``Prepared`` depends on."""
        settings = [getattr(self, name) for name in SHARED]
        graph = (
            self.graph if isinstance(self.graph, str) else id(self.graph)
        )  # which the kept nodes hold on to
        return str(joblib.hash((X, features, graph, settings)))

    def remember_columns(self, X: Any) -> PinvGCNClassifier:
        """Keep the number and names of the columns of X, to which those of later rows are compared."""
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if X is not None:
            check_columns(self, X, reset=True)
        return self

    def save(self, path: str | Path, *, about: dict[str, Any] | None = None) -> None:
        """Write the fitted model to a safetensors file (docs/file_format.md).

        ``about`` is kept with it as JSON, and is ``about_`` of the model that ``load`` returns: where data
        came from, which columns were used. None keeps the ``about_`` of a model that was loaded. Where
        processes share out the rows all must call this, with one path that all reach: each writes its own
        rows into the one file, which is that of a single process with all rows.
        """
        check_is_fitted(self, "classes_")
        group = self.fitted_.group
        with together(group):
            saved = SavedModel(
                self.get_params(deep=False),
                self.fitted_,
                getattr(self, "feature_names_in_", np.array([])).tolist(),
                getattr(self, "n_features_in_", None),
                self.about_ if about is None else about,
            )
            description, arrays = saved.state()
        arrays = narrowed(arrays, group)
        if group.alone:
            save_tensors(path, "model", description, arrays)
        else:
            save_together(path, "model", description, arrays, by_node=BY_NODE, group=group)

    @classmethod
    def load(cls, path: str | Path) -> PinvGCNClassifier:
        """Read a model that ``save`` wrote.

        ``graph_`` is not kept. A model of a given graph keeps the graph's spectrum, and so goes on
        classifying its nodes.
        """
        description, arrays = load_tensors(path, "model")
        try:
            saved = SavedModel.from_state(description, arrays)
            model = cls(**saved.parameters).adopt(saved.fitted)
        except ModelFileError as error:
            raise ModelFileError(f"{path} cannot be used: {error}") from None
        except (KeyError, IndexError, RuntimeError, TypeError, ValueError) as error:
            raise ModelFileError(f"{path} is damaged: {error!r}. Save the model again.") from None
        if saved.columns:
            model.feature_names_in_ = np.array(saved.columns, dtype=object)
        if saved.n_columns is not None:
            model.n_features_in_ = saved.n_columns
        model.about_ = saved.about
        return model
