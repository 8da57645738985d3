"""Options that several commands have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pinvgcn.io import Bounds


class ClassWeight(StrEnum):
    balanced = "balanced"


# headings of help, under which options stand that are rarely needed
POINTS, TUNING, RUNNING = "Which points", "Fine tuning", "Running"


def option(
    *names: str, help: str, panel: str | None = None, show_default: bool | str = False, **more: Any
) -> Any:
    """An option of a command; its default is shown only where that is asked for."""
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=show_default, **more)


Weight = Annotated[
    ClassWeight | None,
    option(metavar="balanced", help="Every class counts the same in training.", panel=TUNING),
]
Copy = Annotated[Path, option("-o", "--out", metavar="OUT", help="The classified copy; of several a folder.")]
SavedModel = Annotated[Path | None, option(metavar="FILE", help="Keep the model, for `pinvgcn predict`.")]
Sets = Annotated[float | None, option(metavar="SHARE", help="Sets that hold the true class so often: 0.9.")]
Field = Annotated[str | None, option(metavar="NAME", help="The field that gets the class.", panel=POINTS)]
Only = Annotated[
    str | None, option(metavar="CLASSES", help="Change only points of these classes: 0,1.", panel=POINTS)
]
Keep = Annotated[
    str | None, option(metavar="CLASSES", help="Points of these classes keep theirs: 2,6.", panel=POINTS)
]
Box = Annotated[
    str | None,
    option("--bounds", metavar="BOX", help="Only what lies in MINX,MINY,MAXX,MAXY (or six).", panel=POINTS),
]
Metres = Annotated[
    float | None, option(metavar="NUMBER", help="Metres per unit, if the file does not say it.", panel=TUNING)
]
Places = Annotated[Path | None, option(metavar="CSV", help="List 50 places where a label would help most.")]
TilePoints = Annotated[
    int | None,
    option(
        min=1_000, metavar="NUMBER", help="Points of a tile, 500,000; fewer need less memory.", panel=TUNING
    ),
]
Seed = Annotated[int, option(min=0, metavar="NUMBER", help="Seed of everything random.", panel=TUNING)]
Force = Annotated[bool, option("--force", help="Replace files that are there.", panel=RUNNING)]
DryRun = Annotated[bool, option("--dry-run", help="Say what would be done, and its cost.", panel=RUNNING)]
Json = Annotated[bool, option("--json", help="Print the result as JSON.", panel=RUNNING)]
Quiet = Annotated[bool, option("--quiet", "-q", help="Print nothing but errors.", panel=RUNNING)]


def words(text: str | None) -> tuple[str, ...] | None:
    """What stands between commas; None where the option is not given."""
    return None if text is None else tuple(word.strip() for word in text.split(","))


def box(text: str | None) -> Bounds | None:
    """The bounds that were typed; None where the option is not given."""
    from pinvgcn.io import Bounds

    return None if text is None else Bounds.parse(text)
