"""Work on ranges of nodes, shared out over the cores."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import TypeVar

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
    with _controller().limit(limits=1, user_api="blas"):
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
            for future in waiting:  # an error elsewhere: nobody wants the rest
                future.cancel()


def for_all(work: Callable[[Task], object], tasks: Iterable[Task]) -> None:
    """``work`` of each task, for its effect."""
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


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has no threads but its own


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
