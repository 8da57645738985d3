"""What the page computes of a scan before the first click, in the background."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from pinvgcn.app.cloud import PIECE, Cloud
from pinvgcn.app.head import EIGENVECTORS, Surroundings
from pinvgcn.features.cell_size import cell_size
from pinvgcn.features.lattice import Lattice
from pinvgcn.features.normal_scores import NormalScores
from pinvgcn.features.pyramid import Pyramid
from pinvgcn.graphs import GaussianGraph

NEIGHBOURS = 10
Tell = Callable[[str, float], None]  # what is being done, and the share that is done


@dataclass(frozen=True)
class PreparedScan:
    """Of the sample of a scan."""

    surroundings: Surroundings
    above_ground: np.ndarray  # (s,) metres over the lowest point of the columns around


def prepare(cloud: Cloud, tell: Tell = lambda what, share: None) -> PreparedScan:
    """What the head needs of the sample; shapes are those within the whole scan, as every fit has them."""

    def pieces() -> list[np.ndarray]:
        starts = range(0, len(cloud), PIECE)
        return [cloud.points[start : start + PIECE] for start in starts]

    tell("Looking at the shape of what surrounds each point", 0.0)
    metres = cloud.metres
    lattice = Lattice(cell_size(lambda: (metres * piece for piece in pieces()), len(cloud)) / 2)
    pyramid = None
    for number, piece in enumerate(parts := pieces()):
        part = Pyramid.of(metres * piece, lattice)
        pyramid = part if pyramid is None else Pyramid.sum([pyramid, part])
        tell("Looking at the shape of what surrounds each point", 0.6 * (number + 1) / len(parts))
    assert pyramid is not None
    here = cloud.points[cloud.sample] * metres
    shapes = pyramid.shapes(here)
    ground = [at for at, name in enumerate(lattice.names) if name.startswith("ground_")][-1]
    tell("Computing eigenvectors", 0.8)
    spectrum = GaussianGraph(here, "auto", loops=1.0).spectrum(EIGENVECTORS)
    q = max(spectrum.rank, 1)
    waves = spectrum.vectors * np.sqrt(len(here) * spectrum.eigengap / (q * spectrum.values))
    tell("Finding neighbours", 0.95)
    places = here - here.mean(axis=0)
    places /= max(np.sqrt(places.var(axis=0).mean()), 1e-300)
    found = Surroundings(
        _scores(np.hstack([shapes, cloud.features()])),
        places.astype(np.float32),  # half the memory; labels are few, and their system is solved in double
        waves.astype(np.float32),
        _averages(here),
    )
    tell("Ready", 1.0)
    return PreparedScan(found, shapes[:, ground])


def _scores(columns: np.ndarray) -> np.ndarray:
    """Normal scores of mean 0 and spread 1, without what is constant: (s, f)"""
    scores = NormalScores.of(columns)(columns)
    spread = scores.std(axis=0)
    varied = spread > 1e-9
    scaled: np.ndarray = (scores[:, varied] - scores[:, varied].mean(axis=0)) / spread[varied]
    return scaled.astype(np.float32)


def _averages(points: np.ndarray) -> sp.csr_array:
    """The mean of a point's own value and those of its nearest points, itself among them: (n, n)."""
    n, k = len(points), min(NEIGHBOURS, len(points))
    near = cKDTree(points).query(points, k, workers=-1)[1].reshape(n, k)
    share = np.float32(1 / (k + 1))
    entries = np.full(n * k, share, dtype=np.float32)
    near_ones = sp.csr_array((entries, near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return sp.csr_array(near_ones + share * sp.identity(n, dtype=np.float32, format="csr"))
