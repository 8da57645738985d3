"""Points that keep the class of their file: those that ``--keep`` names, or all but those of ``--only``.

They take part in the cloud as all others do; a model may know their class or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pinvgcn.distributed.group import together
from pinvgcn.errors import DataError, LabelError
from pinvgcn.io import ScanSource
from pinvgcn.scans.frame import plain_name
from pinvgcn.scans.labels import (
    CLASSIFICATION,
    LAS,
    MOST,
    NAMES,
    as_number,
    has_noise,
    name_of,
    noise_in,
    plain_class,
    too_many,
)
from pinvgcn.scans.requests import PIECE, ScanFiles, ScanRequest, SegmentRequest

FREE, FOREIGN = -1, -2  # codes: a point that is not protected, and one whose class the model does not know
ONLY, KEEP = "--only", "--keep"
SHOWN = 8  # classes in a sentence


@dataclass(frozen=True)
class Protection:
    """Which classes of the field that holds them are protected."""

    option: str  # ONLY or KEEP
    words: Sequence[str]  # as they were typed; no text means a gap
    field: str

    @classmethod
    def of(cls, request: ScanRequest, source: ScanSource, target: str) -> Protection | None:
        """What is asked for, if anything is; ``target`` is the field that the class goes to."""
        words = request.keep if request.only is None else request.only
        if words is None:
            return None
        option = KEEP if request.only is None else ONLY
        labels = request.labels if isinstance(request, SegmentRequest) else None
        field = class_field(source, target, labels)
        if field is None:
            raise DataError(
                f"{option} needs the classes of the file, and {source.path} has no column that holds them: "
                f"name it with --field. Its fields: {source.listed_fields}."
            )
        rule = cls(option, words, field)
        rule.check(source)
        return rule

    def check(self, source: ScanSource) -> None:
        """That a file has the field, and that the words can be values of it."""
        if source.fields[source.known_field(self.field)].kind not in "biuf":
            return
        for word in self.words:
            if word and as_number(word) is None:
                raise LabelError(
                    f"{self.option} must name classes as {self.field!r} of {source.path} holds them: "
                    f"numbers. Got {word!r} instead."
                )

    def named(self, value: Any) -> list[str]:
        """The words that mean a class; None is a gap."""
        if value is None:
            return [word for word in self.words if not word]
        if isinstance(value, str):
            return [word for word in self.words if word == value.strip()]
        return [word for word in self.words if as_number(word) == value]

    def keeps(self, value: Any) -> bool:
        return bool(self.named(value)) == (self.option == KEEP)

    @property
    def said(self) -> str:
        return f"{self.option} {','.join(self.words)}"


def class_field(source: ScanSource, target: str, labels: str | None) -> str | None:
    """The field that holds a file's classes: the ``target`` that is written, if the file has it; else
    ``classification`` of LAS, the field of the labels, or a column with the name of one."""
    if target in source.fields:
        return target
    if source.format in LAS:
        return CLASSIFICATION
    if labels in source.fields:
        return labels
    names = {plain_name(field): field for field in reversed(source.fields)}
    return next((names[name] for name in reversed(NAMES) if name in names), None)


@dataclass(frozen=True)
class Protected:
    """How many points keep which class, in all files."""

    rule: Protection
    counts: list[tuple[Any, int]]  # classes in ascending order, None for gaps
    absent: Sequence[str]  # words that no point has

    @property
    def points(self) -> int:
        return sum(count for _, count in self.counts)

    @property
    def classes(self) -> list[Any]:
        """That are kept, but for gaps."""
        return [value for value, _ in self.counts if value is not None]

    @property
    def gaps(self) -> bool:
        """Whether points without a class are protected."""
        return any(value is None for value, _ in self.counts)

    def line(self, *, asprs: bool) -> str:
        listed = [f"{count:,} of {_name(value, asprs)}" for value, count in self.counts[:SHOWN]]
        more = f", and {len(self.counts) - SHOWN} more classes" if len(self.counts) > SHOWN else ""
        what = f": {', '.join(listed)}{more}" if listed else ""
        keep = "point keeps its class" if self.points == 1 else "points keep their class"
        return f"{self.points:,} {keep} in {self.rule.field!r} ({self.rule.said}){what}"

    def notes(self) -> list[str]:
        if not self.absent:
            return []
        words = " or ".join(word or "a gap" for word in self.absent)
        return [f"no point has class {words} in {self.rule.field!r}, which {self.rule.option} names"]

    def as_dict(self, *, asprs: bool) -> dict[str, Any]:
        return {
            "points": self.points,
            "field": self.rule.field,
            self.rule.option.removeprefix("--"): list(self.rule.words),
            "classes": [
                {"class": value, "name": _name(value, asprs), "points": count} for value, count in self.counts
            ],
            "absent": list(self.absent),
        }

    @classmethod
    def from_dict(cls, said: dict[str, Any]) -> Protected:
        counts = [(value, count) for value, count in said["counts"]]
        return cls(Protection(**said["rule"]), counts, said["absent"])


def protect(
    rule: Protection, files: ScanFiles, given: Mapping[int, np.ndarray] | None, classes: list[Any]
) -> tuple[dict[int, np.ndarray], Protected]:
    """Read the classes of own files: for each point the code of the class that it keeps, FOREIGN or FREE
    (n,); and the totals over all files.

    Points with another label of their own, in ``given`` (n,) codes, are free: the label is newer.
    """
    code = {str(value): number for number, value in enumerate(classes)}
    codes, mine = {}, (Counter[Any](), Counter[Any](), Counter[Any]())
    with together(files.group):
        for at in files.mine:
            codes[at] = _read(rule, files.open(at), None if given is None else given[at], code, *mine)
    told = files.group.values([list(counter.items()) for counter in mine])
    seen, kept, left = (sum((Counter(dict(one[at])) for one in told), Counter[Any]()) for at in range(3))
    free = left["free"]
    met = {word for value in seen for word in rule.named(value)}
    absent = tuple(dict.fromkeys(word for word in rule.words if word not in met))
    if not met:
        there = ", ".join(str(value) for value in sorted(seen, key=_order)[:SHOWN] if value is not None)
        raise LabelError(
            f"{rule.option} must name classes that points of {files.given} have in {rule.field!r}: "
            f"{there}{', …' if len(seen) > SHOWN else ''}. Got {','.join(rule.words)} instead."
        )
    if not free:
        others = "; labelled points keep their label, unless --relabel is given" if given is not None else ""
        raise LabelError(f"{rule.said} leaves no point of {files.given} to be classified{others}.")
    return codes, Protected(rule, [(value, kept[value]) for value in sorted(kept, key=_order)], absent)


def _read(
    rule: Protection,
    source: ScanSource,
    given: np.ndarray | None,
    code: Mapping[str, int],
    seen: Counter[Any],
    kept: Counter[Any],
    free: Counter[Any],
) -> np.ndarray:
    """The codes of one file; counts its points by class, those that are kept, and those that are free."""
    rule.check(source)
    name, noisy = f"{source.path}: {rule.field!r}", has_noise(source)
    codes = np.full(source.count, FREE, dtype=np.int16)
    for piece in source.chunks(PIECE, fields={rule.field, *([CLASSIFICATION] if noisy else [])}):
        rows = slice(piece.start, piece.start + len(piece))
        values, which = distinct(piece.fields[rule.field], name)
        stays = [rule.keeps(value) for value in values]
        known = [FOREIGN if value is None else code.get(str(value), FOREIGN) for value in values]
        own = np.where(stays, known, FREE).astype(np.int16)[which]
        asked = ~noise_in(piece) if noisy else np.ones(len(piece), dtype=bool)
        own[~asked] = FREE  # noise keeps its class whatever is asked for
        if given is not None:
            labelled = given[rows] >= 0
            own[labelled & (given[rows] != own)] = FREE
            asked &= ~labelled
        codes[rows] = own
        for counter, chosen in ((seen, which), (kept, which[own != FREE])):
            counts = np.bincount(chosen, minlength=len(values)).tolist()
            counter.update({value: count for value, count in zip(values, counts, strict=True) if count})
        if len(seen) > MOST:
            raise too_many(name, values[-1])
        free["free"] += int((asked & (own == FREE)).sum())
    return codes


def distinct(values: np.ndarray, name: str) -> tuple[list[Any], np.ndarray]:
    """The classes in a column, None for gaps, and which of them each point has (k,)."""
    codes, found = pd.factorize(values)  # -1 for what is missing
    plain = [plain_class(value, name) for value in np.asarray(found).tolist()]
    plain = [None if isinstance(value, str) and not value.strip() else value for value in plain]
    return [*plain, None], np.where(codes < 0, len(plain), codes)


def _order(value: Any) -> tuple[str, Any]:
    return ("", 0) if value is None else (type(value).__name__, value)


def _name(value: Any, asprs: bool) -> str:
    return "no class" if value is None else name_of(value, asprs=asprs)
