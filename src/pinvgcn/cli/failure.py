"""What happens when a command cannot go on: one clear line on stderr, and an exit code.

====  ==========================================================
   0  it worked
   1  a mistake in this package: its traceback is shown, as for any Python program
   2  something handed in cannot be used, or a file cannot be read or written
 130  interrupted with Ctrl-C
 143  ended by SIGTERM, as cleanly
====  ==========================================================

Of the processes of one command whoever is first to know why they end says it; its exit code is the one above,
that of the others 1.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from pinvgcn.errors import PeerError, PinvGCNError, TrainingWarning

if TYPE_CHECKING:
    from pinvgcn.distributed.group import Group
    from pinvgcn.distributed.ring import Ring

MISTAKE = 1
BAD_INPUT = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143
LINGER = 3.0  # seconds in which torchrun notices who has failed first
ON_ITS_WAY = 5.0  # seconds in which processes hear of each other, where something has ended this one
KILLED = "ended without a message: it was killed, perhaps for want of memory, or its connection was closed"

# the error of a wrong option or argument; typer has no public name for it but that of its subclass
_UsageError: Any = typer.BadParameter.__base__


class Interrupted(Exception):
    """Interrupted with Ctrl-C; the message says what is kept."""


class Termination:
    """SIGTERM, which a job manager or a shutdown sends, ends a command as Ctrl-C does."""

    asked = False

    def __call__(self, number: int, frame: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: the way out is not to be interrupted
        self.asked = True
        raise KeyboardInterrupt


@contextmanager
def terminable() -> Iterator[Termination]:
    """Within it SIGTERM raises what Ctrl-C raises. Left alone where it is ignored or somebody's own."""
    termination = Termination()
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield termination
        return
    signal.signal(signal.SIGTERM, termination)
    try:
        yield termination
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def run(app: typer.Typer, arguments: list[str]) -> int:
    """Run the app on the arguments; returns the exit code."""
    with terminable() as termination:
        code = _run(app, arguments)
        return TERMINATED if termination.asked else code


def _run(app: typer.Typer, arguments: list[str]) -> int:
    debug = _debugs(arguments)
    arguments = [argument for argument in arguments if argument != "--debug"]
    if _follows():
        warnings.simplefilter("ignore")
    # who interrupts a command wants it to end, not to go on with a network that was trained halfway
    warnings.simplefilter("error", TrainingWarning)
    try:
        code = app(arguments, prog_name="pinvgcn", standalone_mode=False)
        if code == INTERRUPTED:
            say("interrupted")
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, TrainingWarning, typer.Abort):
        say("interrupted")
        return INTERRUPTED
    except Interrupted as error:
        say(f"interrupted: {error}")
        return INTERRUPTED
    except BrokenPipeError:
        # the reader of our output has gone; Python would complain once more when it flushes at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except _UsageError as error:
        if _follows():  # torchrun ends it
            time.sleep(5)
            return BAD_INPUT
        said, context = error.format_message().rstrip("."), getattr(error, "ctx", None)
        command = "pinvgcn" if context is None else context.command_path
        say(f"error: {said}{'' if said.endswith('?') else '.'} Try: {command} --help")
    except (PinvGCNError, OSError) as error:
        if debug:
            traceback.print_exc()
        say(f"error: {describe(error)}")
    return BAD_INPUT


def _debugs(arguments: list[str]) -> bool:
    return "--debug" in arguments or os.environ.get("PINVGCN_DEBUG", "") not in ("", "0")


def _follows() -> bool:
    """Whether this is one of several processes, but not the first, which speaks for all."""
    return os.environ.get("RANK", "0") != "0"


def describe(error: BaseException) -> str:
    """An error in one line; what is no error of ours with its kind."""
    if isinstance(error, OSError) and not isinstance(error, PinvGCNError) and error.filename is not None:
        return f"{error.strerror}: {str(error.filename)!r}"
    if isinstance(error, MemoryError):
        return "there is not enough memory; with several ranks on a machine, start fewer"
    if not isinstance(error, PinvGCNError | OSError):
        return f"{type(error).__name__}: {error}"
    return str(error)


def say(message: str) -> None:
    """One line on standard error, written at once: other ranks may write there, too."""
    sys.stderr.write("pinvgcn: " + " ".join(message.split()) + "\n")
    sys.stderr.flush()


@contextmanager
def job(*, kept: str = "") -> Iterator[Group]:
    """The group of this command's processes; one process alone where nothing has launched several.

    ``kept`` is said after "interrupted": what stays, and how to go on.
    """
    from pinvgcn.distributed.ring import Ring, launched

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
    from pinvgcn.distributed.ring import FAULT, PEER

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
    if not known or _debugs(sys.argv):
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
        with suppress(OSError), open(path, "w", encoding="utf-8") as file:
            json.dump({"message": said}, file)
