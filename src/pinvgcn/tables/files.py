"""The files that a command over tables reads and writes.

One file has one copy, under the name that is asked for. The copies of several files go into a folder. There
the same command finds what is done when it is started again: a copy appears when it is whole, so it is done
if it is there and the folder's note says that this command made it from this file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.errors import ParameterError
from pinvgcn.features.tiles import share_out
from pinvgcn.io.tables import ENDINGS, TableParts
from pinvgcn.jobs import Output, WorkFolder, check_outputs, input_files, work_folder
from pinvgcn.jobs.files import check_folder, stands_for_several
from pinvgcn.jobs.work_folder import stamp, work_place

NOTE = "parts.json"


@dataclass(frozen=True)
class TableFiles:
    """What is asked for; all files are found and checked on every process alike."""

    tables: tuple[Path, ...]  # files, patterns and folders
    out: Path | None = None  # of the copies, if any are wanted
    others: Mapping[str, Path | None] = field(default_factory=dict)  # what else is written, by its option
    force: bool = False
    dry_run: bool = False
    group: Group = ALONE

    @property
    def several(self) -> bool:
        return stands_for_several(self.tables, folders=True) or (self.out is not None and self.out.is_dir())

    def found(self) -> list[Path]:
        return input_files(self.tables, out=self.out, endings=ENDINGS, group=self.group)

    def of_process(self, files: Sequence[Path]) -> list[int]:
        """The places of this process's part of some files, about equally many bytes for each process."""
        # opening says what is missing
        sizes = [path.stat().st_size if path.exists() else 0 for path in files]
        return share_out(sizes, self.group.size)[self.group.rank]

    def open(self) -> TableParts:
        """All files as one table; what cannot be written is refused."""
        files = self.found()
        more = f" and {len(self.tables) - 1} more" if len(self.tables) > 1 else ""
        source = TableParts(f"{self.tables[0]}{more}", files, self.of_process(files), group=self.group)
        with together(self.group):
            outputs = [Output(option, path) for option, path in self.others.items() if path is not None]
            if self.out is not None and not self.several:
                source.check_copy(self.out, force=self.force)
                # --force may replace the table itself
                if self.out.resolve() not in {path.resolve() for path in files}:
                    outputs.insert(0, Output("-o", self.out, own=True))
            if self.group.rank == 0:
                check_outputs(outputs, inputs=files, force=self.force)
        return source

    @contextmanager
    def copies(self, files: Sequence[Path], command: str) -> Iterator[Copies]:
        """Hold the lock of ``out`` and see what the ``command``, a fingerprint, has done before.

        Nothing is removed before ``begin``: a command that is refused leaves what was there.
        """
        out, group = self.out, self.group
        if out is None:
            yield Copies(tuple(files), {})
            return
        with together(group):
            if self.several and group.rank == 0:
                check_folder(out, files, ENDINGS)
        place = work_place(out, several=self.several)
        with work_folder(place, command, force=self.force, group=group, dry_run=self.dry_run) as work:
            if not self.several:
                yield Copies(tuple(files), {files[0].name: out})
                return
            with together(group):
                done = _done(out, files, work, self.force) if group.rank == 0 else []
            names = frozenset(group.values(done)[0])
            yield Copies(tuple(files), {path.name: out / path.name for path in files}, names, command, work)


@dataclass(frozen=True)
class Copies:
    """Of each file the path of its copy, by the file's name; of none where no copy is asked for."""

    files: tuple[Path, ...]
    paths: dict[str, Path]
    done: frozenset[str] = frozenset()  # names of the files whose copies are there
    command: str = ""  # its fingerprint
    work: WorkFolder | None = None  # of a folder of copies

    @property
    def left(self) -> dict[str, Path]:
        return {name: path for name, path in self.paths.items() if name not in self.done}

    @property
    def complete(self) -> bool:
        return bool(self.paths) and not self.left

    def begin(self) -> None:
        """Remove the copies of other commands: they would count as done if this one were interrupted."""
        if self.work is None:
            return
        self.work.begin(self.command)
        with together(self.work.group):
            if self.work.group.rank == 0:
                for path in self.left.values():
                    path.unlink(missing_ok=True)
                stamps = {path.name: stamp(path) for path in self.files}
                self.work.note(NOTE, (self.work.noted(NOTE) or {}) | stamps)

    def as_dict(self) -> dict[str, int]:
        return {"parts": len(self.files), "parts_done_before": len(self.done)}


def _done(folder: Path, files: Sequence[Path], work: WorkFolder, force: bool) -> list[str]:
    """The names of the files whose copies are done; copies that this command has not made are refused."""
    before: dict[str, Any] = (work.noted(NOTE) or {}) if work.resumed else {}
    there = {path.name: stamp(path) for path in files if (folder / path.name).exists()}
    done = [name for name, state in there.items() if before.get(name) == state]
    others = sorted(there.keys() - set(done))
    if others and not force:
        raise ParameterError(
            f"{folder / others[0]} is already there, from another command or another file. Choose another "
            "folder, or pass --force to start over."
        )
    return done
