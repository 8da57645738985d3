"""From a scan file to a page: everything that ``pinvgcn label`` puts together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pinvgcn.app.cloud import BUDGET, SAMPLE, Cloud
from pinvgcn.app.exports import LAS, classify, write_labels
from pinvgcn.app.journal import Journal
from pinvgcn.app.known import KnownClasses, name_of
from pinvgcn.app.labels import NONE
from pinvgcn.app.live import Base
from pinvgcn.app.page import Page
from pinvgcn.app.refining import predicted
from pinvgcn.app.session import REST, Session
from pinvgcn.io import ScanSource, open_scan
from pinvgcn.wording import counted

ENDING = ".pinvgcn-labels.jsonl"
CLASSES = ("ground", "vegetation", "building", "pole", "wire")


@dataclass(frozen=True)
class Request:
    """What to open, and where."""

    scan: Path
    classes: Sequence[str] | None = None  # to begin with
    reference: str | None = None  # a field with true classes, to compare with
    known: str | None = None  # a field with classes, to show and to take over
    model: Path | None = None  # that colours the scan before the first click
    session: Path | None = None
    host: str = "127.0.0.1"
    port: int = 0
    most: int = SAMPLE
    budget: int = BUDGET
    rest: float | None = REST


@dataclass(frozen=True)
class Running:
    """A page that is up."""

    page: Page
    session: Session
    said: list[str]

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return self.page.address


@contextmanager
def serve(request: Request) -> Iterator[Running]:
    """Read the scan and its session, and have the page up for as long as the context lasts."""
    source = open_scan(request.scan)
    fields = [name for name in (request.reference, request.known) if name is not None]
    wanted = tuple(source.known_field(name) for name in fields)
    cloud = Cloud.of(request.scan, fields=wanted, most=request.most)
    path = request.session or request.scan.with_name(request.scan.name + ENDING)
    there = path.exists()
    with ExitStack() as ends:
        journal = Journal(path, scan=request.scan.name, count=len(cloud), digest=cloud.digest)
        ends.callback(journal.close)
        book, given = journal.book, request.classes
        if given is None:
            given = () if book.classes or request.model is not None else CLASSES
        _add(journal, given)
        said = [f"Every action is kept in {path}."]
        if there:
            said = [f"Continuing with {counted(len(book.labelled), 'label')} of {path}."]
        if journal.dropped:
            said.append("Its last action had not been written to the end, and was left out.")
        if len(cloud) > request.budget:
            said.append(f"{request.budget:,} of {len(cloud):,} points are drawn; exports have all.")
        reference, known = (_classes_of(cloud, source, name) for name in (request.reference, request.known))
        base = None if request.model is None else _base(request.model, source, journal)
        session = Session(cloud, journal, source, reference=reference, base=base, rest=request.rest)
        ends.callback(session.end)
        page = Page(
            session,
            title=request.scan.name,
            host=request.host,
            port=request.port,
            exports={
                "Labels as CSV": lambda: f"Written: {write_labels(source, session)}",
                "Classify the whole scan": lambda: classify(source, session),
            },
            known=known or reference,
            budget=request.budget,
        )
        ends.callback(page.close)
        session.start()
        yield Running(page, session, said)


def _add(journal: Journal, names: Sequence[str]) -> None:
    """Classes to begin with, which no undo takes away."""
    book = journal.book
    actions, _ = book.adding(names)
    if actions:
        journal.do({"do": "together" if book.can_undo or book.can_redo else "begin", "actions": actions})


def _classes_of(cloud: Cloud, source: ScanSource, field: str | None) -> KnownClasses | None:
    if field is None:
        return None
    return KnownClasses.of(cloud.fields[field], asprs=source.format in LAS and field == "classification")


def _base(model: Path, source: ScanSource, journal: Journal) -> Callable[[Path], Base]:
    """Asks the model when it is called, in a folder; its classes are on the page from the start."""
    from pinvgcn.scans.job import scan_model

    asprs = source.format in LAS
    names = [name_of(value, asprs=asprs) for value in scan_model(model).classes_.tolist()]
    _add(journal, [name for name in names if name])
    numbers = {category.name: category.number for category in journal.book.classes}

    def ask(folder: Path) -> Base:
        classes, codes, confidence = predicted(model, source, folder)
        own = [numbers.get(name_of(value, asprs=asprs), NONE) for value in classes]
        return Base(np.array([*own, NONE], dtype=np.int16)[codes], confidence)

    return ask
