"""From labels and what was prepared to a model: networks, trees and walks, weighed by held-out labels."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch

from pinvgcn.errors import TrainingError
from pinvgcn.experts import Forest
from pinvgcn.fitting.conformal import PredictionSets
from pinvgcn.fitting.labels import RowLabels
from pinvgcn.fitting.nodes import Nodes
from pinvgcn.fitting.pool import (
    Ensemble,
    Member,
    Seen,
    as_members,
    as_trees,
    over_ranks,
    side_by_side,
    weights_of,
)
from pinvgcn.fitting.prepared import Prepared
from pinvgcn.fitting.settings import as_device, training_settings
from pinvgcn.fitting.smoothing import Outcome
from pinvgcn.fitting.training_nodes import Ground, grounds_for
from pinvgcn.nn import PinvGCN, TrainingSettings, train
from pinvgcn.nn.model import copy_weights
from pinvgcn.nn.nodewise import fold
from pinvgcn.nn.progress import progress

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
    graph = prepared.nodes.graph
    assert graph is not None
    group = graph.group
    count = as_members(model.members, prepared.nodes)
    parts = labels.folds(count, seed)
    trees = as_trees(model.trees, prepared.nodes)
    seen = Seen(prepared.inputs, prepared.basis, prepared.unranked() if trees else None, prepared.near())
    labelled = seen.at(prepared.node_of(labels.within(graph.start, graph.n_nodes).rows)).of_all(group)
    settings = settings_for(model, warm, prepared.nodes)
    tasks = [Task.of(learned, number, seed, model) for number, (learned, _) in enumerate(parts)]
    grounds = grounds_for([task.labels for task in tasks], labels, prepared, settings)
    done = itertools.count()

    def one(number: int, stop: threading.Event | None) -> Member:
        def on_epoch(epoch: int, loss: float) -> None:
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            if tell is not None:
                tell(epoch, loss)
            if show is not None:
                show(next(done), loss)

        network = _network(model, prepared, tasks[number])
        if before is not None:
            copy_weights(before[0].like(number).network, before[1], network, labels.classes)
        own_threads = threads if count == 1 or not grounds[number].problem.group.alone else 1
        losses = _trained(network, tasks[number], grounds[number], settings, on_epoch, own_threads)
        member = Member(network, (), losses)
        return whole(number, member) if group.alone else member

    def whole(number: int, member: Member) -> Member:
        """Summed over the nodes of all ranks, and with trees."""
        counts = None if prepared.distinct is None else prepared.distinct.counts
        with np.errstate(over="ignore", invalid="ignore"):  # checked by who adds them up
            layers = fold(member.network, prepared.inputs, prepared.basis, counts, group=group)
        if not trees:
            return replace(member, layers=layers)
        mine = parts[number][0]
        places = np.searchsorted(labels.rows, mine.rows)
        grown = Forest.grown(labelled.values, mine, places, count=trees, seed=tasks[number].seed)
        return replace(member, layers=layers, trees=grown)

    exact = [not ground.problem.group.alone for ground in grounds]
    mine = [number for number in range(count) if exact[number] or number % group.size == group.rank]
    shown = model.verbose if group.rank == 0 or callable(model.verbose) else False
    with progress(len(mine) * settings.epochs, show=shown) as show:
        if group.alone:
            members = side_by_side(one, count, threads or torch.get_num_threads())
        else:
            made = [_network(model, prepared, task) for task in tasks]
            members = over_ranks(one, made, exact, threads or torch.get_num_threads(), group)
            members = [whole(number, member) for number, member in enumerate(members)]
    with np.errstate(over="ignore", invalid="ignore"):  # checked right after
        ensemble = _weighed(members, parts, prepared, labels, labelled)
        each = [prepared.of_all_rows(scores) for scores in ensemble.each(seen)]
        scores = np.mean(each, axis=0) if count > 1 else each[0]
    bad = scores[~np.isfinite(scores)]
    if group.sum(len(bad)):
        raise TrainingError(
            f"The scores became {bad[0] if len(bad) else np.nan} in epoch {len(members[0].losses)}, "
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
    kept = [held for _, held in parts]
    sets = PredictionSets.of(alone, kept, outcome, prepared.nodes, group=group, start=graph.start)
    priors = labels.shares if outcome.factors is None else labels.shares * outcome.factors
    return Learned(ensemble, outcome, sets, priors, P, seconds)


def _weighed(
    members: list[Member], parts: Sequence[Any], prepared: Prepared, labels: RowLabels, labelled: Seen
) -> Ensemble:
    """The members, their opinions weighed by the labels that were kept from each.

    ``labelled`` is what they see of the rows of all ``labels``.
    """
    walk = None if prepared.steps is None else prepared.steps.walk([learned for learned, _ in parts])
    trees = members[0].trees is not None
    ensemble = Ensemble(members, walk, weights_of([], trees=trees, walk=walk is not None))
    kept = [(number, held) for number, (_, held) in enumerate(parts) if held is not None]
    if not kept:
        return ensemble
    rows = np.concatenate([held.rows for _, held in kept])
    ends = np.cumsum([len(held.rows) for _, held in kept])
    opinions = list(ensemble.opinions(labelled.at(np.searchsorted(labels.rows, rows))))
    unseen = [
        (opinions[number][:, end - len(held.rows) : end], held.codes)
        for (number, held), end in zip(kept, ends, strict=True)
    ]
    return replace(ensemble, weights=weights_of(unseen, trees=trees, walk=walk is not None))


def settings_for(model: Any, warm: bool, nodes: Nodes) -> TrainingSettings:
    """Those of training on these nodes, from the beginning or from where an earlier fit has ended."""
    settings = training_settings(model, as_trees(model.trees, nodes))
    return replace(settings, epochs=max(1, settings.epochs // WARM_SHARE)) if warm else settings


class Task(NamedTuple):
    """What one network learns from, and what it is watched by."""

    seed: int
    labels: RowLabels
    watched: RowLabels | None

    @classmethod
    def of(cls, labels: RowLabels, number: int, seed: int, model: Any) -> Task:
        """Of the member of this number."""
        own = seed if number == 0 else int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
        if model.patience is None:
            return cls(own, labels, None)
        return cls(own, *labels.hold_out(model.held_out, own))


def _network(model: Any, prepared: Prepared, task: Task) -> PinvGCN:
    return PinvGCN(
        prepared.spectrum,
        prepared.inputs.shape[1],
        len(task.labels.classes),
        hidden=model.hidden,
        dropout=model.dropout,
        filters=model.filters,
        generator=torch.Generator().manual_seed(task.seed),
    ).to(as_device(model.device))


def _trained(
    network: PinvGCN,
    task: Task,
    ground: Ground,
    settings: TrainingSettings,
    on_epoch: Callable[[int, float], None],
    threads: int | None,
) -> list[float]:
    return train(
        network,
        ground.problem,
        ground.labels(task.labels),
        settings,
        held_out=None if task.watched is None else ground.labels(task.watched),
        seed=task.seed,
        on_epoch=on_epoch,
        threads=threads,
    )
