"""Tiles of a cloud that several processes read, each its own part, into one folder that all of them see.

Every process appends its points to parts of its own, so that no two write one file; then the tiles are
shared out, and whoever has a tile puts its parts together, in the order of the processes, which is that of
the cloud.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.distributed.rows import hashed
from pinvgcn.errors import ScanFileError
from pinvgcn.features.tiles import READ, SAMPLE, SIZE, Cut, Piece, Tiles, share_out
from pinvgcn.io.atomic import atomic_file, write_text

FILE = "tiles.json"  # there once all tiles are


def shared_tiles(
    pieces: Iterable[Piece],
    folder: Path,
    *,
    total: int,
    group: Group = ALONE,
    columns: int = 0,
    beside: int = 0,
    size: int = SIZE,
) -> Tiles:
    """Sort this process's ``pieces`` of a cloud into tiles of about ``size`` points.

    The points are numbered below ``total``. How to cut is known after the last piece only. Until then the
    points wait on disk: to unpack or parse a scan a second time would take longer.
    """
    token = group.values(secrets.token_hex(4))[0]  # of no other start of this job
    parts = [folder / f"part-{token}-{rank}" for rank in range(group.size)]
    parts[group.rank].mkdir()
    own = Tiles(parts[group.rank], columns, size)
    waiting, sample, count = own.folder / "waiting", [np.empty((0, 3))], 0
    with waiting.open("wb") as file:
        for piece in pieces:
            own.records(piece).tofile(file)
            count += len(piece.index)
            sample.append(piece.points[hashed(piece.index) / 2.0**64 < SAMPLE / max(total, 1)])
    cut = Cut.by(group.rows(np.concatenate(sample)), group.sum(count), size)
    own.begin(cut.parts)
    with waiting.open("rb") as file:
        while len(records := np.fromfile(file, own.record, READ)):
            own.add(records, cut)
    waiting.unlink()
    counts = group.sum(np.array(own.counts, dtype=np.int64))
    low, high = group.smallest(own.low), group.largest(own.high)
    there = counts > 0  # a tile made for points of the sample alone may be empty
    tiles = Tiles(folder, columns, size, counts[there].tolist(), low[there], high[there], beside, group)
    group.wait()
    numbers = np.flatnonzero(there)
    for tile in share_out(tiles.counts, group.size)[group.rank]:
        _join([part / f"points-{numbers[tile]}" for part in parts], tiles, tile)
    group.wait()
    if group.rank == 0:
        for part in parts:
            shutil.rmtree(part)
        _save(tiles)
    group.wait()
    return tiles


def _join(parts: list[Path], tiles: Tiles, tile: int) -> None:
    there = [part for part in parts if part.exists()]
    points, rest = divmod(sum(part.stat().st_size for part in there), tiles.record.itemsize)
    if rest or points != tiles.counts[tile]:
        raise ScanFileError(
            f"{tiles.folder} must hold {tiles.counts[tile]:,} points of tile {tile}. Got {points:,}: it was "
            "changed meanwhile. Start the command again."
        )
    if len(there) == 1:
        os.replace(there[0], tiles.path("points", tile))
        return
    with atomic_file(tiles.path("points", tile), error=ScanFileError) as path, path.open("wb") as whole:
        for part in there:
            with part.open("rb") as file:
                shutil.copyfileobj(file, whole, 2**24)


def _save(tiles: Tiles) -> None:
    said = {name: getattr(tiles, name) for name in ("columns", "beside", "size", "counts")}
    said |= {"low": tiles.low.tolist(), "high": tiles.high.tolist()}
    write_text(tiles.folder / FILE, json.dumps(said), error=ScanFileError)


def saved_tiles(folder: Path, group: Group) -> Tiles:
    """The tiles that ``shared_tiles`` made there."""
    said = json.loads((folder / FILE).read_text())
    return Tiles(
        folder,
        said["columns"],
        said["size"],
        said["counts"],
        np.array(said["low"]).reshape(-1, 3),
        np.array(said["high"]).reshape(-1, 3),
        said["beside"],
        group,
    )


def for_rank(tiles: Tiles, todo: list[int], kept_before: Iterable[int] = ()) -> Tiles:
    """The same, of which this process works on its share of those that are ``todo``."""
    share = share_out([tiles.counts[tile] for tile in todo], tiles.group.size)[tiles.group.rank]
    return replace(tiles, own=[todo[place] for place in share], kept_before=frozenset(kept_before))
