"""A scan as the page has it: all points, those that are drawn, and what the head needs of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from pinvgcn.app.head import EIGENVECTORS, Surroundings
from pinvgcn.features import local_geometry
from pinvgcn.features.normal_scores import NormalScores
from pinvgcn.graphs import GaussianGraph
from pinvgcn.io import open_scan
from pinvgcn.scans.columns import USEFUL, candidates, plain_name

DRAWN = 250_000  # points in the browser at most
NEIGHBOURS = 10
Tell = Callable[[str, float], None]  # what is being done, and the share that is done


@dataclass(frozen=True)
class Cloud:
    """The points of a scan; ``drawn`` are the numbers of those that the page shows and labels."""

    path: Path
    points: np.ndarray  # (n, 3)
    fields: dict[str, np.ndarray]  # those that the page can use, by the names that models know them by: (n,)
    metres: float
    drawn: np.ndarray  # (m,)
    digest: str  # of the coordinates

    @classmethod
    def of(cls, path: str | Path, *, fields: tuple[str, ...] = (), most: int = DRAWN) -> Cloud:
        """Read a scan file; ``fields`` are wanted beside those that are features or colours."""
        source = open_scan(path)
        useful = candidates(source, None, besides=None)
        piece = source.read(fields=list(dict.fromkeys([*useful, *fields])))
        named = {plain_name(field): piece.fields[field] for field in useful}
        named |= {field: piece.fields[field] for field in fields}
        digest = hashlib.blake2b(np.ascontiguousarray(piece.points).tobytes(), digest_size=16).hexdigest()
        drawn = thinned(piece.points, most)
        return cls(Path(path), piece.points, named, source.metres or 1.0, drawn, digest)

    @property
    def shown(self) -> np.ndarray:
        """The drawn points about their middle, in metres: (m, 3) float32."""
        places = self.points[self.drawn]
        middle = (places.min(axis=0) + places.max(axis=0)) / 2
        return ((places - middle) * self.metres).astype(np.float32)

    def features(self) -> np.ndarray:
        """What a scan has beside coordinates, of drawn points: (m, f), without what is constant."""
        columns = [self.fields[name][self.drawn].astype(np.float64) for name in self.fields if name in USEFUL]
        varied = [column for column in columns if np.isfinite(column).all() and np.ptp(column) > 0]
        return np.stack(varied, axis=1) if varied else np.empty((len(self.drawn), 0))


def thinned(points: np.ndarray, most: int) -> np.ndarray:
    """At most so many points, spread evenly over the scan: one of each group along a space-filling curve."""
    if len(points) <= most:
        return np.arange(len(points))
    low, spread = points.min(axis=0), np.ptp(points, axis=0).max()
    cells = ((points - low) / max(spread, 1e-300) * 1023).astype(np.int64)
    code = np.zeros(len(points), dtype=np.int64)
    for bit in range(10):
        for axis in range(3):
            code |= ((cells[:, axis] >> bit) & 1) << (3 * bit + axis)
    order = np.argsort(code, kind="stable")
    return np.sort(order[np.linspace(0, len(points) - 1, most).astype(np.int64)])


def surroundings(cloud: Cloud, tell: Tell = lambda what, share: None) -> Surroundings:
    """What the head needs of the drawn points; shapes are those within the whole scan."""
    everything = cloud.points * cloud.metres
    here = everything[cloud.drawn]
    tell("Looking at the shape of what surrounds each point", 0.0)
    shapes = local_geometry(here, everything)
    columns = np.hstack([shapes, cloud.features()])
    scores = NormalScores.of(columns)(columns)
    spread = scores.std(axis=0)
    varied = spread > 1e-9
    scores = (scores[:, varied] - scores[:, varied].mean(axis=0)) / spread[varied]
    tell("Computing eigenvectors", 0.8)
    spectrum = GaussianGraph(here, "auto", loops=1.0).spectrum(EIGENVECTORS)
    q = max(spectrum.rank, 1)
    waves = spectrum.vectors * np.sqrt(len(here) * spectrum.eigengap / (q * spectrum.values))
    tell("Finding neighbours", 0.95)
    places = here - here.mean(axis=0)
    places /= max(np.sqrt(places.var(axis=0).mean()), 1e-300)
    tell("Ready", 1.0)
    single = np.float32  # half the memory; labels are few, and their system is solved in double
    return Surroundings(scores.astype(single), places.astype(single), waves.astype(single), _averages(here))


def _averages(points: np.ndarray) -> sp.csr_array:
    """The mean of a point's own value and those of its nearest points, itself among them: (n, n)."""
    n, k = len(points), min(NEIGHBOURS, len(points))
    near = cKDTree(points).query(points, k)[1].reshape(n, k)
    share = np.float32(1 / (k + 1))
    entries = np.full(n * k, share, dtype=np.float32)
    near_ones = sp.csr_array((entries, near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return sp.csr_array(near_ones + share * sp.identity(n, dtype=np.float32, format="csr"))
