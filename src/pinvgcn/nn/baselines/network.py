"""What every baseline network has: two layers, dropout between them, and a way to be trained."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from pinvgcn.errors import MissingDependencyError
from pinvgcn.nn.dropout import DropoutKey, drop_, start_of


class Inputs(Protocol):
    """A graph and features, prepared for one kind of network."""

    @property
    def n_features(self) -> int:
        """How many columns the features have."""

    def field(self, rows: Tensor | None, depth: int) -> Any:
        """What the network must see for the scores at these rows, or at all of them."""


class Network(nn.Module):
    """scores = network(inputs.field(rows, network.depth), key).

    ``depth`` is how often the network multiplies by the graph, after the first time.
    """

    depth: int
    dropout: float

    @abstractmethod
    def forward(self, field: Any, key: tuple[int, int] | None = None) -> Tensor:
        """Class scores of the nodes that the field is for; ``key`` = (seed, epoch) draws dropout masks."""

    def drop(self, H: Tensor, nodes: Tensor, key: tuple[int, int] | None) -> Tensor:
        """Hidden rows of these nodes with a share set to zero in training: a node's mask is its own."""
        if not self.training or self.dropout == 0:
            return H
        if key is None:
            return nn.functional.dropout(H, self.dropout)
        mask = torch.full_like(H, 1 / (1 - self.dropout))
        return H * drop_(mask, self.dropout, start_of(DropoutKey(*key, 1)), nodes)


def geometric() -> Any:
    """The layers of PyTorch Geometric, where it is installed."""
    try:
        import torch_geometric.nn
    except ImportError:
        raise MissingDependencyError(
            "This method needs PyTorch Geometric: pip install torch_geometric"
        ) from None
    return torch_geometric.nn
