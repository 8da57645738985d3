"""The folder of a reproduce: one command works in it at a time, and nothing of others is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pinvgcn.errors import ParameterError
from pinvgcn.experiments.files import prepare_folder
from pinvgcn.experiments.reproduce.ledger import Ledger
from pinvgcn.scans.held import held

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
    with held(folder / HELD, shown=folder, option="--out"):
        for name in (RESULTS, *REPORTS):
            if (folder / name).is_dir():
                raise ParameterError(f"{folder / name} must be a file. Got a folder instead. {REMEDY}")
        if (folder / FIGURES).exists() and not (folder / FIGURES).is_dir():
            raise ParameterError(f"{folder / FIGURES} must be a folder. Got a file instead. {REMEDY}")
        ledger = Ledger.open(folder / RESULTS)
        if not ledger.lines:
            _check_nobodys(folder)
        yield ledger


def _check_nobodys(folder: Path) -> None:
    """A report without results was written by somebody else."""
    for name in REPORTS:
        if (folder / name).exists():
            raise ParameterError(
                f"{folder / name} would be replaced, and belongs to no {RESULTS} of pinvgcn reproduce. "
                f"{REMEDY}"
            )


def has_report(folder: str | Path) -> bool:
    """Whether there is one to read."""
    return Path(folder, REPORTS[1]).is_file()


def kept_runs(folder: str | Path) -> int:
    """How many runs a folder has, of any command; what is half written does not count."""
    path = Path(folder, RESULTS)
    whole = path.read_bytes().split(b"\n")[:-1] if path.is_file() else []
    return sum(line.startswith(b'{"kind": "run", ') for line in whole)
