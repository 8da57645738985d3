"""The process group: processes that share the nodes of one graph, and what they exchange.

Each process holds some rows, in the order of the process ranks: row i of process p is node ``offset + i`` of
all. Sums over nodes are small, so that processes exchange sums, extremes, and the rows of a few nodes;
everything else is local. Transport is ``torch.distributed`` (gloo, or NCCL on GPUs).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from pinvgcn import errors
from pinvgcn.errors import ParameterError, PeerError, PinvGCNError

BEFORE = 2**26  # bytes of one message; longer ones are cut, for the buffers of the transport


class Group:
    """Some processes, or one alone that has all nodes: every exchange then returns its argument.

    All processes must call the same methods in one order.
    """

    rank: int = 0  # the process rank, from 0
    size: int = 1
    sent: int = 0  # bytes that this process has sent

    def __init__(self, process_group: dist.ProcessGroup | None = None) -> None:
        if process_group is None:
            return
        self._group = process_group
        self.rank, self.size = process_group.rank(), process_group.size()
        nccl = dist.get_backend(process_group) == "nccl"
        self._device = torch.device("cuda", torch.cuda.current_device()) if nccl else torch.device("cpu")

    @staticmethod
    def of(process_group: Any = None) -> Group:
        """From a group of ``torch.distributed``; None, or a group of one, is this process alone."""
        if process_group is None or isinstance(process_group, Group):
            return process_group or ALONE
        if not isinstance(process_group, dist.ProcessGroup):
            raise ParameterError(
                "process_group must be a group of torch.distributed, such as torch.distributed.group.WORLD "
                f"after init_process_group, or None. Got {process_group!r} instead."
            )
        return Group(process_group) if process_group.size() > 1 else ALONE

    @property
    def alone(self) -> bool:
        return self.size == 1

    def sum(self, array: Any) -> Any:
        """Σ over processes of arrays (or numbers) of one shape; the same bits on all."""
        return self._reduced(array, dist.ReduceOp.SUM)

    def smallest(self, array: Any) -> Any:
        """The minimum over processes, entry by entry."""
        return self._reduced(array, dist.ReduceOp.MIN)

    def largest(self, array: Any) -> Any:
        """The maximum over processes, entry by entry."""
        return self._reduced(array, dist.ReduceOp.MAX)

    def _reduced(self, array: Any, operation: Any) -> Any:
        if self.alone:
            return array
        given = np.asarray(array)
        numbers = np.array(given, order="C").reshape(-1)  # a copy, which is overwritten
        if numbers.dtype.kind == "c":
            numbers = numbers.view(numbers.real.dtype)
        elif numbers.dtype.kind in "biu":
            numbers = numbers.astype(np.int64)
        tensor = torch.from_numpy(numbers)
        for start in range(0, tensor.numel(), BEFORE // 8):
            self._all_reduce(tensor[start : start + BEFORE // 8], operation)
        found: Any = numbers.view(given.dtype) if given.dtype.kind == "c" else numbers.astype(given.dtype)
        result = found.reshape(given.shape)
        return result.item() if given.ndim == 0 and not isinstance(array, np.ndarray) else result

    def _all_reduce(self, tensor: Tensor, operation: Any = dist.ReduceOp.SUM) -> None:
        there = self._there(tensor)
        with _peers(self):
            dist.all_reduce(there, operation, group=self._group)
        if there is not tensor:
            tensor.copy_(there)

    def _there(self, tensor: Tensor) -> Tensor:
        """What is to be sent, on the device that sends it."""
        self.sent += tensor.numel() * tensor.element_size()
        return tensor.to(self._device)

    def rows(self, array: np.ndarray) -> np.ndarray:
        """The rows of all processes, in their order, on all: for a few rows only."""
        return array if self.alone else np.concatenate(self.parts(array))

    def parts(self, array: np.ndarray) -> list[np.ndarray]:
        """The same, process by process."""
        if self.alone:
            return [array]
        own = np.ascontiguousarray(array)
        lengths = self._gathered(np.array([len(own)]))[:, 0].tolist()
        width = own.dtype.itemsize * int(np.prod(own.shape[1:], dtype=np.int64))
        flat = np.zeros(max(lengths) * width, dtype=np.uint8)
        flat[: own.nbytes] = own.reshape(-1).view(np.uint8)
        return [
            part[: n * width].view(own.dtype).reshape(n, *own.shape[1:])
            for part, n in zip(self._gathered(flat), lengths, strict=True)
        ]

    def _gathered(self, flat: np.ndarray) -> np.ndarray:
        """The numbers (n,) of each process, of which all have as many: (size, n)."""
        result = np.empty((self.size, len(flat)), dtype=flat.dtype)
        step = max(1, BEFORE // flat.dtype.itemsize)
        for start in range(0, len(flat), step):
            piece = self._there(torch.from_numpy(flat[start : start + step].copy()))
            out = [torch.empty_like(piece) for _ in range(self.size)]
            with _peers(self):
                dist.all_gather(out, piece, group=self._group)
            for rank, part in enumerate(out):
                result[rank, start : start + step] = part.cpu().numpy()
        return result

    def first(self, array: np.ndarray) -> np.ndarray:
        """The array of the first process; of which the others need to know neither shape nor dtype."""
        if self.alone:
            return array
        shape, dtype = self.values([list(np.shape(array)), np.asarray(array).dtype.str])[0]
        result = np.array(array, order="C") if self.rank == 0 else np.empty(shape, dtype)
        flat = result.reshape(-1).view(np.uint8)
        for start in range(0, len(flat), BEFORE):
            piece = self._there(torch.from_numpy(flat[start : start + BEFORE]))
            with _peers(self):
                dist.broadcast(piece, group=self._group, group_src=0)
            flat[start : start + BEFORE] = piece.cpu().numpy()
        return result

    def values(self, value: Any) -> list[Any]:
        """A JSON value of each process."""
        if self.alone:
            return [value]
        text = np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)
        return [json.loads(part.tobytes()) for part in self.parts(text)]

    def swap(self, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Send rows to each process, receive rows from each; one dtype and one row shape everywhere."""
        if self.alone:
            return list(parts)
        counts = self._gathered(np.array([len(part) for part in parts]))
        found = [np.ascontiguousarray(part) for part in parts]
        for step in range(1, self.size):
            to, origin = (self.rank + step) % self.size, (self.rank - step) % self.size
            out = np.ascontiguousarray(parts[to])
            found[origin] = np.empty((int(counts[origin, self.rank]), *out.shape[1:]), dtype=out.dtype)
            self._pass(out, to, found[origin], origin)
        return found

    def _pass(self, out: np.ndarray, to: int, come: np.ndarray, origin: int) -> None:
        """Send to one process while receiving, into ``come``, from another."""
        away, here = (a.reshape(-1).view(np.uint8) for a in (out, come))
        for start in range(0, max(len(away), len(here)), BEFORE):
            work, box = [], None
            with _peers(self):
                if start < len(away):
                    piece = self._there(torch.from_numpy(away[start : start + BEFORE].copy()))
                    work.append(dist.isend(piece, group=self._group, group_dst=to))
                if start < len(here):
                    box = torch.empty(min(BEFORE, len(here) - start), dtype=torch.uint8, device=self._device)
                    work.append(dist.irecv(box, group=self._group, group_src=origin))
                for one in work:
                    assert one is not None
                    one.wait()
            if box is not None:
                here[start : start + BEFORE] = box.cpu().numpy()

    def offset(self, n: int) -> tuple[int, int]:
        """Where the n rows of this process begin among all, and how many all are."""
        if self.alone:
            return 0, n
        counts = self._gathered(np.array([n], dtype=np.int64))
        return int(counts[: self.rank].sum()), int(counts.sum())

    def total(self, tensor: Tensor) -> Tensor:
        """Σ over processes, differentiable: S = Σ_p S_p, ∂L/∂S_p = Σ_q ∂L_q/∂S for L = Σ_q L_q."""
        return tensor if self.alone else _Total.apply(tensor, self)

    def sum_(self, tensors: Sequence[Tensor]) -> None:
        """Σ over processes, in place, all tensors in one message."""
        if self.alone:
            return
        flat = torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
        self._all_reduce(flat)
        for tensor, part in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
            tensor.detach().copy_(part.reshape(tensor.shape))

    def wait(self) -> None:
        """Wait for all processes."""
        if not self.alone:
            with _peers(self):
                dist.barrier(group=self._group)


ALONE = Group()


class _Total(torch.autograd.Function):
    """S = Σ_p S_p"""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Group) -> Tensor:
        ctx.group = group
        result = tensor.detach().clone()
        group._all_reduce(result)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        summed = gradient.detach().clone()
        ctx.group._all_reduce(summed)
        return summed, None


@contextmanager
def together(group: Group) -> Iterator[None]:
    """An error inside, on one process, is raised on all, and names the process rank. An error that is not of
    this package, such as an interrupt, is a ``PeerError`` on the others.

    All processes must enter, and inside no process may wait for another.
    """
    if group.alone:
        yield
        return
    mine: BaseException | None = None
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        mine = error
    told = None if mine is None else [type(mine).__name__, str(mine)]
    for rank, failed in enumerate(group.values(told)):
        if failed is None:
            continue
        if mine is not None and not isinstance(mine, PinvGCNError):
            raise mine
        kind = getattr(errors, failed[0], None)
        if kind is None:
            raise PeerError(f"Rank {rank} has failed: {': '.join(filter(None, failed))}")
        raise kind(f"Rank {rank}: {failed[1]}")


@contextmanager
def _peers(group: Group) -> Iterator[None]:
    """All errors of the transport become one: another process has ended."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise PeerError(
            f"Rank {group.rank} waited for another rank, which has ended ({reason[:200]}). "
            "That rank's own message says why."
        ) from None
