"""The page: a session drawn by viser, and the hands of the person before it.

Everything is shared by all tabs: they show the same labels, colours and panel. What reaches in from a browser
are clicks, outlines, names, colours and numbers, each of them checked; no path, and no file name.
"""

from __future__ import annotations

import contextlib
import io
import operator
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pinvgcn.app.canvas import Canvas
from pinvgcn.app.cloud import BUDGET
from pinvgcn.app.colours import picture
from pinvgcn.app.gate import Gate
from pinvgcn.app.hands import Hands
from pinvgcn.app.known import KnownClasses
from pinvgcn.app.messages import hear_only
from pinvgcn.app.panel import KEYS, TOOL_KEYS, SidePanel
from pinvgcn.app.session import Session, View
from pinvgcn.app.tools import NOTHING
from pinvgcn.errors import LabelError, MissingDependencyError, PinvGCNError

MARKED = 5  # of the places to review, by diamonds
# + is typed with Shift on some keyboards and without on others
LARGER = ("[plus]", None), ("[plus]", "shift"), ("=", None)
Export = Callable[[], str]  # writes something beside the scan, and says where


class Page:
    """A session in the browser, at ``address``. ``exports`` are buttons: their text, and what they do;
    ``known`` are classes that the file has."""

    def __init__(
        self,
        session: Session,
        *,
        title: str,
        host: str = "127.0.0.1",
        port: int = 0,
        exports: dict[str, Export] | None = None,
        known: KnownClasses | None = None,
        budget: int = BUDGET,
    ) -> None:
        try:
            import viser
        except ImportError:
            raise MissingDependencyError(
                "pinvgcn label needs viser, which is not installed. Try: pip install viser"
            ) from None
        self.session, self._known = session, known
        self._drawing, self._exporting = threading.Lock(), threading.Lock()
        self._painted: tuple[Any, ...] = ()  # what the colours were made of
        # never reached but through the gate
        with contextlib.redirect_stdout(io.StringIO()):  # it would print an address past the gate
            self._server = viser.ViserServer(host="127.0.0.1", port=0, label=title, verbose=False)
        hear_only(self._server._websock_server, self._server.gui)
        self._gate = Gate(self._server.get_port(), host=host, port=port)
        self.canvas = Canvas(self._server, session.cloud.half)
        self.hands = Hands(session, self.canvas, budget=budget)
        self.panel = SidePanel(
            self._server.gui,
            self.hands,
            self._guarded,
            known=known,
            exports={text: partial(self._export, text, export) for text, export in (exports or {}).items()},
        )
        self._listen()
        session.listen(lambda _: self._show())
        self._show()

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return self._gate.address

    def close(self) -> None:
        """Take the page off."""
        self._gate.close()
        self._server.stop()

    def _listen(self) -> None:
        """To gestures and keys."""
        hands, scene = self.hands, self._server.scene
        hands.changed = self._show
        scene.on_click()(lambda event: self._guarded(lambda: hands.click(event)))
        scene.on_rect_select(modifier="shift")(lambda event: self._guarded(lambda: hands.drag(event)))
        self._key("E", "Erase", lambda _: hands.erase())
        self._key("Z", "Undo", lambda _: hands.session.do({"do": "undo"}))
        self._key("Y", "Redo", lambda _: hands.session.do({"do": "redo"}))
        self._key("T", "Through or only what is seen", lambda _: hands.see_through(not hands.through))
        self._key("N", "Next doubtful place", lambda client: hands.walk(client, 1))
        self._key("P", "Previous doubtful place", lambda client: hands.walk(client, -1))
        self._key("A", "Accept the answer there", lambda _: hands.accept())
        self._key("X", "Clipping box", hands.clip_around)
        self._key("enter", "Take what is shown, close the polygon", hands.enter)
        self._key("escape", "Forget what was begun", self._escape)
        for modifier in (None, "shift"):
            self._key("?", "Help", self.panel.help, modifier=modifier)
        for key, modifier in LARGER:
            self._key(key, "Larger", lambda _: hands.resize(1), modifier=modifier)
        self._key("-", "Smaller", lambda _: hands.resize(-1))
        for tool, key in TOOL_KEYS.items():
            self._key(key, f"Tool: {tool}", lambda _, tool=tool: hands.use(tool))
        for place, key in enumerate(KEYS):
            self._key(key, f"Class {place + 1}", lambda _, place=place: hands.choose_place(place))
        self._server.on_client_connect(self._welcome)

    def _welcome(self, client: Any) -> None:
        hear_only(client._websock_connection, client.gui)
        self.canvas.look(client, "3D")

    def _escape(self, client: Any) -> None:
        if not self.panel.close_help(client):
            self.hands.escape(client)

    def _key(self, key: str, label: str, what: Callable[..., None], modifier: Any = None) -> None:
        # viser's types name fewer keys than its client understands
        command = self._server.gui.add_command(label, hotkey=key, modifier=modifier)  # type: ignore[arg-type]

        def pressed(event: Any) -> None:
            if event.client is not None:
                self._guarded(lambda: what(event.client))

        command.on_trigger(pressed)

    def _guarded(self, what: Callable[[], None]) -> None:
        """What cannot be done is said on the page, and nothing else happens."""
        try:
            what()
        except (PinvGCNError, OSError) as error:
            self._say("That did not work", str(error), "red", 8.0)

    def _say(self, title: str, text: str, colour: Any, seconds: float) -> None:
        for client in self._server.get_clients().values():
            client.add_notification(title, text, color=colour, auto_close_seconds=seconds)

    def _export(self, text: str, export: Export) -> None:
        if not self._exporting.acquire(blocking=False):
            raise LabelError("An export is still running. Wait until it is done.")
        self._say(text, "Begun. A notice comes when it is done.", "blue", 5.0)
        try:
            said = export()
        finally:
            self._exporting.release()
        self._say(text, said, "green", 12.0)

    def _show(self) -> None:
        with self._drawing:
            view = self.session.view  # the newest, whoever called first
            self.panel.show(view)
            self._paint(view)
            self._mark(view)
            self._server.flush()

    def _paint(self, view: View) -> None:
        mode, shown = self.panel.mode, self.hands.shown
        ground = self.session.above_ground()
        made_of = (mode, shown, view.labelled, view.classes, view.answer, view.refined, ground)
        if len(made_of) == len(self._painted) and all(map(operator.is_, made_of, self._painted)):
            return  # nothing to send
        if view.waits and made_of[:2] == self._painted[:2]:
            return  # the colours of the answer are on their way; a browser draws so many points once
        self._painted = made_of
        found = picture(mode, view, shown, self.session.cloud, above_ground=ground, known=self._known)
        self.canvas.paint(found.colours)
        self.panel.explain(found.scale)

    def _mark(self, view: View) -> None:
        cloud = self.session.cloud
        seeds = np.array([place.seed for place in view.places[:MARKED]], dtype=np.int64)
        wrong = None if view.answer is None else view.answer.contradicted
        self.canvas.mark("/proposals", self._drawn(seeds))
        self.canvas.mark("/contradicted", self._drawn(cloud.sample[NOTHING if wrong is None else wrong]))

    def _drawn(self, points: np.ndarray) -> np.ndarray:
        """The places of points that the clipping box leaves: (k, 3)"""
        places, clip = self.session.cloud.places(points), self.hands.shown.clip
        return places if clip is None else places[clip.holds(places)]
