"""Several networks, each of which has not seen a part of the labels, that speak as one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from pinvgcn.checks import check_count
from pinvgcn.errors import ParameterError
from pinvgcn.nn import Basis, PinvGCN
from pinvgcn.nn.nodewise import NodeLayer, apply_layers
from pinvgcn.nodes import Nodes, TableNodes
from pinvgcn.outcome import is_scan
from pinvgcn.row_labels import RowLabels

MEMBERS = 5  # each learns from four fifths of the labels
EPOCHS = {"table": 200, "other": 500}
WEIGHT_DECAY = {"table": 0.01, "other": 0.0005}  # what made tables' networks less sure of themselves
HOTTEST = 10.0  # a temperature beyond this would say that nothing was learned


@dataclass(frozen=True)
class Member:
    """A trained network, as weights and as a function of one node."""

    network: PinvGCN
    layers: tuple[NodeLayer, ...]
    losses: list[float]


def joint_scores(members: Sequence[Member], X: Any, V: Basis) -> np.ndarray:
    """The mean of the members' scores at nodes with features X and basis V: (m, classes)."""
    total = apply_layers(members[0].layers, X, V)
    for member in members[1:]:
        total += apply_layers(member.layers, X, V)
    return total / len(members)


def as_members(members: Any, nodes: Nodes) -> int:
    """How many, resolved for these nodes."""
    if isinstance(members, str):
        if members != "auto":
            raise ParameterError(f"members must be a whole number or 'auto'. Got {members!r} instead.")
        return MEMBERS if is_scan(nodes) or isinstance(nodes, TableNodes) else 1
    return check_count("members", members)


def automatic(name: str, value: Any, by_kind: dict[str, Any], *, table: bool) -> Any:
    """``value``, or for "auto" what suits a table or anything else."""
    if not isinstance(value, str):
        return value
    if value != "auto":
        raise ParameterError(f"{name} must be a number or 'auto'. Got {value!r} instead.")
    return by_kind["table" if table else "other"]


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


def temperature(scores: Sequence[np.ndarray], held: Sequence[RowLabels | None]) -> float:
    """√T, T ≥ 1 maximising Σ log softmax(s_i/T)_{y_i} over labels i, each with the scores s_i of the member
    that has not seen it; 1 where no label was held out.

    T is right for a member alone. The mean of several scores is already less sure of itself where they
    differ: half of the correction, on the scale of log T, is left for it (docs/accuracy.md).
    """
    pairs = [(s[one.rows], one.codes) for s, one in zip(scores, held, strict=True) if one is not None]
    if not pairs:
        return 1.0
    unseen, codes = np.concatenate([s for s, _ in pairs]), np.concatenate([c for _, c in pairs])

    def loss(log_T: float) -> float:
        logs = log_softmax(unseen / np.exp(log_T), axis=1)
        return -float(logs[np.arange(len(codes)), codes].mean())

    found = minimize_scalar(loss, bounds=(0.0, np.log(HOTTEST)), method="bounded")
    return float(np.exp(found.x / 2))
