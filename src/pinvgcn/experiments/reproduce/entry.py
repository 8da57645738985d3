"""One line of work: a method that answers a question, for many seeds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pinvgcn.experiments.ours import Pinv
from pinvgcn.experiments.reproduce.question import Question
from pinvgcn.experiments.task import Method


@dataclass(frozen=True, eq=False)
class Entry:
    """The name of the method tells its settings: question, method and seed say which run it is."""

    question: Question
    method: Method

    @property
    def key(self) -> tuple[str, str]:
        """What its lines in a file of results are found by."""
        return self.question.key, self.method.name

    @property
    def family(self) -> str:
        """The method without its settings, as ``--methods`` calls it."""
        return self.method.name.split()[0]

    @property
    def rank(self) -> int | None:
        """How many eigenvectors are asked for, where a number is."""
        return self.method.settings.get("rank") if isinstance(self.method, Pinv) else None

    @property
    def title(self) -> str:
        """For progress and messages."""
        return f"{self.question.title} ({self.question.labels}), {self.method.title}"


def distinct(entries: Iterable[Entry]) -> list[Entry]:
    """Each entry once: tables and figures share many of them."""
    return list({entry.key: entry for entry in entries}.values())
