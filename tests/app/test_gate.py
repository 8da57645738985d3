"""The gate: who gets in, and who does not."""

from __future__ import annotations

import http.client
import http.server
import socket
import threading
from collections.abc import Iterator

import pytest

from pinvgcn.app.gate import HEADER, Gate
from pinvgcn.errors import ParameterError


class Inner(http.server.BaseHTTPRequestHandler):
    """Stands for the page's own server."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"inside")

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def inner() -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Inner)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@pytest.fixture
def local(inner: int) -> Iterator[Gate]:
    gate = Gate(inner)
    yield gate
    gate.close()


@pytest.fixture
def open_to_all(inner: int) -> Iterator[Gate]:
    gate = Gate(inner, host="0.0.0.0")
    yield gate
    gate.close()


def get(gate: Gate, path: str = "/", **headers: str) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=10)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, {name.lower(): value for name, value in answer.getheaders()}


def test_this_machine_needs_no_token(local: Gate) -> None:
    assert local.token is None
    assert local.address == f"http://127.0.0.1:{local.port}/"
    assert get(local)[:2] == (200, "inside")


def test_another_name_or_another_page_is_refused(local: Gate) -> None:
    # a name that somebody else's server has pointed at this machine
    assert get(local, Host="evil.example")[0] == 403
    assert get(local, Origin="http://evil.example")[0] == 403
    assert get(local, Origin=f"http://127.0.0.1:{local.port}", Host=f"127.0.0.1:{local.port}")[0] == 200


def test_elsewhere_the_token_opens_once(open_to_all: Gate) -> None:
    token = open_to_all.token
    assert token
    assert len(token) >= 32
    assert open_to_all.address.endswith(f"?token={token}")
    assert get(open_to_all)[0] == 403
    assert get(open_to_all, "/?token=wrong")[0] == 403
    assert get(open_to_all, "/?token=")[0] == 403
    status, _, headers = get(open_to_all, f"/?token={token}")
    assert (status, headers["location"]) == (303, "/")
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=Strict" in headers["set-cookie"]
    cookie = headers["set-cookie"].split(";")[0]
    assert get(open_to_all, Cookie=cookie)[:2] == (200, "inside")
    assert get(open_to_all, f"/?token={token}")[0] == 403  # used up
    assert get(open_to_all, "/?token=")[0] == 403
    assert get(open_to_all, Cookie="pinvgcn=wrong")[0] == 403
    assert get(open_to_all, Cookie=cookie)[0] == 200


@pytest.mark.parametrize(
    "header", [{"Host": "[::1"}, {"Origin": "http://["}, {"Cookie": 'pinvgcn="\u00e9"'}], ids=str
)
def test_addresses_that_are_none(open_to_all: Gate, header: dict[str, str]) -> None:
    assert get(open_to_all, **header)[0] in (400, 403)


@pytest.mark.parametrize("bytes_sent", [b"nonsense\r\n\r\n", b"\x00\xff\r\n\r\n", b"x" * (4 * HEADER)])
def test_nonsense_closes_its_own_connection_only(local: Gate, bytes_sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", local.port), timeout=10) as connection:
        connection.sendall(bytes_sent)
        answer = b""
        try:
            while more := connection.recv(1 << 16):
                answer += more
        except ConnectionResetError:
            pass
    assert b"inside" not in answer
    assert get(local)[:2] == (200, "inside")


def test_a_port_that_is_taken_is_said(local: Gate, inner: int) -> None:
    with pytest.raises(ParameterError, match=f"Got 127.0.0.1:{local.port}"):
        Gate(inner, port=local.port)
