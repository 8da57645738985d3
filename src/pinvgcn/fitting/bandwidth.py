"""σ from the labels: the width of the kernel at which held-out labels are most probable."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from pinvgcn.errors import GraphError, ParameterError, PinvGCNWarning
from pinvgcn.fitting.fit import learn
from pinvgcn.fitting.folds import hold_out
from pinvgcn.fitting.labels import RowLabels
from pinvgcn.fitting.nodes import CloudNodes
from pinvgcn.fitting.prepared import Prepared
from pinvgcn.fitting.settings import FitSettings
from pinvgcn.graphs import automatic_sigma

FACTORS = (1.0, 0.5, 2.0, 0.25)  # times the automatic σ
HOLD_OUTS = 3
SHARE = 1 / 3
EPOCHS = 150  # of a trial
SURE = 1e-3  # a probability below this counts as this: one wild point should not decide


def sigma_by_labels(
    settings: FitSettings, nodes: CloudNodes, labels: RowLabels, *, features: Any = None
) -> float:
    """The candidate σ at which labels that were held out are most probable (docs/maths.md, 6.4).

    The trials have these settings, but no trees, no patience and fewer epochs.
    """
    base = automatic_sigma(nodes.points)
    try:
        splits = [hold_out(labels, SHARE, seed) for seed in range(HOLD_OUTS)]
    except ParameterError:  # one label a class: nothing can be held out
        return base
    epochs = min(EPOCHS, settings.training(0, table=False).epochs)
    # trees know nothing of σ
    trial = replace(settings, epochs=epochs, trees=0, patience=None, verbose=False)
    losses: dict[float, np.ndarray] = {}  # σ: minus the log probability of each held-out label
    for factor in FACTORS:
        try:
            with warnings.catch_warnings():  # the model that is kept gives its own
                warnings.simplefilter("ignore", PinvGCNWarning)
                candidate = nodes.with_sigma(factor * base)
                resolved = trial.resolved(candidate)
                prepared = Prepared.of(candidate, features, resolved)
        except GraphError:  # some points would be isolated
            continue
        loss = []
        for seed, (learned, held) in enumerate(splits):
            P = learn(resolved, prepared, learned, seed).transduction_proba
            assert P is not None
            loss.append(-np.log(np.maximum(P[held.rows, held.codes], SURE)))
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
