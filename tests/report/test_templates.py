"""Templates: what is escaped, what is an error, and how numbers are written."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from jinja2 import UndefinedError

import pinvgcn.report
from pinvgcn.report.page import as_markdown, memory_text, percent, render

TEMPLATES = Path(pinvgcn.report.__file__).parent / "templates"


def test_text_is_escaped_and_the_style_sheet_is_not() -> None:
    page = render(
        "reproduce.html",
        title="<b>",
        lead="'&\"",
        sections=[("<i>", [SimpleNamespace(kind="text", text="<u>")])],
    )
    assert "<title>&lt;b&gt;</title>" in page
    assert not re.search("<[biu]>", page)
    assert (TEMPLATES / "style.css").read_text() in page


def test_what_a_template_does_not_get_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="sections"):
        render("reproduce.html", title="", lead="")


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.html")), ids=lambda path: path.name)
def test_nothing_is_printed_unescaped(path: Path) -> None:
    """Figures are safe because of their type; no template says it of anything."""
    assert not re.search(r"\|\s*safe|autoescape|<script|https?://", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("memory", "text"),
    [(None, "–"), (25_400_000, "25 MB"), (999_000_000, "999 MB"), (1_660_000_000, "1.7 GB")],
)
def test_memory_in_words(memory: int | None, text: str) -> None:
    assert memory_text(memory) == text


def test_numbers_and_signs() -> None:
    assert percent(0.1234) == "12.3 %"
    assert as_markdown("a|b*c_d<e`f\\") == "a\\|b\\*c\\_d\\<e\\`f\\\\"
