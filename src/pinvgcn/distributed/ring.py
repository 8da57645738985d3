"""The ring of watchers: the processes of one job find each other, and end together.

Each process watches the one before it, over a connection of its own. When that closes, the other has died:
this is noticed at once, in the middle of a computation too, and passed on around the ring. The connections
send nothing while they are idle: a host that vanishes without closing them is not noticed.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pinvgcn.errors import PinvGCNError

if TYPE_CHECKING:
    import torch.distributed as dist

    from pinvgcn.distributed.group import Group

ARRIVAL = timedelta(minutes=5)  # for all processes to load their libraries
PATIENCE = timedelta(days=14)  # for a process that computes while others wait
WAY_OUT = 20.0  # seconds in which a process may clean up
SHORTLY = timedelta(seconds=5)
DONE, FAULT = 1, 2  # what a process tells the next one
PEER = 1  # exit code of a process that ends because another has


def launched() -> bool:
    """Whether this is one of several processes that torchrun, or a script like it, has started."""
    known = all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))
    return known and int(os.environ["WORLD_SIZE"]) > 1


if launched():  # the transport's own pages about peers that have gone; read when torch is first imported
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")


class Ring:
    """This process, and the thread that watches the one before it.

    ``killed`` is called with the process rank of one that has ended without a word, in one process of all.
    When another process has ended, SIGTERM is raised in the main thread as a KeyboardInterrupt; a process
    that has not left within ``WAY_OUT`` seconds ends at once.
    """

    def __init__(self, killed: Callable[[int], None]) -> None:
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.group: Group | None = None  # once all have met
        self.gone = threading.Event()  # another process has ended
        self.terminated = False  # by a signal from outside
        self.leaving = self.lingering = False
        self._killed = killed
        self._told = threading.Lock()

    def meet(self) -> Group:
        """The group of all processes; the watch begins."""
        import torch.distributed as dist

        from pinvgcn.distributed.group import Group

        try:
            self._store, _, _ = next(dist.rendezvous("env://", timeout=ARRIVAL))
            self._await_all()
        except (dist.DistError, ValueError, RuntimeError) as error:
            place = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
            reason = str(error).splitlines()[0]
            raise PinvGCNError(f"the ranks did not meet at {place} ({reason[:200]})") from None
        dist.init_process_group(
            "gloo", store=self._store, rank=self.rank, world_size=self.size, timeout=PATIENCE
        )
        # connections that nothing else uses, on which a thread can wait
        self._links: dist.ProcessGroup = dist.new_group(backend="gloo", timeout=PATIENCE)
        self.group = Group.of(dist.group.WORLD)
        self._before = signal.signal(signal.SIGTERM, self._terminate)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self.group

    def _await_all(self) -> None:
        """Before a connection is made, which would wait for ``PATIENCE``."""
        import torch.distributed as dist

        keys = [f"pinvgcn/here/{rank}" for rank in range(self.size)]
        self._store.set(keys[self.rank], "")
        try:
            self._store.wait(keys, ARRIVAL)
        except dist.DistStoreError:
            late = [str(rank) for rank, key in enumerate(keys) if not self._store.check([key])]
            names = f"rank{'s' if len(late) > 1 else ''} {', '.join(late)}"
            raise PinvGCNError(f"{names} did not come within {ARRIVAL.seconds} seconds") from None

    def _terminate(self, number: int, frame: Any) -> None:
        """Of SIGTERM, which the watching thread raises too."""
        if self.leaving:
            if self.lingering:
                os._exit(PEER)
            return
        self.leaving = True
        self.terminated = not self.gone.is_set()
        raise KeyboardInterrupt

    def _watch(self) -> None:
        import torch
        import torch.distributed as dist

        before = (self.rank - 1) % self.size
        word = torch.zeros(1, dtype=torch.int64)
        try:
            dist.recv(word, group=self._links, group_src=before)
        except RuntimeError:
            word[0] = 0
        if word.item() == DONE:
            return
        self.gone.set()
        if word.item() != FAULT and self.first(unheard=True):
            self._killed(before)
        self.tell(FAULT)
        _thread.interrupt_main(signal.SIGTERM)
        time.sleep(WAY_OUT)
        os._exit(PEER)

    def first(self, *, unheard: bool = False) -> bool:
        """Whether no process has said why the job ends; ``unheard`` is returned where the store is gone."""
        try:
            return bool(self._store.add("pinvgcn/said", 1) == 1)
        except (AttributeError, RuntimeError):
            return unheard or self.group is None

    def tell(self, word: int) -> None:
        """Tell the next process, once: it takes one word only."""
        import torch
        import torch.distributed as dist

        if self._told.acquire(blocking=False):
            with contextlib.suppress(AttributeError, RuntimeError):
                following = (self.rank + 1) % self.size
                sent = dist.isend(torch.tensor([word]), group=self._links, group_dst=following)
                assert sent is not None
                sent.wait(SHORTLY)

    def end(self) -> None:
        """All is done, everywhere."""
        import torch.distributed as dist

        self.tell(DONE)
        self._thread.join(WAY_OUT)
        signal.signal(signal.SIGTERM, self._before)
        dist.destroy_process_group()
