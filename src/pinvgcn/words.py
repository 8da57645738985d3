"""Numbers in sentences."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """``1 point`` and ``2,000 points``."""
    return f"{count:,} {noun}" + ("" if count == 1 else "es" if noun.endswith("ss") else "s")


def verb(count: int, one: str, many: str) -> str:
    """``one`` or ``many``, as the count asks for."""
    return one if count == 1 else many
