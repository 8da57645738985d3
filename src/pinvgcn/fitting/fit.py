"""A fit: from rows and labels to a fitted model; and the width of the kernel by held-out labels."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pinvgcn.errors import GraphError, ParameterError, PinvGCNWarning, TrainingError
from pinvgcn.experts import ByValues, Forest, Forests, Networks, RowLabels, Seen
from pinvgcn.fitting import pool
from pinvgcn.fitting.conformal import PredictionSets
from pinvgcn.fitting.first_look import FirstLook
from pinvgcn.fitting.fitted_model import FittedModel
from pinvgcn.fitting.folds import hold_out, random_folds
from pinvgcn.fitting.members import Fold, TrainedMember, second_look, self_trained, train_members
from pinvgcn.fitting.nodes import CloudNodes
from pinvgcn.fitting.pool import DIFFUSION, NETWORK, SURER, Ensemble, Expert, weights_of
from pinvgcn.fitting.prepared import Prepared
from pinvgcn.fitting.scan import Scan
from pinvgcn.fitting.settings import FitSettings, ResolvedSettings
from pinvgcn.fitting.smoothing import Smoothing
from pinvgcn.fitting.table_nodes import TableNodes
from pinvgcn.graphs import GaussianGraph, automatic_sigma

FIRST = 2  # one tree of a first look for so many of the second: its opinions are averaged
BEFORE_CONTEXT = 0.4  # of the weight in another scan: scans differ in what surrounds a thing
PASSES = 2  # of self-training
FACTORS = (1.0, 0.5, 2.0, 0.25)  # times the automatic σ
HOLD_OUTS = 3
SHARE = 1 / 3
EPOCHS = 150  # of a trial
SURE = 1e-3  # a probability below this counts as this: one wild point should not decide


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
    nodes, count = prepared.nodes, settings.members
    scan = Scan.of(nodes, labels, count, seed) if settings.trees else None
    chosen = random_folds(labels, count, seed) if scan is None else scan.folds
    folds = chosen.parts
    seen = prepared.seen(values=settings.trees > 0 or len(settings.experts) > 1)
    labelled = seen.at(prepared.node_of(nodes.own(labels).rows)).of_all()
    in_few_places = scan is not None and scan.in_few_places
    # such labels say little of the contexts that there are: trees then look once
    twice = scan is not None and not in_few_places and chosen.number.max() >= 0
    grown = max(1, settings.trees // FIRST) if twice else settings.trees
    members = train_members(
        settings, prepared, labels, folds, labelled, seed,
        trees=grown, before=before, threads=threads, tell=tell,
    )  # fmt: skip
    away = held_away = first = None
    if scan is not None:
        assert isinstance(seen, Seen)
        away, held_away = scan.away(labelled.values, scans, trees=grown, seed=seed)
        if twice:
            trees = {name: Forests([member.others[name] for member in members], name) for name in away}
            first, seen, labelled = FirstLook.of(Ensemble(count, trees, away), scan, seen, labelled)
            members = second_look(members, folds, labels, labelled, settings.trees, seed)
            context = (1 - BEFORE_CONTEXT) * sum(away.values())
            away = {name: BEFORE_CONTEXT * weight for name, weight in away.items()}
            away[pool.CONTEXT_TREES] = context
        seen = seen._replace(trust=scan.places.trust(scan.nodes.points))

    def answer(ensemble: Ensemble) -> tuple[list[np.ndarray], Smoothing, np.ndarray]:
        """The scores of each member at all rows, and the probabilities that follow."""
        with np.errstate(over="ignore", invalid="ignore"):  # checked right after
            if isinstance(nodes, TableNodes):
                asked: Iterable[np.ndarray] = ensemble.of_many(seen, len(prepared.keys))
            else:
                assert isinstance(seen, Seen)
                asked = ensemble.each(seen)
            each = [prepared.of_all_rows(scores) for scores in asked]
            scores = np.mean(each, axis=0) if count > 1 else each[0]
        bad = scores[~np.isfinite(scores)]
        if nodes.group.sum(len(bad)):
            raise TrainingError(
                f"The scores became {bad[0] if len(bad) else np.nan} in epoch "
                f"{len(members[0].network.losses)}, the last. Lower learning_rate (now "
                f"{settings.network.training.learning_rate:g}) or scale the features."
            )
        smoothing, P = Smoothing.of(
            scores, nodes, labels, settings.neighbours, settings.averaging_cell, settings.priors,
            grouped=in_few_places, away=scan is not None, context=first is not None,
        )  # fmt: skip
        return each, smoothing, P

    usual = pool.TWICE if twice else pool.GROUPED if in_few_places else pool.USUAL
    with np.errstate(over="ignore", invalid="ignore"):  # checked when opinions are added up
        ensemble = _weighed(members, folds, prepared, labels, labelled, None if scan is None else usual)
        ensemble = replace(ensemble, away=away)
    each, smoothing, P = answer(ensemble)
    held = [held for _, held in folds]

    def sets(separate: np.ndarray | None = None) -> PredictionSets | None:
        alone = each if ensemble.alone == 1 else [ensemble.alone * scores for scores in each]
        return PredictionSets.of(alone, held, smoothing, nodes, separate=separate)

    estimate = None
    if scan is not None and in_few_places:
        assert isinstance(seen, Seen)
        # held-out labels have a part in what follows, so that they would promise too much after it
        estimate = scan.expected(P, sets())
        wide = pool.WIDE_TREES
        for _ in range(PASSES):
            P, _ = smoothing.among_all(P, scan.nodes)  # once more: what trees get wrong lies in patches
            taught = self_trained(P, seen.values, scan, labelled.values, trees=settings.trees, seed=seed)
            # not weighed by held-out labels: the joint answer, from which points are drawn, has seen them all
            ensemble = replace(
                ensemble,
                experts={**ensemble.experts, wide: Forests(taught, wide)},
                weights={name: SURER * weight for name, weight in pool.SELF_TRAINED.items()},
            )
            each, smoothing, P = answer(ensemble)
    seconds = dict(prepared.seconds) if before is None else dict.fromkeys(prepared.seconds, 0.0)
    seconds["training"] += time.perf_counter() - started
    conformal = sets(scan.separate if scan is not None and in_few_places else None)
    if scan is not None and not in_few_places:
        estimate = scan.expected(P, conformal)
    shares = labels.shares * (1.0 if smoothing.factors is None else smoothing.factors)
    return FittedModel(
        classes=labels.classes,
        nodes=nodes,
        spectrum=prepared.spectrum,
        scaling=prepared.scaling,
        ensemble=ensemble,
        smoothing=smoothing,
        conformal=conformal,
        priors=shares / shares.sum(),
        transduction=P.argmax(axis=1),
        transduction_proba=P,
        sigma=nodes.graph.sigma if isinstance(nodes.graph, GaussianGraph) else None,
        seconds=seconds,
        places=None if scan is None else scan.places,
        estimate=estimate,
        held_away=held_away,
        first=first,
    )


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
    pooled = bool(others) or joins is not None
    experts: dict[str, Expert] = {NETWORK: Networks([member.network for member in members], pooled)}
    for name in others:
        own = [member.others[name] for member in members]
        experts[name] = Forests(own, name) if isinstance(own[0], Forest) else ByValues(own, name)
    if joins is not None:
        learned = [own for own, _ in folds]
        experts[DIFFUSION] = joins.diffusion(labelled.values, labels.rows, learned)
    ensemble = Ensemble(len(members), experts, weights_of(tuple(experts), usual=usual))
    kept = [(number, held) for number, (_, held) in enumerate(folds) if held is not None]
    if not kept:
        return ensemble
    places = np.searchsorted(labels.rows, np.concatenate([held.rows for _, held in kept]))
    opinions = list(ensemble.opinions(labelled.at(places)))
    parts = np.split(np.arange(len(places)), np.cumsum([len(held.rows) for _, held in kept])[:-1])
    unseen = [
        (opinions[number][:, part], held.codes) for (number, held), part in zip(kept, parts, strict=True)
    ]
    counts = None if labels.weights is None else labels.weights[places]
    weights = weights_of(ensemble.names, unseen, usual=usual, counts=counts, surer=SURER)
    return replace(ensemble, weights=weights)


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
    losses: dict[float, np.ndarray] = {}  # by σ, minus the log probability of each held-out label
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
