"""What a job would do and cost, without doing it: nothing but reading."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

import torch

from pinvgcn.fitting.nodes import SCAN
from pinvgcn.fitting.settings import MEMBERS
from pinvgcn.fitting.smoothing import GROUPED_ROUNDS
from pinvgcn.io import ScanSource
from pinvgcn.jobs import Progress, silent
from pinvgcn.scans.jobs import start_predict, start_segment
from pinvgcn.scans.labels import LAS, name_of
from pinvgcn.scans.output import Copy
from pinvgcn.scans.places import COUNT
from pinvgcn.scans.requests import PredictRequest, SegmentRequest
from pinvgcn.scans.sets import SET, explained
from pinvgcn.wording import counted

# measured on Oakland 2 and on generated streets of 2 and 20 million points; seconds of one core
BASE_BYTES = 600e6  # the libraries
FIT_BYTES, TILE_BYTES, SPILL_BYTES = 3_500, 1_600, 150  # a point
COPIES = 5  # of the members' probabilities around a tile, while they are averaged
SHAPE_SECONDS, OTHER_SECONDS = 3e-6, 18e-6  # a point: its local shape; reading, two looks at it, writing
FIT_SECONDS, FIT_SECONDS_EACH = 7.5, 50e-6  # of five networks with their trees, and for each point
SMALL_SECONDS = 1.5  # of a network of a scan without local shapes
HELD_OUT = 3  # fits of a report, and simple methods that take about as long as one more


@dataclass(frozen=True)
class Plan:
    """A job in words and numbers."""

    facts: dict[str, str]
    points: int
    tiles: int
    memory: float  # bytes
    disk: float  # bytes for a while beside the output
    seconds: float

    def lines(self) -> list[str]:
        """For people."""
        width = max(map(len, self.facts))
        return [
            *(f"{name:<{width}}  {value}" for name, value in self.facts.items()),
            f"{'cost':<{width}}  about {self.memory / 2**30:.1f} GiB of memory, "
            f"{self.disk / 2**30:.1f} GiB of disk for a while, {_duration(self.seconds)} (a guess: seconds "
            "depend on the machine)",
            "Nothing was written.",
        ]

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            **self.facts,
            "points": self.points,
            "tiles": self.tiles,
            "memory_bytes": round(self.memory),
            "disk_bytes": round(self.disk),
            "seconds": round(self.seconds, 1),
        }


def plan_segment(request: SegmentRequest, tell: Progress = silent) -> Plan:
    """Of ``segment``: the scan is read once, and what is wrong with the request is said as it would be."""
    source, metres, seen, copy, _ = start_segment(request, tell)
    whole = source.count - seen.omitted <= request.fit_points
    fitted = min(source.count - seen.omitted, request.fit_points)
    local = not whole or fitted >= SCAN
    how = (
        f"all {counted(fitted, 'point')}, in memory"
        if whole
        else f"about {fitted:,} of {source.count:,} points: the labelled ones and others at random"
    )
    names = [name_of(value, asprs=source.format in LAS) for value in seen.classes]
    facts = {
        **_facts(source, metres, seen.fields, local=local),
        "labels": ", ".join(f"{count:,} of {name}" for name, count in zip(names, seen.counts, strict=True)),
        "fitted to": how,
        **_written(copy),
        **asked_for(request),
    }
    cores = os.cpu_count() or 1
    shapes = SHAPE_SECONDS / cores if local else 0.0
    fit = _fit_seconds(fitted, local=local, sets=request.sets is not None)
    seconds = fit + fitted * shapes + (0 if request.report is None else (HELD_OUT + 1) * fit)
    if not whole:
        seconds += source.count * (shapes + OTHER_SECONDS / cores)
    tiles = 1 if whole else tiles_of(source.count, request.tile_points)
    tile = 0 if whole else min(source.count, request.tile_points)
    memory = BASE_BYTES + max(fitted * FIT_BYTES, tile * (TILE_BYTES + COPIES * _each(copy, MEMBERS)))
    return Plan(facts, source.count, tiles, memory, 0 if whole else _disk(copy, MEMBERS), seconds)


def plan_predict(request: PredictRequest) -> Plan:
    """Of ``predict``."""
    model, source, metres, frame, copy, _ = start_predict(request)
    tiles = tiles_of(source.count, request.tile_points)
    facts = {
        **_facts(source, metres, frame.fields(source), local=model.fitted_.nodes.geometry),
        "model": f"{request.model}, {counted(len(model.classes_), 'class')}, of "
        f"{counted(model.spectrum_.n_nodes, 'point')}",
        "tiles": f"{tiles:,}",
        **_written(copy),
        **asked_for(request),
    }
    seconds = source.count * (SHAPE_SECONDS + OTHER_SECONDS) / (os.cpu_count() or 1)
    members = model.fitted_.ensemble.members
    tile = min(source.count, request.tile_points)
    memory = BASE_BYTES + tile * (TILE_BYTES + COPIES * _each(copy, members))
    return Plan(facts, source.count, tiles, memory, _disk(copy, members), seconds)


def _fit_seconds(points: int, *, local: bool, sets: bool) -> float:
    """Members are trained side by side, as many as PyTorch has threads."""
    if not local and not sets:
        return SMALL_SECONDS
    rounds = math.ceil(MEMBERS / min(torch.get_num_threads(), MEMBERS))
    alone = FIT_SECONDS + points * FIT_SECONDS_EACH if local else SMALL_SECONDS * MEMBERS
    return alone * rounds / MEMBERS


def _written(copy: Copy) -> dict[str, str]:
    sets = {"set goes to": f"{SET}: {explained(copy.classes, copy.format)}"} if copy.sets else {}
    asprs = copy.source.format in LAS
    kept = {} if copy.kept is None else {"protected": copy.kept.planned(asprs=asprs)}
    return {
        "class goes to": copy.field,
        **kept,
        **sets,
        "written": f"{copy.writer.out}, {copy.format.upper()}",
    }


def asked_for(request: SegmentRequest | PredictRequest) -> dict[str, str]:
    """The questions, where somebody wants some."""
    return {} if request.questions is None else {"questions": f"{COUNT} at most, in {request.questions}"}


def _disk(copy: Copy, members: int) -> float:
    """Points, columns and probabilities of tiles, these after each round of averages but the last; where sets
    are asked for, those of each member."""
    rounds = 8 * len(copy.classes) * (GROUPED_ROUNDS - 1)
    return copy.source.count * (SPILL_BYTES + rounds + GROUPED_ROUNDS * _each(copy, members))


def _each(copy: Copy, members: int) -> int:
    """Bytes of the members' own probabilities at a point, which sets need."""
    return 8 * len(copy.classes) * members if copy.sets else 0


def _facts(source: ScanSource, metres: float, columns: list[str], *, local: bool) -> dict[str, str]:
    unit = "metres" if metres == 1 else f"{metres:g} m"
    return {
        "scan": f"{source.path}, {source.format.upper()}, {counted(source.count, 'point')}, unit {unit}",
        "features": ", ".join(["position", *(["local shape"] if local else []), *columns]),
    }


def tiles_of(count: int, size: int) -> int:
    """Halves of halves, until they are small enough."""
    tiles = 1
    while count > tiles * size:
        tiles *= 2
    return tiles


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
