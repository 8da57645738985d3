"""What a job over several scans would do and cost, by their headers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pinvgcn.group import Group
from pinvgcn.scans.cost import (
    BASE_BYTES,
    FIT_BYTES,
    FIT_SECONDS,
    FIT_SECONDS_EACH,
    OTHER_SECONDS,
    SHAPE_SECONDS,
    SPILL_BYTES,
    TILE_BYTES,
    Plan,
    _tiles,
)
from pinvgcn.scans.files import Files
from pinvgcn.scans.jobs import PredictRequest, SegmentRequest, load_scan_model


def plan_many(request: SegmentRequest | PredictRequest, paths: Sequence[Path], group: Group) -> Plan:
    """Of ``segment_many`` and ``predict_many``; memory is that of one rank."""
    files = Files.of(paths, group, metres=request.metres)
    unit = "metres" if files.metres == 1 else f"{files.metres:g} m"
    tiles = _tiles(files.count, request.tile_points)
    each = max(sum(counts) for counts in group.values([files.counts[at] for at in files.mine]))
    facts = {
        "scans": f"{len(files.paths)} files, {files.count:,} points, unit {unit}",
        "ranks": f"{group.size}, of which one reads at most {each:,} points",
        "tiles": f"{tiles:,}",
        "written": str(request.out),
    }
    workers = group.size if group.size > 1 else os.cpu_count() or 1
    seconds = files.count * (SHAPE_SECONDS + OTHER_SECONDS) / workers
    memory = BASE_BYTES + min(files.count, request.tile_points) * TILE_BYTES
    if isinstance(request, SegmentRequest):
        fitted = min(files.count, request.fit_points)
        facts["labels"] = request.labels
        facts["fitted to"] = f"about {fitted:,} of {files.count:,} points"
        seconds += FIT_SECONDS + fitted * (FIT_SECONDS_EACH + SHAPE_SECONDS / workers)
        memory = max(memory, BASE_BYTES + fitted * FIT_BYTES)
    else:
        model = load_scan_model(request.model)
        facts["model"] = f"{request.model}, {len(model.classes_)} classes"
    return Plan(facts, files.count, tiles, memory, files.count * SPILL_BYTES, seconds)
