"""Many runs on the same rows: other labels, other seeds, one spectrum."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any

import torch

from pinvgcn.checks import check_count
from pinvgcn.distributed.group import Group, together
from pinvgcn.errors import ParameterError
from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.experts import RowLabels
from pinvgcn.fitting.fit import learn
from pinvgcn.fitting.prepared import Prepared
from pinvgcn.fitting.settings import FitSettings, seed_of


class SharedRows:
    """Rows on which a model is fitted again and again: graph, spectrum and first products are made once.

    The processes of a ``process_group`` may share the rows, as in ``fit``; y is then that of this process.
    ``prepared.seconds`` is what that took; it may have been ``kept`` of an earlier fit. The model is not
    changed; of its settings ``verbose`` and ``warm_start`` have no place here.
    """

    def __init__(
        self,
        model: PinvGCNClassifier,
        X: Any,
        *,
        features: Any = None,
        shapes: Any = None,
        kept: Prepared | None = None,
        process_group: Any = None,
    ) -> None:
        self.parameters = model.get_params(deep=False) | {"verbose": False, "warm_start": False}
        self.group = Group.of(process_group)
        self.settings = FitSettings.of(self.parameters).for_rows(X, self.group)
        if self.settings.by_labels:
            raise ParameterError(
                "sigma must be a number or 'auto' where runs share one spectrum. Got 'labels' instead."
            )
        self.X = X
        self.model_class = type(model)
        started = time.perf_counter()
        nodes = self.settings.nodes(X, shapes=shapes, group=self.group) if kept is None else kept.nodes
        with together(self.group):
            self._unfitted(0)
        made = time.perf_counter() - started
        self.resolved = self.settings.resolved(nodes)
        self.prepared = kept or Prepared.of(nodes, features, self.resolved, seconds=made)

    def fit(self, y: Any, *, random_state: Any = 0) -> PinvGCNClassifier:
        """A fitted copy of the model: what ``fit(X, y)`` would give, by the first rank's ``random_state``."""
        with together(self.group):
            run = self._unfitted(random_state)
            seed = seed_of(random_state)
        seed = self.group.values(seed)[0]
        labels = self.settings.labels(y, self.prepared.nodes)
        return run.adopt(learn(self.resolved, self.prepared, labels, seed))

    def _unfitted(self, random_state: Any) -> PinvGCNClassifier:
        run = self.model_class(**self.parameters | {"random_state": random_state})
        return run.remember_columns(self.X)


def fit_many(
    model: PinvGCNClassifier,
    X: Any,
    labels: Iterable[Any],
    *,
    features: Any = None,
    random_states: Sequence[Any] | None = None,
    workers: int | None = None,
) -> list[PinvGCNClassifier]:
    """A fitted copy of ``model`` for each y in ``labels``: what ``fit(X, y)`` of each would give.

    Graph, spectrum and the first layer's products are computed once; the runs are trained side by side, each
    in one thread. Masks and samples depend on a run's own seed alone, so that neither the other runs nor the
    number of workers change a run. With ``sigma="labels"`` every run has a spectrum of its own: one fit after
    the other. An interrupt from the keyboard ends all runs within an epoch, and is raised: a part of the runs
    would not fit their labels.

    Parameters
    ----------
    model : PinvGCNClassifier
        The settings, of which ``verbose`` has no place here. It is not changed. What it has kept of a fit to
        the same rows with ``warm_start`` is used; its weights are not.
    labels : iterable of (n,) arrays
        The y of each run.
    random_states : sequence, optional
        The ``random_state`` of each run, instead of the model's own.
    workers : int, optional
        How many runs at a time; as many as PyTorch has threads by default.
    """
    ys = list(labels)
    states = [model.random_state] * len(ys) if random_states is None else list(random_states)
    if len(states) != len(ys):
        raise ParameterError(
            f"random_states must have one entry for each of the {len(ys)} runs. Got {len(states)} instead."
        )
    count = torch.get_num_threads() if workers is None else check_count("workers", workers)
    parameters = model.get_params(deep=False) | {"verbose": False}
    runs = [type(model)(**parameters | {"random_state": state}) for state in states]
    if not runs:
        return []
    if FitSettings.of(parameters).for_rows(X).by_labels:  # every run has a σ of its own, and so a spectrum
        return [run.fit(X, y, features=features) for run, y in zip(runs, ys, strict=True)]
    seeds = [seed_of(state) for state in states]
    shared = SharedRows(model, X, features=features, kept=model.prepared_for(X, features))
    read = [shared.settings.labels(y, shared.prepared.nodes) for y in ys]
    stop = threading.Event()

    def tell(epoch: int, loss: float) -> None:
        if stop.is_set():
            raise CancelledError

    def one(run: PinvGCNClassifier, labels: RowLabels, seed: int) -> PinvGCNClassifier:
        fitted = learn(shared.resolved, shared.prepared, labels, seed, threads=1, tell=tell)
        return run.remember_columns(X).adopt(fitted)

    with ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        fits = [pool.submit(one, *each) for each in zip(runs, read, seeds, strict=True)]
        try:
            return [fit.result() for fit in fits]
        except BaseException:  # an interrupt, or the error of one run: the others end, too
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
