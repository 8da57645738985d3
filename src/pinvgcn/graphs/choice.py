"""Which solver a Gaussian graph takes: an explicit model of what each would cost (docs/solvers.md).

Seconds are those of one ordinary core, from constants that were measured once. They need to be right within a
factor of a few: where two solvers cost nearly the same it does not matter which is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pinvgcn.errors import ParameterError
from pinvgcn.graphs.base import DENSE_NODES
from pinvgcn.kernels import Box, CutoffKernel, ExactKernel, FourierKernel, Kernel, TaylorKernel
from pinvgcn.spectra.kernel_solvers import MOST_BY_QR, MOST_FEATURES
from pinvgcn.spectra.operator import ALL_ROWS

MOST_NODES = 20_000  # of the dense solver: its matrices take 4 × 8 n² bytes
MOST_GATHERED = 3_000  # nodes of several ranks that each of them may have whole
MOST_MODES = 400_000  # of the Fourier solver: its grid of frequencies has eight times as many places
FEW_MODES = 10_000  # a small problem even where it is larger than the graph
MOST_PAIRS = 40_000_000  # of the cut-off solver: its sparse matrix takes 12 bytes a pair
TAYLOR_PRECISION = 1e-10
FINEST = 1e-12  # precision of the Fourier series while modes × nodes are fewer than LITTLE
LITTLE = 1e7
PRODUCT = 1e-9  # its precision in products beyond that, and at worst
WORST = 1e-7
CUTOFF_PRECISION = 1e-13

# seconds
FLOP = 4e-11  # of a matrix product
FEATURE = 1.5e-9  # to make one Taylor feature of one point
SPREAD = 5e-10  # to add one point to one place of a grid, in a non-uniform FFT
TRANSFORM = 1.5e-9  # FFT, for each place of its grid and binary digit of their number
WEIGHT = 1.5e-8  # one value of the kernel
PAIR = 1.5e-7  # one pair found by a k-d tree and stored
SPARSE = 2e-9  # one entry of a sparse product
DENSE = 1e-10  # of an eigenproblem, for each n³


@dataclass(frozen=True)
class Estimate:
    """What a solver would cost, or why it refuses."""

    solver: str
    seconds: float  # infinite where it refuses
    why: str

    @property
    def accepted(self) -> bool:
        return math.isfinite(self.seconds)

    def __str__(self) -> str:
        cost = f"about {_words(self.seconds)}" if self.accepted else "no"
        return f"{self.solver} {cost} ({self.why})"


@dataclass(frozen=True)
class KernelProblem:
    """All that the costs depend on. Of nodes that several ranks share out it is their number that counts."""

    points: np.ndarray
    box: Box
    sigma: float
    rank: int
    precision: float  # that the residuals ask of the kernel
    ranks: int = 1
    total: int = 0  # the nodes of all ranks

    @property
    def n(self) -> int:
        return self.total if self.ranks > 1 else len(self.points)

    @property
    def _apart(self) -> str:
        return f"its nodes are shared out over {self.ranks} processes"

    @cached_property
    def fourier_precision(self) -> float:
        """The finest precision that costs little, but the one that is asked for at least."""
        fine = FourierKernel.size(self.box, self.sigma, FINEST)
        return FINEST if fine * self.n <= LITTLE else max(self.precision, FINEST)

    @cached_property
    def modes(self) -> float:
        if self.box.dimension > 3:
            return math.inf
        return FourierKernel.size(self.box, self.sigma, self.fourier_precision)

    @cached_property
    def crowding(self) -> float:
        """How much longer a Krylov iteration takes because the eigenvalues crowd near 1.

        About M₀ = ∏ extent_i/(πσ) of them are not small: the more beside the rank, the closer they lie.
        """
        sides = 2 * self.box.half / (math.pi * self.sigma)
        within = math.prod(np.maximum(np.minimum(sides, 1e9), 1).tolist())
        return float(max(1.0, (within / self.rank) ** (1 / self.box.dimension)))

    @property
    def vectors(self) -> float:
        """About how many vectors a Krylov iteration multiplies."""
        return self.crowding * self.space

    @property
    def space(self) -> int:
        """How many vectors it keeps."""
        return 2 * self.rank + 64

    @property
    def orthogonalise(self) -> float:
        """Seconds a coordinate to keep them orthogonal."""
        return 4 * FLOP * self.space * self.vectors

    @property
    def spread(self) -> float:
        """Seconds of one non-uniform FFT of all nodes, two real columns."""
        digits = 1 - math.log10(self.fourier_precision)
        return SPREAD * self.n * digits**self.box.dimension + self.transform

    @property
    def transform(self) -> float:
        """Seconds of one FFT on the grid that the modes need."""
        places = 8 * 2 * min(self.modes, 1e12)
        return TRANSFORM * places * math.log2(places)

    def estimates(self) -> list[Estimate]:
        """Every solver's estimate; only those that sum over nodes take nodes of several ranks."""
        shared = [self.dense(), self.taylor(), self.fourier()]
        return shared if self.ranks > 1 else [*shared, self.cutoff(), self.krylov()]

    def dense(self) -> Estimate:
        most = MOST_NODES if self.ranks == 1 else MOST_GATHERED
        if self.n > most:
            where = "" if self.ranks == 1 else f", and {self._apart}"
            return Estimate("dense", math.inf, f"{self.n:,} nodes, more than {most:,}{where}")
        return Estimate("dense", DENSE * self.n**3, f"{self.n:,} nodes")

    def taylor(self) -> Estimate:
        M = TaylorKernel.size(self.box, self.sigma, TAYLOR_PRECISION)
        if M > MOST_FEATURES:
            return Estimate(
                "taylor", math.inf, f"sigma={self.sigma:g} needs more than {MOST_FEATURES:,} features"
            )
        passes = self.n * (FLOP * M * (M + 2 * self.rank) + 3 * FEATURE * M)
        return Estimate("taylor", passes + 10 * FLOP * M**3, f"{M:,} features")

    @property
    def few_features(self) -> bool:
        """Whether the Taylor solver can take the QR of its features, which has the most digits."""
        return TaylorKernel.size(self.box, self.sigma, TAYLOR_PRECISION) <= MOST_BY_QR

    def fourier(self) -> Estimate:
        if self.box.dimension > 3:
            return Estimate("fourier", math.inf, f"{self.box.dimension} dimensions, more than 3")
        most = min(MOST_MODES, max(FEW_MODES, 4 * self.n))
        if self.modes > most:
            return Estimate("fourier", math.inf, f"sigma={self.sigma:g} needs more than {most:,} modes")
        small = self.vectors * self.transform / 2 + self.modes * self.orthogonalise
        return Estimate("fourier", small + (self.rank / 2 + 4) * self.spread, f"{self.modes:,.0f} modes")

    def cutoff(self) -> Estimate:
        if self.ranks > 1:
            return Estimate("cutoff", math.inf, self._apart)
        pairs = CutoffKernel.count_pairs(self.points, self.sigma, CUTOFF_PRECISION)
        if pairs > MOST_PAIRS:
            return Estimate("cutoff", math.inf, f"sigma={self.sigma:g} joins more than {MOST_PAIRS:,} pairs")
        if self.n <= ALL_ROWS:
            return Estimate("cutoff", PAIR * pairs + DENSE * self.n**3, f"{pairs:,.0f} pairs")
        # the heat kernel spreads crowded eigenvalues, for about as much as it costs to orthogonalise
        iteration = self.space * (12 * FLOP * self.space * self.n + SPARSE * pairs)
        return Estimate("cutoff", PAIR * pairs + iteration, f"{pairs:,.0f} pairs")

    def krylov(self) -> Estimate:
        if self.ranks > 1:
            return Estimate("krylov", math.inf, self._apart)
        own = self.n * self.orthogonalise
        if self.by_transforms:
            return Estimate("krylov", own + self._transforms, f"non-uniform FFTs of {self.modes:,.0f} modes")
        return Estimate("krylov", own + self._all_pairs, f"all {self.n**2:.1e} pairs")

    @property
    def _transforms(self) -> float:
        return self.vectors * self.spread if self.modes <= MOST_MODES else math.inf

    @property
    def _all_pairs(self) -> float:
        return self.vectors / 16 * self.n**2 * (WEIGHT + 32 * FLOP)

    @property
    def by_transforms(self) -> bool:
        """Whether products by non-uniform FFT cost less than those by all pairs."""
        return self._transforms < self._all_pairs

    def kernel(self, solver: str) -> Kernel:
        """That of a solver."""
        if solver == "taylor":
            return TaylorKernel(self.box, self.sigma, TAYLOR_PRECISION)
        if solver == "cutoff":
            return CutoffKernel(self.points, self.sigma, CUTOFF_PRECISION)
        if solver == "fourier" or self.by_transforms:
            return FourierKernel(self.box, self.sigma, self.fourier_precision)
        return ExactKernel(self.points, self.sigma)


def cheapest_kernel(points: np.ndarray, box: Box, sigma: float, *, ranks: int = 1, total: int = 0) -> Kernel:
    """The kernel whose product with one vector costs least, precise to nine digits where that fits.

    With several ``ranks``, ``points`` are those of one of them and one of the two series is taken.
    """
    n = len(points) if ranks == 1 else total
    fine = TaylorKernel.size(box, sigma, FINEST)
    series = FINEST if fine * n <= LITTLE else TAYLOR_PRECISION
    taylor = TaylorKernel.size(box, sigma, series)
    costs = {"taylor": 2 * FEATURE * n * taylor if taylor <= MOST_FEATURES else math.inf, "fourier": math.inf}
    if ranks == 1:
        pairs = CutoffKernel.count_pairs(points, sigma, CUTOFF_PRECISION)
        costs["cutoff"] = PAIR * pairs if pairs <= MOST_PAIRS else math.inf
        costs["exact"] = WEIGHT * n**2
    precision = FINEST
    for asked in (PRODUCT, WORST):
        problem = KernelProblem(points, box, sigma, 1, asked, ranks, total)
        if problem.modes <= 2 * MOST_MODES:
            costs["fourier"], precision = 2 * problem.spread, problem.fourier_precision
            break
    best = min(costs, key=lambda kind: costs[kind])
    if costs[best] == math.inf:
        raise _too_small(sigma, ranks)
    if best == "taylor":
        return TaylorKernel(box, sigma, series)
    if best == "fourier":
        return FourierKernel(box, sigma, precision)
    if best == "cutoff":
        return CutoffKernel(points, sigma, CUTOFF_PRECISION, box.group)
    return ExactKernel(points, sigma, box.group)


def choose(problem: KernelProblem) -> tuple[str, str]:
    """The solver that costs least, and the reason in words."""
    if problem.n <= DENSE_NODES:
        return "dense", f"up to {DENSE_NODES:,} nodes the whole matrix is quick and exact"
    estimates = sorted(problem.estimates(), key=lambda estimate: estimate.seconds)
    best = estimates[0]
    if not best.accepted:
        raise _too_small(problem.sigma, problem.ranks)
    others = "; ".join(str(estimate) for estimate in estimates[1:])
    return best.solver, f"{best}; {others}"


def _too_small(sigma: float, ranks: int) -> ParameterError:
    return ParameterError(
        f"sigma must be larger for points that {ranks} processes share out: a series for all pairs would be "
        f"too long. Got {sigma:g} instead; use a larger sigma, remove outliers, or use one process."
    )


def refusal(problem: KernelProblem, solver: str) -> str | None:
    """Why a solver that was asked for does not take the problem; None where it does."""
    estimate: Estimate = getattr(problem, solver)()
    return None if estimate.accepted else estimate.why


def _words(seconds: float) -> str:
    for size, unit in ((3_600, "h"), (60, "min")):
        if seconds > 2 * size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.2g} s"
