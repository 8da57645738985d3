"""Experts that see the values of a row and nothing else: one model a member."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pinvgcn.experts.seen import Seen, arrays_after, of_member


class Model(Protocol):
    """A frozen dataclass of arrays."""

    def log_proba(self, X: Any) -> np.ndarray:
        """log p of any rows (m, v): (m, classes)."""


@dataclass(frozen=True)
class ByValues:
    """The models of all members, under the name of the expert."""

    members: Sequence[Model]
    name: str

    def opinions(self, seen: Seen) -> Iterator[np.ndarray]:
        """log p of each member: (m, classes)."""
        for member in self.members:
            yield member.log_proba(seen.values)

    def state(self) -> dict[str, np.ndarray]:
        """The arrays of a file."""
        return {
            f"{of_member(number)}{self.name}.{name}": array
            for number, member in enumerate(self.members)
            for name, array in vars(member).items()
        }

    @classmethod
    def from_state(
        cls, arrays: dict[str, np.ndarray], kind: type[Any], *, members: int, name: str
    ) -> ByValues | None:
        """Models of this ``kind`` from what ``state`` gave; None if a file has none of this name."""
        found = [arrays_after(f"{of_member(number)}{name}.", arrays) for number in range(members)]
        return cls([kind(**own) for own in found], name) if any(found) else None
