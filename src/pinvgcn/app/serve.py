"""From a scan file to a page: everything that ``pinvgcn label`` puts together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pinvgcn.app.cloud import BUDGET, SAMPLE, Cloud
from pinvgcn.app.exports import LAS, classify, write_labels
from pinvgcn.app.journal import Journal
from pinvgcn.app.known import KnownClasses
from pinvgcn.app.labels import NONE, Category, free_colour
from pinvgcn.app.live import Base
from pinvgcn.app.page import Page
from pinvgcn.app.refining import predicted
from pinvgcn.app.session import REST, Session
from pinvgcn.io import ScanSource, open_scan
from pinvgcn.io.las import class_name
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


class Running:
    """A page that is up."""

    def __init__(self, page: Page, session: Session, said: list[str]) -> None:
        self.page, self.session, self.said = page, session, said
        self._over = threading.Event()

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return self.page.address

    def wait(self) -> None:
        """Until somebody interrupts."""
        while not self._over.wait(0.5):  # a wait without an end would not hear Ctrl-C on Windows
            pass

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.page.close()
        self.session.end()


def serve(request: Request) -> Running:
    """Read the scan and its session, and put the page up."""
    source = open_scan(request.scan)
    fields = [name for name in (request.reference, request.known) if name is not None]
    wanted = tuple(source.known_field(name) for name in fields)
    cloud = Cloud.of(request.scan, fields=wanted, most=request.most)
    path = request.session or request.scan.with_name(request.scan.name + ENDING)
    there = path.exists()
    journal = Journal(path, scan=request.scan.name, count=len(cloud), digest=cloud.digest)
    try:
        book = journal.book
        given = request.classes
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
        session = Session(
            cloud,
            journal,
            source,
            reference=reference,
            base=None if request.model is None else _base(request.model, source, journal, path.parent),
            rest=request.rest,
        )
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
    except BaseException:
        journal.close()
        raise
    session.start()
    return Running(page, session, said)


def _add(journal: Journal, names: Sequence[str]) -> None:
    """Classes to begin with, which no undo takes away."""
    book, actions = journal.book, []
    now = list(book.classes)
    for name in names:
        if name not in [category.name for category in now]:
            now.append(Category(len(now), name, free_colour(now, name)))
            actions.append({"do": "add class", "name": name, "colour": list(now[-1].colour)})
    if actions:
        journal.do({"do": "together" if book.can_undo or book.can_redo else "begin", "actions": actions})


def _classes_of(cloud: Cloud, source: ScanSource, field: str | None) -> KnownClasses | None:
    if field is None:
        return None
    return KnownClasses.of(cloud.fields[field], asprs=source.format in LAS and field == "classification")


def _base(model: Path, source: ScanSource, journal: Journal, folder: Path) -> Callable[[], Base]:
    """Asks the model when it is called; its classes are on the page from the start."""
    from pinvgcn.scans.job import scan_model

    asprs = source.format in LAS

    def name(value: object) -> str:
        return class_name(value) if asprs and isinstance(value, int) else str(value)

    names = [name(value) for value in scan_model(model).classes_.tolist()]
    _add(journal, names)
    numbers = {category.name: category.number for category in journal.book.classes}

    def ask() -> Base:
        classes, codes, confidence = predicted(model, source, folder)
        own = np.array([*(numbers[name(value)] for value in classes), NONE], dtype=np.int16)
        return Base(own[codes], confidence)

    return ask
