"""What a browser says, checked: nothing else of it goes further."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pinvgcn.app.picking import Camera
from pinvgcn.app.tools import Click
from pinvgcn.errors import LabelError

FAR = 1e9  # metres from the middle of the scan
HEARD = ("ViewerCameraMessage", "ScenePointerMessage", "CommandTriggerMessage", "GuiUpdateMessage")


def hear_only(interface: Any, gui: Any) -> None:
    """Of a browser's messages to viser only those that the page has a use for: no uploads, no forms, no
    address for the public, and of a button or slider nothing but its value."""
    change = next(kind for kind in interface._incoming_handlers if kind.__name__ == "GuiUpdateMessage")

    async def checked(client: int, message: Any) -> None:
        if list(message.updates) == ["value"]:
            await gui._handle_gui_updates(client, message)

    for kind in list(interface._incoming_handlers):
        if kind is change or kind.__name__ not in HEARD:
            interface.unregister_handler(kind)
    interface.register_handler(change, checked)


def numbers(value: Any, count: int, what: str, *, low: float = -FAR, high: float = FAR) -> np.ndarray:
    """So many finite numbers within bounds: (count,)"""
    try:
        given = np.asarray(value)
    except ValueError:  # lists of different lengths
        given = np.empty(0)
    found = given.astype(np.float64) if given.dtype.kind in "iuf" else np.empty(0)
    if found.shape != (count,) or not np.isfinite(found).all() or (found < low).any() or (found > high).any():
        raise LabelError(f"{what} must be {count} numbers from {low:g} to {high:g}. Got {value!r:.60}.")
    return found


def number(value: Any, what: str, *, low: float = -FAR, high: float = FAR) -> float:
    """One such number."""
    return float(numbers([value], 1, what, low=low, high=high)[0])


def choice(value: Any, options: Sequence[str], what: str) -> str:
    """One of some words."""
    if not isinstance(value, str) or value not in options:
        raise LabelError(f"{what} must be one of {', '.join(options)}. Got {value!r:.60}.")
    return value


def click_of(event: Any) -> Click:
    """A press of the mouse."""
    direction = numbers(event.ray_direction, 3, "A ray", low=-1e3, high=1e3)
    if not np.linalg.norm(direction) > 1e-9:
        raise LabelError("A ray must have a direction. Got none.")
    return Click(numbers(event.ray_origin, 3, "A place"), direction, screen(event.screen_pos))


def screen(value: Any) -> np.ndarray:
    """A place on the screen: (2,), where (0, 0) to (1, 1) is seen."""
    return numbers(value, 2, "A place on the screen", low=-1, high=2)


def camera_of(client: Any) -> Camera:
    """From where a person looks."""
    seen = client.camera
    try:
        turn = numbers(seen.wxyz, 4, "A rotation")
    except AssertionError:  # viser's own, before the browser has told
        raise LabelError("The page does not know yet from where you look. Try again.") from None
    if not np.linalg.norm(turn) > 1e-9:
        raise LabelError("A camera must look somewhere. Got a rotation of nothing.")
    fov = number(seen.fov, "A field of view", low=0.01, high=3.1)
    aspect = number(seen.aspect, "The sides of the screen", low=0.01, high=100)
    rotation = Rotation.from_quat(np.roll(turn, -1)).as_matrix()  # scipy has the real part last
    return Camera(numbers(seen.position, 3, "A place"), rotation, fov, aspect)
