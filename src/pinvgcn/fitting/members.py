"""What each member learns without one fold of the labels: a network, trees, models of tables."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from pinvgcn.experts import Forest, KernelMachine, Linear, RowLabels, Seen, TrainedNetwork
from pinvgcn.experts.spectral import over_ranks, side_by_side
from pinvgcn.fitting.fitted_model import FittedModel
from pinvgcn.fitting.folds import hold_out
from pinvgcn.fitting.pool import CONTEXT_TREES, FOREST, KERNEL, LINEAR, NETWORK, TREES
from pinvgcn.fitting.prepared import Prepared
from pinvgcn.fitting.scan import Scan, forest_kinds
from pinvgcn.fitting.self_training import PseudoLabels
from pinvgcn.fitting.settings import ResolvedSettings
from pinvgcn.fitting.table_nodes import TableNodes
from pinvgcn.nn import PinvGCN, train
from pinvgcn.nn.model import copy_weights
from pinvgcn.nn.nodewise import fold
from pinvgcn.nn.training import progress

WARM_SHARE = 5  # a warm fit takes a fifth of the epochs: it begins near its end
Fold = tuple[RowLabels, RowLabels | None]  # what a member learns from, and what is held out


class TrainedMember(NamedTuple):
    """What one member has learned; a diffusion is that of all members."""

    network: TrainedNetwork
    others: dict[str, Any]  # models of what is seen beside the inputs of networks, by the name of the expert


class MemberTask(NamedTuple):
    """What the network of one member learns from, and the labels that stop its training."""

    seed: int
    labels: RowLabels
    watched: RowLabels | None


def _seed_of_member(number: int, seed: int) -> int:
    return seed if number == 0 else int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def train_members(
    settings: ResolvedSettings,
    prepared: Prepared,
    labels: RowLabels,
    folds: Sequence[Fold],
    labelled: Seen,
    seed: int,
    *,
    trees: int,
    before: FittedModel | None,
    threads: int | None,
    tell: Callable[[int, float], None] | None,
) -> list[TrainedMember]:
    """The networks of all members, and this number of ``trees`` of each kind. ``labelled`` is what they see
    of the rows of ``labels``."""
    group, count = prepared.problem.group, settings.members
    training = settings.network.training
    if before is not None:
        training = replace(training, epochs=max(1, training.epochs // WARM_SHARE))
    tasks = []
    for number, (learned, _) in enumerate(folds):
        own = _seed_of_member(number, seed)
        parts = (
            (learned, None) if training.patience is None else hold_out(learned, settings.asked.held_out, own)
        )
        tasks.append(MemberTask(own, *parts))
    nodes = prepared.training_nodes(labels).for_parts([task.labels for task in tasks], training)
    done = itertools.count()

    def network(task: MemberTask) -> PinvGCN:
        inputs, classes = prepared.inputs.shape[1], len(task.labels.classes)
        return settings.network.network(prepared.spectrum, inputs, classes, seed=task.seed)

    def one(number: int, stop: threading.Event | None) -> TrainedNetwork:
        def on_epoch(epoch: int, loss: float) -> None:
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            if tell is not None:
                tell(epoch, loss)
            if show is not None:
                show(next(done), loss)

        task, mine = tasks[number], network(tasks[number])
        if before is not None:
            copy_weights(before.networks.like(number).network, before.classes, mine, labels.classes)
        own_threads = threads if count == 1 or not nodes[number].problem.group.alone else 1
        known, watched = nodes[number].labels, task.watched
        losses = train(
            mine, nodes[number].problem, known(task.labels), training,
            held_out=None if watched is None else known(watched),
            seed=task.seed, on_epoch=on_epoch, threads=own_threads,
        )  # fmt: skip
        return TrainedNetwork(mine, (), losses)

    def whole(number: int, mine: TrainedNetwork) -> TrainedMember:
        """Folded by sums over the nodes of all process ranks, and with trees."""
        with np.errstate(over="ignore", invalid="ignore"):  # checked when opinions are added up
            inputs, basis, counts = prepared.inputs, prepared.basis, prepared.counts
            layers = fold(mine.network, inputs, basis, counts, sums=prepared.sums)
        folded = replace(mine, layers=layers)
        learned = folds[number][0]
        places = np.searchsorted(labels.rows, learned.rows)
        count_and_seed: dict[str, Any] = {"count": trees, "seed": tasks[number].seed}
        if isinstance(prepared.nodes, TableNodes):
            others = _of_a_table(settings, prepared, labelled.values, learned, places, **count_and_seed)
            return TrainedMember(folded, others)
        kinds = forest_kinds(prepared.nodes, labelled.values.shape[1]) if trees else {}
        forests = {
            name: Forest.grown(labelled.values, learned, places, **count_and_seed, **kind)
            for name, kind in kinds.items()
        }
        return TrainedMember(folded, forests)

    exact = [not some.problem.group.alone for some in nodes]
    mine = [number for number in range(count) if exact[number] or number % group.size == group.rank]
    verbose = settings.asked.verbose
    shown = verbose if group.rank == 0 or callable(verbose) else False
    workers = threads or torch.get_num_threads()
    with progress(len(mine) * training.epochs, show=shown) as show:
        if group.alone:
            return side_by_side(lambda number, stop: whole(number, one(number, stop)), count, workers)
        networks = over_ranks(one, [network(task) for task in tasks], exact, workers, group)
        return [whole(number, member) for number, member in enumerate(networks)]


def _of_a_table(
    settings: ResolvedSettings,
    prepared: Prepared,
    values: Any,
    learned: RowLabels,
    places: np.ndarray,
    *,
    count: int,
    seed: int,
) -> dict[str, Any]:
    """The models of one member, from the labels at ``places`` of what is seen of all labels: ``values``."""
    assert isinstance(prepared.nodes, TableNodes)
    if settings.experts == (NETWORK,):
        return {}
    scaling = prepared.scaling
    columns = prepared.nodes.columns(scaling.n_extra)
    if learned.weights is not None:  # what counts for nothing is not learned from
        counts = learned.weights > 0
        if len(np.unique(learned.codes[counts])) == len(np.unique(learned.codes)):
            learned, places = learned.take(counts), places[counts]
    X = values[places].toarray()
    first = X.shape[1] - scaling.n_extra  # number

    def grown(**kind: Any) -> Forest:
        """On numbers as they are: halfway between two of them is elsewhere among their normal scores.

        They go from 0 to 1, as trees see single precision.
        """
        shares, lowest, halves = X.copy(), np.zeros(scaling.n_extra), np.ones(scaling.n_extra)
        for number in range(scaling.n_extra):
            raw = scaling.raw(number, X[:, first + number])
            lowest[number], half = raw.min(), raw.max() / 2 - raw.min() / 2  # a whole range may overflow
            halves[number] = half if half > 0 else 1.0
            shares[:, first + number] = (raw / 2 - lowest[number] / 2) / halves[number]
        forest = Forest.grown(shares, learned, np.arange(len(X)), count=count, seed=seed, **kind)

        def moved(column: int, share: np.ndarray) -> np.ndarray:
            number = column - first
            if number < 0:
                return share
            return scaling.of_raw(number, 2 * (share * halves[number] + lowest[number] / 2))

        return forest.moved(moved)

    made: dict[str, Callable[[], Any]] = {
        FOREST: lambda: grown(drawn=True),
        TREES: grown,
        LINEAR: lambda: Linear.fitted(X, learned, columns),
        KERNEL: lambda: KernelMachine.fitted(X, learned, columns, seed=seed),
    }
    return {name: model() for name, model in made.items() if name in settings.experts}


def second_look(
    members: Sequence[TrainedMember],
    folds: Sequence[Fold],
    labels: RowLabels,
    labelled: Seen,
    trees: int,
    seed: int,
) -> list[TrainedMember]:
    """With trees that see the context of labels too."""
    found = []
    for number, (own, (learned, _)) in enumerate(zip(members, folds, strict=True)):
        places, mine = np.searchsorted(labels.rows, learned.rows), _seed_of_member(number, seed)
        forest = Forest.grown(labelled.values, learned, places, count=trees, seed=mine)
        found.append(own._replace(others={**own.others, CONTEXT_TREES: forest}))
    return found


def self_trained(
    P: np.ndarray, values: np.ndarray, scan: Scan, labelled: np.ndarray, *, trees: int, seed: int
) -> list[Forest]:
    """The wide trees of each member, from its labels and from points that are drawn by P (n, classes).

    Trees see ``values`` (n, v) of this rank's points and ``labelled`` (m, v) of all labels.
    """
    forests = []
    for number, (learned, _) in enumerate(scan.folds.parts):
        own = _seed_of_member(number, seed)
        pseudo = PseudoLabels.of(P, values, scan, own)
        places = np.searchsorted(scan.labels.rows, learned.rows)
        forests.append(pseudo.forest(labelled[places], learned, scan, trees=trees, seed=own))
    return forests
