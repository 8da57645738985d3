"""One person, or several tabs of one, at work on a scan: labels in, colours out.

Nothing here knows of a browser. Actions are carried out at once and kept in the journal; a thread of its own
then computes what they mean for all points, and tells the listeners. When actions come faster than answers,
the answers in between are left out.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pinvgcn.app.cloud import Cloud, surroundings
from pinvgcn.app.colours import numbers_of
from pinvgcn.app.head import Head, Reply
from pinvgcn.app.journal import Journal
from pinvgcn.app.labels import NONE, Action, Category
from pinvgcn.app.proposals import proposals

FEW = 2  # classes with a label, from which on there is something to predict


@dataclass(frozen=True)
class View:
    """What there is to see; a new one whenever something changes."""

    labels: np.ndarray  # (m,) the class number of each drawn point, NONE where unlabelled
    classes: tuple[Category, ...]
    can_undo: bool
    can_redo: bool
    step: str  # what is being prepared, "" when all is ready
    share: float  # of the preparation that is done
    predicted: np.ndarray | None = None  # (m,) class numbers
    sureness: np.ndarray | None = None  # (m,)
    proposed: np.ndarray | None = None  # drawn points, the best first
    held_out: float | None = None  # share of labels that the others would have given
    right: float | None = None  # share of points that agree with the reference
    seconds: float = 0.0  # that the answer took
    trouble: str = ""  # what went wrong in the background


Listener = Callable[[View], None]


class Session:
    """The state of the page. ``reference`` (n,) names true classes, "" where unknown, to compare with."""

    def __init__(self, cloud: Cloud, journal: Journal, *, reference: np.ndarray | None = None) -> None:
        self.cloud = cloud
        self.reference = None if reference is None else reference[cloud.drawn]
        self._journal = journal
        self._lock = threading.Lock()
        self._listeners: list[Listener] = []
        self._wake = threading.Event()
        self._ended = False
        self._head: Head | None = None
        self.view = self._with_labels(View(np.empty(0), (), False, False, "Reading the scan", 0.0))
        self._thread = threading.Thread(target=self._answer_always, name="answers", daemon=True)

    def start(self) -> None:
        """Begin to prepare, in the background."""
        self._thread.start()

    def end(self) -> None:
        """No more answers; the journal is closed."""
        self._ended = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        self._journal.close()

    def listen(self, listener: Listener) -> None:
        """Have every new view."""
        self._listeners.append(listener)

    def label(self, drawn: np.ndarray, number: int) -> None:
        """Give drawn points a class, or take their labels with NONE."""
        points = self.cloud.drawn[drawn].tolist()
        if number == NONE:
            self.do({"do": "erase", "points": points})
        else:
            self.do({"do": "label", "points": points, "class": number})

    def do(self, action: Action) -> None:
        """Carry out an action and keep it."""
        with self._lock:
            self._journal.do(action)
            self.view = self._with_labels(self.view)
        self._tell()
        self._wake.set()

    def labels(self) -> tuple[np.ndarray, np.ndarray]:
        """Labelled points of the whole scan and their class numbers."""
        with self._lock:
            book = self._journal.book
            points = book.labelled
            return points, book.of_point[points].copy()

    def _with_labels(self, view: View) -> View:
        book = self._journal.book
        return replace(
            view,
            labels=book.of_point[self.cloud.drawn],
            classes=tuple(book.classes),
            can_undo=book.can_undo,
            can_redo=book.can_redo,
        )

    def _tell(self) -> None:
        for listener in list(self._listeners):
            listener(self.view)

    def _change(self, **changes: object) -> None:
        with self._lock:
            self.view = replace(self.view, **changes)  # type: ignore[arg-type]
        self._tell()

    def _answer_always(self) -> None:
        try:
            found = surroundings(self.cloud, lambda what, share: self._prepared(what, share))
            self._head = Head(found)
            self._change(step="", share=1.0)
            self._wake.set()
            while not self._ended:
                self._wake.wait()
                self._wake.clear()
                if not self._ended:
                    self._answer()
        except InterruptedError:
            pass
        except Exception as error:  # shown on the page: a thread that dies silently leaves people waiting
            traceback.print_exc()
            self._change(trouble=f"{type(error).__name__}: {error}", step="")

    def _prepared(self, what: str, share: float) -> None:
        if self._ended:
            raise InterruptedError
        self._change(step=what, share=share)

    def _answer(self) -> None:
        started = time.perf_counter()
        view = self.view
        points = np.flatnonzero(view.labels != NONE)
        present = [c for c in view.classes if (view.labels == c.number).any()]
        if len(present) < FEW:
            self._change(predicted=None, sureness=None, proposed=None, held_out=None, right=None)
            return
        assert self._head is not None
        codes = np.searchsorted([c.number for c in present], view.labels[points])
        reply = self._head.reply(points, codes, len(present))
        self._change(
            predicted=numbers_of(reply.proba.argmax(axis=1), present),
            sureness=reply.sureness,
            held_out=reply.held_out_accuracy,
            right=self._agreement(reply, present),
            seconds=time.perf_counter() - started,
        )
        if not self._wake.is_set():  # somebody who clicks on has no use for proposals yet
            self._change(proposed=proposals(self._head, reply))

    def _agreement(self, reply: Reply, present: list[Category]) -> float | None:
        if self.reference is None:
            return None
        names = np.array([c.name for c in present])[reply.proba.argmax(axis=1)]
        known = self.reference != ""
        return float((names[known] == self.reference[known]).mean()) if known.any() else None
