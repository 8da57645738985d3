"""What the paper reports: ``paper.json``, and how one of its numbers compares with ours."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

NOTEWORTHY = 2.0  # standard errors: differences beyond are listed
RARE = math.erfc(NOTEWORTHY / math.sqrt(2))  # how often chance alone gives more, where the spread is known
RUNS = 100  # of which the paper's averages are made; "a few slow baselines" had 10, it does not say which


@cache
def paper() -> dict[str, Any]:
    """All tables and figures of the paper; accuracies in percent."""
    text = files(__package__).joinpath("paper.json").read_text(encoding="utf-8")
    numbers: dict[str, Any] = json.loads(text)
    return numbers


@dataclass(frozen=True)
class Reported:
    """One accuracy of the paper, in percent; without a standard deviation where it gives none."""

    accuracy: float | None
    sd: float | None = None
    seconds: float | None = None
    remark: str = ""  # stands in the place of a missing accuracy

    @classmethod
    def of(cls, cell: dict[str, Any] | None) -> Reported | None:
        """From a cell of a table in ``paper.json``."""
        if cell is None:
            return None
        if cell.get("out_of_memory"):
            return cls(None, remark="out of memory")
        return cls(cell["accuracy"], cell["sd"], cell["seconds"])


def standard_errors(
    mean: float, sd: float, runs: int, paper_mean: float, paper_sd: float | None, paper_runs: int = RUNS
) -> float | None:
    """(mean − paper's) / √(sd²/runs + sd_p²/runs_p): the difference of two means in its standard errors.

    Where the paper gives no standard deviation, ours stands for it. None for a single run, whose spread is
    unknown; ±∞ where neither varies and they differ.
    """
    if runs < 2:
        return None
    theirs = sd if paper_sd is None else paper_sd
    error = math.sqrt(sd**2 / runs + theirs**2 / paper_runs)
    difference = mean - paper_mean
    if error == 0:
        return 0.0 if difference == 0 else math.copysign(math.inf, difference)
    return difference / error


class Difference(NamedTuple):
    """How far our mean is from the paper's."""

    errors: float  # in standard errors
    chance: float  # how often equal means differ by so many, by Student's t

    @property
    def noteworthy(self) -> bool:
        """Beyond two standard errors, and of few runs as many more as are equally rare."""
        return self.chance < RARE


def difference(
    mean: float, sd: float, runs: int, paper_mean: float, paper_sd: float | None, paper_runs: int = RUNS
) -> Difference | None:
    """Of two means, in standard errors, and how often chance alone does that; None for a single run.

    The degrees of freedom are Welch's, or those of our runs where our standard deviation stands for both: of
    two or three runs, whose spread is hardly known, many standard errors may be chance.
    """
    from scipy.stats import t

    errors = standard_errors(mean, sd, runs, paper_mean, paper_sd, paper_runs)
    if errors is None:
        return None
    own, theirs = sd**2 / runs, (0.0 if paper_sd is None else paper_sd**2 / paper_runs)
    free = float(runs - 1)
    if theirs > 0:
        free = (own + theirs) ** 2 / (own**2 / (runs - 1) + theirs**2 / (paper_runs - 1))
    return Difference(errors, float(2 * t.sf(abs(errors), free)))
