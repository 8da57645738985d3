"""Driving through a street and measuring it.

Two laser heads on the roof turn in slanted planes that cross each other, one looking forward to the
left and one to the right, so that each sees some of what is in the other's shadow. Everything a
mobile scan is known for follows from casting their beams: scan lines, density that falls with the
distance, shadows behind trees and parked cars, nothing behind façades. Beams that end on something
that is in none of the five classes leave a gap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pinvgcn.datasets.street.scene import Scene
from pinvgcn.datasets.street.shapes import LENGTH, NOTHING, WIDTH, Array, Shape, dot

HEIGHT = 2.2  # of the scanner above the road
RUN_UP = 12.0  # metres driven before and after the street, whose ends are then seen from both sides
YAW, TILT = np.radians(38.0), np.radians(35.0)  # of the planes in which the heads turn
BLIND = np.radians(24.0)  # beams this close to straight down end on the vehicle itself
NOISE = 0.02  # standard deviation of the range, in metres
RANGE = 45.0
MIXED = 0.08  # share of beams at an edge that return a point between the near and the far surface
TURNS_PER_BEAM = 3.0  # turns of the drive for each beam of a turn: about equal spacing in both directions
FEWEST_BEAMS = 100_000  # with fewer, a scan would miss whole poles
BEAMS_AT_ONCE = 500_000  # bounds the memory


class Profiles:
    """Some turns of the heads: ``origins`` (p, 3) and unit ``directions`` (p, a, 3) of their beams.

    Each turn is a plane, spanned by unit vectors ``right`` and ``up`` (p, 3), and begins at the angle
    ``phase`` (p,) from ``right``.
    """

    def __init__(self, origins: Array, right: Array, up: Array, phase: Array, beams: int) -> None:
        self.origins, self.right, self.up, self.phase, self.beams = origins, right, up, phase, beams
        self.normal = np.cross(right, up)
        self.offset = dot(self.normal, origins)
        self.step = 2 * np.pi / beams
        angle = (phase[:, None] + self.step * np.arange(beams))[..., None]
        self.directions = np.cos(angle) * right[:, None] + np.sin(angle) * up[:, None]

    def towards(self, shape: Shape) -> tuple[Array, Array]:
        """The beams that may meet a shape: turns (s,) and the beams of each (s, b).

        Without this every shape would be tried with every beam, instead of a few in a thousand.
        """
        centre, half_size = (shape.low + shape.high) / 2, (shape.high - shape.low) / 2
        off_plane = self.normal @ centre - self.offset
        turns = np.flatnonzero(np.abs(off_plane) <= np.abs(self.normal) @ half_size)
        away = centre - self.origins[turns]
        a, b = dot(away, self.right[turns]), dot(away, self.up[turns])
        reach = np.sqrt(np.maximum(half_size @ half_size - off_plane[turns] ** 2, 0))
        half_angle = np.arcsin(np.minimum(reach / np.maximum(np.hypot(a, b), 1e-9), 1))
        half_angle[reach >= np.hypot(a, b)] = np.pi
        first = np.floor((np.arctan2(b, a) - half_angle - self.phase[turns]) / self.step).astype(np.int64)
        count = min(self.beams, int(2 * half_angle.max(initial=0) / self.step) + 3)
        return turns, (first[:, None] + np.arange(count)) % self.beams


def scan(scene: Scene, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Exactly ``n`` points (n, 3) of the street and their classes (n,), in the order of measurement.

    Points beyond ``n`` are dropped at random, as dark and wet surfaces do with echoes.
    """
    beams, pace = FEWEST_BEAMS, rng.uniform(0, 2 * np.pi)
    while True:  # a first scan that is too sparse tells how many beams are needed
        points, labels = _drive(scene, beams, pace, rng.spawn(1)[0])
        if len(points) >= n:
            break
        beams = int(1.05 * beams * n / len(points))
    kept = np.sort(rng.choice(len(points), n, replace=False))
    return points[kept], labels[kept]


def _drive(scene: Scene, beams: int, pace: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """One drive through the street with about ``beams`` beams; ``pace`` says where it is slow."""
    per_turn = round(np.sqrt(beams / TURNS_PER_BEAM))
    turns = beams // per_turn
    passed = np.arange(turns) / turns
    # the vehicle slows down and speeds up again, so the turns are not equally far apart
    passed += 0.4 / (4 * np.pi) * np.sin(4 * np.pi * passed + pace)
    x = (LENGTH + 2 * RUN_UP) * passed - RUN_UP
    y = -1.7 + 0.3 * np.sin(x / 9)
    origins = np.column_stack([x, y, scene.ground.height(x, y) + HEIGHT])
    yaw = np.where(np.arange(turns) % 2, YAW, -YAW)
    level = np.zeros(turns)
    right = np.column_stack([np.sin(yaw), np.cos(yaw), level])
    forward = np.column_stack([np.cos(yaw), -np.sin(yaw), level])
    up = np.sin(TILT) * forward + [0, 0, np.cos(TILT)]
    phase = rng.uniform(0, 2 * np.pi, turns)
    at_once = max(1, BEAMS_AT_ONCE // per_turn)
    parts = []
    for first in range(0, turns, at_once):
        some = slice(first, first + at_once)
        profiles = Profiles(origins[some], right[some], up[some], phase[some], per_turn)
        parts.append(_measure(scene, profiles, rng))
    return np.concatenate([points for points, _ in parts]), np.concatenate([labels for _, labels in parts])


def _measure(scene: Scene, profiles: Profiles, rng: np.random.Generator) -> tuple[Array, Array]:
    """The points and classes that some turns return, with the errors of a real scanner."""
    distance, label = _cast(scene.shapes, profiles, rng)
    _mix_edges(distance, label, rng)
    seen = profiles.directions @ profiles.up[:, :, None] > -np.cos(BLIND)
    turn, beam = np.nonzero((label != NOTHING) & (distance < RANGE) & seen[..., 0])
    measured = distance[turn, beam]
    measured += NOISE * (1 + measured / 40) * rng.standard_normal(len(measured))
    points = profiles.origins[turn] + measured[:, None] * profiles.directions[turn, beam]
    inside = (points[:, 0] >= 0) & (points[:, 0] <= LENGTH) & (np.abs(points[:, 1]) <= WIDTH / 2)
    return points[inside].round(3), label[turn, beam][inside]


def _cast(shapes: Sequence[Shape], profiles: Profiles, rng: np.random.Generator) -> tuple[Array, Array]:
    """Distance and class (p, a) of the first thing that each beam meets."""
    distance = np.full((len(profiles.origins), profiles.beams), np.inf)
    label = np.full(distance.shape, NOTHING, dtype=np.int64)
    for shape in shapes:
        turns, beams = profiles.towards(shape)
        if len(turns) == 0:
            continue
        directions = profiles.directions[turns[:, None], beams].reshape(-1, 3)
        origins = np.repeat(profiles.origins[turns], beams.shape[1], axis=0)
        met = shape.distance(origins, directions, rng).reshape(beams.shape)
        i, j = np.nonzero(met < distance[turns[:, None], beams])
        distance[turns[i], beams[i, j]] = met[i, j]
        label[turns[i], beams[i, j]] = shape.label
    return distance, label


def _mix_edges(distance: Array, label: Array, rng: np.random.Generator) -> None:
    """A beam split by an edge returns a point between both surfaces, taken for the near one."""
    following = np.roll(distance, -1, axis=1)
    with np.errstate(invalid="ignore"):
        jump = np.abs(following - distance)
    i, j = np.nonzero((jump > 0.3) & (jump < 4) & (rng.random(distance.shape) < MIXED))
    near = np.where(following[i, j] < distance[i, j], (j + 1) % distance.shape[1], j)
    mixed = distance[i, j] + rng.random(len(i)) * (following[i, j] - distance[i, j])
    label[i, j], distance[i, j] = label[i, near], mixed
