"""The words of the panel: status, legend, help."""

from __future__ import annotations

from html import escape

from matplotlib import colormaps

from pinvgcn.app.cloud import Shown
from pinvgcn.app.colours import SCALE, ColourScale, counts
from pinvgcn.app.session import View
from pinvgcn.report.page import render

KEYS = (
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


def help_text() -> str:
    """Markdown: what the keys do."""
    rows = [f"| **{key}** | {what} |" for key, what in KEYS]
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
    if place is None or place >= len(view.places):
        return f"{len(view.places)} doubtful places, the most doubtful first."
    here = view.places[place]
    names = {category.number: category.name for category in view.classes}
    return (
        f"Place {place + 1} of {len(view.places)}: {len(here.points):,} points, "
        f"{escape(names.get(here.number, '?'))} at {here.sureness:.0%}"
    )


def listed(view: View) -> str:
    """HTML: all places to review."""
    names = {category.number: category.name for category in view.classes}
    return render("doubtful_places.html", places=view.places, names=names)


def legend(scale: ColourScale | None) -> str:
    """HTML: what a scale of colours stands for; the buttons of the classes are the legend of theirs."""
    if scale is None:
        return ""
    stops = [_hex(colormaps[SCALE](at / 8)[:3]) for at in range(9)]
    unit = f" {scale.unit}" if scale.unit else ""
    return render("colour_scale.html", stops=stops, low=scale.low, high=scale.high, unit=unit)


def per_class(view: View) -> dict[int, str]:
    """How many labels and, once there is an answer, how many points each class has."""
    given = counts(view.numbers, view.classes)
    if view.refined is None and view.answer is None:
        return {number: f"{count:,}" for number, count in given.items()}
    told = view.refined.numbers if view.refined is not None else view.answer.numbers  # type: ignore[union-attr]
    points = counts(told, view.classes)
    return {number: f"{count:,} → {points[number]:,}" for number, count in given.items()}


def _hex(colour: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{int(255 * part):02x}" for part in colour)
