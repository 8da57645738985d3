"""The full fit behind the live answer: ``pinvgcn segment`` in a process of its own.

What is seen after it is what an export writes, to the point: it is the same file. The next action ends the
process at once.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pinvgcn.app.exports import class_numbers, label_csv
from pinvgcn.app.labels import NONE, Category
from pinvgcn.errors import DataError, PinvGCNError
from pinvgcn.fitting.estimate import AccuracyEstimate
from pinvgcn.io import ScanSource, open_scan


class Command:
    """A ``pinvgcn`` command that can be ended at any time; ``wait`` gives what it prints as JSON."""

    def __init__(self, *arguments: str | Path) -> None:
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
        if self._process.returncode:
            lines = [line for line in err.splitlines() if line.strip()]
            raise DataError(lines[-1] if lines else f"It ended with code {self._process.returncode}.")
        found: dict[str, object] = json.loads(out)
        return found

    def end(self) -> None:
        """At once."""
        self._process.kill()


@dataclass(frozen=True, eq=False)
class FitQuestion:
    """Labels to which the model is fitted."""

    points: np.ndarray  # (t,)
    numbers: np.ndarray  # (t,) classes
    classes: tuple[Category, ...]


@dataclass(frozen=True)
class Refined:
    """The answer of the full fit, at all points of the scan."""

    numbers: np.ndarray  # (n,) int16, the class of each point
    confidence: np.ndarray  # (n,) float32
    estimate: AccuracyEstimate | None
    scan: Path  # the classified copy
    model: Path
    seconds: float


Answered = Callable[[FitQuestion, Refined | None, str], None]  # the answer, or what went wrong


class Refiner:
    """Answers the last question that was asked, in a ``folder`` of its own, which a page that was killed may
    have left."""

    def __init__(self, source: ScanSource, coordinates: np.ndarray, folder: Path, answered: Answered) -> None:
        self._source, self._coordinates, self._folder, self._answered = source, coordinates, folder, answered
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self._lock = threading.Lock()
        self._command: Command | None = None
        self._thread: threading.Thread | None = None
        self._question: FitQuestion | None = None
        self._count = 0

    def ask(self, question: FitQuestion) -> None:
        """In the background."""
        self.end()
        self._question, self._count = question, self._count + 1
        self._thread = threading.Thread(
            target=self._answer, args=(question, self._folder / str(self._count)), daemon=True
        )
        self._thread.start()

    def end(self) -> None:
        """No answer is wanted any more."""
        with self._lock:
            self._question = None
            if self._command is not None:
                self._command.end()

    def close(self) -> None:
        """For ever."""
        self.end()
        if self._thread is not None:
            self._thread.join()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answer(self, question: FitQuestion, folder: Path) -> None:
        try:
            self._answered(question, self._fit(question, folder), "")
        except (PinvGCNError, OSError, ValueError) as error:
            self._answered(question, None, str(error))

    def _fit(self, question: FitQuestion, folder: Path) -> Refined:
        started, path = time.perf_counter(), self._source.path
        folder.mkdir()
        labels, out = folder / "labels.csv", folder / f"classified{path.suffix}"
        model = folder / "model.safetensors"
        text = label_csv(self._source, self._coordinates, question.points, question.numbers, question.classes)
        labels.write_text(text, encoding="utf-8")
        with self._lock:
            if question is not self._question:
                raise DataError("The labels have changed meanwhile.")
            self._command = Command(
                "segment", path, "--labels", labels, "-o", out, "--save-model", model, *_unit(self._source)
            )
        told = self._command.wait()
        codes = class_numbers(self._source, question.classes)
        numbers, confidence = read_classes(out, str(told["field"]), {code: n for n, code in codes.items()})
        for number in range(1, self._count - 1):  # the last but one may be in use
            shutil.rmtree(self._folder / str(number), ignore_errors=True)
        seconds = time.perf_counter() - started
        return Refined(numbers, confidence, _estimate(told), out, model, seconds)


def _unit(source: ScanSource) -> list[str]:
    return [] if source.metres is None else ["--metres", str(source.metres)]


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
) -> tuple[list[int | str], np.ndarray, np.ndarray]:
    """What a saved model says of a scan: its classes, their places (n,) and the confidence (n,)."""
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        out = Path(inside) / f"classified{source.path.suffix}"
        told = Command("predict", model, source.path, "-o", out, *_unit(source)).wait()
        entries = told["classes"]
        assert isinstance(entries, list)
        classes = [entry["class"] for entry in entries]
        places = {value: place for place, value in enumerate(classes)}
        return classes, *read_classes(out, str(told["field"]), places)
