"""Survey: one pass over a scan that finds where it is, which columns vary, and what is labelled."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.errors import DataError, LabelError, ParameterError
from pinvgcn.io import ScanSource
from pinvgcn.jobs import Progress
from pinvgcn.scans.columns import Ranges, candidates, plain_name
from pinvgcn.scans.frame import Frame
from pinvgcn.scans.label_file import LabelFile
from pinvgcn.scans.labels import CLASSIFICATION, OMITTED, UNKNOWN, Classes, FieldLabels, has_noise, noise_in

PIECE = 500_000  # points read at a time


@dataclass(frozen=True)
class Survey:
    """What a scan offers to learn from."""

    frame: Frame
    fields: list[str]  # of the file, that become features
    left_out: dict[str, str]  # fields that do not, and why
    classes: list[Any]
    codes: np.ndarray  # (n,) int16

    @property
    def counts(self) -> np.ndarray:
        """Labels of each class."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.classes))

    @property
    def omitted(self) -> int:
        """Points of noise."""
        return int((self.codes == OMITTED).sum())


def survey(
    source: ScanSource,
    labels: str,
    *,
    unlabelled: tuple[str, ...] | None,
    features: tuple[str, ...] | None,
    metres: float,
    tell: Progress,
) -> Survey:
    """Read a scan once; ``labels`` is a field of it, or a CSV file."""
    beside = LabelFile.read(labels) if is_file(labels, source) else None
    if beside is not None and unlabelled is not None:
        raise ParameterError(
            "--unlabelled names values of a field of the scan. Got it beside the labels of "
            f"{labels}; leave it out, and leave points without a label out of that file."
        )
    own = FieldLabels.of(source, labels, unlabelled) if beside is None else None
    noisy = has_noise(source)
    wanted = candidates(source, features, besides=None if own is None else own.name)
    names = {*wanted, *([own.name] if own else []), *([CLASSIFICATION] if noisy else [])}
    ranges, classes = Ranges(wanted), Classes()
    codes = np.full(source.count, UNKNOWN, dtype=np.int16)
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    tell("Reading", 0, source.count)
    for piece in source.chunks(PIECE, fields=names):
        rows = slice(piece.start, piece.start + len(piece))
        noise = noise_in(piece) if noisy else np.zeros(len(piece), dtype=bool)
        if own is not None:
            known = own.known(piece) & ~noise
            codes[rows][known] = classes.codes(piece.fields[own.name][known], f"{source.path}: {own.name!r}")
        codes[rows][noise] = OMITTED
        ranges.add(piece.fields, ~noise)
        if not noise.all():
            low = np.minimum(low, piece.points[~noise].min(axis=0))
            high = np.maximum(high, piece.points[~noise].max(axis=0))
        tell("Reading", rows.stop, source.count)
    if beside is not None:
        points = beside.points(source, metres)
        stays = codes[points] != OMITTED
        codes[points[stays]] = classes.codes(beside.values[stays], str(beside.path))
    if not len(classes.values):
        raise LabelError(
            f"{source.path} must have labelled points. Got none in {labels!r}; label some points of each "
            "class, or say with --unlabelled which values mean unlabelled."
        )
    values, ranks = classes.in_order()
    labelled = codes >= 0
    codes[labelled] = ranks[codes[labelled]]
    counts = np.bincount(codes[labelled], minlength=len(values))
    if (counts > 0).sum() < 2:
        raise LabelError(
            f"{source.path} must have labelled points of two classes or more. "
            f"Got {counts.sum():,} of {values[0]!r} alone."
        )
    used, left_out = ranges.split()
    frame = Frame.around(low, high, metres, tuple(plain_name(field) for field in used))
    return Survey(frame, used, left_out, values, codes)


def is_file(labels: str, source: ScanSource) -> bool:
    """Whether labels are in a file of their own; an error where the name promises one that is not there."""
    if labels in source.fields:
        return False
    path = Path(labels)
    if not path.is_file() and path.suffix.lower() in (".csv", ".tsv", ".txt"):
        names = {name.lower(): name for name in source.fields}
        near = difflib.get_close_matches(path.stem.lower(), names, n=1, cutoff=0.5)
        raise DataError(
            f"There is neither a file {labels} nor a field of that name in {source.path}"
            f"{f'; did you mean {names[near[0]]!r}?' if near else '.'} "
            f"Its fields: {', '.join(source.fields) or 'none besides x, y, z'}."
        )
    return path.is_file()
