"""What a job would write: nothing twice, nothing that it reads, nothing that is there already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pinvgcn.errors import ParameterError
from pinvgcn.io.question_file import check_question_file
from pinvgcn.io.scan_writer import check_target
from pinvgcn.scans.requests import PredictRequest, SegmentRequest


def check_outputs(
    request: SegmentRequest | PredictRequest,
    scans: Sequence[Path],
    copies: Sequence[Path],
    *,
    folder: Path | None = None,
    resumed: bool = False,
    saved: str | None = None,
) -> None:
    """Refuse what cannot be written, for one scan and for several, before there is work to lose.

    ``folder`` is one for the copies, which may still have to be made. Of a job that is ``resumed``, copies
    and questions may be there; ``saved`` is where it has saved the model.
    """
    besides = (
        ("--save-model", getattr(request, "save_model", None)),
        ("--report", getattr(request, "report", None)),
        ("--questions", request.questions),
    )
    read = {Path(getattr(request, name)).resolve() for name in ("labels", "model") if hasattr(request, name)}
    places = {path.resolve() for path in scans}
    taken: dict[Path, str] = {}
    for option, path in [*(("-o", copy) for copy in copies), *besides]:
        if path is None:
            continue
        place = path.resolve()
        if place in places:
            raise ParameterError(f"A scan must not be written over: its labels would be lost. Got {path}.")
        if place in read:
            raise ParameterError(f"{option} must not write over a file that is read. Got {path}.")
        if place in taken:
            raise ParameterError(f"{taken[place]} and {option} must be different files. Got {path} twice.")
        taken[place] = option
        if option == "--questions":
            check_question_file(path)
        mine = resumed if option in ("-o", "--questions") else str(place) == saved
        if path.is_file() and not (request.force or mine):
            other = "name" if folder is None else "place"
            raise ParameterError(f"{path} is there already. Choose another {other}, or add --force.")
        if folder is None or folder.exists() or place.parent != folder.resolve():
            check_target(path)
