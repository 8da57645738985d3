"""Loops that numba compiles, once for a machine: the result is kept on disk.

Compiled functions start no threads. They release the interpreter's lock and run side by side in the threads
of ``parallel``, so that any thread of a program may call them at any time.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar

import numba

from pinvgcn.compute.interrupts import interrupts_wait

Function = TypeVar("Function", bound=Callable[..., Any])
_first = threading.Lock()  # several threads may make the first call of a function together


def inlined(function: Function) -> Function:
    """A part of a compiled function, to be called by such functions only."""
    small: Any = numba.njit(inline="always", error_model="numpy")(function)
    return small


def compiled(function: Function) -> Function:
    """``function`` compiled when it is first called; the first time of all says so in one line."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    dispatcher: Any
    try:
        dispatcher = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # there is no folder that could be written to: compiled anew in every process
        dispatcher = numba.njit(**options)(function)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        if not dispatcher.signatures and not _on_disk(dispatcher):
            with _first:
                _say()
        with interrupts_wait():  # raised in a callback of the compiler it would be lost
            try:
                return dispatcher(*arguments)
            except OSError:  # a full disk: what was compiled is there, but cannot be kept
                return dispatcher(*arguments)

    return call  # type: ignore[return-value]


@cache
def _say() -> None:
    print("pinvgcn compiles its loops for this machine, once: some seconds.", file=sys.stderr)


def _on_disk(dispatcher: Any) -> bool:
    """Whether an earlier process has compiled this function as it is now.

    numba looks whether the file of a function has changed. Its inlined parts may be in other files: what
    they do becomes part of the stamp that numba compares.
    """
    kept = getattr(dispatcher._cache, "_cache_file", None)
    if kept is None:
        return False
    with _first:
        if not isinstance(kept._source_stamp, str):
            parts = hashlib.sha256(repr(_instructions(dispatcher.py_func)).encode()).hexdigest()
            kept._source_stamp = f"{kept._source_stamp} {parts}"
    return bool(kept._load_index())


def _instructions(function: Any) -> list[Any]:
    """Of a function and of all compiled functions that it calls."""
    code = function.__code__
    called = [function.__globals__.get(name) for name in code.co_names]
    inner = [_instructions(part.py_func) for part in called if hasattr(part, "py_func")]
    return [code.co_code, code.co_consts, inner]
