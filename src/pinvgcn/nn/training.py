"""Fit a network's weights to a few labelled nodes."""

from __future__ import annotations

import math
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor

from pinvgcn.checks import check_count, check_non_negative, check_positive
from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.errors import ParameterError, TrainingError, TrainingWarning
from pinvgcn.nn.hidden import FastNetwork, Map
from pinvgcn.nn.model import PinvGCN
from pinvgcn.nn.problem import Problem
from pinvgcn.nn.sampling import Sample, resolve_sample

CHECK_EVERY = 10  # epochs between two looks at the held-out labels


@dataclass(frozen=True)
class TrainingSettings:
    """Adam on the cross entropy, at the paper's values by default."""

    learning_rate: float = 0.01
    weight_decay: float = 0.0005  # on weights, not on biases
    epochs: int = 500
    nodes_per_epoch: int | str | None = None  # unlabelled ones; None: all, "auto": all while that is cheap
    patience: int | None = None  # epochs without a lower loss at the held-out labels

    def __post_init__(self) -> None:
        check_positive("learning_rate", self.learning_rate)
        check_non_negative("weight_decay", self.weight_decay)
        check_count("epochs", self.epochs)
        if isinstance(self.nodes_per_epoch, str):
            if self.nodes_per_epoch != "auto":
                raise ParameterError(
                    "nodes_per_epoch must be a whole number, 'auto' or None. "
                    f"Got {self.nodes_per_epoch!r} instead."
                )
        elif self.nodes_per_epoch is not None:
            check_count("nodes_per_epoch", self.nodes_per_epoch)
        if self.patience is not None:
            check_count("patience", self.patience)


@dataclass(frozen=True)
class Labels:
    """Σ_t w_t (−log p_t[y_t]) / Σ_t w_t over labels t, as −Σ S ∘ log p with a row of S for each such node.

    A node may have several labels, and labels that disagree. A rank has the nodes that are its own.
    """

    nodes: Tensor  # (m,), ascending
    shares: Tensor  # S: (m, classes), their sum over all ranks is 1

    @classmethod
    def of(
        cls,
        nodes: Tensor,
        targets: Tensor,
        n_classes: int,
        weights: Tensor | None = None,
        *,
        group: Group = ALONE,
    ) -> Labels:
        """From the node, class number and weight of each label that this rank has."""
        distinct, place = nodes.unique(return_inverse=True)
        counts = torch.ones(len(nodes), dtype=torch.float64, device=nodes.device)
        shares = counts.new_zeros(len(distinct), n_classes)
        shares.index_put_((place, targets), counts if weights is None else weights.double(), accumulate=True)
        return cls(distinct, shares / group.sum(float(shares.sum())))

    def loss(self, scores: Tensor) -> Tensor:
        """The cross entropy: what this rank adds to it."""
        return -(self.shares.to(scores) * torch.log_softmax(scores, dim=1)).sum()


def train(
    network: PinvGCN,
    problem: Problem,
    labels: Labels,
    settings: TrainingSettings,
    *,
    held_out: Labels | None = None,
    seed: int = 0,
    on_epoch: Callable[[int, float], None] | None = None,
    threads: int | None = None,
) -> list[float]:
    """Minimise the cross entropy at the labelled nodes; the loss of each epoch.

    Where ranks share out the nodes of ``problem``, all call this with one network and their own labels, every
    epoch visits all nodes, and sums and gradients are those of all: the network stays the same on all.

    Parameters
    ----------
    network : PinvGCN
        Changed in place. An interrupt from the keyboard ends its training early, with a warning; of ranks,
        all end after the epoch in which one was interrupted.
    held_out : Labels, optional
        With ``settings.patience``: training stops when the loss here no longer falls, and the weights that
        had the lowest are kept.
    seed : int
        Of the dropout masks and the sample: they depend on (seed, epoch) and the node alone.
    on_epoch : callable, optional
        Told the epoch's number and loss.
    threads : int, optional
        How many chunks of nodes are worked on at a time; as many as PyTorch has threads by default. The
        result is the same bits.
    """
    problem.check_filters(network.layers[0])
    optimizer = torch.optim.Adam(
        [
            {"params": [conv.weights for conv in network.layers], "weight_decay": settings.weight_decay},
            {"params": [conv.bias for conv in network.layers], "weight_decay": 0.0},
        ],
        lr=settings.learning_rate,
        fused=True,
    )
    best = Best(network, settings.patience)
    losses: list[float] = []
    failed: BaseException | None = None
    network.train()
    group = problem.group
    with workers(threads, labels.nodes.device) as run, held_back(group) as interrupted:
        visit = _visits(network, problem, labels.nodes, settings, seed, run)
        check = None if held_out is None else FastNetwork(network, problem, held_out.nodes, run)
        try:
            for epoch in range(settings.epochs):
                optimizer.zero_grad()
                loss = labels.loss(visit(epoch)((seed, epoch)))
                loss.backward()
                value, stop, lost = _exchanged(network, problem, loss.detach(), interrupted(), failed)
                if lost:
                    break
                if not math.isfinite(value):
                    raise TrainingError(
                        f"The loss became {value} in epoch {epoch + 1} of {settings.epochs}. "
                        f"Lower learning_rate (now {settings.learning_rate:g}) or scale the features."
                    )
                optimizer.step()
                losses.append(value)
                if on_epoch is not None:
                    try:
                        on_epoch(epoch, value)
                    except (Exception, KeyboardInterrupt) as error:
                        if group.alone:
                            raise
                        failed = error  # the others hear of it with the next gradients
                if check is not None and held_out is not None and epoch % CHECK_EVERY == CHECK_EVERY - 1:
                    with torch.no_grad():
                        best.see(epoch, group.sum(float(held_out.loss(check()))))
                    if best.is_long_ago(epoch):
                        break
                if stop:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            if not losses:
                raise
            warnings.warn(
                f"Training was interrupted after {len(losses)} of {settings.epochs} epochs: {best}.",
                TrainingWarning,
                stacklevel=8,  # the caller of fit
            )
    with together(group):
        if failed is not None:
            raise failed
    best.restore()
    if not group.alone:  # machines may round differently
        with torch.no_grad():
            for weights in network.parameters():
                weights.copy_(torch.from_numpy(group.first(weights.cpu().numpy())))
    network.eval()
    return losses


def _exchanged(
    network: PinvGCN, problem: Problem, loss: Tensor, interrupted: bool, failed: BaseException | None
) -> tuple[float, bool, bool]:
    """The loss, summed over ranks in one message with gradients; whether one was interrupted, or failed."""
    told = torch.stack([loss, *loss.new_tensor([interrupted, failed is not None])])
    problem.group.sum_(
        [weights.grad for weights in network.parameters() if weights.grad is not None] + [told]
    )
    return float(told[0]), bool(told[1] > 0), bool(told[2] > 0)


@contextmanager
def held_back(group: Group) -> Iterator[Callable[[], bool]]:
    """Interrupts from the keyboard, of which this rank tells the others before all stop.

    One that came while others wait for this rank would leave them waiting. A second one is not held back.
    Alone, an interrupt comes where it comes.
    """
    if group.alone or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    came = threading.Event()
    before = signal.getsignal(signal.SIGINT) or signal.default_int_handler

    def note(number: int, frame: object) -> None:
        came.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield came.is_set
    finally:
        signal.signal(signal.SIGINT, before)


def _visits(
    network: PinvGCN, problem: Problem, labelled: Tensor, settings: TrainingSettings, seed: int, run: Map
) -> Callable[[int], FastNetwork]:
    """The network at the labelled nodes, for each epoch on the nodes that it visits."""
    size = resolve_sample(settings.nodes_per_epoch, len(problem) - len(labelled))
    if size is None or not problem.group.alone:
        everything = FastNetwork(network, problem, labelled, run)
        return lambda epoch: everything
    sample = Sample(problem, labelled, size, seed)
    first = torch.arange(len(labelled), device=labelled.device)  # where a sample has the labelled nodes
    return lambda epoch: FastNetwork(network, sample(epoch), first, sampled=True)


class Best:
    """The weights that had the lowest loss at the held-out labels; without any, those of the last epoch."""

    def __init__(self, network: PinvGCN, patience: int | None) -> None:
        self._network, self._patience = network, patience
        self._loss, self._epoch = math.inf, 0
        self._weights: dict[str, Tensor] | None = None

    def see(self, epoch: int, loss: float) -> None:
        if loss < self._loss:
            self._loss, self._epoch = loss, epoch
            self._weights = {name: value.clone() for name, value in self._network.state_dict().items()}

    def is_long_ago(self, epoch: int) -> bool:
        return self._patience is not None and epoch - self._epoch >= self._patience

    def __str__(self) -> str:
        if self._weights is None:
            return "the model is that of the last epoch"
        return f"the model is that of epoch {self._epoch + 1}, the best at the held-out labels"

    def restore(self) -> None:
        if self._weights is not None:
            self._network.load_state_dict(self._weights)


@contextmanager
def workers(threads: int | None, device: torch.device) -> Iterator[Map]:
    """A ``map`` over chunks of nodes in so many threads, each of which computes alone.

    PyTorch's own threads would meet after each operation; these meet after each layer.
    """
    before = torch.get_num_threads()
    count = before if threads is None else threads
    if device.type != "cpu":
        yield map
        return
    torch.set_num_threads(1)
    try:
        if count == 1:
            yield map
        else:
            with ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,)) as pool:
                yield pool.map
    finally:
        torch.set_num_threads(before)


@contextmanager
def progress(
    epochs: int, *, show: bool | Callable[[int, int], None]
) -> Iterator[Callable[[int, float], None] | None]:
    """A callback for ``train`` that draws a bar with epochs, loss and remaining time; None if not shown.

    If ``show`` is a function, it hears instead how many epochs are done, and of how many.
    """
    if callable(show):
        hear = show
        yield lambda epoch, loss: hear(epoch + 1, epochs)
        return
    if not show:
        yield None
        return
    columns = (
        TextColumn("Training"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.4f}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=epochs, loss=float("nan"))
        yield lambda epoch, loss: bar.update(task, completed=epoch + 1, loss=loss)
