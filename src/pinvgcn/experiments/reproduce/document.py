"""The pieces of a report, each of which knows how it looks in Markdown and in HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Protocol

from matplotlib.figure import Figure as Drawing

from pinvgcn.report import page
from pinvgcn.report.figures.drawing import inline_svg


class Block(Protocol):
    """A piece of a report."""

    def markdown(self) -> str:
        """As it stands in report.md, beside a folder of figures."""

    def html(self) -> str:
        """As it stands in report.html, which needs no other file."""


@dataclass(frozen=True)
class Heading:
    """A title inside of a section."""

    text: str

    def markdown(self) -> str:
        return f"### {self.text}"

    def html(self) -> str:
        return f"<h3>{escape(self.text)}</h3>"


@dataclass(frozen=True)
class Text:
    """A paragraph of plain text."""

    text: str

    def markdown(self) -> str:
        return _markdown(self.text)

    def html(self) -> str:
        return f"<p>{escape(self.text)}</p>"


@dataclass(frozen=True)
class Lines:
    """A list of plain texts."""

    lines: Sequence[str]

    def markdown(self) -> str:
        return "\n".join(f"- {_markdown(line)}" for line in self.lines)

    def html(self) -> str:
        return '<ul class="soft">' + "".join(f"<li>{escape(line)}</li>" for line in self.lines) + "</ul>"


@dataclass(frozen=True)
class Cell:
    """A number, and below it in small what it is compared with."""

    text: str
    below: str = ""
    strong: bool = False  # stands out

    def markdown(self) -> str:
        text = _markdown(self.text)
        text = f"**{text}**" if self.strong and text else text
        return f"{text}<br><sub>{_markdown(self.below)}</sub>" if self.below else text

    def html(self) -> str:
        text = escape(self.text)
        text = f"<strong>{text}</strong>" if self.strong else text
        return page.cell(f"{text}<small>{escape(self.below)}</small>" if self.below else text)


@dataclass(frozen=True)
class Table:
    """Columns with names, rows of cells, a caption."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""

    def markdown(self) -> str:
        lines = [
            "| " + " | ".join(_markdown(name) for name in self.head) + " |",
            "|:---|" + "---:|" * (len(self.head) - 1),
            *("| " + " | ".join(cell.markdown() for cell in row) + " |" for row in self.rows),
        ]
        return "\n".join(lines) + (f"\n\n{_markdown(self.caption)}" if self.caption else "")

    def html(self) -> str:
        rows = [[cell.html() for cell in row] for row in self.rows]
        return page.table(self.head, rows, escape(self.caption), kind="dense")


@dataclass(frozen=True)
class Figure:
    """A drawing; in Markdown a file of its own in the folder ``figures``."""

    name: str
    drawing: Drawing
    caption: str
    alternative: str = field(default="")

    def markdown(self) -> str:
        return f"![{_markdown(self.alternative)}](figures/{self.name}.svg)\n\n{_markdown(self.caption)}"

    def html(self) -> str:
        return page.figure(inline_svg(self.drawing, self.name, self.alternative), escape(self.caption))


def _markdown(text: str) -> str:
    """Plain text with the signs escaped that Markdown would take for its own."""
    for sign in ("\\", "|", "*", "_", "<", "`"):
        text = text.replace(sign, "\\" + sign)
    return text
