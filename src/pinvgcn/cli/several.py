"""segment and predict of several scans, or by several processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinvgcn.cli.launch import job
from pinvgcn.distributed.ring import launched

if TYPE_CHECKING:
    from pinvgcn.distributed.group import Group
    from pinvgcn.scans import PredictRequest, SegmentRequest


def several(paths: Sequence[Path]) -> bool:
    """Whether a command is about several scans, or has several processes."""
    from pinvgcn.jobs.input_files import stands_for_several

    return stands_for_several(paths) or launched()


def segment_several(
    request: SegmentRequest, paths: Sequence[Path], *, dry_run: bool, as_json: bool, quiet: bool
) -> None:
    """``pinvgcn segment``"""
    from pinvgcn.scans.many import segment_many

    _run(segment_many, request, paths, dry_run=dry_run, as_json=as_json, quiet=quiet)


def predict_several(
    request: PredictRequest, paths: Sequence[Path], *, group: Group, dry_run: bool, as_json: bool, quiet: bool
) -> None:
    """``pinvgcn predict``, whose processes have met: they have looked at the model."""
    from pinvgcn.scans.many import predict_many

    _run(predict_many, request, paths, group=group, dry_run=dry_run, as_json=as_json, quiet=quiet)


def _run(
    work: Callable[..., Any],
    request: Any,
    paths: Sequence[Path],
    *,
    group: Group | None = None,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    from pinvgcn.cli.progress import shown
    from pinvgcn.cli.scan_results import announce, print_plan
    from pinvgcn.scans.asked import work_place
    from pinvgcn.scans.cost_of_many import plan_many

    kept = f"the same command goes on from what is in {work_place(paths, request.out)}"
    with job(kept="" if dry_run else kept) if group is None else nullcontext(group) as group:
        silent = group.rank > 0  # the first rank speaks for all
        if dry_run:
            with shown(quiet=quiet or silent, unit="points") as tell:
                plan = plan_many(request, paths, group, tell)
            if not silent:
                print_plan(plan, as_json=as_json, quiet=quiet)
            return
        with shown(quiet=quiet or silent, unit="points") as tell:
            result = work(request, paths, group=group, tell=tell)
    if not silent:
        announce(result, None, (getattr(request, "save_model", None),), as_json=as_json, quiet=quiet)
