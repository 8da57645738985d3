"""Docstrings are plain text, and some habits of it read better as Markdown."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object


class PlainText(Extension):
    """``::`` before an indented block, tables ruled with ``===``, and lists of shapes."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    text = re.sub(r"^ *::\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"::\n", ":\n", text)
    text = re.sub(r"\nShapes\n-+\n(.*)", r"\n**Shapes:** \1", text)
    return re.sub(r"^ *=+  =[= ]*\n(.*\n)+? *=+  =[= ]*$(?!\n.+)", _as_code, text, flags=re.MULTILINE)


def _as_code(table: re.Match[str]) -> str:
    return "\n".join(f"    {row}" for row in table[0].splitlines() if row.strip(" ="))
