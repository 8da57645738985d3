"""The PinvGCN network as an expert: trained on all nodes, then folded into layers that need one node only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from pinvgcn.distributed.group import Group, together
from pinvgcn.experts.labels import RowLabels
from pinvgcn.experts.seen import Seen, of_member
from pinvgcn.nn import Labels, PinvGCN, Problem, TrainingSettings
from pinvgcn.nn.nodewise import NodeLayer, apply_networks
from pinvgcn.nn.sampling import NodeSubsample, resolve_sample
from pinvgcn.spectra import Spectrum


@dataclass(frozen=True)
class TrainingNodes:
    """A problem, and which of its nodes the labelled rows are."""

    problem: Problem
    rows: np.ndarray  # (m,), ascending, of all process ranks
    nodes: np.ndarray  # (m,); -1 where another process rank has the node

    def labels(self, some: RowLabels) -> Labels:
        """Some of the labels, as those of nodes."""
        nodes = self.nodes[np.searchsorted(self.rows, some.rows)]
        here, device = nodes >= 0, self.problem.ids.device
        return Labels.of(
            torch.from_numpy(nodes[here]).to(device),
            torch.from_numpy(some.codes[here]).to(device),
            len(some.classes),
            None if some.weights is None else torch.from_numpy(some.weights[here]).to(device),
            group=self.problem.group,
        )

    def for_parts(self, parts: Sequence[RowLabels], settings: TrainingSettings) -> list[TrainingNodes]:
        """For each network that learns from some of the labels: all nodes, or a subsample if epochs draw."""
        if settings.nodes_per_epoch is None:
            return [self] * len(parts)
        here = self.nodes[self.nodes >= 0]
        subsample = NodeSubsample.of(self.problem, np.unique(here))
        ids = self.problem.group.rows(self.problem.ids.cpu().numpy()[here])

        def drawn(part: RowLabels) -> bool:
            known = np.unique(ids[np.searchsorted(self.rows, part.rows)])
            return resolve_sample(settings.nodes_per_epoch, subsample.total - len(known)) is not None

        draws = [drawn(part) for part in parts]
        if not any(draws) or subsample.problem is self.problem:
            return [self] * len(parts)
        drawn_nodes = TrainingNodes(subsample.problem, self.rows, subsample.nodes_of(ids))
        return [drawn_nodes if draw else self for draw in draws]


Result = TypeVar("Result")


@dataclass(frozen=True)
class NetworkSettings:
    """How a network is made and trained."""

    training: TrainingSettings
    hidden: Any  # an int, or a sequence of them
    dropout: float
    filters: Any
    device: torch.device

    def network(self, spectrum: Spectrum, inputs: int, classes: int, *, seed: int) -> PinvGCN:
        """An untrained network."""
        return PinvGCN(
            spectrum,
            inputs,
            classes,
            hidden=self.hidden,
            dropout=self.dropout,
            filters=self.filters,
            generator=torch.Generator().manual_seed(seed),
        ).to(self.device)


@dataclass(frozen=True)
class TrainedNetwork:
    """A trained network, as weights and as a function of one node."""

    network: PinvGCN
    layers: tuple[NodeLayer, ...]  # none before it is folded
    losses: list[float]  # of each epoch

    @classmethod
    def from_state(
        cls, arrays: dict[str, np.ndarray], spectrum: Spectrum, *, depth: int, dropout: float, filters: Any
    ) -> TrainedNetwork:
        """From the arrays of a member in a file."""
        layers = tuple(
            NodeLayer(*(arrays[f"layer{d}.{name}"] for name in NodeLayer._fields)) for d in range(depth)
        )
        weights = [torch.from_numpy(arrays[f"weights{d}"]) for d in range(depth)]
        network = PinvGCN(
            spectrum,
            weights[0].shape[1],
            weights[-1].shape[2],
            hidden=[w.shape[2] for w in weights[:-1]],
            dropout=dropout,
            filters=filters,
            generator=torch.Generator(),
        )
        with torch.no_grad():
            for d, conv in enumerate(network.layers):
                if conv.weights.shape != weights[d].shape:  # a copy would be broadcast
                    raise ValueError(f"weights{d} must have the shape {tuple(conv.weights.shape)}")
                conv.weights.copy_(weights[d])
                conv.bias.copy_(torch.from_numpy(arrays[f"bias{d}"]))
        losses = arrays.get("loss_curve", np.empty(0))  # those of the first are kept
        return cls(network.eval(), layers, losses.tolist())


@dataclass(frozen=True)
class Networks:
    """The networks of all members, of equal shape: their scores, or log p."""

    members: Sequence[TrainedNetwork]
    log_proba: bool

    def opinions(self, seen: Seen) -> Iterator[np.ndarray]:
        """Of each member: (m, classes)."""
        layers = [member.layers for member in self.members]
        yield from apply_networks(layers, seen.inputs, seen.basis, log_proba=self.log_proba)

    def like(self, number: int) -> TrainedNetwork:
        """The network of this member, or the last one if there are fewer."""
        return self.members[min(number, len(self.members) - 1)]

    @property
    def depth(self) -> int:
        """The number of layers."""
        return len(self.members[0].network.layers)

    def state(self) -> dict[str, np.ndarray]:
        """The arrays of a file."""
        arrays = {"loss_curve": np.array(self.members[0].losses)}
        for number, member in enumerate(self.members):
            for depth, (layer, conv) in enumerate(zip(member.layers, member.network.layers, strict=True)):
                mine = {f"layer{depth}.{name}": array for name, array in layer._asdict().items()}
                mine[f"weights{depth}"] = conv.weights.detach().cpu().numpy()
                mine[f"bias{depth}"] = conv.bias.detach().cpu().numpy()
                arrays |= {of_member(number) + name: array for name, array in mine.items()}
        return arrays


def side_by_side(
    learn: Callable[[int, threading.Event | None], Result], count: int, workers: int
) -> list[Result]:
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
    learn: Callable[[int, threading.Event | None], TrainedNetwork],
    networks: Sequence[PinvGCN],
    exact: Sequence[bool],
    workers: int,
    group: Group,
) -> list[TrainedNetwork]:
    """``learn(number, stop)`` for each member, on several process ranks; the networks, the same on all.

    Those that are trained on all nodes, ``exact``, are trained by all ranks together, one after the other. Of
    the others each rank trains some, side by side; the ``networks`` of the others then get the weights.
    """
    found = {number: learn(number, None) for number, whole in enumerate(exact) if whole}
    some = [number for number, whole in enumerate(exact) if not whole]
    shared = [[number for number in some if number % group.size == rank] for rank in range(group.size)]
    mine = shared[group.rank]
    with together(group):
        own = side_by_side(lambda place, stop: learn(mine[place], stop), len(mine), workers)
    if some:
        vectors = [_flat(member.network) for member in own]
        weights = group.parts(np.stack([_flat(networks[0]), *vectors])[1:])
        losses = group.values([member.losses for member in own])
        for rank, numbers in enumerate(shared):
            for number, vector, curve in zip(numbers, weights[rank], losses[rank], strict=True):
                network = networks[number].eval()
                like = network.layers[0].bias
                vector_to_parameters(torch.from_numpy(vector).to(like), network.parameters())
                found[number] = TrainedNetwork(network, (), curve)
    return [found[number] for number in range(len(exact))]


def _flat(network: PinvGCN) -> np.ndarray:
    """All weights, one after the other."""
    return parameters_to_vector(network.parameters()).detach().cpu().numpy()
