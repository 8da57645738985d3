"""What a job would do and cost, without doing it: nothing but reading."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from pinvgcn.compute.parallel import cores
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.fitting.nodes import SCAN, CloudNodes
from pinvgcn.fitting.settings import MEMBERS
from pinvgcn.fitting.smoothing import GROUPED_ROUNDS
from pinvgcn.jobs import Cost, Progress, silent, work_folder
from pinvgcn.jobs.files import COUNT
from pinvgcn.jobs.progress import LIBRARIES, START
from pinvgcn.scans.copies import SET, explained
from pinvgcn.scans.job import ScanJob
from pinvgcn.scans.labels import name_of
from pinvgcn.scans.requests import ScanRequest, SegmentRequest
from pinvgcn.scans.survey import Survey
from pinvgcn.wording import counted

# measured on Oakland 2 and on generated streets of 2 and 20 million points; seconds of one core
FIT_BYTES, TILE_BYTES, SPILL_BYTES = 3_500, 1_600, 150  # a point
COPIES = 5  # of the members' probabilities around a tile, while they are averaged
SHAPE_SECONDS, OTHER_SECONDS = 3e-6, 18e-6  # a point: its local shape; reading, two looks at it, writing
FIT_SECONDS, FIT_SECONDS_EACH = 7.5, 50e-6  # of five networks with their trees, and for each point
LABEL_SECONDS = 2.7e-3  # for each label, of which trees and networks learn (all 84,524 points of an IGN tile)
SMALL_SECONDS = 1.5  # of a network of a scan without local shapes
HELD_OUT = 3  # fits of a report, and simple methods that take about as long as one more


@dataclass(frozen=True)
class ScanPlan:
    """A job in words and numbers."""

    facts: dict[str, str]
    points: int
    tiles: int
    cost: Cost  # memory is that of one process

    def lines(self) -> list[str]:
        width = max(map(len, self.facts))
        return [
            *(f"{name:<{width}}  {value}" for name, value in self.facts.items()),
            f"{'cost':<{width}}  {self.cost} (a guess: seconds depend on the machine)",
            "Nothing was written.",
        ]

    def as_dict(self) -> dict[str, Any]:
        return {**self.facts, "points": self.points, "tiles": self.tiles, **self.cost.as_dict()}


def plan(request: ScanRequest, progress: Progress = silent, *, group: Group = ALONE) -> ScanPlan:
    """Of ``segment`` and ``predict``; what is wrong with the request is raised as they would."""
    job = ScanJob.of(request, group)
    with work_folder(request.work_place, job.command, force=request.force, group=group, dry_run=True) as work:
        job.check_outputs(work)
    seen, _ = job.survey(progress, dry=True)
    files = job.files
    # halves of halves, until they are small enough
    tiles = 2 ** max(0, math.ceil(math.log2(files.count / request.tile_points)))
    tile = min(files.count, request.tile_points)
    workers = group.size if group.size > 1 else cores()
    every = files.count * (SHAPE_SECONDS + OTHER_SECONDS) / workers  # seconds, if all points are streamed
    if isinstance(request, SegmentRequest):
        members, fitted = MEMBERS, min(seen.points, request.fit_points)
        whole = group.alone and fitted == seen.points
        local = not whole or fitted >= SCAN
        shapes = SHAPE_SECONDS / workers if local else 0.0
        fit = _fit_seconds(fitted, int(seen.counts.sum()), local=local, sets=request.sets is not None)
        seconds = fit + fitted * shapes + (0 if request.report is None else (HELD_OUT + 1) * fit)
        seconds += 0 if whole else every
        facts = _labels(seen, fitted, whole=whole, asprs=files.asprs)
        memory, tile = fitted * FIT_BYTES, 0 if whole else tile
    else:
        assert job.model is not None
        fitted_model, memory, seconds = job.model.fitted_, 0, every
        members, nodes = fitted_model.ensemble.members, fitted_model.nodes
        local = isinstance(nodes, CloudNodes) and nodes.geometry
        classes, points = counted(len(seen.classes), "class"), counted(job.model.spectrum_.n_nodes, "point")
        facts = {"model": f"{request.model}, {classes}, of {points}"}
    each = 8 * len(seen.classes) * members if request.sets is not None else 0  # bytes of the members' own p
    rounds = 8 * len(seen.classes) * (GROUPED_ROUNDS - 1)
    cost = Cost(
        memory=LIBRARIES + max(memory, tile * (TILE_BYTES + COPIES * each)),
        seconds=START + seconds,
        disk=files.count * (SPILL_BYTES + rounds + GROUPED_ROUNDS * each) if tile else 0,
    )
    facts = {**_inputs(job, seen, local=local), **facts, "tiles": f"{tiles:,}", **_outputs(job, seen)}
    return ScanPlan(facts, files.count, tiles, cost)


def _inputs(job: ScanJob, seen: Survey, *, local: bool) -> dict[str, str]:
    files, group = job.files, job.group
    unit = "metres" if files.metres == 1 else f"{files.metres:g} m"
    one = len(files.paths) == 1
    what = f"{files.paths[0]}, {files.format.upper()}" if one else f"{len(files.paths)} files"
    facts = {"scan" if one else "scans": f"{what}, {counted(files.count, 'point')}, unit {unit}"}
    columns = seen.frame.fields(files.open(0))
    facts["features"] = ", ".join(["position", *(["local shape"] if local else []), *columns])
    if not group.alone:
        most = max(group.values(files.own_count))
        facts["processes"] = f"{group.size}, of which one reads at most {counted(most, 'point')}"
    return facts


def _labels(seen: Survey, fitted: int, *, whole: bool, asprs: bool) -> dict[str, str]:
    pairs = zip(seen.classes, seen.counts, strict=True)
    some = f"about {fitted:,} of {seen.points:,} points: the labelled ones and others at random"
    return {
        "labels": ", ".join(f"{count:,} of {name_of(value, asprs=asprs)}" for value, count in pairs),
        "fitted to": f"all {counted(fitted, 'point')}, in memory" if whole else some,
    }


def _outputs(job: ScanJob, seen: Survey) -> dict[str, str]:
    request, copy = job.request, job.copy(0, seen, dry=True)
    facts = {"class goes to": copy.field}
    if seen.protected is not None:
        lines = [seen.protected.line(asprs=job.files.asprs), *seen.protected.notes()]
        facts["protected"] = "; ".join(lines)
    if copy.sets:
        facts["set goes to"] = f"{SET}: {explained(seen.classes, copy.format)}"
    facts["written"] = str(request.out) + (f", {copy.format.upper()}" if request.folder is None else "")
    if request.questions is not None:
        facts["questions"] = f"{COUNT} at most, in {request.questions}"
    return facts


def _fit_seconds(points: int, labels: int, *, local: bool, sets: bool) -> float:
    """Members are trained side by side, as many as PyTorch has threads."""
    if not local and not sets:
        return SMALL_SECONDS
    rounds = math.ceil(MEMBERS / min(torch.get_num_threads(), MEMBERS))
    known = FIT_SECONDS + points * FIT_SECONDS_EACH + labels * LABEL_SECONDS
    alone = known if local else SMALL_SECONDS * MEMBERS
    return alone * rounds / MEMBERS
