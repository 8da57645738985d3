"""Options that several commands have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pinvgcn.io import Bounds


class ClassWeight(StrEnum):
    """How much the classes count in training."""

    balanced = "balanced"


Weight = Annotated[
    ClassWeight | None,
    typer.Option(help="Let every class count the same, however many labels it has.", show_default=False),
]
Sets = Annotated[
    float | None,
    typer.Option(
        metavar="COVERAGE",
        help="Write the classes that each point or row may belong to, too: of those of each class, this "
        "share has it in its set. 0.9 needs 9 labels of each class.",
        show_default=False,
    ),
]
Field = Annotated[
    str | None,
    typer.Option(
        help="Where the class of a point goes. By default 'classification' in LAS, 'predicted' elsewhere.",
        show_default=False,
    ),
]
Only = Annotated[
    str | None,
    typer.Option(
        metavar="CLASSES",
        help="Change only points that have one of these classes in the file, such as 0,1; all others keep "
        "theirs. Not together with --keep.",
        show_default=False,
    ),
]
Keep = Annotated[
    str | None,
    typer.Option(
        metavar="CLASSES",
        help="Points that have one of these classes in the file, such as 2,6, keep it. Not together with "
        "--only.",
        show_default=False,
    ),
]
Box = Annotated[
    str | None,
    typer.Option(
        "--bounds",
        metavar="MINX,MINY,MAXX,MAXY",
        help="Read, classify and write only what lies inside, in the unit of the scan; with minimal and "
        "maximal z as MINX,MINY,MINZ,MAXX,MAXY,MAXZ. Of a COPC file only the parts that are needed are read.",
        show_default=False,
    ),
]
Metres = Annotated[
    float | None,
    typer.Option(
        help="Metres per unit of a scan, such as 0.3048. By default what the file says, else 1.",
        show_default=False,
    ),
]
Places = Annotated[
    Path | None,
    typer.Option(
        metavar="CSV", help="List the 50 places of a scan where a label would help most.", show_default=False
    ),
]
Seed = Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Seed of everything random.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are already there.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and its cost, and stop.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def words(text: str | None) -> tuple[str, ...] | None:
    """What stands between commas; None where the option is not given."""
    return None if text is None else tuple(word.strip() for word in text.split(","))


def box(text: str | None) -> Bounds | None:
    """The bounds that were typed; None where the option is not given."""
    from pinvgcn.io import Bounds

    return None if text is None else Bounds.parse(text)
