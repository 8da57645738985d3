"""What is drawn in space: the scan, what is chosen, marks, the clipping box, a scale bar; and the camera."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvgcn.app.cloud import Clip, Shown
from pinvgcn.app.picking import Camera

FOV = np.pi / 3
FILLED = 0.92  # of the screen, by the whole scan
BESIDE_PANEL = 4 / 3  # width / height; a new tab has not told yet that the panel takes some of its width
CHOSEN, PROPOSED, CONTRADICTED = (255, 255, 0), (255, 0, 255), (255, 40, 40)
BACKGROUNDS = {"dark": (24, 26, 30), "light": (250, 250, 250)}
INK = {"dark": (230, 230, 230), "light": (30, 30, 30)}
VIEWS = {
    "perspective": (-0.5, -0.8, 0.55),
    "top": (0.0, -1e-3, 1.0),
    "front": (0.0, -1.0, 0.05),
    "side": (-1.0, 0.0, 0.05),
}


class Canvas:
    """The scene of a viser server."""

    def __init__(self, server: Any, low: np.ndarray, high: np.ndarray) -> None:
        self._server, self._scene = server, server.scene
        server.gui.main_panel.dock_right()  # beside the scan, not over it
        self._low, self._high = low, high  # corners of the scan, about its middle
        self.extent = float(np.linalg.norm(high - low)) or 1.0
        self.size = self.extent / 600  # of a point
        self._look = "dark"
        self._cloud: Any = None
        self._marks: dict[str, tuple[Any, np.ndarray, float]] = {}
        self.set_look("dark")

    def show(self, shown: Shown) -> None:
        """Other points."""
        grey = np.full((len(shown), 3), 150, dtype=np.uint8)
        self._cloud = self._points("/scan", shown.points, grey, self.size, "circle")
        self._draw_box(shown.clip)

    def paint(self, colours: np.ndarray) -> None:
        """The same points in other colours: (m, 3)"""
        self._cloud.colors = colours

    def resize(self, size: float) -> None:
        """Of points."""
        self.size = size
        self._cloud.point_size = size
        for handle, _, factor in self._marks.values():
            handle.point_size = factor * size

    def choose(self, places: np.ndarray) -> None:
        """Show what Enter would take: (k, 3)"""
        self._mark("/chosen", places, CHOSEN, 1.5, "circle")

    def propose(self, places: np.ndarray) -> None:
        """Mark where a label would help: (k, 3)"""
        self._mark("/proposals", places, PROPOSED, 4, "diamond")

    def contradict(self, places: np.ndarray) -> None:
        """Mark labels that the others contradict: (k, 3)"""
        self._mark("/contradicted", places, CONTRADICTED, 5, "sparkle")

    def outline(self, client: Any, camera: Camera, corners: np.ndarray | None) -> None:
        """Draw a polygon that is being set, in front of everything; None takes it away."""
        if corners is None:
            client.scene.remove_by_name("/outline")
            return
        there = camera.unproject(corners, self.extent / 200)
        lines = np.stack([there, np.roll(there, -1, axis=0)], axis=1)
        client.scene.add_line_segments(
            "/outline", lines.astype(np.float32), CHOSEN, thickness=3.0, thickness_units="screen"
        )

    def set_look(self, look: str) -> None:
        """Dark or light."""
        self._look = look
        self._server.gui.configure_theme(
            show_logo=False, show_share_button=False, control_width="medium", dark_mode=look == "dark"
        )
        self._scene.set_background_image(np.full((2, 2, 3), BACKGROUNDS[look], dtype=np.uint8), format="png")
        self._draw_scale()

    def look(self, client: Any, view: str) -> None:
        """From one of four sides, at the whole scan."""
        with client.atomic():
            client.camera.fov = FOV
            client.camera.up_direction = (0.0, 0.0, 1.0)
            client.camera.position = standing(view, self._low, self._high, client.camera.aspect)
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

    def _mark(self, name: str, places: np.ndarray, colour: Any, factor: float, shape: str) -> None:
        old = self._marks.pop(name, None)
        if old is not None:
            if np.array_equal(old[1], places):
                self._marks[name] = old
                return
            old[0].remove()
        if len(places):
            handle = self._points(name, places, colour, factor * self.size, shape)
            self._marks[name] = (handle, places, factor)

    def _points(self, name: str, points: np.ndarray, colours: Any, size: float, shape: Any) -> Any:
        return self._scene.add_point_cloud(
            name,
            points.astype(np.float32),
            colours,
            point_size=size,
            point_shape=shape,
            point_shading="flat",
            precision="float32",
        )

    def _draw_box(self, clip: Clip | None) -> None:
        if clip is None:
            self._scene.remove_by_name("/box")
            return
        corners = _corners(np.array(clip.low), np.array(clip.high))
        edges = [(a, b) for a in range(8) for b in range(a) if (a ^ b) in (1, 2, 4)]
        lines = np.array([[corners[a], corners[b]] for a, b in edges], dtype=np.float32)
        self._scene.add_line_segments("/box", lines, CHOSEN, thickness=1.5, thickness_units="screen")

    def _draw_scale(self) -> None:
        """A bar of a round number of metres along the lower front edge of the scan."""
        length = round_length(0.25 * float((self._high - self._low)[:2].max()))
        start = np.array([self._low[0], self._low[1] - 0.02 * self.extent, self._low[2]])
        end, tick = start + np.array([length, 0, 0]), np.array([0, 0, 0.01 * self.extent])
        lines = np.array([[start, end], [start, start + tick], [end, end + tick]], dtype=np.float32)
        ink = INK[self._look]
        self._scene.add_line_segments("/scale", lines, ink, thickness=3.0, thickness_units="screen")
        self._scene.add_label("/scale/text", f"{length:g} m", position=(start + end) / 2, anchor="top-center")


def standing(view: str, low: np.ndarray, high: np.ndarray, aspect: float) -> np.ndarray:
    """The nearest place on a side from which a box about the origin is seen whole: (3,)"""
    back = np.array(VIEWS[view]) / np.linalg.norm(VIEWS[view])
    aspect = min(aspect, BESIDE_PANEL)
    seen = Camera.looking(back, np.zeros(3), np.array([0.0, 0.0, 1.0]), fov=FOV, aspect=aspect)
    local = _corners(low, high) @ seen.rotation
    half = FILLED * np.tan(FOV / 2) * np.array([aspect, 1.0])
    distance: float = (np.abs(local[:, :2]) / half - local[:, 2:]).max()
    return max(distance, 1e-3) * back


def _corners(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Of a box; those that differ in one bit of their number share an edge: (8, 3)"""
    return np.array([np.where(bits, high, low) for bits in np.ndindex(2, 2, 2)])


def round_length(most: float) -> float:
    """The largest of 1, 2, 5, 10, 20, … (or 0.5, 0.2, …) that is not above ``most``."""
    power = 10.0 ** np.floor(np.log10(max(most, 1e-9)))
    return float(max(step * power for step in (1, 2, 5) if step * power <= most * (1 + 1e-9)))
