"""The fully connected graph of a point cloud."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator
from scipy.spatial import cKDTree

from pinvgcn.checks import check_choice, check_non_negative, check_positive
from pinvgcn.distributed.group import ALONE, Group, together
from pinvgcn.distributed.rows import as_shared_matrix, in_subsample
from pinvgcn.errors import DataError, ParameterError, SlowWarning
from pinvgcn.graphs.base import Graph, SymmetricMap, announced, resolve_rank
from pinvgcn.graphs.choice import MOST_GATHERED, KernelProblem, cheapest_kernel, choose, refusal
from pinvgcn.kernels import Box, ExactKernel, Kernel, TaylorKernel
from pinvgcn.spectra import Spectrum
from pinvgcn.spectra.kernel_solvers import KERNEL_SOLVERS, dense_spectrum
from pinvgcn.spectra.operator import KernelOperator, degree_floor

SOLVERS = ("auto", *KERNEL_SOLVERS, "dense")
SMALL = 3_000  # up to so many nodes a tolerance of 1e-6 costs little
WIDEST = 1e300  # sigma, with room for what it is multiplied by
LARGEST = 1e150  # a coordinate whose square is still a number
SIGMA_PER_RADIUS = 5.0  # see ``automatic_sigma``
SLOW = 20.0  # seconds that are announced
ASKED_FOR = "asked for"
FEW = 1_000  # isolated points whose neighbours are looked for


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
    process_group : torch.distributed group, optional
        The processes that share out the points, each with its own ``points``, maybe none, and with the same
        settings. All of them must call ``degrees``, ``spectrum`` and products, in one order; what these
        return are the rows of the points of this one.
    """

    def __init__(
        self, points: Any, sigma: float | str = "auto", *, loops: float = 0.0, process_group: Any = None
    ) -> None:
        self.group = Group.of(process_group)
        # a copy: what the graph was made from, whatever happens to the array
        self.points = as_shared_matrix(points, "points", self.group).copy()
        self.n_nodes = len(self.points)
        self.start, self.n_total = self.group.offset(self.n_nodes)
        if self.n_total < 2:
            raise DataError(
                f"A graph needs at least 2 points. Got n_samples={self.n_total} (1 sample) instead."
            )
        largest = self.group.largest(float(np.abs(self.points).max(initial=0)))
        if largest > LARGEST:
            raise DataError(
                f"points must be smaller than {LARGEST:g}, for their distances to be numbers. "
                f"Got {largest:g} instead; is it a mark for missing data?"
            )
        with together(self.group):
            given = _checked_sigma(sigma)
            self.loops = check_non_negative("loops", loops)
        settings = self.group.values([given or "auto", self.loops])
        if any(other != settings[0] for other in settings):
            told = ", ".join(f"{a} and {b}" for a, b in settings)
            raise ParameterError(f"sigma and loops must be the same on all ranks. Got {told} instead.")
        self.sigma = automatic_sigma(self.points, self.group) if given is None else given

    def __repr__(self) -> str:
        n, d = self.points.shape
        some = f"{n} points" if self.group.alone else f"{n} of {self.n_total} points"
        return f"GaussianGraph({some} in {d} dimensions, sigma={self.sigma:.6g}, loops={self.loops:g})"

    @cached_property
    def _box(self) -> Box:
        return Box.around(self.points, self.group)

    @cached_property
    def kernel(self) -> Kernel:
        """The map that stands for all pairs, the one whose products cost least."""
        if self.n_total <= MOST_GATHERED or self.group.alone:
            return cheapest_kernel(self.group.rows(self.points), self._box, self.sigma)
        ranks, total = self.group.size, self.n_total
        return cheapest_kernel(self.points, self._box, self.sigma, ranks=ranks, total=total)

    @cached_property
    def degrees(self) -> np.ndarray:
        """d_i = Σ_j A_ij: (n,)."""
        degrees, alone = self._sums()
        if self.group.sum(int(alone.sum())):
            self.check_joined(alone, self._how_to_connect(alone))
        return degrees

    @cached_property
    def _ones(self) -> np.ndarray:
        """Σ_j φ(x_j)"""
        return self.kernel.gather(self.points, np.ones((self.n_nodes, 1)))

    def _sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Σ_j A_ij, and where that cannot be told from 0."""
        sums = self.kernel.evaluate(self.points, self._ones, 1)[:, 0] - (1 - self.loops)
        return sums, ~(sums > degree_floor(self.n_total, self.kernel.precision))

    def _how_to_connect(self, alone: np.ndarray) -> str:
        """The advice for points that nothing reaches: a σ that was seen to reach them.

        The search begins where the weight to the next point is 1 %.
        """
        needed = max(self._to_next(self.points[alone]) / np.sqrt(-np.log(0.01)), self.sigma)
        reached = False
        while not reached and needed < np.inf:
            needed = float(f"{1.1 * needed:.3g}")
            other = GaussianGraph(self.points, needed, loops=self.loops, process_group=self.group)
            reached = not self.group.sum(int(other._sums()[1].sum()))
        return (
            f"no weight to any other point can be told from 0 at sigma={self.sigma:g}. "
            f"Use sigma={needed:g} or more, remove outliers, or set loops=1"
        )

    def _to_next(self, points: np.ndarray) -> float:
        """The largest distance from one of these points to its nearest other, of some on each rank."""
        some = points if self.group.alone else self.group.rows(points[: FEW // self.group.size + 1])
        distances = np.full((len(some), 2), np.inf)
        if self.n_nodes:
            distances[:] = cKDTree(self.points).query(some, k=2)[0]
        both = np.hstack(self.group.parts(distances))  # on each rank the two nearest, among all itself
        return float(np.sort(both, axis=1)[:, 1].max())

    def _operator(self, kernel: Kernel) -> KernelOperator:
        same = type(kernel) is type(self.kernel) and kernel.precision == self.kernel.precision
        ones = self._ones if same else None
        error = self.kernel.value_error
        missing = 1 - self.loops
        operator = KernelOperator(kernel, self.points, self.degrees, missing, ones, error, self.group)
        if kernel.precision < self.kernel.precision and isinstance(kernel, TaylorKernel):
            # small 1 − λ need degrees as exact as the kernel that they are found with
            return operator.by(kernel)
        return operator

    @property
    def normalized_adjacency(self) -> LinearOperator:
        """D^(−1/2) A D^(−1/2): (n, n)."""
        return SymmetricMap(self.n_nodes, self._operator(self.kernel))

    def spectrum(
        self,
        rank: int | None = None,
        *,
        solver: str = "auto",
        tolerance: float | None = None,
        random_state: int = 0,
    ) -> Spectrum:
        """The smallest non-zero eigenvalues λ of L = I − D^(−1/2) A D^(−1/2) and their vectors.

        Parameters
        ----------
        rank : int
            How many pairs; 60 by default. Pairs whose 1 − λ drowns in the rounding of the kernel do
            not exist numerically: fewer are returned, with a ``RankWarning``.
        solver : {"auto", "taylor", "fourier", "cutoff", "krylov", "dense"}
            "taylor" and "fourier" solve a small problem over features of the kernel, for σ of about the size
            of the cloud and for smaller σ; "cutoff" takes a sparse matrix of near points, for σ far below
            the scene; "krylov" iterates over products with the kernel, for any σ and dimension; "dense"
            holds all n² weights and is exact. "auto" takes the one that costs least by the model of
            docs/solvers.md and says why in ``Spectrum.reason``.
        tolerance : float
            The largest |L u − λ u| that is accepted; 1e-6 by default up to 3,000 nodes, 1e-3 beyond.
        random_state : int
            Of the vectors that an iteration starts from; the same seed gives the same bits.
        """
        check_choice("solver", solver, SOLVERS)
        usual = 1e-6 if self.n_total <= SMALL else 1e-3
        goal = usual if tolerance is None else check_positive("tolerance", tolerance)
        wanted = resolve_rank(rank, 60, self.n_total - 1)
        self.degrees  # noqa: B018 - isolated points are named before anything is solved
        problem = self._problem(wanted, goal)
        if solver == "auto":
            solver, reason = choose(problem)
        else:
            reason, refused = ASKED_FOR, refusal(problem, solver)
            if refused is not None:
                raise ParameterError(
                    f"solver={solver!r} does not take this graph: {refused}; use solver='auto'."
                )
        spectrum = self._beyond_null_vectors(self._solver(solver, problem, goal, random_state), wanted)
        if reason != ASKED_FOR and spectrum.rank < wanted and solver == "fourier" and problem.few_features:
            # the solver that resolves the smallest 1 − λ
            other = self._beyond_null_vectors(self._solver("taylor", problem, goal, random_state), wanted)
            if other.rank > spectrum.rank:
                reason = f"taylor, because {solver} resolved {spectrum.rank} pairs of {wanted}; {reason}"
                solver, spectrum = "taylor", other
        spectrum = replace(spectrum, reason=reason)
        noise = "they are noise at single nodes. Use loops=1, " if self.loops != 1 else "use "
        advice = f"{noise}a larger tolerance, a smaller rank or solver='dense'"
        pieces = spectrum.components
        where = f"{self.n_total} points{f' in {pieces} pieces' if pieces > 1 else ''} at sigma={self.sigma:g}"
        why = f"{where} have no more"
        if spectrum.rank + pieces < self.n_total:
            why += f" above rounding{'; a smaller sigma has' if pieces == 1 else ''}"
        return announced(spectrum, rank, why, tolerance=None if solver == "dense" else goal, advice=advice)

    def _problem(self, rank: int, tolerance: float) -> KernelProblem:
        # the kernel's error at a node is at most n ε beside its degree
        least = self.group.smallest(float(self.degrees.min(initial=np.inf)))
        precision = max(min(1e-3 * tolerance, 1e-3 * least / self.n_total), 1e-13)
        shared = self.group.size, self.n_total
        return KernelProblem(self.points, self._box, self.sigma, rank, precision, *shared)

    def _solver(
        self, solver: str, problem: KernelProblem, tolerance: float, random_state: int
    ) -> Callable[[int], Spectrum]:
        """rank ↦ spectrum"""
        if solver == "dense":
            exact = ExactKernel(self.group.rows(self.points), self.sigma, self.group)
            return partial(dense_spectrum, self._operator(exact))
        kernel = problem.kernel(solver)
        if solver == "krylov":
            self._announce(problem, kernel)
        find = KERNEL_SOLVERS[solver]
        return partial(find, self._operator(kernel), tolerance=tolerance, random_state=random_state)

    def _announce(self, problem: KernelProblem, kernel: Kernel) -> None:
        """Say how long all pairs will take, from the time that some of them take now."""
        if not isinstance(kernel, ExactKernel):
            return
        some = self.points[: max(1, 200_000 // self.n_nodes)]
        started = time.perf_counter()
        kernel.evaluate(some, np.ones((self.n_nodes, 16)), 16)
        a_row = (time.perf_counter() - started) / len(some)
        seconds = a_row * self.n_nodes * problem.vectors / 16
        if seconds > SLOW:
            warnings.warn(
                f"This takes about {seconds / 60:.1f} minutes: {self.n_nodes:,} points in "
                f"{self.points.shape[1]} dimensions need the weights of all pairs. Fewer points, or a "
                "projection to three dimensions, take seconds.",
                SlowWarning,
                stacklevel=4,
            )

    def _beyond_null_vectors(self, find: Callable[[int], Spectrum], wanted: int) -> Spectrum:
        """``wanted`` pairs with λ > 0, however many of those found turn out to have λ = 0.

        A cloud in pieces that are far apart has one null vector a piece, and nobody knows how many.
        """
        asked, spectrum = wanted, find(wanted)
        while spectrum.rank != wanted:
            extra = spectrum.components - 1
            # once one λ > 0 was seen all null vectors are known, else there may be as many again
            ask = min(wanted + extra * (1 if spectrum.rank else 2), self.n_total - 1)
            no_more = spectrum.rank < wanted and spectrum.rank + extra < asked
            if no_more or ask == asked:
                break
            asked, spectrum = ask, find(ask)
        return spectrum


def _checked_sigma(sigma: float | str) -> float | None:
    """A usable σ; None for "auto"."""
    if isinstance(sigma, str):
        if sigma != "auto":
            raise ParameterError(f"sigma must be a positive number or 'auto'. Got {sigma!r} instead.")
        return None
    number = check_positive("sigma", sigma)
    if not 1 / WIDEST <= number <= WIDEST:
        raise ParameterError(
            f"sigma must be from {1 / WIDEST:g} to {WIDEST:g}, to be divided by and multiplied. "
            f"Got {number:g} instead."
        )
    return number


def automatic_sigma(points: np.ndarray, group: Group = ALONE) -> float:
    """σ = 5 × the median distance from the median point.

    Wide enough that every part of a scene is joined to every other, as the paper recommends, and
    not moved by outliers. Where more than half of the points coincide, the mean distance takes
    the median's place; where all do, 1. Of more than 262,144 points, of all ranks, a pool counts.
    """
    start, total = group.offset(len(points))
    points = group.rows(points[in_subsample(start, len(points), total)])
    distances = np.linalg.norm(points - np.median(points, axis=0), axis=1)
    radius = float(np.median(distances)) or float(distances.mean())
    return float(group.first(np.array([SIGMA_PER_RADIUS * radius if radius > 0 else 1.0]))[0])
