"""σ from the labels: how far points should see each other for the classes to be told apart."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pinvgcn.errors import GraphError, ParameterError, PinvGCNWarning
from pinvgcn.fitting.labels import RowLabels
from pinvgcn.fitting.nodes import CloudNodes
from pinvgcn.graphs import automatic_sigma

FACTORS = (1.0, 0.5, 2.0, 0.25)  # times the automatic σ
HOLD_OUTS = 3
SHARE = 1 / 3
EPOCHS = 150  # of a trial
SURE = 1e-3  # a probability below this counts as this: one wild point should not decide


def sigma_by_labels(model: Any, nodes: CloudNodes, labels: RowLabels, features: Any) -> float:
    """The candidate σ at which labels that were held out are most probable (docs/maths.md, 6.4).

    ``model`` is the classifier whose settings the trials have; it is not changed.
    """
    base = automatic_sigma(nodes.points)
    try:
        splits = [labels.hold_out(SHARE, seed) for seed in range(HOLD_OUTS)]
    except ParameterError:  # one label a class: nothing can be held out
        return base
    epochs = min(EPOCHS, model._training_settings().epochs)
    # trees know nothing of σ
    settings = model.get_params(deep=False) | {"epochs": epochs, "trees": 0, "verbose": False}
    losses: dict[float, np.ndarray] = {}  # σ: minus the log probability of each held-out label
    for factor in FACTORS:
        trial = type(model)(**settings | {"sigma": factor * base, "patience": None})
        try:
            with warnings.catch_warnings():  # the model that is kept gives its own
                warnings.simplefilter("ignore", PinvGCNWarning)
                prepared = trial._prepare(nodes.with_sigma(factor * base), features, 0.0)
        except GraphError:  # some points would be isolated
            continue
        loss = []
        for seed, (learned, held) in enumerate(splits):
            trial._learn(prepared, learned, seed, warm=False)
            loss.append(-np.log(np.maximum(trial.transduction_proba_[held.rows, held.codes], SURE)))
        losses[factor * base] = np.concatenate(loss)
    return _clearly_best(losses, base)


def _clearly_best(losses: dict[float, np.ndarray], base: float) -> float:
    """The σ with the smallest mean loss, if it gains more than a standard error on the automatic one."""
    if not losses:
        return base
    best = min(losses, key=lambda sigma: float(losses[sigma].mean()))
    if best == base or base not in losses:
        return best
    gain = losses[base] - losses[best]
    return best if gain.mean() > gain.std() / np.sqrt(len(gain)) else base
