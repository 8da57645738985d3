"""Data sets loaded once, a local server to download from, and an empty machine."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pinvgcn.datasets import Dataset, dataset_info, load_dataset


@pytest.fixture(scope="session")
def loaded() -> Callable[[str], Dataset]:
    """Loads a data set once a session; skips the test where its files would have to be downloaded."""
    load = functools.cache(load_dataset)

    def load_or_skip(name: str) -> Dataset:
        if not dataset_info(name).available:
            pytest.skip(f"the files of {name} are not here: set PINVGCN_DATA to a folder that holds them")
        return load(name)

    return load_or_skip


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without data, and the (missing) cache folder of it."""
    monkeypatch.delenv("PINVGCN_DATA", raising=False)
    monkeypatch.setenv("PINVGCN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Server:
    """Serves what is in ``files`` and counts requests; ``cut`` breaks answers off half-way."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.cut = False
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.requests.append(self.path)
                content = server.files.get(self.path)
                if content is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2] if server.cut else content)

            def log_message(self, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_port}"

    def offer(self, path: str, content: bytes) -> str:
        self.files[path] = content
        return self.address + path


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.http.shutdown()
    thread.join()
    server.http.server_close()
