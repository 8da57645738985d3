"""The files that ``segment`` and ``predict`` write, checked before there is work to lose."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pinvgcn.jobs import Output, check_outputs
from pinvgcn.scans.requests import PredictRequest, SegmentRequest


def check_scan_outputs(
    request: SegmentRequest | PredictRequest,
    scans: Sequence[Path],
    copies: Sequence[Path],
    *,
    folder: Path | None = None,
    resumed: bool = False,
    saved: str | None = None,
) -> None:
    """Of a ``resumed`` job copies and questions may be there; ``saved`` is where it saved the model."""
    outputs = [Output("-o", copy, resumed) for copy in copies]
    if request.questions is not None:
        outputs.append(Output("--questions", request.questions, resumed))
    if isinstance(request, SegmentRequest):
        if request.save_model is not None:
            own = str(request.save_model.resolve()) == saved
            outputs.append(Output("--save-model", request.save_model, own))
        if request.report is not None:
            outputs.append(Output("--report", request.report))
    read = Path(request.labels) if isinstance(request, SegmentRequest) else request.model
    check_outputs(outputs, inputs=[*scans, read], force=request.force, folder=folder)
