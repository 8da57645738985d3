"""A fit: from rows and labels to a fitted model."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from pinvgcn.errors import TrainingError
from pinvgcn.experts import ByValues, Forest, Forests, KernelMachine, Linear, Networks, Seen, TrainedNetwork
from pinvgcn.experts.spectral import over_ranks, side_by_side, trained
from pinvgcn.fitting.conformal import PredictionSets
from pinvgcn.fitting.first_look import FirstLook
from pinvgcn.fitting.fitted_model import FittedModel
from pinvgcn.fitting.folds import hold_out, random_folds
from pinvgcn.fitting.labels import RowLabels
from pinvgcn.fitting.pool import (
    CONTEXT_TREES,
    DIFFUSION,
    FOREST,
    GROUPED,
    KERNEL,
    LINEAR,
    NETWORK,
    SELF_TRAINED,
    SURER,
    TREES,
    TWICE,
    USUAL,
    WIDE_TREES,
    Ensemble,
    Expert,
    weights_of,
)
from pinvgcn.fitting.prepared import Prepared
from pinvgcn.fitting.scan import Scan, forest_kinds
from pinvgcn.fitting.self_training import PseudoLabels
from pinvgcn.fitting.settings import ResolvedSettings
from pinvgcn.fitting.smoothing import Smoothing
from pinvgcn.fitting.table_nodes import TableNodes
from pinvgcn.graphs import GaussianGraph
from pinvgcn.nn import PinvGCN
from pinvgcn.nn.model import copy_weights
from pinvgcn.nn.nodewise import fold
from pinvgcn.nn.training import progress

FIRST = 2  # one tree of a first look for so many of the second: its opinions are averaged
BEFORE_CONTEXT = 0.4  # of the weight in another scan: scans differ in what surrounds a thing
WARM_SHARE = 5  # a warm fit takes a fifth of the epochs: it begins near its end
Fold = tuple[RowLabels, RowLabels | None]  # what a member learns from, and what is held out


def learn(
    settings: ResolvedSettings,
    prepared: Prepared,
    labels: RowLabels,
    seed: int,
    *,
    before: FittedModel | None = None,
    scans: np.ndarray | None = None,
    threads: int | None = None,
    tell: Callable[[int, float], None] | None = None,
) -> FittedModel:
    """Train experts, sum networks over all nodes, and weigh opinions by held-out labels.

    Networks begin with the weights of those ``before``. ``scans`` (m,) are the numbers of the scans that the
    labels lie in. ``tell`` is called with each epoch and its loss.
    """
    started = time.perf_counter()
    graph = prepared.nodes.graph
    assert graph is not None
    group, count = graph.group, settings.members
    scan = Scan.of(prepared.nodes, labels, count, seed) if settings.trees else None
    chosen = random_folds(labels, count, seed) if scan is None else scan.folds
    folds = chosen.parts
    seen = prepared.seen(values=settings.trees > 0 or len(settings.experts) > 1)
    labelled = seen.at(prepared.node_of(labels.within(graph.start, graph.n_nodes).rows)).of_all()
    in_few_places = scan is not None and scan.in_few_places
    # such labels say little of the contexts that there are: trees then look once
    twice = scan is not None and not in_few_places and chosen.number.max() >= 0
    grown = max(1, settings.trees // FIRST) if twice else settings.trees
    members = _train(
        settings, prepared, labels, folds, labelled, seed,
        trees=grown, before=before, threads=threads, tell=tell,
    )  # fmt: skip
    away = first = None
    if scan is not None:
        assert isinstance(seen, Seen)
        away, held_away = scan.away(labelled.values, scans, trees=grown, seed=seed)
        if twice:
            trees = {name: Forests([member.others[name] for member in members], name) for name in away}
            first, seen, labelled = FirstLook.of(Ensemble(count, trees, away), scan, seen, labelled)
            members = _second_look(members, folds, labels, labelled, settings.trees, seed)
            context = (1 - BEFORE_CONTEXT) * sum(away.values())
            away = {name: BEFORE_CONTEXT * weight for name, weight in away.items()}
            away[CONTEXT_TREES] = context
        seen = seen._replace(trust=scan.places.trust(scan.nodes.points))

    def answer(ensemble: Ensemble) -> tuple[list[np.ndarray], Smoothing, np.ndarray]:
        """The scores of each member at all rows, and the probabilities that follow."""
        with np.errstate(over="ignore", invalid="ignore"):  # checked right after
            if isinstance(prepared.nodes, TableNodes):
                asked: Iterable[np.ndarray] = ensemble.of_many(seen, len(prepared.keys))
            else:
                assert isinstance(seen, Seen)
                asked = ensemble.each(seen)
            each = [prepared.of_all_rows(scores) for scores in asked]
            scores = np.mean(each, axis=0) if count > 1 else each[0]
        bad = scores[~np.isfinite(scores)]
        if group.sum(len(bad)):
            raise TrainingError(
                f"The scores became {bad[0] if len(bad) else np.nan} in epoch "
                f"{len(members[0].network.losses)}, the last. Lower learning_rate (now "
                f"{settings.network.training.learning_rate:g}) or scale the features."
            )
        smoothing, P = Smoothing.of(
            scores,
            prepared.nodes,
            labels,
            neighbours=settings.neighbours,
            cell=settings.averaging_cell,
            priors=settings.priors,
            grouped=in_few_places,
            away=scan is not None,
            context=first is not None,
        )
        return each, smoothing, P

    usual = None if scan is None else TWICE if twice else GROUPED if in_few_places else USUAL
    with np.errstate(over="ignore", invalid="ignore"):  # checked when opinions are added up
        ensemble = replace(_weighed(members, folds, prepared, labels, labelled, usual), away=away)
    each, smoothing, P = answer(ensemble)
    if scan is not None and in_few_places:
        assert isinstance(seen, Seen)
        P, _ = smoothing.among_all(P, scan.nodes)  # once more: what trees get wrong lies in patches
        taught = _self_trained(P, seen.values, scan, labelled.values, trees=settings.trees, seed=seed)
        experts = {**ensemble.experts, WIDE_TREES: Forests(taught, WIDE_TREES)}
        # not by held-out labels: the joint answer, from which points are drawn, has seen all of them
        weights = {name: SURER * weight for name, weight in SELF_TRAINED.items()}
        ensemble = replace(ensemble, experts=experts, weights=weights)
        each, smoothing, P = answer(ensemble)
    seconds = dict(prepared.seconds) if before is None else dict.fromkeys(prepared.seconds, 0.0)
    seconds["training"] += time.perf_counter() - started
    alone = each if ensemble.alone == 1 else [ensemble.alone * scores for scores in each]
    separate = scan.separate if scan is not None and in_few_places else None
    priors = labels.shares * (1.0 if smoothing.factors is None else smoothing.factors)
    held_out = [held for _, held in folds]
    conformal = PredictionSets.of(alone, held_out, smoothing, prepared.nodes, separate=separate)
    return FittedModel(
        classes=labels.classes,
        nodes=prepared.nodes,
        spectrum=prepared.spectrum,
        scaling=prepared.scaling,
        ensemble=ensemble,
        smoothing=smoothing,
        conformal=conformal,
        priors=priors / priors.sum(),
        transduction=P.argmax(axis=1),
        transduction_proba=P,
        sigma=graph.sigma if isinstance(graph, GaussianGraph) else None,
        seconds=seconds,
        places=None if scan is None else scan.places,
        estimate=None if scan is None else scan.expected(P, conformal),
        held_away=None if scan is None else held_away,
        first=first,
    )


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


def _train(
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
        parts = (learned, None) if training.patience is None else hold_out(learned, settings.held_out, own)
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
        return trained(
            mine, nodes[number], task.labels, task.watched, training,
            seed=task.seed, on_epoch=on_epoch, threads=own_threads,
        )  # fmt: skip

    def whole(number: int, mine: TrainedNetwork) -> TrainedMember:
        """Folded by sums over the nodes of all process ranks, and with trees."""
        with np.errstate(over="ignore", invalid="ignore"):  # checked when opinions are added up
            inputs, basis, counts = prepared.inputs, prepared.basis, prepared.counts
            layers = fold(mine.network, inputs, basis, counts, sums=prepared.sums)
        folded = replace(mine, layers=layers)
        learned = folds[number][0]
        places = np.searchsorted(labels.rows, learned.rows)
        if isinstance(prepared.nodes, TableNodes):
            others = _of_a_table(
                settings, prepared, labelled.values, learned, places, trees=trees, seed=tasks[number].seed
            )
            return TrainedMember(folded, others)
        kinds = forest_kinds(prepared.nodes, labelled.values.shape[1]) if trees else {}
        forests = {
            name: Forest.grown(labelled.values, learned, places, count=trees, seed=tasks[number].seed, **kind)
            for name, kind in kinds.items()
        }
        return TrainedMember(folded, forests)

    exact = [not some.problem.group.alone for some in nodes]
    mine = [number for number in range(count) if exact[number] or number % group.size == group.rank]
    shown = settings.verbose if group.rank == 0 or callable(settings.verbose) else False
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
    trees: int,
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
        forest = Forest.grown(shares, learned, np.arange(len(X)), count=trees, seed=seed, **kind)

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


def _second_look(
    members: Sequence[TrainedMember],
    folds: Sequence[Fold],
    labels: RowLabels,
    labelled: Seen,
    trees: int,
    seed: int,
) -> list[TrainedMember]:
    """With trees that see the context of labels too."""
    forests = [
        Forest.grown(
            labelled.values, learned, np.searchsorted(labels.rows, learned.rows),
            count=trees, seed=_seed_of_member(number, seed),
        )
        for number, (learned, _) in enumerate(folds)
    ]  # fmt: skip
    return [
        own._replace(others={**own.others, CONTEXT_TREES: forest})
        for own, forest in zip(members, forests, strict=True)
    ]


def _self_trained(
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


def _weighed(
    members: Sequence[TrainedMember],
    folds: Sequence[Fold],
    prepared: Prepared,
    labels: RowLabels,
    labelled: Seen,
    usual: Mapping[str, float] | None,
) -> Ensemble:
    """The ensemble of these members, its weights found by the labels that were held out of each.

    ``labelled`` is what they see of the rows of all ``labels``.
    """
    others = members[0].others
    joins = prepared.neighbour_graph
    pool = bool(others) or joins is not None
    experts: dict[str, Expert] = {NETWORK: Networks([member.network for member in members], pool)}
    for name in others:
        own = [member.others[name] for member in members]
        experts[name] = Forests(own, name) if isinstance(own[0], Forest) else ByValues(own, name)
    if joins is not None:
        parts = [learned for learned, _ in folds]
        experts[DIFFUSION] = joins.diffusion(labelled.values, labels.rows, parts)
    ensemble = Ensemble(len(members), experts, weights_of(tuple(experts), usual=usual))
    kept = [(number, held) for number, (_, held) in enumerate(folds) if held is not None]
    if not kept:
        return ensemble
    rows = np.concatenate([held.rows for _, held in kept])
    ends = np.cumsum([len(held.rows) for _, held in kept])
    opinions = list(ensemble.opinions(labelled.at(np.searchsorted(labels.rows, rows))))
    unseen = [
        (opinions[number][:, end - len(held.rows) : end], held.codes)
        for (number, held), end in zip(kept, ends, strict=True)
    ]
    counts = None if labels.weights is None else labels.weights[np.searchsorted(labels.rows, rows)]
    return replace(
        ensemble, weights=weights_of(ensemble.names, unseen, usual=usual, counts=counts, surer=SURER)
    )
