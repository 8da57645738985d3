"""One loop that trains every baseline network."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from pinvgcn.checks import UNLABELLED, check_count, check_positive
from pinvgcn.errors import TrainingError
from pinvgcn.nn.baselines.inputs import Inputs
from pinvgcn.nn.baselines.networks import Network
from pinvgcn.nn.training import Labels

LEARNING_RATE = 0.01
WEIGHT_DECAY = 0.0005  # on weights, not on biases
EPOCHS = 500


def train_baseline(
    kind: Callable[[int, int], Network],
    inputs: Inputs,
    labels: np.ndarray,
    n_classes: int,
    *,
    seed: int = 0,
    epochs: int = EPOCHS,
    learning_rate: float = LEARNING_RATE,
) -> tuple[Network, list[float]]:
    """A network, its weights drawn with this seed and fitted to the labelled nodes; the loss of each epoch.

    Adam on the mean cross entropy, by default with the paper's settings for all. ``kind`` is a class of
    networks; ``labels`` (n,) are codes from 0, or -1. Only what the loss can see is computed (see
    ``field.py``).
    """
    check_count("epochs", epochs)
    check_positive("learning_rate", learning_rate)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = kind(inputs.n_features, n_classes)
    weights: list[nn.Parameter] = []
    biases: list[nn.Parameter] = []
    for name, parameter in network.named_parameters():
        (biases if "bias" in name else weights).append(parameter)
    groups: list[dict[str, Any]] = [{"params": weights, "weight_decay": WEIGHT_DECAY}, {"params": biases}]
    optimizer = torch.optim.Adam(groups, lr=learning_rate, fused=True)
    nodes = np.flatnonzero(labels != UNLABELLED)
    known = Labels.of(torch.from_numpy(nodes), torch.from_numpy(labels[nodes].astype(np.int64)), n_classes)
    field = inputs.field(known.nodes, network.depth)
    losses = []
    network.train()
    for epoch in range(epochs):
        optimizer.zero_grad()
        loss = known.loss(network(field, (seed, epoch)))
        losses.append(float(loss.detach()))
        if not math.isfinite(losses[-1]):
            raise TrainingError(f"The loss became {losses[-1]} in epoch {epoch + 1} of {epochs}.")
        loss.backward()
        optimizer.step()
    network.eval()
    return network, losses


@torch.no_grad()
def classify(network: Network, inputs: Inputs) -> np.ndarray:
    """The class of the largest score, at every node: (n,)."""
    return network(inputs.field(None, network.depth)).argmax(dim=1).numpy()
