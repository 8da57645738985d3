"""What every test may rely on: where data lie, what hypothesis does, data sets loaded once."""

from __future__ import annotations

import functools
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:  # tests run side by side: each worker, and what it starts, has a core
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(variable, "1")

import torch
from hypothesis import settings
from threadpoolctl import threadpool_limits

from pinvgcn.datasets import Dataset, dataset_info, load_dataset

ROOT = Path(__file__).resolve().parents[1]
LONG = ("distributed", "scans", "app", "cli", "experiments", "reproduce", "report", "tables", "tests")
SHARED_DATA = ROOT.parent / "shared" / "data"

if "PINVGCN_DATA" not in os.environ and SHARED_DATA.is_dir():
    os.environ["PINVGCN_DATA"] = str(SHARED_DATA)

# The same examples in every run, and no clock: the machines that run this are shared.
settings.register_profile("pinvgcn", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("pinvgcn")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Side by side, a worker takes whole files, whose fitted models are made once. What measures seconds or
    memory, or starts several ranks, is one group, so that no two of these run at a time. Folders that take
    long come first: the worker that ends last then has little left to do alone."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            alone = item.path.parent.name == "distributed" or item.get_closest_marker("alone") is not None
            item.add_marker(pytest.mark.xdist_group("alone" if alone else str(item.path)))
    items.sort(key=lambda item: LONG.index(name) if (name := item.path.parent.name) in LONG else len(LONG))


@pytest.fixture(scope="session", autouse=True)
def one_thread_for_small_matrices() -> Iterator[None]:
    """BLAS threads that wait for each other on a busy machine make small products many times slower."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(scope="session")
def data_set() -> Callable[[str], Dataset]:
    """Loads a data set once a session; skips the test where its files would have to be downloaded."""
    load = functools.cache(load_dataset)

    def load_or_skip(name: str) -> Dataset:
        if not dataset_info(name).available:
            pytest.skip(f"the files of {name} are not here: set PINVGCN_DATA to a folder that holds them")
        return load(name)

    return load_or_skip


@pytest.fixture
def reloaded(tmp_path: Path) -> Callable[[Any], Any]:
    """Writes a model to a file and reads it again."""

    def load(model: Any) -> Any:
        model.save(tmp_path / "model.safetensors")
        return type(model).load(tmp_path / "model.safetensors")

    return load


@pytest.fixture
def double() -> Iterator[None]:
    """New tensors are in double precision."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture
def interrupts() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, also in a process that was started in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Debian's chromium without a screen, drawing in software."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("chromium is not installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=program,
            args=["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
        )
        yield browser
        browser.close()
