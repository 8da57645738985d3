"""Several learners, each of which has not seen a part of the labels, that speak as one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax

from pinvgcn.checks import check_count
from pinvgcn.errors import ParameterError
from pinvgcn.nn import Basis, PinvGCN
from pinvgcn.nn.nodewise import NodeLayer, apply_layers
from pinvgcn.nodes import Nodes
from pinvgcn.outcome import is_scan
from pinvgcn.trees import Trees

MEMBERS = 5  # each learns from four fifths of the labels
TREES = 100  # of each member
EPOCHS = {False: 500, True: 300}  # of a network alone, and of one with trees beside it, which needs less
SAMPLE = 2_048  # of the unlabelled nodes, in an epoch of the latter
HOTTEST = 10.0  # a temperature beyond this would say that nothing was learned
# exponents of a network's and the trees' probabilities, found on Oakland 1; labels may change them
USUAL = np.log([0.25, 1.25])
DOUBT = 10.0  # how much a change by a factor e must gain in log-likelihood
SURER = 1.4  # how much surer than one member the mean of several may be


@dataclass(frozen=True)
class Member:
    """A trained network, as weights and as a function of one node, and the trees beside it."""

    network: PinvGCN
    layers: tuple[NodeLayer, ...]
    losses: list[float]
    trees: Trees | None = None

    def opinions(self, X: Any, V: Basis, values: Any) -> np.ndarray:
        """At nodes with inputs X, basis V and unranked ``values``, the network's scores, or its and the
        trees' log p: (1 or 2, m, classes)."""
        scores = apply_layers(self.layers, X, V)
        if self.trees is None:
            return scores[None]
        return np.stack([log_softmax(scores, axis=1), self.trees.log_proba(values)])


def joint_scores(members: Sequence[Member], weights: np.ndarray, X: Any, V: Basis, values: Any) -> np.ndarray:
    """Σ_o w_o times the mean of the members' opinions o: (m, classes)."""
    total: Any = 0.0
    for member in members:
        for weight, opinion in zip(weights, member.opinions(X, V, values), strict=True):
            total += weight * opinion
    mean: np.ndarray = total / len(members)
    return mean


def as_members(members: Any, nodes: Nodes) -> int:
    """How many, resolved for these nodes."""
    return _resolved("members", members, MEMBERS if is_scan(nodes) else 1, 1)


def as_trees(trees: Any, nodes: Nodes) -> int:
    """How many each member has, resolved for these nodes."""
    return _resolved("trees", trees, TREES if is_scan(nodes) else 0, 0)


def as_epochs(epochs: Any, trees: int) -> int:
    """How many a network is trained for, beside so many trees."""
    return _resolved("epochs", epochs, EPOCHS[trees > 0], 1)


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
    if count == 1:
        return [learn(0, None)]
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


def weights_of(unseen: Sequence[tuple[np.ndarray, np.ndarray]], kinds: int) -> np.ndarray:
    """w of ``joint_scores`` for ``kinds`` of opinions, from pairs of opinions (o, m, classes) of a member at
    labels that were kept from it and their class codes (m,): (o,).

    Networks alone get w = T^(−1/2), where T ≥ 1 maximises Σ log softmax(s_i/T)_{y_i} over these labels i:
    half of the correction, on the scale of log T, since the mean of several is already less sure where they
    differ. A network and trees get w = 1.4 e^v, where v maximises
    Σ log softmax(Σ_o e^(v_o) s_oi)_{y_i} − 10 |v − log(0.25, 1.25)|² (docs/maths.md, 9.3 and 9.4).
    """
    usual = np.zeros(1) if kinds == 1 else USUAL
    scores = np.concatenate([opinions for opinions, _ in unseen], axis=1) if unseen else np.empty(0)
    if not unseen or not np.isfinite(scores).all():  # nothing to learn from; or who adds them up will tell
        return np.exp(usual)
    codes = np.concatenate([codes for _, codes in unseen])

    def loss(v: np.ndarray) -> float:
        logs = log_softmax(np.tensordot(np.exp(v), scores, axes=1), axis=1)
        return -float(logs[np.arange(len(codes)), codes].sum())

    if kinds == 1:
        lowest = -np.log(HOTTEST)
        found = minimize_scalar(lambda v: loss(np.array([v])), bounds=(lowest, 0.0), method="bounded")
        return np.exp([found.x / 2])
    best = minimize(lambda v: loss(v) + DOUBT * ((v - usual) ** 2).sum(), usual).x
    weights: np.ndarray = SURER * np.exp(best)
    return weights
