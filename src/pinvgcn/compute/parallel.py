"""Work on ranges of nodes, shared out over the cores."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Task = TypeVar("Task")
Result = TypeVar("Result")
_here = threading.local()


def ranges(n: int, size: int) -> list[slice]:
    """0 … n in pieces of at most ``size``."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def share_out(work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
    """``work`` of each task, in their order, as many at a time as there are cores.

    Matrix products inside run on one thread each. What is summed in the order of the tasks therefore does
    not depend on the number of cores, not even in its last bit; and at most two results a core wait to be
    taken, so that memory does not grow with the number of tasks.
    """
    threads = cores()
    waiting: deque[Future[Result]] = deque()
    with _one_blas_thread():
        if threads == 1 or getattr(_here, "working", False):  # a worker that waited for workers would block
            yield from map(work, tasks)
            return
        pool = _pool(threads)
        try:
            for task in tasks:
                waiting.append(pool.submit(work, task))
                if len(waiting) >= 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:  # an error elsewhere: the rest is not needed
                future.cancel()
            wait(waiting)  # what runs already must not go on writing


def for_all(work: Callable[[Task], object], tasks: Iterable[Task]) -> None:
    for _ in share_out(work, tasks):
        pass


def cores() -> int:
    """OMP_NUM_THREADS, or the cores that this process may use."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads that stay: new ones would begin with memory that is not theirs yet."""
    return ThreadPoolExecutor(threads, "pinvgcn", initializer=setattr, initargs=(_here, "working", True))


class _Limit:
    """How many ask for BLAS on one thread; the setting is one for the whole process."""

    lock = threading.Lock()
    askers = 0
    before: Any = None


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """The first to enter sets the limit and the last to leave lifts it, in whatever order they end."""
    with _Limit.lock:
        if _Limit.askers == 0:
            _Limit.before = _controller().limit(limits=1, user_api="blas")
        _Limit.askers += 1
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.askers -= 1
            if _Limit.askers == 0:
                _Limit.before.restore_original_limits()


def _forget() -> None:
    """Of a child process: it has no threads of the pool, and no limit."""
    _pool.cache_clear()
    _Limit.lock = threading.Lock()
    if _Limit.askers:
        _Limit.askers = 0
        _Limit.before.restore_original_limits()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
