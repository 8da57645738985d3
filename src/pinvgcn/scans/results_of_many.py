"""From answers tile by tile to copies file by file, through files that one rank each writes.

A tile's answers are one file, written by whoever has the tile; whoever has a scan gathers what tiles say of
its points. Nobody writes into a file of another, which file systems between hosts would not stand.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pinvgcn.errors import ScanFileError
from pinvgcn.features.tiles import share_out
from pinvgcn.io.atomic import atomic_file, remove_leftovers
from pinvgcn.jobs import Progress, WorkFolder
from pinvgcn.scans.files import Files
from pinvgcn.scans.output import Copy, Outcomes
from pinvgcn.scans.totals import Totals


def keep_answers(work: WorkFolder, tile: int, index: np.ndarray, outcomes: Outcomes) -> None:
    """What is said of the points of a tile, in the order of the cloud."""
    arrays = {name: array for name, array in vars(outcomes).items() if array is not None}
    with atomic_file(work.path(f"answer-{tile}"), error=ScanFileError) as path, path.open("wb") as file:
        np.savez(file, index=index, **arrays)


def kept_answers(work: WorkFolder, tile: int) -> Outcomes:
    """What was kept."""
    with np.load(work.path(f"answer-{tile}")) as kept:
        return Outcomes(**{name: kept[name] for name in kept.files if name != "index"})


def tiles_of_files(work: WorkFolder, tiles: int, files: Files) -> dict[int, list[int]]:
    """The tiles in which points of each file are, the same on all ranks."""
    pairs = [np.empty((0, 2), dtype=np.int64)]
    for tile in share_out([1] * tiles, work.group.size)[work.group.rank]:
        with np.load(work.path(f"answer-{tile}")) as kept:
            at = np.unique(np.searchsorted(files.starts, kept["index"], side="right") - 1)
        pairs.append(np.column_stack([at, np.full(len(at), tile)]))
    where: dict[int, list[int]] = {file: [] for file in range(len(files.paths))}
    for file, tile in work.group.rows(np.concatenate(pairs)).tolist():
        where[file].append(tile)
    return where


def write_copies(
    work: WorkFolder,
    files: Files,
    where: dict[int, list[int]],
    copy_of: Callable[[int], Copy],
    classes: int,
    tell: Progress,
) -> Totals:
    """The copies of own files, but for those that were written before; totals over all files."""
    numbers = np.zeros(2 * classes + 5)
    total, before = sum(files.counts[at] for at in files.mine), 0
    for file in files.mine:
        name, copy = f"written-{file}", copy_of(file)
        if work.has(name) and copy.writer.out.exists():
            said = work.noted(name)
        else:
            remove_leftovers(copy.writer.out)
            outcomes = _outcomes(work, files, file, where[file])
            copy.write(outcomes, _part_of(tell, before, total))
            said = Totals.of(outcomes, classes).as_dict()
            work.note(name, said)
        before += files.counts[file]
        numbers += [
            *said["counts"], *said["sizes"], said["sure"], said["predicted"], said["outside"], said["alone"]
        ]  # fmt: skip
    counts, sizes, (sure, *others) = np.split(work.group.sum(numbers), [classes, 2 * classes + 1])
    return Totals(counts.astype(np.int64), sizes.astype(np.int64), float(sure), *map(int, others))


def _outcomes(work: WorkFolder, files: Files, file: int, tiles: list[int]) -> Outcomes:
    start, end = files.starts[file], files.starts[file + 1]
    outcomes: Outcomes | None = None
    for tile in tiles:
        with np.load(work.path(f"answer-{tile}")) as kept:
            index = kept["index"]
            rows = slice(*np.searchsorted(index, [start, end]))
            names = [name for name in kept.files if name != "index"]
            if outcomes is None:
                outcomes = _empty(files.counts[file], names)
            for name in names:
                getattr(outcomes, name)[index[rows] - start] = kept[name][rows]
    return _empty(files.counts[file], []) if outcomes is None else outcomes


def _empty(count: int, names: list[str]) -> Outcomes:
    return Outcomes.empty(count, None, sets="sets" in names, second="second" in names)


def _part_of(tell: Progress, before: int, all_points: int) -> Progress:
    def told(stage: str, done: int = 0, total: int = 0) -> None:
        tell(stage, before + done, all_points)

    return told
