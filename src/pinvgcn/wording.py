"""Numbers and names in sentences."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def counted(count: int, noun: str) -> str:
    """``1 point`` and ``2,000 points``."""
    return f"{count:,} {noun}" + ("" if count == 1 else "es" if noun.endswith("ss") else "s")


def verb(count: int, one: str, many: str) -> str:
    """``one`` or ``many``, by the count."""
    return one if count == 1 else many


def words(name: str) -> str:
    """A name of the code for a reader: ``fine_trees`` as "fine trees"."""
    return name.replace("_", " ")


def decimal(number: float, places: int, *, plus: bool = False) -> str:
    """With a true minus sign, and 0 without any sign; ``plus`` writes a plus sign, too."""
    text = f"{round(number, places) + 0.0:{'+' if plus else ''}.{places}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("+")


def cut(text: str, room: int) -> str:
    """As much of a text as there is room for."""
    return text if len(text) <= room else text[: room - 1] + "…"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Which of the names may have been meant, whatever its capitals; None where none is near."""
    folded = {known.casefold(): known for known in names}
    near = difflib.get_close_matches(name.casefold(), list(folded), n=1, cutoff=0.5)
    return folded[near[0]] if near else None
