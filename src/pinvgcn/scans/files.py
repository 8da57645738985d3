"""Several scans that are one cloud: point i of file f is number start_f + i of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.distributed.group import Group, together
from pinvgcn.errors import DataError
from pinvgcn.features.tiles import share_out
from pinvgcn.io import ScanSource, open_scan
from pinvgcn.jobs import input_files
from pinvgcn.scans.jobs import metres_of


@dataclass(frozen=True)
class Files:
    """What their headers say, the same on all ranks; ``mine`` are the files of this one, in their order."""

    given: str  # as it was typed
    paths: list[Path]
    counts: list[int]
    format: str
    metres: float
    fields: list[list[str]]  # of each file
    mine: list[int]

    @classmethod
    def of(
        cls, paths: Sequence[Path], group: Group, *, metres: float | None = None, besides: Path | None = None
    ) -> Files:
        """Each rank opens some; all must have one unit and one coordinate system."""
        files = input_files(paths, out=besides, group=group)
        with together(group):
            headers = [_header(open_scan(path)) for path in files[group.rank :: group.size]]
        parts = group.values(headers)
        told: list[Any] = [parts[at % group.size][at // group.size] for at in range(len(files))]
        for what, key in (("unit (metres)", "metres"), ("coordinate system", "system"), ("kind", "kind")):
            if key == "metres" and metres is not None:
                continue
            for path, header in zip(files, told, strict=True):
                if header[key] != told[0][key]:
                    raise DataError(
                        f"Scans that are one cloud must agree in their {what}. Got {told[0][key]} in "
                        f"{files[0]} and {header[key]} in {path}."
                    )
        counts = [header["count"] for header in told]
        unit = metres_of(open_scan(files[0]), metres)
        return cls(
            " ".join(map(str, paths)),
            files,
            counts,
            told[0]["format"],
            unit,
            [header["fields"] for header in told],
            share_out(counts, group.size)[group.rank],
        )

    @property
    def path(self) -> Path:
        """What messages call all of them."""
        return Path(self.given)

    @property
    def count(self) -> int:
        """Points of all."""
        return sum(self.counts)

    @property
    def starts(self) -> np.ndarray:
        """The number of each file's first point, and at the end that of all."""
        return np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)


def _header(source: ScanSource) -> dict[str, Any]:
    return {
        "count": source.count,
        "format": source.format,
        "kind": "LAS" if source.format in ("las", "laz") else source.format,
        "metres": source.metres,
        "system": source.system,
        "fields": list(source.fields),
    }
