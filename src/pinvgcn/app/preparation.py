"""What the page computes of a scan before the first click, in the background."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from pinvgcn.app.cloud import PIECE, Cloud
from pinvgcn.app.head import EIGENVECTORS, Surroundings
from pinvgcn.features.geometry import cell_size
from pinvgcn.features.lattice import Lattice
from pinvgcn.features.normal_scores import NormalScores
from pinvgcn.features.pyramid import Pyramid
from pinvgcn.graphs import GaussianGraph

NEIGHBOURS = 10
COMPONENTS, PROBED = 48, 20_000  # of the shapes that are kept; points that directions are found from
FORMS = ("linearity", "planarity", "scattering", "verticality")
SHAPES = "Looking at the shape of what surrounds each point"
Tell = Callable[[str, float], None]  # what is being done, and the share that is done


@dataclass(frozen=True)
class PreparedScan:
    """Of the sample of a scan."""

    surroundings: Surroundings
    forms: np.ndarray  # (s, 12) how linear, flat, scattered and upright what surrounds a point is, 0 to 1
    above_ground: np.ndarray  # (s,) metres over the lowest point of the columns around


def prepare(cloud: Cloud, tell: Tell = lambda what, share: None) -> PreparedScan:
    """What the head needs of the sample; shapes are those within the whole scan, as every fit has them."""
    lattice, shapes = _shapes(cloud, lambda share: tell(SHAPES, 0.7 * share))
    here = cloud.points[cloud.sample] * cloud.metres
    names = lattice.names
    forms = [at for at, name in enumerate(names) if name.startswith(FORMS) and "_near" in name]
    ground = [at for at, name in enumerate(names) if name.startswith("ground_")][-1]
    tell("Computing eigenvectors", 0.8)
    spectrum = GaussianGraph(here, "auto", loops=1.0).spectrum(EIGENVECTORS)
    q = max(spectrum.rank, 1)
    waves = spectrum.vectors * np.sqrt(len(here) * spectrum.eigengap / (q * spectrum.values))
    tell("Finding neighbours", 0.95)
    places = here - here.mean(axis=0)
    places /= max(np.sqrt(places.var(axis=0).mean()), 1e-300)
    around = _averages(here)
    found = Surroundings(
        _wider(_scores(np.hstack([shapes, cloud.features()])), around),
        places.astype(np.float32),  # half the memory; labels are few, and their system is solved in double
        waves.astype(np.float32),
        around,
    )
    tell("Ready", 1.0)
    return PreparedScan(found, shapes[:, forms], shapes[:, ground])


def _shapes(cloud: Cloud, tell: Callable[[float], None]) -> tuple[Lattice, np.ndarray]:
    """The cells of the scan, and the local shapes of the sample within all of its points: (s, f).

    A large scan is cut into strips, each with the margin that cells reach, which gives the same to the bit.
    """
    tell(0.0)
    pieces = range(0, len(cloud), PIECE)
    cell = cell_size(lambda: (cloud.metres * cloud.points[a : a + PIECE] for a in pieces), len(cloud)) / 2
    lattice = Lattice(cell)
    tell(0.3)
    along = cloud.points[:, int(np.ptp(cloud.points[cloud.sample], axis=0)[:2].argmax())] * cloud.metres
    mine = along[cloud.sample]
    count = -(-len(cloud) // PIECE)
    ends = np.quantile(mine, np.arange(1, count) / count)
    bounds = np.concatenate([[-np.inf], ends, [np.inf]])
    found = np.empty((len(mine), len(lattice.names)), dtype=np.float32)
    for strip, (low, high) in enumerate(pairwise(bounds), start=1):
        rows = np.flatnonzero((mine >= low) & (mine < high))
        if len(rows):
            near = (along >= low - lattice.margin) & (along <= high + lattice.margin)
            pyramid = Pyramid.of(cloud.metres * cloud.points[near], lattice)
            found[rows] = pyramid.shapes(cloud.metres * cloud.points[cloud.sample[rows]])
        tell(0.3 + 0.7 * strip / count)
    return lattice, found


def _scores(columns: np.ndarray) -> np.ndarray:
    """Normal scores of mean 0 and spread 1, without what is constant: (s, f)"""
    scores = NormalScores.of(columns)(columns)
    spread = scores.std(axis=0)
    varied = spread > 1e-9
    scaled: np.ndarray = (scores[:, varied] - scores[:, varied].mean(axis=0)) / spread[varied]
    return scaled.astype(np.float32)


def _wider(scores: np.ndarray, around: sp.csr_array) -> np.ndarray:
    """Each point's scores beside their means over 2 and over 8 steps to neighbours, all of equal weight, as
    their principal components: (s, f). Two points have a squared distance of 2 in the mean."""
    scores = _principal(scores)
    near = around @ (around @ scores)
    far = near
    for _ in range(6):
        far = around @ far
    parts = [part / np.sqrt(max(float(part.var(axis=0).sum()), 1e-30)) for part in (scores, near, far)]
    return _principal(np.hstack(parts) / np.float32(np.sqrt(len(parts))))


def _principal(columns: np.ndarray) -> np.ndarray:
    """The ``COMPONENTS`` directions of the largest variance: (s, f) float32."""
    centred = columns - columns.mean(axis=0)
    some = centred[:: max(1, len(centred) // PROBED)]
    vectors = np.linalg.eigh(some.T @ some)[1][:, ::-1]
    found: np.ndarray = (centred @ vectors[:, :COMPONENTS]).astype(np.float32)
    return found


def _averages(points: np.ndarray) -> sp.csr_array:
    """The mean of a point's own value and those of its nearest points, itself among them: (n, n)."""
    n, k = len(points), min(NEIGHBOURS, len(points))
    near = cKDTree(points).query(points, k, workers=-1)[1].reshape(n, k)
    share = np.float32(1 / (k + 1))
    entries = np.full(n * k, share, dtype=np.float32)
    near_ones = sp.csr_array((entries, near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return sp.csr_array(near_ones + share * sp.identity(n, dtype=np.float32, format="csr"))
