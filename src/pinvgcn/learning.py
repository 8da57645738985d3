"""From labels and what was prepared to a model: networks, trees and walks, weighed by held-out labels."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from pinvgcn.errors import TrainingError
from pinvgcn.members import Ensemble, Member, Seen, as_members, as_trees, side_by_side, weights_of
from pinvgcn.nn import Labels, PinvGCN, TrainingSettings, train
from pinvgcn.nn.model import copy_weights
from pinvgcn.nn.nodewise import fold
from pinvgcn.nn.progress import progress
from pinvgcn.nodes import Nodes
from pinvgcn.outcome import Outcome
from pinvgcn.prepared import Prepared
from pinvgcn.row_labels import RowLabels
from pinvgcn.sets import PredictionSets
from pinvgcn.settings import as_device, training_settings
from pinvgcn.trees import Trees

WARM_SHARE = 5  # a warm fit takes a fifth of the epochs: it begins near its end
Before = tuple[Ensemble, np.ndarray]  # what an earlier fit has learned, and its classes


@dataclass(frozen=True)
class Learned:
    """All that a fit adds to what was prepared."""

    ensemble: Ensemble
    outcome: Outcome
    sets: PredictionSets | None
    priors: np.ndarray  # (classes,)
    proba: np.ndarray  # (n, classes), at the rows of X
    seconds: dict[str, float]


def learn(
    model: Any,
    prepared: Prepared,
    labels: RowLabels,
    seed: int,
    *,
    before: Before | None,
    threads: int | None = None,
    tell: Callable[[int, float], None] | None = None,
) -> Learned:
    """Train networks with the settings of ``model``, sum them over all nodes, and weigh what they say.

    They begin where those ``before`` have ended. ``tell`` hears of each epoch.
    """
    started = time.perf_counter()
    warm = before is not None
    count = as_members(model.members, prepared.nodes)
    parts = labels.folds(count, seed)
    trees = as_trees(model.trees, prepared.nodes)
    values = prepared.unranked() if trees else None
    done = itertools.count()

    def one(number: int, stop: threading.Event | None) -> Member:
        def on_epoch(epoch: int, loss: float) -> None:
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            if tell is not None:
                tell(epoch, loss)
            if show is not None:
                show(next(done), loss)

        own = seed if number == 0 else int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
        mine = parts[number][0]
        begin = None if before is None else (before[0].like(number).network, before[1])
        member = _trained(model, prepared, mine, own, begin, on_epoch, threads if count == 1 else 1)
        if values is None:
            return member
        places = prepared.node_of(mine.rows)
        return replace(member, trees=Trees.grown(values, mine, places, count=trees, seed=own))

    epochs = count * _settings(model, warm, prepared.nodes).epochs
    with progress(epochs, show=model.verbose) as show:
        members = side_by_side(one, count, threads or torch.get_num_threads())
    with np.errstate(over="ignore", invalid="ignore"):  # checked right after
        seen = Seen(prepared.inputs, prepared.basis, values, prepared.near())
        ensemble = _weighed(members, parts, prepared, seen)
        each = [prepared.of_all_rows(scores) for scores in ensemble.each(seen)]
        scores = np.mean(each, axis=0) if count > 1 else each[0]
    if not np.isfinite(scores).all():
        raise TrainingError(
            f"The scores became {scores[~np.isfinite(scores)][0]} in epoch {len(members[0].losses)}, "
            f"the last. Lower learning_rate (now {model.learning_rate:g}) or scale the features."
        )
    outcome, P = Outcome.of(
        scores,
        prepared.nodes,
        labels,
        neighbours=model.neighbours,
        priors=model.priors,
    )
    seconds = dict.fromkeys(prepared.seconds, 0.0) if warm else dict(prepared.seconds)
    seconds["training"] += time.perf_counter() - started
    alone = [ensemble.alone * scores for scores in each]
    sets = PredictionSets.of(alone, [held for _, held in parts], outcome, prepared.nodes)
    priors = labels.shares if outcome.factors is None else labels.shares * outcome.factors
    return Learned(ensemble, outcome, sets, priors, P, seconds)


def _weighed(members: list[Member], parts: Sequence[Any], prepared: Prepared, seen: Seen) -> Ensemble:
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


def _settings(model: Any, warm: bool, nodes: Nodes) -> TrainingSettings:
    settings = training_settings(model, as_trees(model.trees, nodes))
    return replace(settings, epochs=max(1, settings.epochs // WARM_SHARE)) if warm else settings


def _trained(
    model: Any,
    prepared: Prepared,
    labels: RowLabels,
    seed: int,
    before: tuple[PinvGCN, np.ndarray] | None,
    on_epoch: Callable[[int, float], None],
    threads: int | None,
) -> Member:
    """One network, which begins where the one ``before``, of these classes, has ended."""
    settings = _settings(model, before is not None, prepared.nodes)
    network = PinvGCN(
        prepared.spectrum,
        prepared.inputs.shape[1],
        len(labels.classes),
        hidden=model.hidden,
        dropout=model.dropout,
        filters=model.filters,
        generator=torch.Generator().manual_seed(seed),
    ).to(as_device(model.device))
    if before is not None:
        copy_weights(*before, network, labels.classes)
    watched = None
    if settings.patience is not None:
        labels, watched = labels.hold_out(model.held_out, seed)
    losses = train(
        network,
        prepared.problem,
        at_nodes(labels, prepared),
        settings,
        held_out=None if watched is None else at_nodes(watched, prepared),
        seed=seed,
        on_epoch=on_epoch,
        threads=threads,
    )
    counts = None if prepared.distinct is None else prepared.distinct.counts
    with np.errstate(over="ignore", invalid="ignore"):  # checked by who adds them up
        return Member(network, fold(network, prepared.inputs, prepared.basis, counts), losses)


def at_nodes(labels: RowLabels, prepared: Prepared) -> Labels:
    """Labels of rows as labels of nodes, where the problem is."""
    device = prepared.problem.ids.device
    return Labels.of(
        torch.from_numpy(prepared.node_of(labels.rows)).to(device),
        torch.from_numpy(labels.codes).to(device),
        len(labels.classes),
        None if labels.weights is None else torch.from_numpy(labels.weights).to(device),
    )
