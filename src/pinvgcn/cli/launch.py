"""The processes of one command: started by torchrun they find each other, and they end together.

Each rank watches the one before it, over a connection of its own: when that closes, the rank has died, which
is noticed at once, in the middle of a computation too, and passed on around the ring. Whoever is first to
know a cause says it, in one line; all others end without a word. The connections send nothing while they are
idle: a host that vanishes without closing them is not noticed.

====  ==========================================================
   2  this rank could not go on, and has said why
   1  another rank could not
====  ==========================================================
"""

from __future__ import annotations

import _thread
import contextlib
import json
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from pinvgcn.cli.failure import BAD_INPUT, INTERRUPTED, TERMINATED, Interrupted, describe, say
from pinvgcn.errors import PeerError, PinvGCNError, TrainingWarning

if TYPE_CHECKING:
    import torch.distributed as dist

    from pinvgcn.distributed.group import Group

ARRIVAL = timedelta(minutes=5)  # for all ranks to load their libraries
PATIENCE = timedelta(days=14)  # for a rank that computes while others wait
WAY_OUT = 20.0  # seconds in which a rank may clean up
SHORTLY = timedelta(seconds=5)
LINGER = 3.0  # seconds in which torchrun notices who has failed first
DONE, FAULT = 1, 2  # what a rank tells the next one
KILLED = "ended without a message: it was killed, perhaps for want of memory, or its connection was closed"
PEER = MISTAKE = 1  # exit codes, beside those of one process


def launched() -> bool:
    """Whether this is one of several processes that torchrun, or a script like it, has started."""
    known = all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))
    return known and int(os.environ["WORLD_SIZE"]) > 1


if launched():  # the transport's own pages about peers that have gone; read when torch is first imported
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")


@contextmanager
def job(*, kept: str = "") -> Iterator[Group]:
    """The group of this command's processes; one process alone where nothing has launched several.

    ``kept`` is said after "interrupted": what stays, and how to go on.
    """
    if launched():
        ring = _Ring()
        try:
            yield ring.group
            ring.group.wait()  # nobody leaves while others work
        except BaseException as error:
            ring.fault(error, kept)
        ring.end()
        return
    from pinvgcn.distributed.group import ALONE

    try:
        yield ALONE
    except (KeyboardInterrupt, TrainingWarning):
        if not kept:
            raise
        raise Interrupted(kept) from None


class _Ring:
    """This rank, and the thread that watches the one before it."""

    def __init__(self) -> None:
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.gone = threading.Event()  # another rank has ended
        self.terminated = False
        self._leaving = self._lingering = False
        self._told = threading.Lock()
        try:
            self._meet()
        except BaseException as error:
            self.fault(error, "")
        self._before = signal.signal(signal.SIGTERM, self._terminate)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _meet(self) -> None:
        import torch.distributed as dist

        from pinvgcn.distributed.group import Group

        try:
            self.store, _, _ = next(dist.rendezvous("env://", timeout=ARRIVAL))
            self._await_all()
        except (dist.DistError, ValueError, RuntimeError) as error:
            place = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
            reason = str(error).splitlines()[0]
            raise PinvGCNError(f"the ranks did not meet at {place} ({reason[:200]})") from None
        dist.init_process_group(
            "gloo", store=self.store, rank=self.rank, world_size=self.size, timeout=PATIENCE
        )
        # connections that nothing else uses, on which a thread can wait
        self._links: dist.ProcessGroup = dist.new_group(backend="gloo", timeout=PATIENCE)
        world = dist.group.WORLD
        self.group: Group = Group.of(world)

    def _await_all(self) -> None:
        """Before a connection is made, which would wait for ``PATIENCE``."""
        import torch.distributed as dist

        keys = [f"pinvgcn/here/{rank}" for rank in range(self.size)]
        self.store.set(keys[self.rank], "")
        try:
            self.store.wait(keys, ARRIVAL)
        except dist.DistStoreError:
            late = [str(rank) for rank, key in enumerate(keys) if not self.store.check([key])]
            names = f"rank{'s' if len(late) > 1 else ''} {', '.join(late)}"
            raise PinvGCNError(f"{names} did not come within {ARRIVAL.seconds} seconds") from None

    def _terminate(self, number: int, frame: Any) -> None:
        """What `_thread.interrupt_main` calls too, when another rank has gone."""
        if self._leaving:
            if self._lingering:
                os._exit(PEER)
            return
        self._leaving = True
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
        if word.item() != FAULT and self._first(unheard=True):
            say(f"rank {before}: {KILLED}")
        self._tell(FAULT)
        _thread.interrupt_main(signal.SIGTERM)
        time.sleep(WAY_OUT)
        os._exit(PEER)

    def fault(self, error: BaseException, kept: str) -> NoReturn:
        """End this process, after one line from whoever is first."""
        self._leaving = True
        stopped = isinstance(error, KeyboardInterrupt | TrainingWarning | typer.Abort)
        if isinstance(error, PeerError) or (stopped and not self.gone.wait(0.5)):
            # torchrun ends all ranks when one has failed: that one's word may be on its way
            self.gone.wait(0.5)
        code = None
        if not self.gone.is_set() and not isinstance(error, PeerError):
            code = self._own(error, stopped, kept)
        self._tell(FAULT)
        sys.stdout.flush()
        sys.stderr.flush()
        if code is None:
            self._report(f"rank {self.rank}: ended because another rank has")
            self._lingering = True
            time.sleep(LINGER)
        os._exit(PEER if code is None else code)

    def _own(self, error: BaseException, stopped: bool, kept: str) -> int | None:
        """The exit code, once the line is said; None where another rank was first."""
        if isinstance(error, typer.Exit | SystemExit):
            return int(getattr(error, "exit_code", None) or getattr(error, "code", None) or 0)
        first = self._first()
        if stopped:
            if not first:
                return None
            say("interrupted" + (f": {kept}" if kept else ""))
            return TERMINATED if self.terminated else INTERRUPTED
        known = isinstance(error, PinvGCNError | OSError | MemoryError)
        debug = "--debug" in sys.argv or os.environ.get("PINVGCN_DEBUG", "") not in ("", "0")
        if not known or debug:
            traceback.print_exception(error)
        if not first:
            return None
        said = describe(error)
        # an error that all ranks raise names the one that has it
        named = re.match(r"Rank (\d+: )", said)
        line = f"rank {named[1]}{said[named.end() :]}" if named else f"rank {self.rank}: {said}"
        say(line)
        self._report(line)
        return BAD_INPUT if known else MISTAKE

    def _report(self, line: str) -> None:
        """The line for torchrun's own report, too, which would speak of a traceback that is not there."""
        path = os.environ.get("TORCHELASTIC_ERROR_FILE")
        if path:
            said = {"message": line, "extraInfo": {"timestamp": str(int(time.time()))}}
            with contextlib.suppress(OSError), open(path, "w", encoding="utf-8") as file:
                json.dump({"message": said}, file)

    def _first(self, *, unheard: bool = False) -> bool:
        """Whether no rank has said why the job ends; ``unheard`` is the answer where nobody can tell."""
        try:
            return bool(self.store.add("pinvgcn/said", 1) == 1)
        except (AttributeError, RuntimeError):
            return unheard or not hasattr(self, "group")

    def _tell(self, word: int) -> None:
        import torch
        import torch.distributed as dist

        # once: a second word would wait for ever for somebody who listens
        if self._told.acquire(blocking=False):
            with contextlib.suppress(AttributeError, RuntimeError):
                following = (self.rank + 1) % self.size
                sent = dist.isend(torch.tensor([word]), group=self._links, group_dst=following)
                assert sent is not None
                sent.wait(SHORTLY)

    def end(self) -> None:
        """All is done, everywhere."""
        import torch.distributed as dist

        self._tell(DONE)
        self._thread.join(WAY_OUT)
        signal.signal(signal.SIGTERM, self._before)
        dist.destroy_process_group()
