"""HTML from the files in ``templates``.

A page needs no network, no script and no other file. ``base.html`` is the document, ``macros.html`` has the
pieces that pages share, ``style.css`` their looks; each kind of report has a template of its own. What a
template prints is escaped; figures are inserted as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from pinvgcn.report.environment import environment
from pinvgcn.wording import counted, decimal, verb, words


def render(template: str, **values: Any) -> str:
    """The text of a template that sees ``values``."""
    return _templates().get_template(template).render(values)


def percent(share: float) -> str:
    """0.5 as "50.0 %"."""
    return f"{100 * share:.1f} %"


def sentences(parts: Iterable[str | None]) -> str:
    """Each part that there is as a sentence."""
    return " ".join(f"{part[:1].upper()}{part[1:].rstrip('.')}." for part in parts if part)


def memory_text(memory: int | None) -> str:
    """Bytes in units that people read."""
    if memory is None:
        return "–"
    return f"{memory / 1e9:.1f} GB" if memory >= 1e9 else f"{memory / 1e6:.0f} MB"


def as_markdown(text: str) -> str:
    """Plain text with the signs escaped that Markdown would take for its own."""
    return re.sub(r"([\\|*_<`])", r"\\\1", text)


@cache
def _templates() -> Environment:
    found = Environment(
        loader=PackageLoader("pinvgcn.report"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters |= {
        "percent": percent,
        "sentences": sentences,
        "thousands": "{:,}".format,
        "decimal": decimal,
        "memory": memory_text,
        "words": words,
        "markdown": as_markdown,
    }
    found.globals |= {"counted": counted, "environment": environment, "verb": verb, "zip": zip}
    return found
