"""What is written at each point of a cloud: its class, probability, flag and set; and the sums of that."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.errors import ScanFileError
from pinvgcn.fitting.prediction_sets import SetSizes, as_bits, from_bits
from pinvgcn.io.atomic import atomic_file
from pinvgcn.scans.protection import FOREIGN, FREE
from pinvgcn.scans.scan_files import PIECE
from pinvgcn.scans.streaming import ALONE, OUTSIDE, TileAnswers

NOTHING, PROTECTED = -1, -2  # codes of a point without a prediction, and of one that keeps its file's class
ONE = 2**20  # a probability of 1, where probabilities are summed as whole numbers
TYPES = {
    "codes": np.int16, "confidence": np.float32, "flags": np.uint8, "sets": np.uint64, "second": np.int16,
    "second_confidence": np.float32,
}  # fmt: skip


@dataclass
class Outcomes:
    """For every point: the code of its class, NOTHING or PROTECTED; the class's probability; its flag."""

    codes: np.ndarray  # (n,)
    confidence: np.ndarray  # (n,) 0 where nothing is predicted or the model does not know the class
    flags: np.ndarray  # (n,)
    sets: np.ndarray | None = None  # (n,) bits
    second: np.ndarray | None = None  # (n,) the next most probable class, or NOTHING
    second_confidence: np.ndarray | None = None  # (n,)

    @classmethod
    def of(
        cls,
        found: TileAnswers,
        *,
        given: np.ndarray | None = None,
        kept: np.ndarray | None = None,
        second: bool = False,
    ) -> Outcomes:
        """From a model's answers. Points with a label of their own, ``given`` as codes, keep it, and those
        with ``kept`` codes the class of their file; their set, as that of all, is the model's."""
        codes, rows = found.proba.argmax(axis=1), np.arange(len(found.index))
        alone = found.flags == ALONE
        silent = alone.copy()
        if given is not None:
            codes = np.where(given >= 0, given, codes)
        written = np.where(alone & (True if given is None else given < 0), NOTHING, codes)
        if kept is not None:
            written = np.where(kept == FREE, written, PROTECTED)
            codes = np.where(kept >= 0, kept, codes)
            silent |= kept == FOREIGN
        arrays = {
            "codes": written,
            "confidence": np.where(silent, 0.0, found.proba[rows, codes]),
            "flags": found.flags,
        }
        if found.sets is not None:
            arrays["sets"] = np.where(alone, 0, as_bits(found.sets))
        if second:
            others = np.array(found.proba)
            others[rows, codes] = -1.0
            arrays["second"] = np.where(alone, NOTHING, others.argmax(axis=1))
            arrays["second_confidence"] = np.where(alone, 0.0, others.max(axis=1))
        return cls(**{name: array.astype(TYPES[name]) for name, array in arrays.items()})

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Those that are there, by name."""
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: array for name, array in every.items() if array is not None}

    def at(self, rows: np.ndarray) -> Outcomes:
        """Of some points, in memory."""
        return Outcomes(**{name: array[rows] for name, array in self.arrays.items()})

    def save(self, path: Path, index: np.ndarray) -> None:
        """Of the points of a tile with these numbers."""
        with atomic_file(path, error=ScanFileError) as part, part.open("wb") as file:
            np.savez(file, index=index, **self.arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> tuple[np.ndarray, Outcomes]:
        """The numbers of the points of a tile, and what ``save`` kept of them."""
        with np.load(path) as kept:
            return kept["index"], cls(**{name: kept[name] for name in kept.files if name != "index"})

    @classmethod
    def gathered(cls, tiles: Iterable[Path], start: int, count: int, folder: Path, *, sets: bool) -> Outcomes:
        """Those of ``count`` points from number ``start`` on, from the files of tiles. They may be more than
        fit into memory, and are put into files of a ``folder``."""
        arrays: dict[str, np.ndarray] = {}
        for path in tiles:
            index, some = cls.load(path)
            rows = slice(*np.searchsorted(index, [start, start + count]))
            for name, values in some.arrays.items():
                if name not in arrays:
                    arrays[name] = _on_disk(folder, name, count)
                arrays[name][index[rows] - start] = values[rows]
        for name in ("codes", "confidence", "flags", *(["sets"] if sets else [])):  # of noise alone
            if name not in arrays:
                arrays[name] = _on_disk(folder, name, count)
        return cls(**arrays)


def _on_disk(folder: Path, name: str, count: int) -> np.ndarray:
    if not count:
        return np.empty(0, TYPES[name])
    array = np.memmap(folder / name, TYPES[name], mode="w+", shape=(count,))
    if name == "codes":
        array[:] = NOTHING
    return array


@dataclass
class Totals:
    """Sums over the points of copies; protected points are counted elsewhere."""

    counts: np.ndarray  # (classes,)
    sizes: np.ndarray  # (classes + 1,) points whose prediction set has 0, 1, … classes, where they have one
    sure: float = 0.0  # the sum of the confidences
    predicted: int = 0
    outside: int = 0
    alone: int = 0

    @classmethod
    def of(cls, outcomes: Outcomes, classes: int) -> Totals:
        """Of the points of one scan, some at a time: they may be on disk."""
        total = cls(np.zeros(classes, dtype=np.int64), np.zeros(classes + 1, dtype=np.int64))
        for start in range(0, len(outcomes.codes), PIECE):
            total._add(outcomes, slice(start, start + PIECE))
        return total

    def _add(self, outcomes: Outcomes, rows: slice) -> None:
        codes, flags = np.asarray(outcomes.codes[rows]), np.asarray(outcomes.flags[rows])
        has = codes >= 0
        self.counts += np.bincount(codes[has], minlength=len(self.counts))
        self.sure += float(outcomes.confidence[rows][has].sum(dtype=float))
        self.predicted += int(has.sum())
        self.outside += int(((flags == OUTSIDE) & (codes != PROTECTED)).sum())
        self.alone += int(((flags == ALONE) & (codes != PROTECTED)).sum())
        if outcomes.sets is not None:
            told = outcomes.sets[rows][has & (flags != ALONE)]
            self.sizes += SetSizes.of(0.0, from_bits(told, len(self.counts))).counts

    @property
    def mean_confidence(self) -> float:
        """Over the points that were predicted."""
        return self.sure / max(self.predicted, 1)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "counts": self.counts.tolist(), "sizes": self.sizes.tolist()}

    @classmethod
    def sum(cls, parts: Iterable[dict[str, Any]], classes: int) -> Totals:
        """Of scans, from what ``as_dict`` gave of each."""
        total = cls(np.zeros(classes, dtype=np.int64), np.zeros(classes + 1, dtype=np.int64))
        for part in parts:
            for name, value in part.items():
                added = np.array(value) if isinstance(value, list) else value
                setattr(total, name, getattr(total, name) + added)
        return total


@dataclass(frozen=True)
class ClassifiedPoints:
    """Some points of a cloud and their outcomes; noise is in none."""

    index: np.ndarray  # (k,) numbers in the cloud
    points: np.ndarray  # (k, 3) as the model sees them, in metres
    outcomes: Outcomes
    labelled: np.ndarray  # (k,) a mask: points that have a label, or keep the class of their file
    protected: np.ndarray | None = None  # (k,) a mask: those of them without a label, where there are any

    @classmethod
    def of(
        cls, index: np.ndarray, points: np.ndarray, outcomes: Outcomes, codes: np.ndarray | None
    ) -> ClassifiedPoints:
        """``codes`` are the labels of the points (k,), where they have any."""
        given = np.zeros(len(index), dtype=bool) if codes is None else codes >= 0
        protected = (outcomes.codes == PROTECTED) & ~given
        return cls(index, points, outcomes, given | protected, protected)

    @property
    def changeable(self) -> np.ndarray:
        """All but protected points: a mask (k,)."""
        return np.ones(len(self.index), dtype=bool) if self.protected is None else ~self.protected

    @property
    def confidence(self) -> np.ndarray:
        """In units of 1/ONE: (k,)."""
        return np.rint(self.outcomes.confidence.astype(float) * ONE).astype(np.int64)


Parts = Callable[[], Iterable[ClassifiedPoints]]  # of this process, as often as they are asked for
