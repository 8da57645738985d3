"""Whether a model and a file belong together, before anything is done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinvgcn.errors import ModelFileError, ParameterError, ScanFileError, TableFileError

if TYPE_CHECKING:
    from pinvgcn import PinvGCNClassifier

ORDER = {"predict": "MODEL INPUT", "explain": "MODEL TABLE"}  # of the arguments of commands


def first_of(paths: Sequence[Path]) -> Path:
    """One of the files that arguments stand for, by which the others are judged."""
    from pinvgcn.io.tables import ENDINGS
    from pinvgcn.jobs import input_files

    return input_files(paths, endings=ENDINGS)[0]


def check_pair(model: Path, file: Path, command: str = "predict") -> PinvGCNClassifier | None:
    """The model, if it is one of a table; None if it is one of a scan. What does not fit is one line, which
    names the ``command`` that was asked for."""
    from pinvgcn import PinvGCNClassifier
    from pinvgcn.io import open_scan, open_table
    from pinvgcn.tables import is_table_model

    try:
        fitted = PinvGCNClassifier.load(model)
    except ModelFileError as error:
        if model.is_file() and not is_safetensors(model):
            raise ModelFileError(_no_model(model, file, command)) from error
        raise
    if file.is_file() and is_safetensors(file):
        raise ParameterError(
            f"The file to classify must be a scan or a table. Got {file}, which looks like a saved model; "
            f"the order is: pinvgcn {command} {ORDER[command]}."
        )
    table = is_table_model(fitted)
    if not table and fitted.graph_kind_ != "gaussian":
        raise ModelFileError(
            f"{model} must be a model that `pinvgcn segment` or `pinvgcn classify` has saved. Got one of "
            f"{'a table' if fitted.graph_kind_ == 'categorical' else 'a graph'} from Python instead; "
            f"{command} in Python."
        )
    kind, other, maker = ("table", "scan", "segment") if table else ("scan", "table", "classify")
    try:
        opened: Any = open_table(file) if table else open_scan(file)
    except (TableFileError, ScanFileError) as error:
        if not file.is_file() or not _opens(open_scan if table else open_table, file):
            raise
        raise ParameterError(
            f"{model} is a model of a {kind} and {file} is a {other}. Use a model that `pinvgcn {maker} "
            f"--save-model` has written ({' '.join(str(error).split())})"
        ) from None
    del opened
    return fitted if table else None


def not_for(what: str, options: Mapping[str, Any]) -> None:
    """Refuse options that would do nothing."""
    given = next((name for name, value in options.items() if value is not None), None)
    if given is not None:
        raise ParameterError(f"{given} is not for {what}, which this model classifies. Leave it out.")


def is_safetensors(path: Path) -> bool:
    """By its first bytes: the length of a header, and a brace."""
    with path.open("rb") as file:
        head = file.read(9)
    return len(head) == 9 and head[8:] == b"{" and int.from_bytes(head[:8], "little") < 100_000_000


def _no_model(model: Path, file: Path, command: str) -> str:
    if file.is_file() and is_safetensors(file):
        return (
            f"The model must come first. Got {model}, which is no model, and then {file}, which looks like "
            f"one; try: pinvgcn {command} {file} {model}"
        )
    return (
        f"The first argument must be a model that --save-model has written. Got {model}, which is none; the "
        f"order is: pinvgcn {command} {ORDER[command]}."
    )


def _opens(open_file: Any, path: Path) -> bool:
    try:
        open_file(path)
    except (TableFileError, ScanFileError):
        return False
    return True
