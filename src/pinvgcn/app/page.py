"""The page: a session drawn by viser, and the hands of the person before it.

Everything is shared by all tabs: they show the same labels, colours and panel. What reaches in from a browser
are clicks, rectangles, names and colours; no path, and no file name.
"""

from __future__ import annotations

import contextlib
import io
import operator
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from pinvgcn.app.colours import by_class, by_own_colour, by_value, paled
from pinvgcn.app.gate import Gate
from pinvgcn.app.labels import NONE, Category, free_colour
from pinvgcn.app.picking import Camera, pick, visible_in
from pinvgcn.app.session import Session, View
from pinvgcn.errors import LabelError, MissingDependencyError, PinvGCNError

FOV = np.pi / 3
PROPOSED = (255, 0, 255)
BACKGROUNDS = {"dark": (24, 26, 30), "grey": (110, 112, 116), "white": (255, 255, 255)}
KEYS = "123456789"
HELP = "  \n".join(
    (
        "**Click** a point to label it · **Shift + drag** a rectangle to label what is seen in it",
        "**1–9** choose a class · **E** erase · **Z** undo · **Y** redo · **N** go to the next proposal",
        "Drag to turn, right drag to move, wheel to zoom.",
    )
)
Export = Callable[[], str]  # writes something beside the scan, and says where


class Page:
    """A session in the browser, at ``address``. ``exports`` are buttons: their text, and what they do."""

    def __init__(
        self,
        session: Session,
        *,
        title: str,
        host: str = "127.0.0.1",
        port: int = 0,
        exports: dict[str, Export] | None = None,
    ) -> None:
        try:
            import viser
        except ImportError:
            raise MissingDependencyError(
                "pinvgcn label needs viser, which is not installed. Try: pip install 'pinvgcn[label]'"
            ) from None
        self.session = session
        self.cloud = session.cloud
        self.points = self.cloud.shown  # (m, 3)
        self.extent = float(np.linalg.norm(np.ptp(self.points, axis=0))) or 1.0
        self.chosen: int | None = None  # the class that a click gives
        self.erasing = False
        self._shown: tuple[Category, ...] | None = None
        self._drawing = threading.Lock()
        self._exporting_now = threading.Lock()
        self._painted: tuple[Any, ...] = ()  # what the colours were made of
        self._exports = exports or {}
        # never reached but through the gate
        with contextlib.redirect_stdout(io.StringIO()):  # it would print an address past the gate
            self._server = viser.ViserServer(host="127.0.0.1", port=0, label=title, verbose=False)
        self._gate = Gate(self._server.get_port(), host=host, port=port)
        self._build()
        session.listen(self._show)
        self._show(session.view)

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return self._gate.address

    def close(self) -> None:
        """Take the page off."""
        self._gate.close()
        self._server.stop()

    # what there is on the page

    def _build(self) -> None:
        server = self._server
        gui: Any = server.gui  # whose handles have properties that mypy takes for read-only
        gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium", dark_mode=True)
        self._status = gui.add_markdown("")
        self._bar = gui.add_progress_bar(0.0)
        with gui.add_folder("Classes"):
            self._buttons_at = gui.add_folder(None)
            self._erase = gui.add_button("Erase  (E)", color="gray")
            self._name = gui.add_text("Name", "")
            self._colour = gui.add_rgb("Colour", (0, 0, 0))
            self._add = gui.add_button("Add a class with this name")
            self._rename = gui.add_button("Rename the chosen class")
            self._delete = gui.add_button("Delete the chosen class", color="red")
        with gui.add_folder("Labels"):
            self._undo = gui.add_button("Undo  (Z)")
            self._redo = gui.add_button("Redo  (Y)")
            self._next = gui.add_button("Go to the next proposal  (N)")
        with gui.add_folder("View", expand_by_default=False):
            self._mode = gui.add_dropdown("Colour by", self._modes(), initial_value="prediction")
            size = self.extent / 600
            self._size = gui.add_slider("Point size", size / 5, 5 * size, size / 50, size)
            self._back = gui.add_dropdown("Background", list(BACKGROUNDS), initial_value="dark")
            self._camera = gui.add_button_group("Camera", ("perspective", "top", "front", "side"))
        if self._exports:
            with gui.add_folder("Export", expand_by_default=False):
                for text, export in self._exports.items():
                    self._on(gui.add_button(text), self._exporting(text, export))
        gui.add_markdown(HELP)

        self._drawn = server.scene.add_point_cloud(
            "/scan",
            self.points,
            np.full((len(self.points), 3), 150, dtype=np.uint8),
            point_size=self._size.value,
            point_shape="circle",
            point_shading="flat",
            precision="float32",
        )
        self._marks: Any = None
        self._marked: np.ndarray | None = None
        self._paint_background()

        self._on(self._erase, self._choose_erasing)
        self._on(self._add, self._add_class)
        self._on(self._rename, self._rename_class)
        self._on(self._delete, self._delete_class)
        self._on(self._undo, lambda: session_do(self.session, "undo"))
        self._on(self._redo, lambda: session_do(self.session, "redo"))
        self._next.on_click(lambda event: self._fly_to_proposal(event.client))
        self._colour.on_update(lambda event: self._guarded(self._recolour) if event.client else None)
        self._mode.on_update(lambda _: self._paint(self.session.view))
        self._back.on_update(lambda _: self._paint_background())
        self._camera.on_click(lambda event: self._look(event.client, event.target.value))
        self._size.on_update(lambda _: self._resize())
        server.scene.on_click()(self._clicked)
        server.scene.on_rect_select(modifier="shift")(self._dragged)
        for key, what in (
            ("E", self._choose_erasing),
            ("Z", lambda: session_do(self.session, "undo")),
            ("Y", lambda: session_do(self.session, "redo")),
        ):
            self._command(key, what)
        self._command_with_client("N", self._fly_to_proposal)
        for place, key in enumerate(KEYS):
            self._command(key, partial(self._choose_place, place))
        server.on_client_connect(lambda client: self._look(client, "perspective"))

    def _modes(self) -> list[str]:
        names = {name.lower() for name in self.cloud.fields}
        modes = ["prediction", "confidence", "labels", "height"]
        if "intensity" in names:
            modes.append("intensity")
        if {"red", "green", "blue"} <= names:
            modes.append("own colour")
        return modes

    # from the person

    def _on(self, button: Any, what: Callable[[], None]) -> None:
        button.on_click(lambda _: self._guarded(what))

    def _command(self, key: str, what: Callable[[], None]) -> None:
        command = self._server.gui.add_command(f"Key {key}", hotkey=key)  # type: ignore[arg-type]
        command.on_trigger(lambda _: self._guarded(what))

    def _command_with_client(self, key: str, what: Callable[[Any], None]) -> None:
        command = self._server.gui.add_command(f"Key {key}", hotkey=key)  # type: ignore[arg-type]
        command.on_trigger(lambda event: what(event.client))

    def _guarded(self, what: Callable[[], None]) -> None:
        """What cannot be done is said on the page, and nothing else happens."""
        with self._saying():
            what()

    @contextlib.contextmanager
    def _saying(self) -> Iterator[None]:
        try:
            yield
        except (PinvGCNError, OSError) as error:
            for client in self._server.get_clients().values():
                client.add_notification("That did not work", str(error), color="red", auto_close_seconds=8.0)

    def _clicked(self, event: Any) -> None:
        with self._saying():
            radius = 0.5 * self._size.value
            point = pick(self.points, event.ray_origin, event.ray_direction, radius=radius)
            if point is not None:
                self.session.label(np.array([point]), self._number())

    def _dragged(self, event: Any) -> None:
        with self._saying():
            seen = event.client.camera
            camera = Camera(
                np.asarray(seen.position), _rotation(np.asarray(seen.wxyz)), seen.fov, seen.aspect
            )
            points = visible_in(
                self.points, camera, event.screen_min, event.screen_max, radius=0.5 * self._size.value
            )
            if len(points):
                self.session.label(points, self._number())

    def _number(self) -> int:
        if self.erasing:
            return NONE
        if self.chosen is None:
            raise LabelError("There must be a class to give. Add one, or choose one, first.")
        return self.chosen

    def _choose(self, number: int) -> None:
        self.chosen, self.erasing = number, False
        category = next(c for c in self.session.view.classes if c.number == number)
        self._name.value, self._colour.value = category.name, category.colour
        self._rebuild_classes(self.session.view)

    def _choose_place(self, place: int) -> None:
        classes = self.session.view.classes
        if place < len(classes):
            self._choose(classes[place].number)

    def _choose_erasing(self) -> None:
        self.erasing = True
        self._rebuild_classes(self.session.view)

    def _add_class(self) -> None:
        classes = self.session.view.classes
        taken = {category.name for category in classes}
        name = self._name.value
        if name in taken or not name.strip():
            name = next(f"class {i}" for i in range(1, 10_000) if f"class {i}" not in taken)
        self.session.do({"do": "add class", "name": name, "colour": list(free_colour(classes, name))})
        self._choose(self.session.view.classes[-1].number)

    def _rename_class(self) -> None:
        self.session.do({"do": "rename class", "class": self._existing(), "name": self._name.value})

    def _recolour(self) -> None:
        number = self._existing()
        colour = [int(c) for c in self._colour.value]
        category = next(c for c in self.session.view.classes if c.number == number)
        if list(category.colour) != colour:
            self.session.do({"do": "recolour class", "class": number, "colour": colour})

    def _delete_class(self) -> None:
        self.session.do({"do": "delete class", "class": self._existing()})

    def _existing(self) -> int:
        if self.chosen is None:
            raise LabelError("There must be a class that is chosen. Choose one first.")
        return self.chosen

    def _fly_to_proposal(self, client: Any) -> None:
        proposed = self.session.view.proposed
        if client is None or proposed is None or len(proposed) == 0:
            return
        target = self.points[proposed[0]].astype(np.float64)
        distance = self.extent / 12
        away = np.asarray(client.camera.position) - target
        flat = np.array([away[0], away[1], 0.0])
        flat = flat / np.linalg.norm(flat) if np.linalg.norm(flat) > 1e-9 else np.array([1.0, 0.0, 0.0])
        with client.atomic():
            client.camera.position = target + distance * (0.8 * flat + np.array([0, 0, 0.6]))
            client.camera.look_at = target

    def _look(self, client: Any, preset: str) -> None:
        if client is None:
            return
        directions = {
            "perspective": (-0.5, -0.8, 0.55),
            "top": (0.0, -1e-3, 1.0),
            "front": (0.0, -1.0, 0.05),
            "side": (-1.0, 0.0, 0.05),
        }
        middle = np.zeros(3)
        with client.atomic():
            client.camera.fov = FOV
            client.camera.up_direction = (0.0, 0.0, 1.0)
            client.camera.position = middle + 0.75 * self.extent * np.array(directions[preset])
            client.camera.look_at = middle
            client.camera.far = 20 * self.extent
            client.camera.near = self.extent / 5000

    def _exporting(self, text: str, export: Export) -> Callable[[], None]:
        def run() -> None:
            if not self._exporting_now.acquire(blocking=False):
                raise LabelError("An export is still running. Wait until it is done.")
            try:
                said = export()
            finally:
                self._exporting_now.release()
            for client in self._server.get_clients().values():
                client.add_notification(text, said, color="green", auto_close_seconds=12.0)

        return run

    # to the person

    def _show(self, view: View) -> None:
        with self._drawing:
            if view.classes != self._shown:
                self._shown = view.classes
                numbers = [category.number for category in view.classes]
                if self.chosen not in numbers:
                    self.chosen = numbers[0] if numbers else None
                self._rebuild_classes(view)
            self._undo.disabled, self._redo.disabled = not view.can_undo, not view.can_redo
            self._next.disabled = view.proposed is None
            self._bar.visible, self._bar.value = bool(view.step), 100 * view.share
            self._status.content = _said(view)
            self._paint(view)
            self._mark(view)
            self._server.flush()

    def _rebuild_classes(self, view: View) -> None:
        gui: Any = self._server.gui
        for child in list(self._buttons_at._children.values()):
            child.remove()
        with self._buttons_at:
            for place, category in enumerate(view.classes):
                mark = "▶ " if category.number == self.chosen and not self.erasing else ""
                key = f"  ({KEYS[place]})" if place < len(KEYS) else ""
                button = gui.add_button(f"{mark}{category.name}{key}", color=category.colour)
                self._on(button, partial(self._choose, category.number))
        self._erase.label = "▶ Erase  (E)" if self.erasing else "Erase  (E)"

    def _paint(self, view: View) -> None:
        mode = self._mode.value
        made_of = (mode, view.labels, view.classes, view.predicted, view.sureness)
        if len(made_of) == len(self._painted) and all(map(operator.is_, made_of, self._painted)):
            return  # nothing to send
        self._painted = made_of
        fields = {name.lower(): values for name, values in self.cloud.fields.items()}
        labelled = view.labels != NONE
        own = by_class(view.labels, view.classes)
        if mode == "labels" or (mode in ("prediction", "confidence") and view.predicted is None):
            colours = own if labelled.any() else by_value(self.points[:, 2])
        elif mode == "height":
            colours = by_value(self.points[:, 2])
        elif mode == "intensity":
            colours = by_value(fields["intensity"][self.cloud.drawn].astype(np.float64))
        elif mode == "own colour":
            colours = by_own_colour(*(fields[name][self.cloud.drawn] for name in ("red", "green", "blue")))
        else:
            assert view.predicted is not None
            assert view.sureness is not None
            if mode == "confidence":
                colours = by_value(view.sureness)
            else:
                predicted = by_class(view.predicted, view.classes)
                colours = paled(predicted, view.sureness, len(view.classes))
                colours[labelled] = own[labelled]
        self._drawn.colors = colours

    def _mark(self, view: View) -> None:
        """The proposals, large; and the labels, larger than other points."""
        if view.proposed is self._marked:
            return
        self._marked = view.proposed
        places = np.empty(0, dtype=np.int64) if view.proposed is None else view.proposed
        if self._marks is not None:
            self._marks.remove()
            self._marks = None
        if len(places):
            self._marks = self._server.scene.add_point_cloud(
                "/proposals",
                self.points[places],
                PROPOSED,
                point_size=4 * self._size.value,
                point_shape="diamond",
                point_shading="flat",
                precision="float32",
            )

    def _resize(self) -> None:
        self._drawn.point_size = self._size.value
        if self._marks is not None:
            self._marks.point_size = 4 * self._size.value

    def _paint_background(self) -> None:
        colour = BACKGROUNDS[self._back.value]
        self._server.scene.set_background_image(np.full((2, 2, 3), colour, dtype=np.uint8), format="png")


def session_do(session: Session, what: str) -> None:
    """Undo or redo."""
    session.do({"do": what})


def _said(view: View) -> str:
    if view.trouble:
        return f"**Something went wrong:** {view.trouble}"
    count = int((view.labels != NONE).sum())
    lines = [f"**{view.step} …**"] if view.step else []
    lines.append(f"{count:,} of {len(view.labels):,} points labelled")
    if view.held_out is not None:
        lines.append(f"**{view.held_out:.0%}** of the labels can be told from the others")
    if view.right is not None:
        lines.append(f"**{view.right:.1%}** of all points agree with the reference")
    if view.predicted is not None:
        lines.append(f"answered in {1000 * view.seconds:.0f} ms")
    elif not view.step:
        lines.append("Label points of two classes, and the scan takes their colours.")
    return "  \n".join(lines)


def _rotation(wxyz: np.ndarray) -> np.ndarray:
    """The matrix of a unit quaternion."""
    w, x, y, z = wxyz / np.linalg.norm(wxyz)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
