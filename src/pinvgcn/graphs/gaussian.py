"""The fully connected graph of a point cloud."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator
from scipy.spatial import cKDTree

from pinvgcn.checks import as_points, check_choice, check_non_negative, check_positive
from pinvgcn.errors import DataError, ParameterError
from pinvgcn.graphs.base import (
    DENSE_NODES,
    Graph,
    check_no_isolated,
    linear_map,
    resolve_rank,
    warn_if_inaccurate,
    warn_if_short,
)
from pinvgcn.kernels import ExactKernel, FourierKernel, Kernel, TaylorKernel
from pinvgcn.spectra import Spectrum
from pinvgcn.spectra.kernel_pairs import (
    KernelOperator,
    degree_floor,
    dense_spectrum,
    krylov_spectrum,
    taylor_spectrum,
)

SOLVERS = ("auto", "taylor", "krylov", "dense")
TAYLOR_PRECISION = 1e-11
PRECISIONS = (1e-12, 1e-9, 1e-6)  # of the Fourier kernel: the best that stays within MOST_MODES
MOST_MODES = 1_000_000
MOST_FEATURES = 1_500  # of the Taylor kernel, whose small problem is a matrix of this size
LARGEST = 1e150  # a coordinate whose square is still a number
SIGMA_PER_RADIUS = 5.0  # see ``automatic_sigma``


class GaussianGraph(Graph):
    """A_ij = exp(−|x_i − x_j|²/σ²) for i ≠ j, and A_ii = loops.

    Parameters
    ----------
    points : (n, d) array
        Coordinates, in any dimension. Up to three dimensions all work is linear in n; beyond that
        products take O(n²) time (and O(n) memory).
    sigma : float or "auto"
        The distance over which points see each other. "auto" takes ``automatic_sigma(points)``.
    loops : float
        The weight that joins each point to itself. 0 is the paper's choice; with 1 the
        eigenvectors are smooth functions of position at every index.
    """

    def __init__(self, points: Any, sigma: float | str = "auto", *, loops: float = 0.0) -> None:
        self.points = as_points(points).copy()  # what the graph was made from, whatever happens to the array
        if len(self.points) < 2:
            raise DataError(
                f"A graph needs at least 2 points. Got n_samples={len(self.points)} (1 sample) instead."
            )
        largest = float(np.abs(self.points).max())
        if largest > LARGEST:
            raise DataError(
                f"points must be smaller than {LARGEST:g}, for their distances to be numbers. "
                f"Got {largest:g} instead; is it a mark for missing data?"
            )
        if isinstance(sigma, str):
            if sigma != "auto":
                raise ParameterError(f"sigma must be a positive number or 'auto'. Got {sigma!r} instead.")
            self.sigma = automatic_sigma(self.points)
        else:
            self.sigma = check_positive("sigma", sigma)
        self.loops = check_non_negative("loops", loops)
        self.n_nodes = len(self.points)

    def __repr__(self) -> str:
        n, d = self.points.shape
        return f"GaussianGraph({n} points in {d} dimensions, sigma={self.sigma:.6g}, loops={self.loops:g})"

    @cached_property
    def kernel(self) -> Kernel:
        """The map that stands for all pairs: Taylor features where they are few, then Fourier, then exact."""
        return self._taylor_kernel() or self._fourier_kernel() or ExactKernel(self.points, self.sigma)

    def _taylor_kernel(self) -> TaylorKernel | None:
        """Taylor features where they are fewer than the nodes and few enough."""
        middle = (self.points.min(axis=0) + self.points.max(axis=0)) / 2
        radius = float(np.linalg.norm(self.points - middle, axis=1).max())
        features = TaylorKernel.size(radius, self.points.shape[1], self.sigma, TAYLOR_PRECISION)
        if features > min(MOST_FEATURES, self.n_nodes // 2):
            return None
        return TaylorKernel.over(self.points, self.sigma, TAYLOR_PRECISION)

    def _fourier_kernel(self) -> FourierKernel | None:
        """Fourier features where they fit the memory and cost less than all pairs."""
        if self.points.shape[1] > 3:
            return None
        extent = np.ptp(self.points, axis=0)
        for precision in PRECISIONS:
            modes = FourierKernel.size(extent, self.sigma, precision)
            if modes <= MOST_MODES:
                faster = _fourier_is_faster(self.n_nodes, modes, precision)
                return FourierKernel.over(self.points, self.sigma, precision) if faster else None
        return None

    @cached_property
    def degrees(self) -> np.ndarray:
        """d_i = Σ_j A_ij: (n,)."""
        return self._degrees_by(self.kernel)

    def _degrees_by(self, kernel: Kernel) -> np.ndarray:
        degrees, floor = self._sums(kernel)
        if not (degrees > floor).all():
            check_no_isolated(degrees, floor, self._how_to_connect(~(degrees > floor)))
        return degrees

    def _sums(self, kernel: Kernel) -> tuple[np.ndarray, float]:
        """Σ_j A_ij, and the size at which that cannot be told from 0."""
        sums = kernel.product(self.points, np.ones((self.n_nodes, 1)))[:, 0]
        return sums - (1 - self.loops), degree_floor(self.n_nodes, kernel.precision)

    def _how_to_connect(self, alone: np.ndarray) -> str:
        """The advice for points that nothing reaches: a σ that was seen to reach them.

        The search begins where the weight to the next point is 1 %.
        """
        distances = np.asarray(cKDTree(self.points).query(self.points[alone], k=2)[0])
        needed = max(distances[:, 1].max() / np.sqrt(-np.log(0.01)), self.sigma)
        reached = False
        while not reached and needed < np.inf:
            needed = float(f"{1.1 * needed:.3g}")
            other = GaussianGraph(self.points, needed, loops=self.loops)
            degrees, floor = other._sums(other.kernel)
            reached = bool((degrees > floor).all())
        return (
            f"no weight to any other point can be told from 0 at sigma={self.sigma:g}. "
            f"Use sigma={needed:g} or more, remove outliers, or set loops=1"
        )

    def _operator(self, kernel: Kernel) -> KernelOperator:
        degrees = self.degrees if kernel is self.kernel else self._degrees_by(kernel)
        return KernelOperator(kernel, self.points, degrees, 1 - self.loops)

    @property
    def normalized_adjacency(self) -> LinearOperator:
        """D^(−1/2) A D^(−1/2): (n, n)."""
        return linear_map(self.n_nodes, self._operator(self.kernel))

    def _automatic_solver(self) -> str:
        return "taylor" if isinstance(self.kernel, TaylorKernel) else "krylov"

    def spectrum(
        self,
        rank: int | None = None,
        *,
        solver: str = "auto",
        tolerance: float = 1e-3,
        random_state: int = 0,
    ) -> Spectrum:
        """The smallest non-zero eigenvalues λ of L = I − D^(−1/2) A D^(−1/2) and their vectors.

        Parameters
        ----------
        rank : int
            How many pairs; 60 by default. Pairs whose 1 − λ drowns in the rounding of the kernel do
            not exist numerically: fewer are returned, with a ``RankWarning``.
        solver : {"auto", "taylor", "krylov", "dense"}
            "taylor" solves a small problem, for σ of about the size of the cloud; "krylov" iterates over
            products with the kernel, for any σ; "dense" holds all n² weights and is exact. "auto" takes
            "dense" up to 1,000 points, then "taylor" where its features are few, else "krylov".
        tolerance : float
            The largest |L u − λ u| that is accepted ("taylor", "krylov").
        random_state : int
            Of the vectors that the iteration starts from; the same seed gives the same bits.
        """
        check_choice("solver", solver, SOLVERS)
        check_positive("tolerance", tolerance)
        wanted = resolve_rank(rank, 60, self.n_nodes - 1)
        if solver == "auto":
            solver = "dense" if self.n_nodes <= DENSE_NODES else self._automatic_solver()
        find: Callable[[int], Spectrum]
        options: dict[str, Any] = {"tolerance": tolerance, "random_state": random_state}
        if solver == "dense":
            find = partial(dense_spectrum, self._operator(ExactKernel(self.points, self.sigma)))
        elif solver == "taylor":
            taylor = self._taylor_kernel()
            if taylor is None:
                raise ParameterError(
                    "solver='taylor' needs sigma of about the radius of the cloud or more, and many points. "
                    f"Got sigma={self.sigma:g} for {self.n_nodes} points; use solver='auto'."
                )
            find = partial(taylor_spectrum, self._operator(taylor), **options)
        else:
            kernel = self._fourier_kernel() or ExactKernel(self.points, self.sigma)
            find = partial(krylov_spectrum, self._operator(kernel), **options)
        spectrum = self._beyond_null_vectors(find, wanted)
        if solver != "dense":
            noise = "they are noise at single nodes. Use loops=1, " if self.loops != 1 else "use "
            advice = f"{noise}a larger tolerance, a smaller rank or solver='dense'"
            warn_if_inaccurate(tolerance, spectrum, advice)
        pieces = spectrum.null_vectors.shape[1]
        where = f"{self.n_nodes} points{f' in {pieces} pieces' if pieces > 1 else ''} at sigma={self.sigma:g}"
        if spectrum.rank + pieces == self.n_nodes:
            return warn_if_short(rank, spectrum, f"{where} have no more")
        why = f"{where} have no more above rounding{'; a smaller sigma has' if pieces == 1 else ''}"
        return warn_if_short(rank, spectrum, why)

    def _beyond_null_vectors(self, find: Callable[[int], Spectrum], wanted: int) -> Spectrum:
        """``wanted`` pairs with λ > 0, however many of those found turn out to have λ = 0.

        A cloud in pieces that are far apart has one null vector a piece, and nobody knows how many.
        """
        asked, spectrum = wanted, find(wanted)
        while spectrum.rank != wanted:
            extra = spectrum.null_vectors.shape[1] - 1
            # once one λ > 0 was seen all null vectors are known, else there may be as many again
            ask = min(wanted + extra * (1 if spectrum.rank else 2), self.n_nodes - 1)
            no_more = spectrum.rank < wanted and spectrum.rank + extra < asked
            if no_more or ask == asked:
                break
            asked, spectrum = ask, find(ask)
        return spectrum


def _fourier_is_faster(n: int, modes: float, precision: float) -> bool:
    """Compare seconds for one column on one core, from rough constants of an ordinary machine.

    Exact: n² kernel values. Fourier: FFTs of 8 × modes, and spreading each point over a cube whose side
    is the number of digits plus one.
    """
    exact = 1.5e-9 * n**2
    fourier = 3e-8 * 8 * modes + 1e-9 * n * (1 - np.log10(precision)) ** 3
    return bool(fourier < exact)


def automatic_sigma(points: np.ndarray) -> float:
    """σ = 5 × the median distance from the median point.

    Wide enough that every part of a scene is joined to every other, as the paper recommends, and
    not moved by outliers. Where more than half of the points coincide, the mean distance takes
    the median's place; where all do, 1.
    """
    distances = np.linalg.norm(points - np.median(points, axis=0), axis=1)
    radius = float(np.median(distances)) or float(distances.mean())
    return SIGMA_PER_RADIUS * radius if radius > 0 else 1.0
