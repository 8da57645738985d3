"""From a scan file to a page: everything that ``pinvgcn label`` puts together."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pinvgcn.app.cloud import DRAWN, Cloud
from pinvgcn.app.exports import LAS, exports_of
from pinvgcn.app.journal import Journal
from pinvgcn.app.labels import free_colour
from pinvgcn.app.page import Page
from pinvgcn.app.session import Session
from pinvgcn.io import open_scan
from pinvgcn.io.asprs import UNCLASSIFIED, class_name
from pinvgcn.wording import counted

ENDING = ".pinvgcn-labels.jsonl"
CLASSES = ("ground", "vegetation", "building", "pole", "wire")


@dataclass(frozen=True)
class Request:
    """What to open, and where."""

    scan: Path
    classes: Sequence[str] | None = None  # to begin with
    reference: str | None = None  # a field with true classes
    session: Path | None = None
    host: str = "127.0.0.1"
    port: int = 0
    most: int = DRAWN


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
    wanted = () if request.reference is None else (source.known_field(request.reference),)
    cloud = Cloud.of(request.scan, fields=wanted, most=request.most)
    path = request.session or request.scan.with_name(request.scan.name + ENDING)
    known = path.exists()
    journal = Journal(path, scan=request.scan.name, count=len(cloud.points), digest=cloud.digest)
    try:
        book = journal.book
        for name in request.classes if request.classes is not None else () if book.classes else CLASSES:
            if name not in [category.name for category in book.classes]:
                colour = list(free_colour(book.classes, name))
                journal.do({"do": "add class", "name": name, "colour": colour})
        said = [f"Every action is kept in {path}."]
        if known:
            said = [f"Continuing with {counted(len(book.labelled), 'label')} of {path}."]
        if journal.dropped:
            said.append("Its last action had not been written to the end, and was left out.")
        if len(cloud.drawn) < len(cloud.points):
            said.append(f"{len(cloud.drawn):,} of {len(cloud.points):,} points are drawn; exports have all.")
        reference = None
        if request.reference is not None:
            asprs = source.format in LAS and request.reference == "classification"
            reference = names_of(cloud.fields[request.reference], asprs=asprs)
        session = Session(cloud, journal, reference=reference)
        page = Page(
            session,
            title=request.scan.name,
            host=request.host,
            port=request.port,
            exports=exports_of(source, session),
        )
    except BaseException:
        journal.close()
        raise
    session.start()
    return Running(page, session, said)


def names_of(values: np.ndarray, *, asprs: bool = False) -> np.ndarray:
    """A field's values as names of classes, "" where there is none: (n,) text."""
    if values.dtype.kind not in "biuf":
        return values.astype(str)

    def name(value: float) -> str:
        if not np.isfinite(value) or (asprs and value in UNCLASSIFIED):
            return ""
        if asprs:
            return class_name(int(value))
        return str(int(value)) if float(value).is_integer() else str(value)

    found, place = np.unique(values, return_inverse=True)
    return np.array([name(value) for value in found.tolist()], dtype=str)[place]
