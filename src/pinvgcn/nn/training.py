"""Fit a network's weights to a few labelled nodes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from pinvgcn.checks import check_count, check_non_negative, check_positive
from pinvgcn.errors import TrainingError
from pinvgcn.nn.model import PinvGCN


@dataclass(frozen=True)
class TrainingSettings:
    """Adam on the cross entropy, at the paper's values by default."""

    learning_rate: float = 0.01
    weight_decay: float = 0.0005  # on weights, not on biases
    epochs: int = 500

    def __post_init__(self) -> None:
        check_positive("learning_rate", self.learning_rate)
        check_non_negative("weight_decay", self.weight_decay)
        check_count("epochs", self.epochs)


def train(
    network: PinvGCN,
    X: Tensor,
    rows: Tensor,
    targets: Tensor,
    settings: TrainingSettings,
    *,
    weights: Tensor | None = None,
    seed: int = 0,
    on_epoch: Callable[[int, float], None] | None = None,
) -> list[float]:
    """Minimise Σ_i w_i (−log p_i[y_i]) / Σ_i w_i over the labelled nodes; the loss of each epoch.

    Parameters
    ----------
    network : PinvGCN
        Changed in place.
    X : (n, N₀) tensor
        Features of all nodes.
    rows, targets : (m,) tensors
        The labelled nodes and their class numbers.
    weights : (m,) tensor, optional
        Their importance.
    seed : int
        Of the dropout masks: each depends on (seed, epoch, layer) alone.
    on_epoch : callable, optional
        Told the epoch's number and loss.
    """
    kernels = [conv.weights for conv in network.convs]
    biases = [conv.bias for conv in network.convs]
    optimizer = torch.optim.Adam(
        [
            {"params": kernels, "weight_decay": settings.weight_decay},
            {"params": biases, "weight_decay": 0.0},
        ],
        lr=settings.learning_rate,
    )
    first = network.prepare(X)
    share = None if weights is None else weights / weights.sum()
    losses = []
    network.train()
    for epoch in range(settings.epochs):
        optimizer.zero_grad()
        scores = network(first, rows, (seed, epoch))
        if share is None:
            loss = F.cross_entropy(scores, targets)
        else:
            loss = (F.cross_entropy(scores, targets, reduction="none") * share).sum()
        value = float(loss.detach())
        if not math.isfinite(value):
            raise TrainingError(
                f"The loss became {value} in epoch {epoch + 1} of {settings.epochs}. "
                f"Lower learning_rate (now {settings.learning_rate:g}) or scale the features."
            )
        loss.backward()
        optimizer.step()
        losses.append(value)
        if on_epoch is not None:
            on_epoch(epoch, value)
    network.eval()
    return losses
