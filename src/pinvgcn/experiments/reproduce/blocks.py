"""The pieces of a report, as values; the templates ``reproduce.html`` and ``reproduce.md`` show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from matplotlib.figure import Figure as Drawing

from pinvgcn.report.figures.drawing import inline_svg


@dataclass(frozen=True)
class Heading:
    """A title inside of a section."""

    text: str
    kind: ClassVar = "heading"


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    kind: ClassVar = "text"


@dataclass(frozen=True)
class Lines:
    """A list."""

    lines: Sequence[str]
    kind: ClassVar = "lines"


@dataclass(frozen=True)
class Cell:
    """A number, and below it in small what it is compared with."""

    text: str
    below: str = ""
    strong: bool = False  # stands out


@dataclass(frozen=True)
class Table:
    """Columns with names, rows of cells, a caption."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    kind: ClassVar = "table"


@dataclass(frozen=True)
class Figure:
    """A drawing; in Markdown a file of its own in the folder ``figures``."""

    name: str
    drawing: Drawing
    caption: str
    alternative: str = ""
    kind: ClassVar = "figure"

    @property
    def svg(self) -> str:
        """For a page that needs no other file."""
        return inline_svg(self.drawing, self.name, self.alternative)


Block = Heading | Text | Lines | Table | Figure
