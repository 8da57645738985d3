"""Who may come in: the only address that a browser can reach, in front of the page's own server.

The page's server listens on a free port of this machine alone. The gate passes on what it may, byte by byte:

- A request must name an address of ours as its host, and come from our own page if it says where it comes
  from: other pages that are open in the same browser cannot reach in.
- Bound to another address than this machine's own, it asks for the one-time token in the address that was
  printed, and gives the browser that shows it a cookie instead. The token is then used up.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
import threading
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from pinvgcn.errors import ParameterError

LOCAL = ("127.0.0.1", "localhost", "::1")
HEADER = 16 * 1024  # bytes of a request's header at most
COOKIE = "pinvgcn"
WAIT = 10.0  # seconds for a header


class Gate:
    """Passes connections to ``inner`` on, from ``host`` and ``port`` (0: a free one)."""

    def __init__(self, inner: int, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._inner, self.host, self.port = inner, host, port
        self.token = None if host in LOCAL else secrets.token_urlsafe(24)
        self._cookies: set[str] = set()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._run, name="gate", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise ParameterError(
                f"The page must have an address that is free. Got {host}:{port} "
                f"({self._failure.strerror or self._failure}); choose another --port."
            ) from None

    @property
    def address(self) -> str:
        """What to open in a browser, once if it has a token."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}/" + (f"?token={self.token}" if self.token else "")

    def close(self) -> None:
        """No more connections."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            server = self._loop.run_until_complete(
                asyncio.start_server(self._admit, self.host, self.port, limit=HEADER)
            )
        except OSError as error:
            self._failure = error
            self._loop.close()
            self._ready.set()
            return
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        try:
            self._loop.run_forever()
        finally:
            server.close()
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.close()

    async def _admit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            try:
                header = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WAIT)
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
                writer.close()
                return
            try:
                answer = self._decide(header)
            except (TypeError, ValueError):  # addresses and cookies that are none
                answer = _answer(400, "This is no request of a browser.")
            if answer is not None:
                writer.write(answer)
                await writer.drain()
                writer.close()
                return
            try:
                there, back = await asyncio.open_connection("127.0.0.1", self._inner)
            except OSError:
                writer.close()
                return
            back.write(header)
            await asyncio.gather(_pour(reader, back), _pour(there, writer))

    def _decide(self, header: bytes) -> bytes | None:
        """None to let the request through, else the answer that it gets."""
        try:
            first, *lines = header.decode("latin-1").split("\r\n")
            path = first.split(" ")[1]
        except IndexError:
            return _answer(400, "This is no request of a browser.")
        fields = {name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
        host = urlsplit(f"//{fields.get('host', '')}").hostname
        if self.token is None and host not in LOCAL:
            return _answer(403, "This page belongs to this machine alone.")
        origin = fields.get("origin")
        if origin is not None and urlsplit(origin).netloc != fields.get("host"):
            return _answer(403, "Another page must not reach in.")
        if self.token is None or self._has_cookie(fields.get("cookie", "")):
            return None
        offered = parse_qs(urlsplit(path).query).get("token", [""])[0]
        if self.token and hmac.compare_digest(offered.encode(), self.token.encode()):
            self.token = ""  # used up; an empty one fits nothing
            cookie = secrets.token_urlsafe(24)
            self._cookies.add(cookie)
            return _answer(
                303,
                "Welcome.",
                f"Location: /\r\nSet-Cookie: {COOKIE}={cookie}; HttpOnly; SameSite=Strict; Path=/\r\n",
            )
        return _answer(403, "Open the address that pinvgcn label has printed; its token works once.")

    def _has_cookie(self, text: str) -> bool:
        try:
            found = SimpleCookie(text).get(COOKIE)
        except CookieError:
            return False
        return found is not None and any(hmac.compare_digest(found.value, one) for one in self._cookies)


def _answer(status: int, text: str, more: str = "") -> bytes:
    reasons = {303: "See Other", 400: "Bad Request", 403: "Forbidden"}
    return (
        f"HTTP/1.1 {status} {reasons[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(text)}\r\nConnection: close\r\n{more}\r\n{text}"
    ).encode()


async def _pour(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """All bytes, until one side ends; then the other ends too."""
    try:
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
    except ConnectionError:
        pass
    finally:
        with contextlib.suppress(ConnectionError):
            target.close()
