"""The scans of a job, which are one cloud: point i of file f is number start_f + i of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.checks import check_positive
from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.errors import DataError
from pinvgcn.features.tiles import share_out
from pinvgcn.io import Bounds, ScanSource, open_scan
from pinvgcn.jobs import input_files
from pinvgcn.scans.labels import LAS

PIECE = 500_000  # points read at a time


@dataclass(frozen=True)
class ScanFiles:
    """What the headers say, the same on all processes; ``mine`` are the files that this one reads."""

    given: str  # as it was typed
    paths: list[Path]
    counts: list[int]
    format: str
    metres: float
    fields: list[list[str]]  # of each file
    mine: list[int]
    group: Group
    bounds: Bounds | None = None  # of what is read of each

    @classmethod
    def of(
        cls,
        paths: Sequence[Path],
        *,
        metres: float | None = None,
        out: Path | None = None,
        bounds: Bounds | None = None,
        group: Group = ALONE,
    ) -> ScanFiles:
        """Each process opens some; all must have one unit and one coordinate system. Those without a point
        inside ``bounds`` are left out."""
        files = input_files(paths, out=out, group=group)
        with together(group):
            headers = [_header(open_scan(path, bounds=bounds)) for path in files[group.rank :: group.size]]
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
        if metres is None:
            metres = 1.0 if told[0]["metres"] is None else told[0]["metres"]
        if bounds is not None:
            pairs = [(path, header) for path, header in zip(files, told, strict=True) if header["count"]]
            if not pairs:
                raise DataError(f"{' '.join(map(str, paths))} has no point within the bounds {bounds}.")
            files, told = [path for path, _ in pairs], [header for _, header in pairs]
        counts = [header["count"] for header in told]
        return cls(
            " ".join(map(str, paths)),
            files,
            counts,
            told[0]["format"],
            check_positive("metres", metres),
            [header["fields"] for header in told],
            share_out(counts, group.size)[group.rank],
            group,
            bounds,
        )

    def open(self, file: int) -> ScanSource:
        """One of the scans."""
        return open_scan(self.paths[file], bounds=self.bounds, inside=self.counts[file])

    @property
    def path(self) -> Path:
        """What messages call all of them."""
        return Path(self.given)

    @property
    def count(self) -> int:
        """Points of all."""
        return sum(self.counts)

    @property
    def own_count(self) -> int:
        """Points of the files that this process reads."""
        return sum(self.counts[file] for file in self.mine)

    @property
    def starts(self) -> np.ndarray:
        """The number of each file's first point, and at the end that of all."""
        return np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)

    @property
    def asprs(self) -> bool:
        """Whether the numbers of classes have a standard meaning."""
        return self.format in LAS


def _header(source: ScanSource) -> dict[str, Any]:
    return {
        "count": source.count,
        "format": source.format,
        "kind": "LAS" if source.format in LAS else source.format,
        "metres": source.metres,
        "system": source.system,
        "fields": list(source.fields),
    }
