"""What a job over several scans would do and cost, without doing it: nothing but reading."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pinvgcn.distributed.group import Group
from pinvgcn.jobs import Progress, silent
from pinvgcn.jobs.work_folder import WorkFolder, left_by
from pinvgcn.scans.asked import Asked
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
    asked_for,
    tiles_of,
)
from pinvgcn.scans.labels import LAS, name_of
from pinvgcn.scans.many import SAVED, model_for
from pinvgcn.scans.requests import PredictRequest, SegmentRequest


def plan_many(
    request: SegmentRequest | PredictRequest, paths: Sequence[Path], group: Group, tell: Progress = silent
) -> Plan:
    """Of ``segment_many`` and ``predict_many``; memory is that of one rank. The scans are read once, and what
    is wrong with the request is said as it would be."""
    model = model_for(request) if isinstance(request, PredictRequest) else None
    asked = Asked.of(request, paths, group)
    found = [] if request.force else left_by(asked.folder, asked.command)  # the first rank's word counts
    work = WorkFolder(asked.folder, frozenset(found), group)
    asked.check_files(there=work.resumed, saved=work.noted(SAVED) if work.resumed else None)
    seen = asked.survey(model, tell, dry=True).overview
    files = asked.files
    unit = "metres" if files.metres == 1 else f"{files.metres:g} m"
    tiles = tiles_of(files.count, request.tile_points)
    each = max(sum(counts) for counts in group.values([files.counts[at] for at in files.mine]))
    facts = {
        "scans": f"{len(files.paths)} files, {files.count:,} points, unit {unit}",
        "ranks": f"{group.size}, of which one reads at most {each:,} points",
        "tiles": f"{tiles:,}",
        "written": str(request.out),
        **asked_for(request),
    }
    if seen.protected is not None:
        facts["protected"] = seen.protected.planned(asprs=files.format in LAS)
    workers = group.size if group.size > 1 else os.cpu_count() or 1
    seconds = files.count * (SHAPE_SECONDS + OTHER_SECONDS) / workers
    memory = BASE_BYTES + min(files.count, request.tile_points) * TILE_BYTES
    if isinstance(request, SegmentRequest):
        fitted = min(files.count - seen.omitted, request.fit_points)
        names = [name_of(value, asprs=files.format in LAS) for value in seen.classes]
        facts["labels"] = ", ".join(
            f"{count:,} of {name}" for name, count in zip(names, seen.counts, strict=True)
        )
        facts["fitted to"] = f"about {fitted:,} of {files.count:,} points"
        seconds += FIT_SECONDS + fitted * (FIT_SECONDS_EACH + SHAPE_SECONDS / workers)
        memory = max(memory, BASE_BYTES + fitted * FIT_BYTES)
    else:
        facts["model"] = f"{request.model}, {len(seen.classes)} classes"
    return Plan(facts, files.count, tiles, memory, files.count * SPILL_BYTES, seconds)
