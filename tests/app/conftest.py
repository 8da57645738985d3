"""A small scan, a page that serves it, and a real browser that looks at it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_window import HEIGHT, WIDTH, until

from pinvgcn.app.serve import Request, Running, serve
from pinvgcn.datasets import generate_street

POINTS = 6_000


def write(street: Any, path: Path) -> Path:
    """A street as a text file, with its classes in a column ``true``."""
    names = np.array(street.target_names)[street.y]
    lines = [f"{x:.3f} {y:.3f} {z:.3f} {name}" for (x, y, z), name in zip(street.X, names, strict=True)]
    path.write_text("x y z true\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def street() -> Any:
    """A generated street."""
    return generate_street(POINTS, random_state=0)


@pytest.fixture
def scan(street: Any, tmp_path: Path) -> Path:
    """It as a file."""
    return write(street, tmp_path / "street.xyz")


@pytest.fixture(scope="module")
def running(street: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A page in this process, for tests that look behind it."""
    pytest.importorskip("viser", reason="viser is not installed")
    path = write(street, tmp_path_factory.mktemp("page") / "street.xyz")
    request = Request(path, classes=list(street.target_names), known="true", reference="true", rest=None)
    with serve(request) as one:
        until(lambda: not one.session.view.step, what="preparation")
        yield one


class Server:
    """``pinvgcn label`` as a process of its own."""

    def __init__(self, scan: Path, *more: str, port: int = 0) -> None:
        start = [sys.executable, "-m", "pinvgcn", "label", str(scan), "--port", str(port), "--no-browser"]
        command = [*start, *more]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        assert self.process.stdout is not None
        self.address = ""
        for line in self.process.stdout:
            if line.startswith("The page: "):
                self.address = line.removeprefix("The page: ").strip()
                break
        assert self.address, "the page did not come up"
        self.port = int(self.address.rstrip("/").rpartition(":")[2])

    def kill(self) -> None:
        """As a crash would."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def served(scan: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers, and ends them."""
    servers: list[Server] = []

    def start(*more: str, port: int = 0) -> Server:
        servers.append(Server(scan, *more, port=port))
        return servers[-1]

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.kill()


@pytest.fixture
def tab(chromium: Any) -> Iterator[Callable[[str], Any]]:
    """Opens tabs."""
    pages = []

    def open_tab(address: str) -> Any:
        page = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        pages.append(page)
        page.goto(address)
        page.set_default_timeout(120_000)
        page.wait_for_function("[...document.querySelectorAll('canvas')].some(canvas => canvas.width > 0)")
        return page

    yield open_tab
    for page in pages:
        page.close()
