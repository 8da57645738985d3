"""Docstrings are plain text, and some habits of it read better as Markdown."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

# "bins, missing : int, str" and its description: a line that begins with several names, and what is indented
GROUP = re.compile(r"^(\w+(?:, \w+)+)(?: : (.+))?\n((?:    .*\n?|\n(?=    ))+)", re.MULTILINE)


class PlainText(Extension):
    """``::`` before an indented block, several parameters in one entry, ruled tables, lists of shapes."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    text = GROUP.sub(_one_by_one, text)
    text = re.sub(r"^ *::\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"::\n", ":\n", text)
    text = re.sub(r"\nShapes\n-+\n(.*)", r"\n**Shapes:** \1", text)
    return re.sub(r"^ *=+  =[= ]*\n(.*\n)+? *=+  =[= ]*$(?!\n.+)", _as_code, text, flags=re.MULTILINE)


def _one_by_one(group: re.Match[str]) -> str:
    """An entry for each name, so that each gets its own type and default."""
    names, types, description = group[1].split(", "), (group[2] or "").split(", "), group[3].rstrip("\n")
    if len(types) != len(names):
        types = [group[2] or ""] * len(names)
    entries = [f"{name} : {kind}" if kind else name for name, kind in zip(names, types, strict=True)]
    return "".join(f"{entry}\n{description}\n" for entry in entries)


def _as_code(table: re.Match[str]) -> str:
    return "\n".join(f"    {row}" for row in table[0].splitlines() if row.strip(" ="))
