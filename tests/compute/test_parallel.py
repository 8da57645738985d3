"""Work shared out: everything once, in order, a bounded number at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from pinvgcn.compute.parallel import cores, for_all, ranges, share_out

threads = pytest.mark.parametrize("threads", [1, 2, 5])


@given(st.integers(0, 1_000), st.integers(1, 300))
def test_ranges_are_the_whole_in_order(n: int, size: int) -> None:
    pieces = ranges(n, size)
    assert [i for piece in pieces for i in range(n)[piece]] == list(range(n))
    assert all(0 < piece.stop - piece.start <= size for piece in pieces)


@threads
@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_results_come_in_the_order_of_the_tasks(
    threads: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", str(threads))

    def work(i: int) -> int:
        time.sleep(0.003 * (i % 3 == 0))  # every third is overtaken by those behind it
        return i * i

    assert list(share_out(work, range(count))) == [i * i for i in range(count)]
    seen: list[int] = []
    for_all(seen.append, range(count))
    assert sorted(seen) == list(range(count))


@threads
def test_no_more_wait_than_were_promised(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most two results a core between the tasks drawn and the results taken."""
    monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
    drawn = 0

    def tasks() -> Iterator[int]:
        nonlocal drawn
        for i in range(60):
            drawn += 1
            yield i

    for taken, result in enumerate(share_out(lambda i: i, tasks())):
        assert result == taken
        assert drawn - taken <= 2 * threads


@threads
def test_as_many_at_a_time_as_there_are_cores(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
    running, most, lock = 0, 0, threading.Lock()
    together = threading.Barrier(threads, timeout=20)

    def work(i: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait()  # returns only if so many do run at once
        with lock:
            running -= 1

    for_all(work, range(4 * threads))
    assert most == threads


@threads
def test_what_work_raises_is_raised_here(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", str(threads))

    def work(i: int) -> int:
        if i == 7:
            raise ZeroDivisionError(f"task {i}")
        return i

    results = []
    with pytest.raises(ZeroDivisionError, match="task 7"):
        results.extend(share_out(work, range(30)))
    assert results == list(range(7))
    assert list(share_out(abs, range(3))) == [0, 1, 2]  # and the next one starts anew


def test_matrix_products_inside_take_one_thread_each() -> None:
    def blas_threads(_: int) -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    for found in share_out(blas_threads, range(4)):
        assert set(found) == {1}


def test_sums_have_the_same_bits_on_any_number_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(5_000, 7)) * np.logspace(-8, 8, 5_000)[:, None]
    sums = set()
    for threads in (1, 2, 3, 8):
        monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
        total = sum(share_out(lambda rows: X[rows].T @ X[rows], ranges(5_000, 333)), np.zeros((7, 7)))
        sums.add(total.tobytes())
    assert len(sums) == 1


@pytest.mark.parametrize(("asked", "expected"), [("1", 1), ("3", 3), ("17", 17)])
def test_cores_are_those_asked_for(asked: str, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert cores() == expected


@pytest.mark.parametrize("asked", ["", "0", "-2", "many", "2,4"])
def test_cores_without_a_number(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert cores() == 3
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert cores() == 3
