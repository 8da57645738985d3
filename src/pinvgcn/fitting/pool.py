"""Several learners, each of which has not seen a part of the labels, that speak as one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from pinvgcn.checks import check_count
from pinvgcn.errors import ParameterError
from pinvgcn.experts import Forest
from pinvgcn.experts.diffusion import Walk
from pinvgcn.experts.like_rows import Near
from pinvgcn.fitting.nodes import Nodes, TableNodes
from pinvgcn.fitting.smoothing import is_scan
from pinvgcn.group import Group, together
from pinvgcn.nn import Basis, PinvGCN
from pinvgcn.nn.nodewise import NodeLayer, apply_networks
from pinvgcn.pool import rows_of_all

MEMBERS = 5  # each learns from four fifths of the labels
TREES = 40  # of each member: 100 are no better (docs/accuracy.md)
EPOCHS = {"trees": 300, "table": 200, "other": 500}  # of a network; beside trees and walks it needs fewer
WEIGHT_DECAY = {"table": 0.01, "other": 0.0005}  # what made tables' networks less sure of themselves
SAMPLE = 2_048  # of the unlabelled nodes, in an epoch beside trees
HOTTEST = 10.0  # a temperature beyond this would say that nothing was learned
# exponents of a network's and the trees' probabilities, found on Oakland 1; labels may change them
USUAL = np.log([0.25, 1.25])
DOUBT = 10.0  # how much a change by a factor e must gain in log-likelihood
SURER = 1.4  # how much surer than one member the mean of several may be


class Seen(NamedTuple):
    """What members see of m nodes."""

    inputs: Any  # (m, N₀)
    basis: Basis  # (m, k + r)
    values: Any = None  # (m, N₀), the inputs without ranks: what trees see
    near: Near | None = None  # (m, a), the anchors where a walk begins

    def at(self, rows: np.ndarray) -> Seen:
        """Of some of the nodes."""
        X, V, values, near = self
        return Seen(
            X[rows], V[rows], None if values is None else values[rows], None if near is None else near[rows]
        )

    def of_all(self, group: Group) -> Seen:
        """Of the nodes of all ranks, of which each has a few."""
        X, V, values, near = self
        values = None if values is None else rows_of_all(values, group)
        near = None if near is None else near.of_all(group)
        return Seen(rows_of_all(X, group), V.of_all(group), values, near)


@dataclass(frozen=True)
class Member:
    """A trained network, as weights and as a function of one node, and the trees beside it."""

    network: PinvGCN
    layers: tuple[NodeLayer, ...]
    losses: list[float]
    trees: Forest | None = None


@dataclass(frozen=True)
class Ensemble:
    """s(x) = Σ_j s_j(x)/k with s_j = Σ_o w_o o_j: members j, each with opinions o weighed by w.

    The opinions of a member are those of its network, of its trees where it has some, and of the walk
    between rows of a table that begins at the labels it has seen.
    """

    members: Sequence[Member]
    walk: Walk | None
    weights: np.ndarray  # w: (opinions,)

    def opinions(self, seen: Seen) -> Iterator[np.ndarray]:
        """Of each member, its network's scores, or log p beside trees; log p of its trees; and of its walk:
        (opinions, m, classes)."""
        with_trees = self.members[0].trees is not None
        layers = [member.layers for member in self.members]
        networks = apply_networks(layers, seen.inputs, seen.basis, log_proba=with_trees)
        logs = None if self.walk is None or seen.near is None else self.walk.logs(seen.near)
        for number, member in enumerate(self.members):
            own = [networks[number]]
            if member.trees is not None:
                own.append(member.trees.log_proba(seen.values))
            if logs is not None:
                own.append(logs[number])
            yield np.stack(own)

    def each(self, seen: Seen) -> Iterator[np.ndarray]:
        """s_j of each member: (m, classes)."""
        for opinions in self.opinions(seen):
            yield np.tensordot(self.weights, opinions, axes=1)

    def joint(self, seen: Seen) -> np.ndarray:
        """s: (m, classes)"""
        total: Any = sum(self.each(seen))
        mean: np.ndarray = total / len(self.members)
        return mean

    def like(self, number: int) -> Member:
        """The member of this number, or the last where there were fewer."""
        return self.members[min(number, len(self.members) - 1)]

    @property
    def alone(self) -> float:
        """By what s_j is multiplied where member j speaks alone, which should be less sure than all of them:
        T^(−1/2) once more, or 1/1.4."""
        if self.members[0].trees is not None:
            return 1 / SURER
        return float(self.weights.sum())


def as_members(members: Any, nodes: Nodes) -> int:
    """How many, resolved for these nodes."""
    several = is_scan(nodes) or isinstance(nodes, TableNodes)
    return _resolved("members", members, MEMBERS if several else 1, 1)


def as_trees(trees: Any, nodes: Nodes) -> int:
    """How many each member has, resolved for these nodes."""
    return _resolved("trees", trees, TREES if is_scan(nodes) else 0, 0)


def as_epochs(epochs: Any, *, trees: int, table: bool) -> int:
    """How many a network is trained for, beside so many trees."""
    return _resolved("epochs", epochs, EPOCHS["trees" if trees else "table" if table else "other"], 1)


def as_weight_decay(weight_decay: Any, *, table: bool) -> Any:
    """What training takes; it checks numbers itself."""
    if not isinstance(weight_decay, str):
        return weight_decay
    if weight_decay != "auto":
        raise ParameterError(f"weight_decay must be a number or 'auto'. Got {weight_decay!r} instead.")
    return WEIGHT_DECAY["table" if table else "other"]


def as_sample(nodes_per_epoch: Any, trees: int) -> Any:
    """How many unlabelled nodes an epoch visits, beside so many trees; training resolves the rest."""
    automatic = isinstance(nodes_per_epoch, str) and nodes_per_epoch == "auto" and trees > 0
    return SAMPLE if automatic else nodes_per_epoch


def _resolved(name: str, value: Any, automatic: int, minimum: int) -> int:
    if isinstance(value, str):
        if value != "auto":
            raise ParameterError(f"{name} must be a whole number or 'auto'. Got {value!r} instead.")
        return automatic
    return check_count(name, value, minimum)


def side_by_side(
    learn: Callable[[int, threading.Event | None], Member], count: int, workers: int
) -> list[Member]:
    """``learn(number, stop)`` for each of ``count`` members, each in one thread of its own.

    An interrupt from the keyboard reaches the main thread alone: ``stop`` passes it on to the members, which
    end their training where they are.
    """
    if count <= 1:
        return [learn(number, None) for number in range(count)]
    stop, before = threading.Event(), torch.get_num_threads()
    with ThreadPoolExecutor(min(count, workers), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        futures = [pool.submit(learn, number, stop) for number in range(count)]
        try:
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            stop.set()
            return [future.result() for future in futures]
        except BaseException:
            stop.set()  # one has failed: the others need not go on
            raise
        finally:
            torch.set_num_threads(before)


def over_ranks(
    learn: Callable[[int, threading.Event | None], Member],
    networks: Sequence[PinvGCN],
    exact: Sequence[bool],
    workers: int,
    group: Group,
) -> list[Member]:
    """``learn(number, stop)`` for each member, on several ranks; the members, the same on all.

    Those that are trained on all nodes, ``exact``, are so by all ranks together, one after the other. Of the
    others each rank trains some, side by side, whose weights the ``networks`` of the other ranks then get.
    """
    found = {number: learn(number, None) for number, whole in enumerate(exact) if whole}
    some = [number for number, whole in enumerate(exact) if not whole]
    shared = [[number for number in some if number % group.size == rank] for rank in range(group.size)]
    mine = shared[group.rank]
    with together(group):
        trained = side_by_side(lambda place, stop: learn(mine[place], stop), len(mine), workers)
    if some:
        own = [_flat(member.network) for member in trained]
        weights = group.parts(np.stack([_flat(networks[0]), *own])[1:])
        losses = group.values([member.losses for member in trained])
        for rank, numbers in enumerate(shared):
            for number, vector, curve in zip(numbers, weights[rank], losses[rank], strict=True):
                network = networks[number].eval()
                like = network.layers[0].bias
                vector_to_parameters(torch.from_numpy(vector).to(like), network.parameters())
                found[number] = Member(network, (), curve)
    return [found[number] for number in range(len(exact))]


def _flat(network: PinvGCN) -> np.ndarray:
    """All weights, one after the other."""
    flat: np.ndarray = parameters_to_vector(network.parameters()).detach().cpu().numpy()
    return flat


def weights_of(unseen: Sequence[tuple[np.ndarray, np.ndarray]], *, trees: bool, walk: bool) -> np.ndarray:
    """w of an ``Ensemble``, from pairs of opinions (o, m, classes) of a member at labels that were kept from
    it and their class codes (m,): (o,).

    Networks alone get w = T^(−1/2), where T ≥ 1 maximises Σ log softmax(s_i/T)_{y_i} over these labels i:
    half of the correction, on the scale of log T, since the mean of several is already less sure where they
    differ. A network and a walk get half of that each. A network and trees get w = 1.4 e^v, where v maximises
    Σ log softmax(Σ_o e^(v_o) s_oi)_{y_i} − 10 |v − log(0.25, 1.25)|² (docs/maths.md, 9.3, 9.4 and 9.6).
    """
    with_trees = np.append(USUAL, USUAL[0]) if walk else USUAL  # a walk counts as a network does
    usual = np.exp(with_trees) if trees else np.array([0.5, 0.5]) if walk else np.ones(1)
    scores = np.concatenate([opinions for opinions, _ in unseen], axis=1) if unseen else np.empty(0)
    if not unseen or not np.isfinite(scores).all():  # nothing to learn from; or who adds them up will tell
        return usual
    codes = np.concatenate([codes for _, codes in unseen])

    def loss(weights: np.ndarray) -> float:
        logs = log_softmax(np.tensordot(weights, scores, axes=1), axis=1)
        return -float(logs[np.arange(len(codes)), codes].sum())

    if not trees:
        lowest = -np.log(HOTTEST)
        found = minimize_scalar(lambda v: loss(np.exp(v) * usual), bounds=(lowest, 0.0), method="bounded")
        halved: np.ndarray = np.exp(found.x / 2) * usual
        return halved
    best = minimize(lambda v: loss(np.exp(v)) + DOUBT * ((v - with_trees) ** 2).sum(), with_trees).x
    weights: np.ndarray = SURER * np.exp(best)
    return weights
