"""The scikit-learn face of the method."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from pinvgcn.checks import (
    UNLABELLED,
    as_matrix,
    as_sample_weight,
    check_choice,
    check_non_negative,
    check_rows,
    encode_labels,
    read_labels,
)
from pinvgcn.errors import ColumnError, DataError, LabelError, ModelFileError, ParameterError, TrainingError
from pinvgcn.io.tensors import load_tensors, save_tensors
from pinvgcn.model_file import model_state, restore_model, saved_parameters
from pinvgcn.nn import PinvGCN, TrainingSettings, train
from pinvgcn.nn.nodewise import apply_layers, fold
from pinvgcn.nodes import Nodes, nodes_of
from pinvgcn.spectra import Spectrum

SCALINGS = ("isotropic", "centre", "none", "standard")
SPREAD = 10.0  # of isotropic inputs: what steps of 0.01 move quickly, whatever the unit of length was


class PinvGCNClassifier(ClassifierMixin, BaseEstimator):
    """Classify all nodes of a dense graph from a few labels.

    Parameters
    ----------
    graph : {"gaussian", "categorical"} or Graph
        What joins the rows of X: distance between points, values shared in a table, or a graph that is
        given (X then holds features of its nodes, or is None).
    sigma : float or "auto"
        "gaussian": the distance over which points see each other; "auto" takes it from the extent of
        the cloud.
    rank : int, optional
        How many eigenvectors the filter inverts. By default 60 for clouds, all that are meaningful for
        tables, 100 for sparse graphs.
    loops : float
        "gaussian": the weight that joins each point to itself. With 1 every eigenvector is a smooth
        function of position; the paper has 0.
    solver, tolerance
        How the spectrum is computed and how large a residual is accepted; see ``Graph.spectrum``.
    bins, missing, min_size
        "categorical": see ``Hypergraph.from_table``.
    scaling : {"isotropic", "centre", "none", "standard"}
        What is done to points and extra features before the network sees them: "isotropic" centres them,
        brings all coordinates by one common factor to a spread (root mean square) of 10, and each extra
        feature by its own; "centre" keeps their units; "standard" gives each column a spread of 1. Tables
        stay 0 and 1, and the features of a given graph stay as they are.
    filters, hidden, dropout
        The network; see ``PinvGCN``.
    learning_rate, weight_decay, epochs
        Its training; see ``TrainingSettings``.
    class_weight : dict, "balanced" or None
        Importance of the classes in training.
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
    graph_, spectrum_
        The graph and its spectrum.
    network_ : PinvGCN
        The trained network.
    loss_curve_ : list of float
        The loss of each epoch.
    timings_ : dict
        Seconds for "graph", "spectrum" and "training".

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

    def __init__(
        self,
        graph: Any = "gaussian",
        *,
        sigma: float | str = "auto",
        rank: int | None = None,
        loops: float = 1.0,
        solver: str = "auto",
        tolerance: float | None = None,
        bins: int = 10,
        missing: str = "ignore",
        min_size: int = 2,
        scaling: str = "isotropic",
        filters: Any = "three-part",
        hidden: int | Sequence[int] = 32,
        dropout: float = 0.5,
        learning_rate: float = 0.01,
        weight_decay: float = 0.0005,
        epochs: int = 500,
        class_weight: Any = None,
        device: str = "cpu",
        random_state: Any = 0,
    ) -> None:
        self.graph = graph
        self.sigma = sigma
        self.rank = rank
        self.loops = loops
        self.solver = solver
        self.tolerance = tolerance
        self.bins = bins
        self.missing = missing
        self.min_size = min_size
        self.scaling = scaling
        self.filters = filters
        self.hidden = hidden
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.epochs = epochs
        self.class_weight = class_weight
        self.device = device
        self.random_state = random_state

    @classmethod
    def paper(
        cls, graph: Any = "gaussian", *, sigma: float = 100.0, rank: int | None = None, **others: Any
    ) -> PinvGCNClassifier:
        """The settings of the paper, fixed for ever: no loops, features as they are, 500 epochs at 0.01.

        ``rank`` is 100 by default for "gaussian" and the full honest rank for "categorical", where single-row
        hyperedges are kept, as in the paper's tables. ``others`` replace single settings.
        """
        if rank is None and isinstance(graph, str) and graph == "gaussian":
            rank = 100
        settings = {
            "loops": 0.0,
            "solver": "auto",
            "tolerance": 1e-3 if isinstance(graph, str) and graph == "gaussian" else None,
            "bins": 10,
            "missing": "ignore",
            "min_size": 1,
            "scaling": "none",
            "filters": "three-part",
            "hidden": 32,
            "dropout": 0.5,
            "learning_rate": 0.01,
            "weight_decay": 0.0005,
            "epochs": 500,
            "class_weight": None,
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
        self, X: Any, y: Any = None, *, features: Any = None, sample_weight: Any = None
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
        """
        settings = TrainingSettings(self.learning_rate, self.weight_decay, self.epochs)
        check_choice("scaling", self.scaling, SCALINGS)
        seed = self._seed()
        started = time.perf_counter()
        nodes = nodes_of(
            X,
            self.graph,
            sigma=self.sigma,
            loops=self.loops,
            bins=self.bins,
            missing=self.missing,
            min_size=self.min_size,
        )
        assert nodes.graph is not None
        n = nodes.graph.n_nodes
        self._remember_columns(X)
        classes, codes = encode_labels(y, n)
        weights = self._label_weights(classes, codes, as_sample_weight(sample_weight, n))
        inputs = self._join(nodes.features, features, n, fitting=True)
        shift, scale = self._scaling(inputs, nodes)
        inputs = (inputs - shift) / scale
        nodes.graph.degrees  # noqa: B018 - part of making the graph, so that its time counts as such
        graph_done = time.perf_counter()
        spectrum = self._spectrum(nodes)
        spectrum_done = time.perf_counter()

        network, losses = self._train(spectrum, inputs, codes, len(classes), weights, settings, seed)
        V = spectrum.basis
        with np.errstate(over="ignore", invalid="ignore"):  # checked right after
            layers = fold(network, inputs, V)
            scores = apply_layers(layers, inputs, V)
        if not np.isfinite(scores).all():
            raise TrainingError(
                f"The scores became {scores[~np.isfinite(scores)][0]} in epoch {self.epochs}, the last. "
                f"Lower learning_rate (now {self.learning_rate:g}) or scale the features."
            )
        done = time.perf_counter()

        self.classes_ = classes
        self.graph_ = nodes.graph
        self.spectrum_ = spectrum
        self.network_ = network
        self.loss_curve_ = losses
        self.n_iter_ = len(losses)
        self.timings_ = {
            "graph": graph_done - started,
            "spectrum": spectrum_done - graph_done,
            "training": done - spectrum_done,
        }
        self._nodes = nodes
        self._layers = layers
        self._shift, self._scale = shift, scale
        self._n_extra = inputs.shape[1] - nodes.features.shape[1]
        self.transduction_proba_ = softmax(scores, axis=1)
        self.transduction_ = classes[scores.argmax(axis=1)]
        return self

    def predict_proba(self, X: Any, *, features: Any = None) -> np.ndarray:
        """Probabilities of the classes at any rows, seen or not: (m, classes)."""
        return softmax(self._scores(X, features), axis=1)

    def predict(self, X: Any, *, features: Any = None) -> np.ndarray:
        """The most probable class at any rows, seen or not: (m,)."""
        scores = self._scores(X, features)
        return self.classes_[scores.argmax(axis=1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, features: Any = None) -> float:
        """The share of rows classified rightly, of those whose class is known: not -1, None or NaN."""
        predicted = self.predict(X, features=features)
        known, labelled = read_labels(y, len(predicted))
        if len(known) == 0:
            raise LabelError(f"y must have a label to compare with. Got {len(predicted)} unlabelled rows.")
        weights = as_sample_weight(sample_weight, len(predicted))
        return float(
            accuracy_score(
                known, predicted[labelled], sample_weight=None if weights is None else weights[labelled]
            )
        )

    def _scores(self, X: Any, features: Any) -> np.ndarray:
        check_is_fitted(self, "classes_")
        if self._nodes.kind != "categorical" and getattr(X, "ndim", 2) == 2 and X is not None:
            self._columns(X, reset=False)
        V, own = self._nodes.place(X, self.spectrum_)
        inputs = (self._join(own, features, len(own), fitting=False) - self._shift) / self._scale
        return apply_layers(self._layers, inputs, V)

    def _seed(self) -> int:
        try:
            return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        except ValueError:
            raise ParameterError(
                "random_state must be None, a whole number from 0 to 2**32 - 1 or a numpy RandomState. "
                f"Got {self.random_state!r} instead."
            ) from None

    def _spectrum(self, nodes: Nodes) -> Spectrum:
        assert nodes.graph is not None
        options: dict[str, Any] = {"solver": self.solver}
        if self.tolerance is not None:
            options["tolerance"] = self.tolerance
        return nodes.graph.spectrum(self.rank, **options)

    def _train(
        self,
        spectrum: Spectrum,
        inputs: np.ndarray,
        codes: np.ndarray,
        n_classes: int,
        weights: np.ndarray | None,
        settings: TrainingSettings,
        seed: int,
    ) -> tuple[PinvGCN, list[float]]:
        try:
            device = torch.device(self.device)
            torch.zeros(1, device=device).item()
        except (RuntimeError, TypeError, AssertionError) as error:
            raise ParameterError(
                f"device must be one that PyTorch has here, such as 'cpu'. Got {self.device!r} "
                f"instead ({str(error).splitlines()[0]})."
            ) from None
        network = PinvGCN(
            spectrum,
            inputs.shape[1],
            n_classes,
            hidden=self.hidden,
            dropout=self.dropout,
            filters=self.filters,
            generator=torch.Generator().manual_seed(seed),
        )
        network.to(device)
        labelled = np.flatnonzero(codes != UNLABELLED if weights is None else weights > 0)
        losses = train(
            network,
            torch.from_numpy(inputs).to(device),
            torch.from_numpy(labelled).to(device),
            torch.from_numpy(codes[labelled]).to(device),
            settings,
            weights=None if weights is None else torch.from_numpy(weights[labelled]).to(network.V),
            seed=seed,
        )
        return network, losses

    def _label_weights(
        self, classes: np.ndarray, codes: np.ndarray, sample_weight: np.ndarray | None
    ) -> np.ndarray | None:
        """The importance of each node, zero where unlabelled; None where all labels count the same."""
        labelled = codes != UNLABELLED
        if self.class_weight is None and sample_weight is None:
            return None
        if isinstance(self.class_weight, dict):
            unknown = [c for c in self.class_weight if c not in set(classes.tolist())]
            if unknown:
                raise LabelError(
                    f"class_weight must name classes that have a labelled row. Got {unknown[0]!r} instead; "
                    f"the labelled classes are {classes.tolist()}."
                )
            for name, weight in self.class_weight.items():
                check_non_negative(f"class_weight[{name!r}]", weight)
        elif self.class_weight is not None and not (
            isinstance(self.class_weight, str) and self.class_weight == "balanced"
        ):
            raise ParameterError(
                f"class_weight must be a dict, 'balanced' or None. Got {self.class_weight!r} instead."
            )
        per_class = compute_class_weight(self.class_weight, classes=classes, y=classes[codes[labelled]])
        weights = np.zeros(len(codes))
        weights[labelled] = per_class[codes[labelled]]
        if sample_weight is not None:
            weights *= sample_weight
        if not (weights > 0).any():
            raise DataError("sample_weight must be positive at one labelled row at least. Got zeros only.")
        return weights

    def _join(self, own: np.ndarray, features: Any, n: int, *, fitting: bool) -> np.ndarray:
        """The nodes' own features and the extra ones, side by side."""
        if not fitting and self._n_extra and features is None:
            raise DataError(
                f"features must be given as in fit, with {self._n_extra} columns. Got None instead."
            )
        if features is None:
            return own
        extra = as_matrix(features, "features")
        check_rows(extra, n, "features", "rows of X")
        if not fitting and extra.shape[1] != self._n_extra:
            raise DataError(
                f"features must have {self._n_extra} columns as in fit. Got {extra.shape[1]} instead."
            )
        return np.hstack([own, extra])

    def _scaling(self, inputs: np.ndarray, nodes: Nodes) -> tuple[np.ndarray, np.ndarray]:
        """(shift, scale): the network sees (inputs − shift) / scale."""
        shift, scale = np.zeros(inputs.shape[1]), np.ones(inputs.shape[1])
        # incidences and a given graph's own features keep their meaning: only clouds and extras are moved
        begin = 0 if nodes.kind == "gaussian" else nodes.features.shape[1]
        largest = np.abs(inputs).max(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):  # checked right after
            if self.scaling != "none":
                shift[begin:] = inputs[:, begin:].mean(axis=0)
            if self.scaling in ("standard", "isotropic"):
                spread = inputs.std(axis=0)
                if self.scaling == "isotropic":
                    own = nodes.features.shape[1]
                    spread[:own] = np.sqrt(np.mean(spread[:own] ** 2))  # one factor: shapes stay as they are
                    spread /= SPREAD
                # the spread of a constant column is rounding, which must not become its unit
                rounding = len(inputs) * np.finfo(np.float64).eps * largest
                scale[begin:] = np.where(spread <= rounding, 1.0, spread)[begin:]
        if not (np.isfinite(shift).all() and np.isfinite(scale).all()):
            raise DataError(
                f"X and features must be small enough to have a mean and a spread. Got {largest.max():g}; "
                "use larger units."
            )
        return shift, scale

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

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a safetensors file (docs/file-format.md)."""
        check_is_fitted(self, "classes_")
        save_tensors(path, "model", *model_state(self))

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
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ModelFileError(f"{path} is damaged: {error!r}. Save the model again.") from None
        return model
