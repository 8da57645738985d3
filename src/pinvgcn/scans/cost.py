"""What a job would do and cost, without doing it: the header of a scan is enough."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from pinvgcn.io import ScanSource, open_scan
from pinvgcn.nodes import SCAN
from pinvgcn.scans.columns import candidates
from pinvgcn.scans.jobs import (
    PredictRequest,
    SegmentRequest,
    check_files,
    frame_of,
    load_scan_model,
    metres_of,
)
from pinvgcn.scans.label_file import LabelFile
from pinvgcn.scans.labels import FieldLabels
from pinvgcn.scans.output import check_target, default_field
from pinvgcn.scans.survey import is_file

# memory: from benchmarks/streaming.py at 300,000 points; seconds: of one core, rough, those of a fit guessed
BASE_BYTES = 600e6  # the libraries
FIT_BYTES, TILE_BYTES, SPILL_BYTES = 3_500, 1_600, 150  # a point
SHAPE_SECONDS, OTHER_SECONDS = 75e-6, 50e-6  # a point
FIT_SECONDS, FIT_SECONDS_EACH = 10.0, 100e-6


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
            f"{self.disk / 2**30:.1f} GiB of disk for a while, {_duration(self.seconds)}",
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


def plan_segment(request: SegmentRequest) -> Plan:
    """Of ``segment``; what is wrong with the request is said as it would be then."""
    source = open_scan(request.scan)
    check_files(request)
    if is_file(request.labels, source):
        rows = len(LabelFile.read(request.labels).values)
        labels, besides = f"{rows:,} rows of {request.labels}", None
    else:
        own = FieldLabels.of(source, request.labels, request.unlabelled)
        labels, besides = f"field {own.name}; unlabelled: {', '.join(filter(None, own.unlabelled))}", own.name
    columns = candidates(source, request.features, besides=besides)
    whole = source.count <= request.fit_points
    fitted = min(source.count, request.fit_points)
    how = (
        f"all {source.count:,} points, in memory"
        if whole
        else f"{fitted:,} of {source.count:,} points: the labelled ones and others at random"
    )
    facts = {
        **_facts(source, metres_of(source, request.metres), columns, local=source.count >= SCAN),
        "labels": labels,
        "fitted to": how,
        "class goes to": request.field or default_field(source),
        "written": str(request.out),
    }
    cores = os.cpu_count() or 1
    shapes = SHAPE_SECONDS / cores
    seconds = FIT_SECONDS + fitted * (FIT_SECONDS_EACH + shapes)
    if not whole:
        seconds += source.count * (shapes + OTHER_SECONDS / cores)
    tiles = 1 if whole else _tiles(source.count, request.tile_points)
    memory = BASE_BYTES + max(
        fitted * FIT_BYTES, 0 if whole else min(source.count, request.tile_points) * TILE_BYTES
    )
    return Plan(facts, source.count, tiles, memory, 0 if whole else source.count * SPILL_BYTES, seconds)


def plan_predict(request: PredictRequest) -> Plan:
    """Of ``predict``."""
    model = load_scan_model(request.model)
    source = open_scan(request.scan)
    check_target(request.out, request.force)
    metres = metres_of(source, request.metres)
    fields = frame_of(model, request.model, metres).fields(source)
    tiles = _tiles(source.count, request.tile_points)
    facts = {
        **_facts(source, metres, fields, local=model._nodes.geometry),
        "model": f"{request.model}, {len(model.classes_)} classes, of {model.spectrum_.n_nodes:,} points",
        "tiles": f"{tiles:,}",
        "class goes to": request.field or default_field(source),
        "written": str(request.out),
    }
    seconds = source.count * (SHAPE_SECONDS + OTHER_SECONDS) / (os.cpu_count() or 1)
    memory = BASE_BYTES + min(source.count, request.tile_points) * TILE_BYTES
    return Plan(facts, source.count, tiles, memory, source.count * SPILL_BYTES, seconds)


def _facts(source: ScanSource, metres: float, columns: list[str], *, local: bool) -> dict[str, str]:
    unit = "metres" if metres == 1 else f"{metres:g} m"
    return {
        "scan": f"{source.path}, {source.format.upper()}, {source.count:,} points, unit {unit}",
        "features": ", ".join(["position", *(["local shape"] if local else []), *columns]),
    }


def _tiles(count: int, size: int) -> int:
    """Halves of halves, until they are small enough."""
    tiles = 1
    while count > tiles * size:
        tiles *= 2
    return tiles


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
