"""The panel beside the scan: buttons, sliders and words, for a session and the hands at work on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex

from pinvgcn.app.canvas import BACKGROUNDS, VIEWS
from pinvgcn.app.cloud import Clip, Shown
from pinvgcn.app.colours import SCALE, ColourScale, counts, modes
from pinvgcn.app.hands import Hands
from pinvgcn.app.known import KnownClasses
from pinvgcn.app.labels import named
from pinvgcn.app.messages import choice, number, numbers
from pinvgcn.app.session import View
from pinvgcn.report.page import render
from pinvgcn.wording import counted

KEYS = "123456789"
TOOL_KEYS = {"point": "C", "ball": "B", "region": "G", "polygon": "L"}
TOOLS = {tool: f"{tool} ({key})" for tool, key in TOOL_KEYS.items()}
STEPS = 1000  # of a slider
SMALL, LARGE = 0.2, 5.0  # of the usual size of points
EACH = 100  # points of each class that are taken over as a sample
Guard = Callable[[Callable[[], None]], None]  # runs something, and says on the page what cannot be done

HELP = (
    ("click", "use the tool: label a point, a ball, a region, or set a corner"),
    ("Shift + drag", "label what lies in a rectangle"),
    ("C · B · G · L", "tools: point, ball, region, polygon"),
    ("+ · −", "a larger or smaller ball or region"),
    ("Enter · Esc", "take what is shown, or close the polygon · forget it"),
    ("T", "rectangle and polygon: only what is seen, or through the scan"),
    ("1 … 9 · E", "choose a class · erase"),
    ("Z · Y", "undo · redo"),
    ("N · P", "go to the next, the previous doubtful place"),
    ("A", "accept the answer there as a label"),
    ("X", "a clipping box around what was chosen last; again: the whole scan"),
    ("drag · right drag · wheel", "turn · move · zoom"),
)


class SidePanel:
    """``guard`` runs what a button asks for."""

    def __init__(
        self,
        gui: Any,
        hands: Hands,
        guard: Guard,
        *,
        known: KnownClasses | None,
        exports: Mapping[str, Callable[[], None]],
    ) -> None:
        self._gui, self._hands, self._guard = gui, hands, guard
        self._known, self._exports = known, exports
        self._session = hands.session
        self._clip_shown: Clip | None = None  # by the sliders
        self._classes: tuple[Any, ...] = ()  # what the buttons were made for
        self._choices: list[Any] = []  # the buttons of the classes
        self._helps: dict[int, Any] = {}  # windows with keys, by the tab
        self._modes = modes(hands.session.cloud, known=known is not None)
        self.mode = "prediction"
        self._status = gui.add_markdown("")
        self._bar = gui.add_progress_bar(0.0)
        self._legend = gui.add_html("")
        self._build_classes()
        self._build_tools()
        self._build_review()
        self._build_view()
        self._build_clip()
        self._build_files()

    def show(self, view: View) -> None:
        """What has changed."""
        hands = self._hands
        numbers_now = [category.number for category in view.classes]
        if hands.chosen not in numbers_now:
            hands.chosen = numbers_now[0] if numbers_now else None
        self._show_classes(view)
        self._undo.disabled, self._redo.disabled = not view.can_undo, not view.can_redo
        self._next.disabled = self._accept.disabled = not view.places
        self._bar.visible, self._bar.value = bool(view.step), 100 * view.share
        self._status.content = status(view, hands.shown, len(self._session.cloud))
        self._place.content = reviewed(view, hands.place)
        self._list.content = listed(view)
        size = hands.tools[hands.tool].size
        self._size.content, self._size.visible = f"{size} (+ and −)", bool(size)
        self._tool.value, self._through.value = TOOLS[hands.tool], hands.through
        if hands.wanted != self._clip_shown:  # it was set by a key
            self._clip_shown = clip = hands.wanted
            half = self._session.cloud.half
            corners = [-half, half] if clip is None else [clip.low, clip.high]
            low, high = (np.clip(np.array(corners), -half, half) + half).tolist()
            for slider, ends in zip(self._sliders, zip(low, high, strict=True), strict=True):
                slider.value = ends

    def explain(self, scale: ColourScale | None) -> None:
        """The legend of the colours of now."""
        self._legend.content = legend(scale)

    def _button(self, text: str, what: Callable[..., None], *, here: bool = False, **more: Any) -> Any:
        """``here``: it is done in the tab of whoever presses it, which ``what`` is told."""
        button = self._gui.add_button(text, **more)
        button.on_click(lambda event: self._guard(partial(what, event.client) if here else what))
        return button

    def _watch(self, handle: Any, what: Callable[[Any], None]) -> None:
        """``what`` has every value that a person gives; those that the page sets itself have no client."""

        def updated(event: Any) -> None:
            if event.client is not None:
                self._guard(lambda: what(handle.value))

        handle.on_update(updated)

    def _build_classes(self) -> None:
        gui, hands = self._gui, self._hands
        with gui.add_folder("Classes: labels → points"):
            self._buttons_at = gui.add_folder(None)
            self._erase = self._button("Erase  (E)", hands.erase, color="gray")
            with gui.add_folder("Change", expand_by_default=False):
                self._name = gui.add_text("Name", "")
                self._colour = gui.add_rgb("Colour", (0, 0, 0))
                self._button("Add a class with this name", lambda: hands.add_class(self._name.value))
                self._button("Rename the chosen class", self._rename)
                self._button("Delete the chosen class", self._delete, color="red")
        self._watch(self._colour, self._recolour)

    def _build_tools(self) -> None:
        gui, hands = self._gui, self._hands
        with gui.add_folder("Tools"):
            self._tool = gui.add_dropdown("Tool", tuple(TOOLS.values()), initial_value=TOOLS[hands.tool])
            self._size = gui.add_markdown("", visible=False)
            self._through = gui.add_checkbox(
                "Through  (T)", False, hint="Rectangle and polygon take what is hidden, too"
            )
            self._undo = self._button("Undo  (Z)", partial(self._session.do, {"do": "undo"}))
            self._redo = self._button("Redo  (Y)", partial(self._session.do, {"do": "redo"}))
        names = {text: tool for tool, text in TOOLS.items()}
        self._watch(self._tool, lambda value: hands.use(names[choice(value, list(names), "A tool")]))
        self._watch(self._through, lambda value: hands.see_through(value))

    def _build_review(self) -> None:
        gui, hands = self._gui, self._hands
        with gui.add_folder("Review", expand_by_default=False):
            self._place = gui.add_markdown("")
            self._next = self._button("Next place  (N, back: P)", partial(hands.walk, step=1), here=True)
            self._accept = self._button("Accept the answer  (A)", hands.accept)
            self._list = gui.add_html("")

    def _build_view(self) -> None:
        gui, canvas = self._gui, self._hands.canvas
        with gui.add_folder("View", expand_by_default=False):
            mode = gui.add_dropdown("Colour by", self._modes, initial_value=self.mode)
            points = gui.add_slider("Point size", SMALL, LARGE, 0.1, 1.0)
            look = gui.add_dropdown("Look", list(BACKGROUNDS), initial_value="dark")
            views = gui.add_button_group("Camera", tuple(VIEWS))
        self._watch(mode, self._colour_by)
        self._watch(points, lambda value: canvas.resize(number(value, "A size", low=SMALL, high=LARGE)))
        self._watch(look, lambda value: canvas.set_look(choice(value, list(BACKGROUNDS), "A look")))
        views.on_click(
            lambda event: self._guard(
                lambda: canvas.look(event.client, choice(event.target.value, list(VIEWS), "A view"))
            )
        )

    def _build_clip(self) -> None:
        gui, hands = self._gui, self._hands
        with gui.add_folder("Clip", expand_by_default=False):
            self._sliders = []
            for name, half in zip(("x, m", "y, m", "height, m"), self._session.cloud.half, strict=True):
                span = float(f"{max(2 * half, 1e-6):.4g}")  # four digits have room below the slider
                slider = gui.add_multi_slider(name, 0.0, span, span / STEPS, (0.0, span))
                self._watch(slider, lambda _: self._clip())
                self._sliders.append(slider)
            self._button("The box around what was chosen  (X)", hands.clip_around, here=True)
            self._button("The whole scan", lambda: hands.clip(None))

    def _build_files(self) -> None:
        gui, known = self._gui, self._known
        if known is not None:
            with gui.add_folder("Classes of the file", expand_by_default=False):
                gui.add_markdown(f"{len(known.names)} classes; View → Colour by shows them.")
                self._button("Take over all as labels", lambda: self._session.take_over(known))
                self._button(
                    f"Take over {EACH} of each class", lambda: self._session.take_over(known, each=EACH)
                )
        if self._exports:
            with gui.add_folder("Export", expand_by_default=False):
                for text, export in self._exports.items():
                    self._button(text, export)
        self._button("Help  (?)", self.help, here=True)

    def help(self, client: Any) -> None:
        """All keys, in a window of this tab; the window goes when it is there."""
        if self.close_help(client):
            return
        self._helps[client.client_id] = modal = client.gui.add_modal("Keys")
        with modal:
            client.gui.add_markdown(help_text())
            close = client.gui.add_button("Close  (Esc)")
        close.on_click(lambda _: self.close_help(client))

    def close_help(self, client: Any) -> bool:
        """Whether there was a window to close."""
        modal = self._helps.pop(client.client_id, None)
        if modal is not None:
            modal.close()
        return modal is not None

    def _show_classes(self, view: View) -> None:
        hands, made_of = self._hands, (view.classes, self._hands.chosen, self._hands.erasing)
        if made_of != self._classes:
            self._classes = made_of
            for child in list(self._buttons_at._children.values()):
                child.remove()
            with self._buttons_at:
                self._choices = [
                    self._button(category.name, partial(hands.choose, category.number), color=category.colour)
                    for category in view.classes
                ]
            for category in view.classes:
                if category.number == hands.chosen:
                    self._name.value, self._colour.value = category.name, category.colour
        told = per_class(view)
        for place, (category, button) in enumerate(zip(view.classes, self._choices, strict=True)):
            mark = "▶ " if category.number == hands.chosen and not hands.erasing else ""
            key = f"  ({KEYS[place]})" if place < len(KEYS) else ""
            button.label = f"{mark}{category.name}{key}  {told[category.number]}"
        self._erase.label = "▶ Erase  (E)" if hands.erasing else "Erase  (E)"

    def _rename(self) -> None:
        self._session.do({"do": "rename class", "class": self._hands.existing(), "name": self._name.value})

    def _delete(self) -> None:
        self._session.do({"do": "delete class", "class": self._hands.existing()})

    def _recolour(self, value: Any) -> None:
        own = self._hands.existing()
        colour = [int(part) for part in numbers(value, 3, "A colour", low=0, high=255)]
        if list(named(self._session.view.classes, own).colour) != colour:
            self._session.do({"do": "recolour class", "class": own, "colour": colour})

    def _colour_by(self, value: Any) -> None:
        self.mode = choice(value, self._modes, "What points are coloured by")
        self._hands.changed()

    def _clip(self) -> None:
        half = self._session.cloud.half[:, None]
        ends = np.stack([np.sort(numbers(slider.value, 2, "The ends of a box")) for slider in self._sliders])
        open_ends = np.abs(ends - half * [0, 2]) <= 2 * half / STEPS + 1e-6  # to the step
        low, high = np.where(open_ends, [-np.inf, np.inf], ends - half).T
        self._clip_shown = None if open_ends.all() else Clip.of(low, high)
        self._hands.clip(self._clip_shown)


def help_text() -> str:
    """Markdown: what the keys do."""
    rows = [f"| **{key}** | {what} |" for key, what in HELP]
    return "\n".join(["| key | what it does |", "|---|---|", *rows])


def status(view: View, shown: Shown, total: int) -> str:
    """Markdown: where things stand."""
    lines = [f"**{view.step} …**"] if view.step else []
    if view.trouble:
        lines.append(f"**Something went wrong:** {escape(view.trouble)}")
    lines.append(f"{len(view.labelled):,} of {total:,} points labelled")
    if len(shown) < shown.of or shown.clip is not None:
        lines.append(f"{len(shown):,} of {shown.of:,} points {'in the box' if shown.clip else ''} drawn")
    if view.refined is not None:
        lines.append(f"**Refined**: the full model, in {view.refined.seconds:.0f} s")
        if view.refined.estimate is not None:
            lines.append(view.refined.estimate.sentence())
    elif view.answer is not None and not len(view.labelled):
        lines.append("**The model's answer**; labels correct it")
    elif view.answer is not None:
        waits = "; the full model is being fitted" if view.refining else ""
        lines.append(f"**Live** answer in {1000 * view.answer.seconds:.0f} ms{waits}")
    elif not view.step:
        lines.append("Label points of two classes, and the scan takes their colours.")
    if view.answer is not None and view.answer.held_out is not None:
        lines.append(f"**{view.answer.held_out:.0%}** of the labels can be told from the others")
    if view.answer is not None and view.answer.contradicted is not None and len(view.answer.contradicted):
        lines.append(f"{len(view.answer.contradicted):,} labels contradict the others (red stars)")
    if view.right is not None:
        lines.append(f"**{view.right:.1%}** of all points agree with the reference")
    return "  \n".join(lines)


def reviewed(view: View, place: int | None) -> str:
    """Markdown: the place that is looked at, of those that there are."""
    if not view.places:
        return "Nothing to review yet."
    if place is None:
        return f"{len(view.places)} doubtful places, the most doubtful first."
    here = view.places[place]
    told = f"{escape(view.names.get(here.number, '?'))} at {here.sureness:.0%}"
    return f"Place {place + 1} of {len(view.places)}: {counted(len(here.points), 'point')}, {told}"


def listed(view: View) -> str:
    """HTML: all places to review."""
    return render("doubtful_places.html", places=view.places, names=view.names)


def legend(scale: ColourScale | None) -> str:
    """HTML: what a scale of colours stands for; the buttons of the classes are the legend of theirs."""
    if scale is None:
        return ""
    stops = [to_hex(colormaps[SCALE](at / 8)) for at in range(9)]
    unit = f" {scale.unit}" if scale.unit else ""
    return render("colour_scale.html", stops=stops, low=scale.low, high=scale.high, unit=unit)


def per_class(view: View) -> dict[int, str]:
    """How many labels and, once there is an answer, how many points each class has."""
    given = counts(view.numbers, view.classes)
    told = view.refined or view.answer
    if told is None:
        return {number: f"{count:,}" for number, count in given.items()}
    points = counts(told.numbers, view.classes)
    return {number: f"{count:,} → {points[number]:,}" for number, count in given.items()}
