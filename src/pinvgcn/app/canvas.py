"""What is drawn in space: the scan, what is chosen, marks, the clipping box, a scale bar; and the camera."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvgcn.app.cloud import Clip, Shown
from pinvgcn.app.picking import Camera

FOV = np.pi / 3
FILLED = 0.92  # of the screen, by the whole scan
BESIDE_PANEL = 4 / 3  # width / height; a new tab has not told yet that the panel takes some of its width
YELLOW = (255, 255, 0)
# of points: their colour, their size beside that of the scan's, their shape
MARKS = {
    "/chosen": (YELLOW, 1.5, "circle"),
    "/proposals": ((255, 0, 255), 4, "diamond"),
    "/contradicted": ((255, 40, 40), 5, "sparkle"),
}
BACKGROUNDS = {"dark": (24, 26, 30), "light": (250, 250, 250)}
INK = {"dark": (230, 230, 230), "light": (30, 30, 30)}
VIEWS = {
    "3D": (-0.5, -0.8, 0.55),
    "top": (0.0, -1e-3, 1.0),
    "front": (0.0, -1.0, 0.05),
    "side": (-1.0, 0.0, 0.05),
}


class Canvas:
    """The scene of a viser server, of a scan that reaches ``half`` (3,) to each side of its middle."""

    def __init__(self, server: Any, half: np.ndarray) -> None:
        self._server, self._scene, self._half = server, server.scene, half
        server.gui.main_panel.dock_right()  # beside the scan, not over it
        self.extent = 2 * float(np.linalg.norm(half)) or 1.0
        self.size = self.extent / 600  # of a point
        nowhere = np.zeros((1, 3))
        self._marks = {
            name: self._points(name, nowhere, colour, factor * self.size, shape, visible=False)
            for name, (colour, factor, shape) in MARKS.items()
        }
        self._cloud: Any = None
        self.set_look("dark")

    def show(self, shown: Shown) -> None:
        """Other points."""
        grey = np.full((len(shown), 3), 150, dtype=np.uint8)
        self._cloud = self._points("/scan", shown.points, grey, self.size, "circle")
        self._draw_box(shown.clip)

    def paint(self, colours: np.ndarray) -> None:
        """The same points in other colours: (m, 3)"""
        self._cloud.colors = colours

    def resize(self, factor: float) -> None:
        """Of points, beside what is usual."""
        self.size = factor * self.extent / 600
        self._cloud.point_size = self.size
        for name, handle in self._marks.items():
            handle.point_size = MARKS[name][1] * self.size

    def mark(self, name: str, places: np.ndarray) -> None:
        """Put marks of a kind at these places and at no others: (k, 3)"""
        handle = self._marks[name]
        handle.visible = len(places) > 0
        if handle.visible:
            handle.points = places.astype(np.float32)

    def outline(self, client: Any, camera: Camera, corners: np.ndarray | None) -> None:
        """Draw a polygon that is being set, in front of everything; None takes it away."""
        if corners is None:
            client.scene.remove_by_name("/outline")
            return
        there = camera.unproject(corners, self.extent / 200)
        lines = np.stack([there, np.roll(there, -1, axis=0)], axis=1)
        client.scene.add_line_segments(
            "/outline", lines.astype(np.float32), YELLOW, thickness=3.0, thickness_units="screen"
        )

    def set_look(self, look: str) -> None:
        """Dark or light."""
        self._server.gui.configure_theme(
            show_logo=False, show_share_button=False, control_width="medium", dark_mode=look == "dark"
        )
        self._scene.set_background_image(np.full((2, 2, 3), BACKGROUNDS[look], dtype=np.uint8), format="png")
        self._draw_scale(INK[look])

    def look(self, client: Any, view: str) -> None:
        """From one of four sides, at the whole scan."""
        with client.atomic():
            client.camera.fov = FOV
            client.camera.up_direction = (0.0, 0.0, 1.0)
            client.camera.position = standing(view, self._half, client.camera.aspect)
            client.camera.look_at = np.zeros(3)
            client.camera.far = 20 * self.extent
            client.camera.near = self.extent / 5000

    def fly(self, client: Any, target: np.ndarray, distance: float) -> None:
        """To a place, from the side on which the person is."""
        away = np.asarray(client.camera.position) - target
        flat = np.array([away[0], away[1], 0.0])
        flat = flat / np.linalg.norm(flat) if np.linalg.norm(flat) > 1e-9 else np.array([1.0, 0.0, 0.0])
        with client.atomic():
            client.camera.position = target + distance * (0.8 * flat + np.array([0, 0, 0.6]))
            client.camera.look_at = target

    def _points(
        self, name: str, points: np.ndarray, colours: Any, size: float, shape: Any, **more: Any
    ) -> Any:
        return self._scene.add_point_cloud(
            name,
            points.astype(np.float32),
            colours,
            point_size=size,
            point_shape=shape,
            point_shading="flat",
            precision="float32",
            **more,
        )

    def _draw_box(self, clip: Clip | None) -> None:
        """What a box holds of the room of the scan."""
        if clip is None:
            self._scene.remove_by_name("/box")
            return
        corners = _corners(np.maximum(clip.low, -self._half), np.minimum(clip.high, self._half))
        edges = [(a, b) for a in range(8) for b in range(a) if (a ^ b) in (1, 2, 4)]
        lines = np.array([[corners[a], corners[b]] for a, b in edges], dtype=np.float32)
        self._scene.add_line_segments("/box", lines, YELLOW, thickness=1.5, thickness_units="screen")

    def _draw_scale(self, ink: tuple[int, int, int]) -> None:
        """A bar of a round number of metres along the lower front edge of the scan."""
        length = round_length(0.5 * float(self._half[:2].max()))
        start = -self._half - np.array([0, 0.02 * self.extent, 0])
        end, tick = start + np.array([length, 0, 0]), np.array([0, 0, 0.01 * self.extent])
        lines = np.array([[start, end], [start, start + tick], [end, end + tick]], dtype=np.float32)
        self._scene.add_line_segments("/scale", lines, ink, thickness=3.0, thickness_units="screen")
        self._scene.add_label("/scale/text", f"{length:g} m", position=(start + end) / 2, anchor="top-center")


def standing(view: str, half: np.ndarray, aspect: float) -> np.ndarray:
    """The nearest place on a side from which a box about the origin is seen whole: (3,)"""
    back = np.array(VIEWS[view]) / np.linalg.norm(VIEWS[view])
    aspect = min(aspect, BESIDE_PANEL)
    seen = Camera.looking(back, np.zeros(3), np.array([0.0, 0.0, 1.0]), fov=FOV, aspect=aspect)
    local = _corners(-half, half) @ seen.rotation
    reach = FILLED * np.tan(FOV / 2) * np.array([aspect, 1.0])
    distance: float = (np.abs(local[:, :2]) / reach - local[:, 2:]).max()
    return max(distance, 1e-3) * back


def _corners(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Of a box; those that differ in one bit of their number share an edge: (8, 3)"""
    return np.array([np.where(bits, high, low) for bits in np.ndindex(2, 2, 2)])


def round_length(most: float) -> float:
    """The largest of 1, 2, 5, 10, 20, … (or 0.5, 0.2, …) that is not above ``most``."""
    power = 10.0 ** np.floor(np.log10(max(most, 1e-9)))
    return float(max(step * power for step in (1, 2, 5) if step * power <= most * (1 + 1e-9)))
