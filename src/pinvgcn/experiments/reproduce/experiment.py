"""What a table or figure of the paper is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pinvgcn.experiments.reproduce.blocks import Block
from pinvgcn.experiments.reproduce.entry import Entry
from pinvgcn.experiments.reproduce.paper import Reported
from pinvgcn.experiments.reproduce.question import Question
from pinvgcn.experiments.reproduce.results import Results


@dataclass(frozen=True)
class Experiment:
    """One word of ``pinvgcn reproduce``."""

    name: str
    title: str
    entries: Callable[[], list[Entry]]  # the work, in the order in which it is done
    blocks: Callable[[Results], list[Block]]  # the part of the report
    questions: tuple[Question, ...] = ()  # whose statistics are told
    # the same method on the same data in the paper: what has to agree with it, as far as results show that
    # it can (a rank may not exist)
    reported: Callable[[Results], list[tuple[Entry, Reported]]] = lambda results: []
    # what stands beside a number of the paper, but was computed otherwise, and need not agree
    otherwise: Callable[[Results], list[tuple[Entry, Reported]]] = lambda results: []
