"""One person, or several tabs of one, at work on a scan: labels in, colours out.

Nothing here knows of a browser. Actions are carried out at once and kept in the journal; a thread of its own
then computes what they mean for all points, and tells the listeners. When actions come faster than answers,
the answers in between are left out. When no action has come for a while, the full model is fitted.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pinvgcn.app.cloud import Cloud
from pinvgcn.app.journal import Journal
from pinvgcn.app.known import KnownClasses
from pinvgcn.app.labels import NONE, Action, Category
from pinvgcn.app.live import FEW, Base, Live, LiveAnswer, ReviewPlace
from pinvgcn.app.preparation import prepare
from pinvgcn.app.refining import FitQuestion, Refined, Refiner
from pinvgcn.errors import LabelError
from pinvgcn.io import ScanSource

REST = 2.0  # seconds without an action, after which the full model is fitted
REVIEWED = 50  # places


@dataclass(frozen=True)
class View:
    """What there is to see; a new one whenever something changes."""

    labelled: np.ndarray  # (t,) points of the scan
    numbers: np.ndarray  # (t,) their classes
    classes: tuple[Category, ...]
    can_undo: bool
    can_redo: bool
    step: str = "Reading the scan"  # what is being prepared, "" when all is ready
    share: float = 0.0  # of the preparation that is done
    answer: LiveAnswer | None = None  # the live one
    refined: Refined | None = None  # that of the full model to the same labels
    refining: bool = False  # whether it is being fitted
    waits: bool = False  # whether the live answer to the labels of now is still to come
    places: tuple[ReviewPlace, ...] = ()  # to review, the most doubtful first
    right: float | None = None  # share of points that agree with the reference
    trouble: str = ""  # what went wrong in the background

    @property
    def names(self) -> dict[int, str]:
        """Of the classes, by their numbers."""
        return {category.number: category.name for category in self.classes}


Listener = Callable[[View], None]


class Session:
    """The state of the page. ``reference`` are true classes to compare with, ``base`` gives the answer of a
    model to begin with. ``rest`` None: the full model is fitted when it is asked for."""

    def __init__(
        self,
        cloud: Cloud,
        journal: Journal,
        source: ScanSource,
        *,
        reference: KnownClasses | None = None,
        base: Callable[[Path], Base] | None = None,
        rest: float | None = REST,
    ) -> None:
        self.cloud, self.reference = cloud, reference
        self._journal, self._make_base, self._rest = journal, base, rest
        self._lock = threading.Lock()
        self._listeners: list[Listener] = []
        self._wake, self._changed = threading.Event(), threading.Condition()
        self._ended = False
        self._live: Live | None = None
        self._asked: FitQuestion | None = None  # what the full model is fitted to
        self._folder = journal.path.with_name(f".{journal.path.name}.refined")
        self._refiner = Refiner(source, cloud.points, self._folder, self._refined)
        self.view = self._with_labels(View(np.empty(0, int), np.empty(0, int), (), False, False))
        self._thread = threading.Thread(target=self._answer_always, name="answers", daemon=True)

    def start(self) -> None:
        """Begin to prepare, in the background."""
        self._thread.start()

    def end(self) -> None:
        """No more answers; the journal is closed."""
        self._ended = True
        self._wake.set()
        self._refiner.close()
        if self._thread.is_alive():
            self._thread.join()
        self._journal.close()

    def listen(self, listener: Listener) -> None:
        """Have every new view."""
        self._listeners.append(listener)

    def label(self, points: np.ndarray, number: int) -> None:
        """Give points of the scan a class, or take their labels with NONE."""
        if number == NONE:
            self.do({"do": "erase", "points": points.tolist()})
        else:
            self.do({"do": "label", "points": points.tolist(), "class": number})

    def take_over(self, known: KnownClasses, *, each: int | None = None) -> None:
        """Label points by classes that are known of them: all, or ``each`` so many of every class."""
        self.do(known.as_labels(self._journal.book, self.cloud.turn, each=each))

    def do(self, action: Action) -> None:
        """Carry out an action and keep it."""
        with self._lock:
            before = self.view
            self._journal.do(action)
            self.view = view = self._with_labels(before)
            changed = (
                view.names != before.names
                or not np.array_equal(view.labelled, before.labelled)
                or not np.array_equal(view.numbers, before.numbers)
            )  # else it is a colour
            if changed:
                waits = view.answer is not None and self._thread.is_alive()  # else no answer is on its way
                self.view = replace(view, refined=None, refining=False, places=(), waits=waits)
                self._asked = None
        if changed:
            self._refiner.end()
            self._wake.set()
        self._tell()

    def piece(self, point: int, size: int) -> np.ndarray:
        """Points of the sample in the connected piece of like points around a point of the scan: rows."""
        if self._live is None:
            raise LabelError("Regions are not ready yet. Wait until the preparation is done.")
        row = int(self.cloud.rows(np.array([point]))[0])
        answer = self.view.answer
        return self._live.regions.around(row, size, None if answer is None else answer.numbers)

    def above_ground(self) -> np.ndarray | None:
        """Metres over the ground of each point of the sample, when they are known."""
        return None if self._live is None else self._live.above_ground

    def refined(self) -> Refined:
        """The answer of the full model to the labels of now, waited for."""
        if len({*self.view.numbers.tolist()}) < FEW:
            raise LabelError("There must be labels of two classes. Label some points first.")
        if self.view.refined is None and not self.view.refining:
            self._refine()
        with self._changed:
            self._changed.wait_for(lambda: not self.view.refining or self._ended)
        if self.view.refined is None:
            raise LabelError(self.view.trouble or "The labels have changed meanwhile. Try again.")
        return self.view.refined

    def _with_labels(self, view: View) -> View:
        book = self._journal.book
        points = book.labelled
        return replace(
            view,
            labelled=points,
            numbers=book.of_point[points],
            classes=tuple(book.classes),
            can_undo=book.can_undo,
            can_redo=book.can_redo,
        )

    def _tell(self) -> None:
        with self._changed:
            self._changed.notify_all()
        for listener in list(self._listeners):
            listener(self.view)

    def _change(self, **changes: object) -> None:
        with self._lock:
            self.view = replace(self.view, **changes)  # type: ignore[arg-type]
        self._tell()

    def _answer_always(self) -> None:
        try:
            prepared = prepare(self.cloud, self._prepared)
            self._live = Live(self.cloud, prepared)
            if self._make_base is not None:
                self._change(step="Asking the model", share=0.9)
                self._live.base = self._make_base(self._folder)
            self._change(step="", share=1.0)
            self._wake.set()
            rests = True  # until labels change there is nothing to refine
            while not self._ended:
                woken = self._wake.wait(None if rests else self._rest)
                if self._ended:
                    break
                if woken:
                    self._wake.clear()
                    answered = self._answer()
                    rests = self._rest is None or not answered
                else:
                    rests = True
                    self._refine()
        except InterruptedError:
            pass
        except Exception as error:  # shown on the page: a thread that dies silently leaves people waiting
            if self._ended:  # Ctrl-C ends the model that is being asked, too
                return
            traceback.print_exc()
            self._change(trouble=f"{type(error).__name__}: {error}", step="", waits=False)

    def _prepared(self, what: str, share: float) -> None:
        if self._ended:
            raise InterruptedError
        self._change(step=what, share=share)

    def _answer(self) -> bool:
        """The live answer; whether there is something to refine."""
        assert self._live is not None
        started, view = time.perf_counter(), self.view
        answer = self._live.answer(view.labelled, view.numbers, view.classes)
        if answer is None:
            self._change(answer=None, right=None, waits=False)
            return False
        answer = replace(answer, seconds=time.perf_counter() - started)
        true = self.reference
        right = None if true is None else true.agreement(view.names, answer.numbers, self.cloud.sample)
        self._change(answer=answer, right=right, waits=self._wake.is_set())
        if not self._wake.is_set():  # somebody who clicks on has no use for proposals yet
            self._change(places=self._live.places(answer, REVIEWED, self._wake.is_set))
        return len({*view.numbers.tolist()}) >= FEW

    def _refine(self) -> None:
        with self._lock:
            view = self.view
            question = FitQuestion(view.labelled, view.numbers, view.classes)
            if self._live is not None and view.answer is not None:
                question = self._live.with_base(question, view.answer)
            self._asked, self.view = question, replace(view, refining=True, trouble="")
        self._refiner.ask(question)
        self._tell()

    def _refined(self, question: FitQuestion, refined: Refined | None, trouble: str) -> None:
        true = self.reference
        right = None if refined is None or true is None else true.agreement(self.view.names, refined.numbers)
        with self._lock:
            if question is not self._asked or self._ended:
                return
            if refined is None:
                trouble = f"The full fit did not work. {trouble}"
                self.view = replace(self.view, refining=False, trouble=trouble)
            else:
                self.view = replace(self.view, refining=False, refined=refined, right=right)
        self._tell()
