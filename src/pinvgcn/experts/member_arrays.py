"""The names of a member's arrays in a saved model."""

from __future__ import annotations

import numpy as np


def of_member(number: int) -> str:
    """The prefix of the names of a member's arrays; the first member has none."""
    return f"member{number}." if number else ""


def arrays_after(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays whose names begin with ``prefix``, by the rest of their names."""
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
