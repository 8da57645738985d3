"""Compiled loops: one line on the first use, any folder, any thread."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import pytest

from pinvgcn.compute.compiled import _on_disk, compiled
from pinvgcn.features import local_geometry
from pinvgcn.features.lattice import _codes

LINE = "pinvgcn compiles its loops for this machine, once: some seconds."
USE = """
import numpy as np
from pinvgcn.features.lattice import grouped, tabulated
cell, keys = grouped(np.array([[5, 9, -3], [5, 9, -4], [5, 9, -3]]), np.arange(3), 1)
print(cell.tolist(), keys.tolist(), sorted(tabulated(keys).tolist()))
"""
ANSWER = "[0, 0, 0] [[2, 4, -2]] [-1, 0]"


def run(folder: Path, before: str = "") -> tuple[str, list[str]]:
    """What two loops say in a process of their own: the answer, and the lines on stderr."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", before + USE],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr.splitlines()


def test_one_line_on_the_first_use_and_none_after_it(tmp_path):
    assert run(tmp_path) == (ANSWER, [LINE])  # one, though two loops are compiled
    assert list(tmp_path.rglob("*.nbi"))
    assert run(tmp_path) == (ANSWER, [])


def test_what_a_part_in_another_file_does_counts(tmp_path):
    """numba looks at the file of a function alone: a change of its inlined parts must not go unnoticed."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "whole.py").write_text(
        "from part import part\nfrom pinvgcn.compute.compiled import compiled\n\n\n"
        "@compiled\ndef whole(x):\n    return part(x) + 1\n"
    )
    begin = f"import sys; sys.path.insert(0, {str(code)!r})\nfrom whole import whole\nprint(whole(5))\n"
    said = []
    for factor in (2.0, 3.25):
        (code / "part.py").write_text(
            "from pinvgcn.compute.compiled import inlined\n\n\n"
            f"@inlined\ndef part(x):\n    return x * {factor}\n"
        )
        answer, lines = run(tmp_path / "kept", begin)
        said.append((answer.splitlines()[0], lines))
    assert said == [("11.0", [LINE]), ("17.25", [LINE])]


NOWHERE = """
from numba.core import caching
def refuse(self):
    raise PermissionError(13, "no folder can be written to")
caching._CacheLocator.ensure_cache_path = refuse
"""
FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
"""


@pytest.mark.parametrize("before", [NOWHERE, FULL], ids=["no folder", "a full disk"])
def test_where_nothing_can_be_kept(tmp_path, before):
    """Compiled anew in every process, and said."""
    assert run(tmp_path, before) == (ANSWER, [LINE])
    assert not [path for path in tmp_path.rglob("*.nb?") if path.stat().st_size > 64]


def test_a_folder_that_is_a_file(tmp_path):
    """Another folder is taken, which may hold what was compiled before."""
    (tmp_path / "file").touch()
    answer, said = run(tmp_path / "file" / "folder")
    assert answer == ANSWER
    assert said in ([], [LINE])


def test_errors_of_the_interpreter_come_through():
    @compiled
    def half(x):
        return x / 2

    assert half(3.0) == 1.5
    with pytest.raises(TypeError):
        half()


def test_three_threads_at_once():
    """Each as if it were alone; the threads of one may not wait for those of another."""
    clouds = [np.random.default_rng(seed).random((40_000, 3)) * 20 for seed in range(3)]
    expected = [local_geometry(cloud, cell=0.5, levels=3) for cloud in clouds]
    found: list[np.ndarray | None] = [None] * 3
    start = threading.Barrier(3)

    def work(place: int) -> None:
        start.wait()
        found[place] = local_geometry(clouds[place], cell=0.5, levels=3)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_threads_that_come_first_together_set_one_stamp():
    """A stamp that is set twice would be that of no file: the loop would be compiled again and again."""
    for _ in range(20):
        fresh = numba.njit(cache=True, nogil=True)(_codes.__wrapped__)
        before = str(fresh._cache._cache_file._source_stamp)
        barrier = threading.Barrier(4)

        def look(fresh=fresh, barrier=barrier):
            barrier.wait()
            _on_disk(fresh)

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        stamp = fresh._cache._cache_file._source_stamp
        assert stamp.startswith(f"{before} ")
        assert len(stamp.removeprefix(f"{before} ")) == 64


def test_an_interrupt_waits_for_the_compiler(tmp_path, monkeypatch):
    """Raised in a callback of LLVM it would be lost, and the command would go on or end in a traceback."""
    from numba.extending import overload

    monkeypatch.setattr(
        numba.config, "CACHE_DIR", str(tmp_path)
    )  # what a run before has kept is not compiled
    compilation = []

    def part(x):
        raise NotImplementedError

    @overload(part)
    def compiled_part(x):
        signal.raise_signal(signal.SIGINT)
        compilation.append("goes on")
        return lambda x: x + 1

    @compiled
    def whole(x):
        return part(x)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            whole(1)
        assert "goes on" in compilation
        assert whole(1) == 2
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
