"""Every action in a file beside the scan, written before it is shown: nothing is lost.

One JSON object a line. The first says which scan it belongs to, the others are actions of a LabelBook in
their order, so that reading the file is doing them again.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from pinvgcn.app.labels import Action, LabelBook
from pinvgcn.errors import DataError, LabelError

FORMAT = 1


class Journal:
    """An open session file; ``book`` is what its actions amount to.

    A last line that was cut off by a crash is dropped. Where the file belongs to another scan, or another
    process has it open, it is refused.
    """

    def __init__(self, path: str | Path, *, scan: str, count: int, digest: str) -> None:
        self.path = Path(path)
        self.book = LabelBook(count)
        self.dropped = 0  # bytes of a last line without an end
        new = not self.path.exists() or self.path.stat().st_size == 0
        self._file = open(self.path, "a+b")  # noqa: SIM115 - open as long as this object is
        try:
            self._lock()
            head = {"format": FORMAT, "scan": scan, "points": count, "digest": digest}
            if new:
                self._write(head)
            else:
                self._replay(head)
        except BaseException:
            self._file.close()
            raise

    def do(self, action: Action) -> None:
        """Carry out an action and keep it: on the disk before this returns."""
        if self._file.closed:  # a message that was on its way
            raise LabelError("The session is over; the same command continues there.")
        self.book.do(action)  # raises where it cannot be done, and then is not kept
        self._write(action)

    def close(self) -> None:
        """The file can be opened by another process."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(_line(line))
        self._file.flush()
        os.fsync(self._file.fileno())

    def _replay(self, head: dict[str, Any]) -> None:
        self._file.seek(0)
        lines = self._file.read().split(b"\n")
        rest = lines.pop()  # empty where the last line was written whole
        ours = _line(head).startswith(rest)  # what a crash has cut off
        found = self._read(lines[0], 1) if lines else head if ours else {}
        if found.get("format") != FORMAT:
            raise DataError(
                f"{self.path} must be a session file of format {FORMAT}. Got {(lines or [rest])[0][:60]!r} "
                "instead; name another with --session."
            )
        if (found.get("points"), found.get("digest")) != (head["points"], head["digest"]):
            raise DataError(
                f"{self.path} must belong to this scan. It was made for {found.get('scan')!r} with "
                f"{found.get('points')} points, and this one has {head['points']}; name another with "
                "--session."
            )
        for number, line in enumerate(lines[1:], start=2):
            try:
                self.book.do(self._read(line, number))
            except (LabelError, KeyError, TypeError) as error:
                raise DataError(
                    f"{self.path}, line {number}, must be an action that can be done. {error} Remove the "
                    "lines from there on, or name another file with --session."
                ) from None
        if rest:  # only now is it known to be ours
            self.dropped = len(rest)
            self._file.truncate(self._file.seek(0, os.SEEK_END) - len(rest))
        if not lines:
            self._write(head)

    def _read(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise DataError(
                f"{self.path}, line {number}, must be a JSON object. Got {line[:40]!r} instead; name another "
                "file with --session."
            )
        return found

    def _lock(self) -> None:
        with contextlib.suppress(ImportError):  # not on Windows
            import fcntl

            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise DataError(
                    f"{self.path} is open in another pinvgcn label; use its page, or end it first."
                ) from None


def _line(about: dict[str, Any]) -> bytes:
    return json.dumps(about, separators=(",", ":")).encode() + b"\n"
