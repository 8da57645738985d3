"""The full fit behind the live answer: ``pinvgcn segment`` in a process of its own.

What is seen after it is what an export writes, to the point: it is the same file. The next action ends the
process at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pinvgcn.app.exports import class_numbers, label_csv
from pinvgcn.app.labels import NONE, Category
from pinvgcn.errors import DataError, PinvGCNError
from pinvgcn.fitting.estimate import AccuracyEstimate
from pinvgcn.io import ScanSource, open_scan


class EndedError(Exception):
    """The command was ended before it was done."""


class Command:
    """A ``pinvgcn`` command that can be ended at any time; ``wait`` gives what it prints as JSON."""

    def __init__(self, *arguments: str | Path) -> None:
        self._ended = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pinvgcn", *map(str, arguments), "--json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait(self) -> dict[str, object]:
        """Until it is done."""
        out, err = self._process.communicate()
        if self._ended:
            raise EndedError
        if self._process.returncode:
            lines = [line for line in err.splitlines() if line.strip()]
            raise DataError(lines[-1] if lines else f"It ended with code {self._process.returncode}.")
        found: dict[str, object] = json.loads(out)
        return found

    def end(self) -> None:
        """At once."""
        self._ended = True
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()


@dataclass(frozen=True)
class FitQuestion:
    """Labels to which the model is fitted."""

    points: np.ndarray  # (t,)
    numbers: np.ndarray  # (t,) classes
    classes: tuple[Category, ...]

    @property
    def key(self) -> str:
        """Equal where points, classes and names of classes are."""
        found = hashlib.blake2b(digest_size=16)
        found.update(self.points.astype(np.int64).tobytes())
        found.update(self.numbers.astype(np.int64).tobytes())
        found.update(json.dumps([(c.number, c.name) for c in self.classes]).encode())
        return found.hexdigest()


@dataclass(frozen=True)
class Refined:
    """The answer of the full fit, at all points of the scan."""

    key: str  # of its question
    numbers: np.ndarray  # (n,) int16, the class of each point
    confidence: np.ndarray  # (n,) float32
    estimate: AccuracyEstimate | None
    scan: Path  # the classified copy
    model: Path
    seconds: float


Answered = Callable[[Refined | None, str], None]  # the answer, or what went wrong


class Refiner:
    """Answers the last question that was asked, in a folder of its own beside the labels."""

    def __init__(self, source: ScanSource, coordinates: np.ndarray, beside: Path, answered: Answered) -> None:
        self._source, self._coordinates, self._answered = source, coordinates, answered
        self._folder = Path(tempfile.mkdtemp(prefix=f".{source.path.name}.refined.", dir=beside))
        self._lock = threading.Lock()
        self._command: Command | None = None
        self._thread: threading.Thread | None = None
        self._asked = 0

    def ask(self, question: FitQuestion) -> None:
        """In the background."""
        self.end()
        self._asked += 1
        self._thread = threading.Thread(
            target=self._answer, args=(question, self._asked), name="refining", daemon=True
        )
        self._thread.start()

    def end(self) -> None:
        """No answer is wanted any more."""
        with self._lock:
            self._asked += 1
            if self._command is not None:
                self._command.end()

    def close(self) -> None:
        """For ever."""
        self.end()
        if self._thread is not None:
            self._thread.join()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answer(self, question: FitQuestion, number: int) -> None:
        try:
            refined = self._fit(question, number)
        except EndedError:
            return
        except (PinvGCNError, OSError, ValueError) as error:
            self._answered(None, str(error))
        else:
            self._answered(refined, "")

    def _fit(self, question: FitQuestion, number: int) -> Refined:
        started = time.perf_counter()
        folder = self._folder / str(number)
        folder.mkdir()
        labels = folder / "labels.csv"
        labels.write_text(
            label_csv(self._source, self._coordinates, question.points, question.numbers, question.classes),
            encoding="utf-8",
        )
        out, model = folder / f"classified{self._source.path.suffix}", folder / "model.safetensors"
        more = [] if self._source.metres is None else ["--metres", str(self._source.metres)]
        path = self._source.path
        told = self._run(number, "segment", path, "--labels", labels, "-o", out, "--save-model", model, *more)
        codes = class_numbers(self._source, question.classes)
        numbers, confidence = read_classes(out, str(told["field"]), {code: n for n, code in codes.items()})
        estimate = _estimate(told)
        for old in sorted(self._folder.iterdir(), key=lambda path: int(path.name))[:-2]:  # one may be in use
            shutil.rmtree(old, ignore_errors=True)
        seconds = time.perf_counter() - started
        return Refined(question.key, numbers, confidence, estimate, out, model, seconds)

    def _run(self, number: int, *arguments: str | Path) -> dict[str, object]:
        with self._lock:
            if number != self._asked:
                raise EndedError
            self._command = Command(*arguments)
        return self._command.wait()


def _estimate(told: Mapping[str, object]) -> AccuracyEstimate | None:
    found = told.get("estimate")
    if not isinstance(found, dict):
        return None
    return AccuracyEstimate(**{name: value for name, value in found.items() if name != "of"})


def read_classes(path: Path, field: str, numbers: Mapping[int | str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Of a classified copy: the page's number of each point's class (n,), NONE where it has none; confidence
    (n,). ``numbers`` says which number the page has for what the file calls a class."""
    source = open_scan(path)
    found, sure = np.full(source.count, NONE, dtype=np.int16), np.zeros(source.count, dtype=np.float32)
    for piece in source.chunks(fields=[field, "confidence"]):
        rows = slice(piece.start, piece.start + len(piece))
        for value in np.unique(piece.fields[field]).tolist():
            plain = int(value) if isinstance(value, float) and value.is_integer() else value
            found[rows][piece.fields[field] == value] = numbers.get(plain, NONE)
        sure[rows] = piece.fields["confidence"]
    return found, sure


def predicted(
    model: Path, source: ScanSource, folder: Path
) -> tuple[Sequence[int | str], np.ndarray, np.ndarray]:
    """What a saved model says of a scan: its classes, their places (n,) and the confidence (n,)."""
    with tempfile.TemporaryDirectory(prefix=f".{source.path.name}.model.", dir=folder) as inside:
        out = Path(inside) / f"classified{source.path.suffix}"
        more = [] if source.metres is None else ["--metres", str(source.metres)]
        told = Command("predict", model, source.path, "-o", out, *more).wait()
        entries = told["classes"]
        assert isinstance(entries, list)
        classes = [entry["class"] for entry in entries]
        places = {value: place for place, value in enumerate(classes)}
        return classes, *read_classes(out, str(told["field"]), places)
