"""The processes of one command. Whoever is first to know why they end says it, in one line.

====  ==========================================================
   2  this process could not go on, and has said why
   1  another process could not
====  ==========================================================
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import typer

from pinvgcn.cli.failure import BAD_INPUT, INTERRUPTED, TERMINATED, Interrupted, describe, say
from pinvgcn.distributed.ring import FAULT, PEER, Ring, launched
from pinvgcn.errors import PeerError, PinvGCNError, TrainingWarning

if TYPE_CHECKING:
    from pinvgcn.distributed.group import Group

LINGER = 3.0  # seconds in which torchrun notices who has failed first
ON_ITS_WAY = 5.0  # seconds in which processes hear of each other, where something has ended this one
MISTAKE = 1  # exit code
KILLED = "ended without a message: it was killed, perhaps for want of memory, or its connection was closed"


@contextmanager
def job(*, kept: str = "") -> Iterator[Group]:
    """The group of this command's processes; one process alone where nothing has launched several.

    ``kept`` is said after "interrupted": what stays, and how to go on.
    """
    if launched():
        ring = Ring(lambda rank: say(f"rank {rank}: {KILLED}"))
        try:
            group = ring.meet()
            yield group
            group.wait()  # nobody leaves while others work
        except BaseException as error:
            _leave(ring, error, kept)
        ring.end()
        return
    from pinvgcn.distributed.group import ALONE

    try:
        yield ALONE
    except (KeyboardInterrupt, TrainingWarning):
        if not kept:
            raise
        raise Interrupted(kept) from None


def _leave(ring: Ring, error: BaseException, kept: str) -> NoReturn:
    """End this process, after one line from whoever is first."""
    ring.leaving = True
    stopped = isinstance(error, KeyboardInterrupt | TrainingWarning | typer.Abort)
    if stopped or isinstance(error, PeerError):
        # torchrun ends all ranks when one has failed: the word of that one may be on its way, slowly if busy
        ring.gone.wait(ON_ITS_WAY if ring.terminated else 1.0)
    code = None
    if not ring.gone.is_set() and not isinstance(error, PeerError):
        code = _explained(ring, error, stopped, kept)
    ring.tell(FAULT)
    sys.stdout.flush()
    sys.stderr.flush()
    if code is None:
        _report(f"rank {ring.rank}: ended because another rank has")
        ring.lingering = True
        time.sleep(LINGER)
    os._exit(PEER if code is None else code)


def _explained(ring: Ring, error: BaseException, stopped: bool, kept: str) -> int | None:
    """The exit code, once the line is said; None where another rank was first."""
    if isinstance(error, typer.Exit | SystemExit):
        return int(getattr(error, "exit_code", None) or getattr(error, "code", None) or 0)
    first = ring.first()
    if stopped:
        if not first:
            return None
        say("interrupted" + (f": {kept}" if kept else ""))
        return TERMINATED if ring.terminated else INTERRUPTED
    known = isinstance(error, PinvGCNError | OSError | MemoryError)
    debug = "--debug" in sys.argv or os.environ.get("PINVGCN_DEBUG", "") not in ("", "0")
    if not known or debug:
        traceback.print_exception(error)
    if not first:
        return None
    said = describe(error)
    # an error that all ranks raise names the one that has it
    named = re.match(r"Rank (\d+: )", said)
    line = f"rank {named[1]}{said[named.end() :]}" if named else f"rank {ring.rank}: {said}"
    say(line)
    _report(line)
    return BAD_INPUT if known else MISTAKE


def _report(line: str) -> None:
    """The line for torchrun's own report, too, which would speak of a traceback that is not there."""
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if path:
        said = {"message": line, "extraInfo": {"timestamp": str(int(time.time()))}}
        with contextlib.suppress(OSError), open(path, "w", encoding="utf-8") as file:
            json.dump({"message": said}, file)
