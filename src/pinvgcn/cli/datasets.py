"""``pinvgcn datasets``: what there is, and where it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinvgcn.datasets import DatasetInfo
    from pinvgcn.datasets.locate import DataFile

ROOMY = 110  # columns of a terminal in which the descriptions have room too

# rows and classes, which could otherwise be told only of data that are here
SIZES = {
    "mushroom": (8_124, 2),
    "covertype45": (12_240, 2),
    "covertype67": (37_877, 2),
    "covertype": (581_012, 7),
    "oakland1": (36_932, 5),
    "oakland2": (91_515, 5),
    "ign1": (84_524, 5),
    "ign2": (72_770, 5),
    "lidar": (37_805, 7),
    "cora": (2_708, 7),
    "citeseer": (3_327, 6),
    "pubmed": (19_717, 3),
    "street": (30_000, 5),
}


def datasets() -> None:
    """List the data sets: their size, and where to find them.

    Files are looked for in the package, in the folder that PINVGCN_DATA names, and
    in the cache; what has a public address is downloaded when it is first loaded.
    """
    from rich.text import Text

    from pinvgcn.cli.console import out
    from pinvgcn.cli.console import table as new_table
    from pinvgcn.datasets import dataset_info, dataset_names

    console = out()
    roomy = console.width >= ROOMY
    table = new_table(None, "name", "rows", "classes")
    table.columns[0].style = "bold"
    for name in ("where", "what") if roomy else ("where",):
        table.add_column(name, overflow="fold")
    for name in dataset_names():
        info = dataset_info(name)
        rows, classes = SIZES[name]
        what = [Text(info.description)] if roomy else []
        table.add_row(name, f"{rows:,}", str(classes), Text(_where(info)), *what)
    console.print(table)


def _where(info: DatasetInfo) -> str:
    """Where the files are; else how to get them."""
    from pinvgcn.datasets.locate import EMBEDDED

    if not info.files:
        return "generated"
    found = [_found(file) for file in info.files]
    present = [path for path in found if path is not None]
    if len(present) == len(found):
        folder = present[0].parent
        return "in the package" if folder == EMBEDDED else str(folder)
    if all(path is not None or _address(file) for file, path in zip(info.files, found, strict=True)):
        return "not here; downloaded when first loaded"
    missing = next(file.path for file, path in zip(info.files, found, strict=True) if path is None)
    return f"not here; put {missing} into the folder that PINVGCN_DATA names"


def _found(file: DataFile) -> Path | None:
    from pinvgcn.datasets.locate import find

    return find(file) or (None if file.alternative is None else _found(file.alternative))


def _address(file: DataFile) -> str | None:
    return file.url or (None if file.alternative is None else _address(file.alternative))
