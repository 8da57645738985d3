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
from browser_window import HEIGHT, WIDTH

from pinvgcn.datasets import generate_street

POINTS = 6_000


@pytest.fixture(scope="session")
def street() -> Any:
    """A generated street."""
    return generate_street(POINTS, random_state=0)


@pytest.fixture
def scan(street: Any, tmp_path: Path) -> Path:
    """It as a text file, with its classes in a column ``true``."""
    path = tmp_path / "street.xyz"
    names = np.array(street.target_names)[street.y]
    lines = [f"{x:.3f} {y:.3f} {z:.3f} {name}" for (x, y, z), name in zip(street.X, names, strict=True)]
    path.write_text("x y z true\n" + "\n".join(lines) + "\n")
    return path


class Server:
    """``pinvgcn label`` as a process of its own."""

    def __init__(self, scan: Path, *more: str) -> None:
        command = [sys.executable, "-m", "pinvgcn", "label", str(scan), "--port", "0", "--no-browser", *more]
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

    def start(*more: str) -> Server:
        servers.append(Server(scan, *more))
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
