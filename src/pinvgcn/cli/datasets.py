"""``pinvgcn datasets``: what there is, and where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from pinvgcn.cli import console

if TYPE_CHECKING:
    from pinvgcn.datasets import DatasetInfo

ROOMY = 110  # columns of a terminal in which the descriptions have room too


def datasets() -> None:
    """List the data sets: their size, and where to find them.

    Files are looked for in the package, in the folder that PINVGCN_DATA names, and
    in the cache; what has a public address is downloaded when it is first loaded.
    """
    from pinvgcn.datasets import dataset_info, dataset_names

    out = console.out()
    roomy = out.width >= ROOMY
    table = console.table(None, "name", "rows", "classes")
    table.columns[0].style = "bold"
    for name in ("where", "what") if roomy else ("where",):
        table.add_column(name, overflow="fold")
    for name in dataset_names():
        info = dataset_info(name)
        what = [Text(info.description)] if roomy else []
        table.add_row(name, f"{info.rows:,}", str(info.classes), Text(_where(info)), *what)
    out.print(table)


def _where(info: DatasetInfo) -> str:
    """Where the files are; else how to get them."""
    from pinvgcn.datasets.locate import EMBEDDED, find

    if not info.files:
        return "generated"
    found = [next(filter(None, map(find, file.candidates)), None) for file in info.files]
    missing = [file for file, path in zip(info.files, found, strict=True) if path is None]
    if found[0] is not None and not missing:
        folder = found[0].parent
        return "in the package" if folder == EMBEDDED else str(folder)
    if all(any(one.url for one in file.candidates) for file in missing):
        return "not here; downloaded when first loaded"
    return f"not here; put {missing[0].path} into the folder that PINVGCN_DATA names"
