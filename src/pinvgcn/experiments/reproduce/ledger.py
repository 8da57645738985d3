"""The file of results: a JSON line for each thing that happened, written as it happens.

==============  ==============================================================================
``session``     a ``pinvgcn reproduce`` began: when, with what source, on what
``statistics``  what was computed of a data set itself
``setup``       a method has prepared for a question: its seconds and what it found
``run``         a method has answered a question for one seed: accuracy and seconds
``runs``        the runs of an entry by one commit, in a file that has become long
``failure``     a method, or what computes the statistics, could not: why, and under which budget
==============  ==============================================================================

``seconds`` are those of the clock, by stage; ``cpu`` is the processor time of all threads, which other work
on the machine does not change.

A line is either there as a whole or not at all: what an interrupted program left of its last one is removed
when the file is opened again, and that is said. What no interruption can have left is not touched.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pinvgcn.compute.interrupts import interrupts_wait
from pinvgcn.errors import DataError, ParameterError
from pinvgcn.io.atomic import write_text
from pinvgcn.jobs import locked
from pinvgcn.jobs.files import prepare_folder

FORMAT = 2  # raised whenever an older version could not read what this one writes
KINDS = ("session", "statistics", "setup", "run", "runs", "failure")
LONG = 2_000  # lines, from which on a file is made shorter at the end of a command


@dataclass
class Ledger:
    """All lines of a file, and those that are appended to it."""

    path: Path
    lines: list[dict[str, Any]] = field(default_factory=list)
    repaired: str = ""  # what was done to a last line that was half written
    _found: dict[tuple[str, str, str | None], list[dict[str, Any]]] = field(default_factory=dict)
    _last: dict[tuple[str, str | None], dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, *, mend: bool = True) -> Ledger:
        """Read a file that may not exist yet, and whose last line may be half written."""
        ledger = cls(path)
        if not path.exists():
            return ledger
        *whole, rest = path.read_bytes().split(b"\n")
        for number, text in enumerate(whole, start=1):
            if text.strip():
                ledger._keep(_parse(text, f"Line {number} of {path}"))
        if rest and mend:  # no line break ends it
            ledger._mend(rest, f"Line {len(whole) + 1} of {path}")
        return ledger

    def _mend(self, rest: bytes, where: str) -> None:
        """Complete a last line that lacks only its line break; remove one that lacks more."""
        if _is_cut_off(rest):
            os.truncate(self.path, self.path.stat().st_size - len(rest))
            self.repaired = f"{where} was half written, and is removed; what it told of is done again"
            return
        self._keep(_parse(rest, where))
        with self.path.open("ab") as stream:
            stream.write(b"\n")

    def append(self, kind: str, **content: Any) -> dict[str, Any]:
        """Write one line; once this returns, it survives whatever happens to the program."""
        line = {"kind": kind, **content}
        text = json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"
        with interrupts_wait():  # what is in the file is what this knows
            with self.path.open("ab") as stream:  # one write at its end: lines of two programs do not mix
                stream.write(text.encode("utf-8"))
                stream.flush()
                os.fsync(stream.fileno())
            self._keep(line)
        return line

    def of(self, kind: str, question: str, method: str | None = None) -> list[dict[str, Any]]:
        """The lines of one kind about a question and, where there is one, a method."""
        return self._found.get((kind, question, method), [])

    def runs(self, question: str, method: str) -> dict[int, dict[str, Any]]:
        """The runs of a method, by seed; of a seed that ran twice, the last."""
        found = {line["seed"]: line for line in self.of("run", question, method)}
        return dict(sorted(found.items()))

    def failure(self, question: str, method: str | None = None) -> dict[str, Any] | None:
        """Why a method, or without one the statistics, could not go on, if that is the last known of it."""
        last = self._last.get((question, method))
        return last if last is not None and last["kind"] == "failure" else None

    def shorten(self) -> None:
        """Write the file anew: one line for all runs of an entry by one commit, of set-ups the last of each
        commit, of sessions the last of each command and surroundings, and what is known to fail."""
        found: dict[Any, dict[str, Any]] = {}
        for line in self.lines:
            kind, about, commit = line["kind"], (line.get("question"), line.get("method")), line.get("commit")
            if kind == "session":
                found[json.dumps([line.get("command"), line.get("environment")])] = line
            elif kind != "run":
                found[kind, about, commit, line.get("seed")] = line
        known = [line for line in found.values() if line["kind"] != "failure" or line in self._last.values()]
        runs: dict[Any, list[dict[str, Any]]] = {}
        for (kind, question, method), _ in self._found.items():
            for run in self.runs(question, method or "").values() if kind == "run" else ():
                whole = "cpu" in run, "weights" in run.get("facts", {})
                runs.setdefault((question, method, run.get("commit"), whole), []).append(run)
        lines = [*known, *(_together(some) for some in runs.values())]
        write_text(self.path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))

    def _keep(self, line: dict[str, Any]) -> None:
        if line["kind"] == "runs":
            for run in _apart(line):
                self._keep(run)
            return
        self.lines.append(line)
        if line["kind"] == "session":
            return
        question, method = line["question"], line.get("method")
        self._found.setdefault((line["kind"], question, method), []).append(line)
        if line["kind"] != "setup" and not self._stands(line):
            self._last[question, method] = line

    def _stands(self, line: dict[str, Any]) -> bool:
        """Whether a run leaves what is known of a failure: that of a seed stands until the seed has a run."""
        before = self._last.get((line["question"], line.get("method")))
        if line["kind"] != "run" or before is None or before["kind"] != "failure":
            return False
        return bool(before.get("seed", line["seed"]) != line["seed"])


def _together(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """One line for some runs of an entry, with what a report needs."""
    first = runs[0]
    line: dict[str, Any] = {"kind": "runs", "question": first["question"], "method": first["method"]}
    line |= {"commit": first["commit"]} if "commit" in first else {}
    line |= {name: [run[name] for run in runs] for name in ("seed", "accuracy")}
    line["wall"] = [round(sum(run.get("seconds", {}).values()), 2) for run in runs]
    if "cpu" in first:
        line["cpu"] = [round(run["cpu"], 2) for run in runs]
    if "weights" in first.get("facts", {}):
        parts = first["facts"]["weights"]
        line["weights"] = {part: [round(run["facts"]["weights"][part], 4) for run in runs] for part in parts}
    return line


def _apart(line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The runs of such a line."""
    for place, seed in enumerate(line["seed"]):
        run: dict[str, Any] = {name: line[name] for name in ("question", "method", "commit") if name in line}
        run |= {"kind": "run", "seed": seed, "accuracy": line["accuracy"][place]}
        run["seconds"] = {"wall": line["wall"][place]}
        if "cpu" in line:
            run["cpu"] = line["cpu"][place]
        if "weights" in line:
            run["facts"] = {"weights": {part: values[place] for part, values in line["weights"].items()}}
        yield run


def _is_cut_off(text: bytes) -> bool:
    """Whether this is the beginning of a line as ``append`` writes it, and not all of it."""
    begins = [f'{{"kind": "{kind}", '.encode() for kind in KINDS]
    if not any(text.startswith(begin) or begin.startswith(text) for begin in begins):
        return False
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


def _parse(text: bytes, where: str) -> dict[str, Any]:
    try:
        line = json.loads(text)
        known = line["kind"] in KINDS and (line["kind"] == "session" or isinstance(line["question"], str))
    except (ValueError, TypeError, KeyError):
        known = False
    if not known:
        raise DataError(
            f"{where} must be a JSON object that pinvgcn reproduce wrote. Got "
            f"{text[:40].decode(errors='replace')!r} instead; remove that line, or choose another folder "
            "with --out."
        )
    result: dict[str, Any] = line
    found = result.get("format", FORMAT)
    if result["kind"] == "session" and not (isinstance(found, int) and found <= FORMAT):
        raise DataError(
            f"{where} must begin a session of format {FORMAT} or older. Got {found!r} instead; "
            "upgrade pinvgcn, or choose another folder with --out."
        )
    return result


RESULTS = "results.jsonl"
REPORTS = ("report.md", "report.html")
FIGURES = "figures"
HELD = ".pinvgcn-reproduce"  # there while a command works
REMEDY = "Move it away, or choose another folder with --out."


@contextmanager
def ledger_of(folder: Path) -> Iterator[Ledger]:
    """The results of a folder, which is made where it is missing, and had until the end.

    What would be in the way of results or a report is refused before any work is done.
    """
    prepare_folder(folder)
    with locked(folder / HELD, shown=folder, option="--out"):
        for name in (RESULTS, *REPORTS):
            if (folder / name).is_dir():
                raise ParameterError(f"{folder / name} must be a file. Got a folder instead. {REMEDY}")
        if (folder / FIGURES).exists() and not (folder / FIGURES).is_dir():
            raise ParameterError(f"{folder / FIGURES} must be a folder. Got a file instead. {REMEDY}")
        ledger = Ledger.open(folder / RESULTS)
        for name in () if ledger.lines else REPORTS:
            if (folder / name).exists():  # without results somebody else wrote it
                raise ParameterError(
                    f"{folder / name} would be replaced, and belongs to no {RESULTS} of pinvgcn reproduce. "
                    f"{REMEDY}"
                )
        yield ledger


def has_report(folder: str | Path) -> bool:
    return Path(folder, REPORTS[1]).is_file()


def kept_runs(folder: str | Path) -> int:
    """How many runs a folder has, of any command; what is half written does not count."""
    return sum(line["kind"] == "run" for line in Ledger.open(Path(folder, RESULTS), mend=False).lines)
