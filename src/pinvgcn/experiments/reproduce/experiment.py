"""What a table or figure of the paper is made of: its entries, each a method on a task for many seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinvgcn.experiments.methods.pinvgcn import PinvMethod
from pinvgcn.experiments.reproduce.paper import Reported
from pinvgcn.experiments.reproduce.task_specs import TaskSpec
from pinvgcn.experiments.task import Method

if TYPE_CHECKING:
    from pinvgcn.experiments.reproduce.document import Block
    from pinvgcn.experiments.reproduce.results import Results


@dataclass(frozen=True)
class Experiment:
    """One word of ``pinvgcn reproduce``."""

    name: str
    title: str
    entries: Callable[[], list[Entry]]  # the work, in the order in which it is done
    blocks: Callable[[Results], list[Block]]  # the part of the report
    specs: tuple[TaskSpec, ...] = ()  # whose statistics are told
    # the same method on the same data in the paper: what has to agree with it, as far as results show that
    # it can (a rank may not exist)
    reported: Callable[[Results], list[tuple[Entry, Reported]]] = lambda results: []
    # what stands beside a number of the paper, but was computed otherwise, and need not agree
    otherwise: Callable[[Results], list[tuple[Entry, Reported]]] = lambda results: []


@dataclass(frozen=True, eq=False)
class Entry:
    """The name of the method tells its settings: task, method and seed say which run it is."""

    spec: TaskSpec
    method: Method

    @property
    def key(self) -> tuple[str, str]:
        """What its lines in a file of results are found by."""
        return self.spec.key, self.method.name

    @property
    def family(self) -> str:
        """The method without its settings, as ``--methods`` calls it."""
        return self.method.name.split()[0]

    @property
    def rank(self) -> int | None:
        """How many eigenvectors are asked for, where a number is."""
        return self.method.settings.get("rank") if isinstance(self.method, PinvMethod) else None

    @property
    def title(self) -> str:
        """For progress and messages."""
        return f"{self.spec.title} ({self.spec.labels}), {self.method.title}"


def distinct(entries: Iterable[Entry]) -> list[Entry]:
    """Each entry once: tables and figures share many of them."""
    return list({entry.key: entry for entry in entries}.values())
