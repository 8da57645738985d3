"""Spectra of dense Gaussian graphs: how fast, how exact, how they grow. Ratios, measured in one run.

    python benchmarks/spectrum.py [--parts oakland growth extend] [--repeats 5] [--largest 10000000]
                                  [--json FILE]

The yardstick is scipy's ``eigsh`` (default ncv, tolerance 1e-3) over a non-uniform FFT product of the kernel,
with 1 or 2 BLAS threads, whichever is faster. "products" are the two that the Taylor solver cannot avoid,
ΦᵀΦ and ΦV, with Φ whole in memory. The growth part runs each size in a process of its own and reads its
peak memory.
Oakland 2 is found through PINVGCN_DATA; without it the oakland part is left out.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import finufft
import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh
from threadpoolctl import threadpool_limits

from pinvgcn import GaussianGraph, Spectrum
from pinvgcn.compute.parallel import cores
from pinvgcn.datasets import generate_street, load_dataset
from pinvgcn.errors import DatasetError
from pinvgcn.kernels import Box, FourierKernel, TaylorKernel


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = {"oakland": oakland, "growth": growth, "extend": extend}
    parser.add_argument("--parts", nargs="+", default=list(parts), choices=list(parts))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--largest", type=int, default=10_000_000, help="points of the growth part")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)  # a size of the growth part: n, σ in radii
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one_size(int(arguments.one[0]), float(arguments.one[1]))))
        return
    results = {name: parts[name](arguments) for name in arguments.parts}
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2))


# ------------------------------------------------------------------------------- against the yardstick


def oakland(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    try:
        points = load_dataset("oakland2").X
    except DatasetError as error:
        print(f"oakland: skipped, {error}")
        return []
    print(f"Oakland 2, {len(points):,} points, {cores()} cores; seconds are medians of {arguments.repeats}")
    print(
        f"{'σ':>5}{'loops':>7}{'rank':>6}  {'solver':<9}{'ours':>7}{'eigsh':>8}{'ratio':>7}{'products':>10}"
        f"{'ratio':>7}{'pairs':>7}{'residual':>10}{'relative':>10}{'angle':>9}"
    )
    rows = []
    for sigma, loops, rank, solver in (
        (100.0, 1.0, 60, "auto"),
        (10.0, 1.0, 100, "auto"),
        (10.0, 0.0, 100, "auto"),
        (10.0, 1.0, 100, "krylov"),
    ):
        rows.append(against_eigsh(points, sigma, loops, rank, solver, arguments.repeats))
        row = rows[-1]
        print(
            f"{sigma:>5g}{loops:>7g}{rank:>6}  {row['solver']:<9}{row['ours']:>7.2f}{row['eigsh']:>8.2f}"
            f"{row['times_faster']:>7.1f}{row['products'] or math.nan:>10.3f}"
            f"{row['times_products'] or math.nan:>7.2f}{row['pairs']:>7}{row['residual']:>10.1e}"
            f"{row['relative']:>10.1e}{row['angle'] or math.nan:>9.1e}"
        )
    print()
    return rows


def against_eigsh(
    points: np.ndarray, sigma: float, loops: float, rank: int, solver: str, repeats: int
) -> dict[str, Any]:
    ours, products = [], []
    for _ in range(repeats):
        spectrum, seconds = timed(
            lambda: GaussianGraph(points, sigma, loops=loops).spectrum(rank, solver=solver)
        )
        ours.append(seconds)
        if spectrum.solver == "taylor":
            products.append(unavoidable_products(points, sigma, rank))
    yardstick = min(
        median(eigsh_seconds(points, sigma, loops, rank, threads) for _ in range(min(repeats, 3)))
        for threads in (1, 2)
    )
    return {
        "sigma": sigma,
        "loops": loops,
        "rank": rank,
        "solver": spectrum.solver,
        "reason": spectrum.reason,
        "ours": median(ours),
        "eigsh": yardstick,
        "times_faster": yardstick / median(ours),
        "products": median(products) if products else None,
        "times_products": median(ours) / median(products) if products else None,
        "pairs": spectrum.rank,
        "residual": float(spectrum.residuals.max()),
        "relative": float(spectrum.relative_residuals.max()),
        "degree_error": spectrum.degree_error,
        "orthogonality": spectrum.orthogonality,
        "angle": angle_to_reference(spectrum, points, sigma) if spectrum.solver == "taylor" else None,
    }


def eigsh_seconds(points: np.ndarray, sigma: float, loops: float, rank: int, threads: int) -> float:
    """The yardstick: plans made once, one real vector a product, as in the textbook."""
    n = len(points)
    kernel = FourierKernel(Box.around(points), sigma, 1e-6)
    angles = kernel.box.local(points) * (2 * math.pi / kernel.periods)[:, None]
    shape = tuple(2 * kernel.largest_modes + 1)
    weights = kernel._weights
    sums, values = (
        finufft.Plan(kind, shape, eps=kernel.precision, isign=sign, dtype="complex128", nthreads=threads)
        for kind, sign in ((1, -1), (2, 1))
    )

    def product(x: np.ndarray) -> np.ndarray:
        return values.execute(weights * sums.execute(x.astype(complex))).real

    with threadpool_limits(threads, user_api="blas"):
        started = time.perf_counter()
        for plan in (sums, values):
            plan.setpts(*angles)
        degrees = product(np.ones(n)) - (1 - loops)
        scale = 1 / np.sqrt(degrees)
        operator = LinearOperator(
            (n, n),
            matvec=lambda x: scale * product(scale * x.ravel()) - (1 - loops) * x.ravel() / degrees,
            dtype=float,
        )
        eigsh(operator, rank + 1, which="LA", tol=1e-3, v0=np.random.default_rng(0).normal(size=n))
        return time.perf_counter() - started


def unavoidable_products(points: np.ndarray, sigma: float, rank: int) -> float:
    """ΦᵀΦ and ΦV with all BLAS threads."""
    kernel = TaylorKernel(Box.around(points), sigma, 1e-10)
    features = np.ascontiguousarray(kernel.features(points).T)
    V = np.random.default_rng(0).normal(size=(kernel.n_features, rank + 1))
    _, gram = timed(lambda: features.T @ features)
    _, values = timed(lambda: features @ V)
    return gram + values


def angle_to_reference(spectrum: Spectrum, points: np.ndarray, sigma: float) -> float:
    """The sine of the largest principal angle to the pairs of a much longer series, made by its QR."""
    from pinvgcn.spectra import kernel_solvers
    from pinvgcn.spectra.functions import smooth_spectrum
    from pinvgcn.spectra.operator import KernelOperator

    kernel = TaylorKernel(Box.around(points), sigma, 1e-15)
    degrees = kernel.product(points, np.ones((len(points), 1)))[:, 0]
    operator = KernelOperator(kernel, points, degrees, 0.0)
    digits, kernel_solvers.GRAM_DIGITS = kernel_solvers.GRAM_DIGITS, 1.0  # always the QR
    pairs = kernel_solvers.taylor_pairs(operator, spectrum.rank)
    reference = smooth_spectrum(operator, pairs, spectrum.rank, solver="taylor")
    kernel_solvers.GRAM_DIGITS = digits
    U, V = reference.vectors, spectrum.vectors
    return float(np.linalg.norm(V - U @ (U.T @ V), 2))


# ------------------------------------------------------------------------------------------- growth


def growth(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """From 10⁵ points on, rank 30, on a generated street whose points are repeated with 5 cm of noise."""
    sizes = [size for size in (100_000, 1_000_000, 10_000_000) if size <= arguments.largest]
    print("growth: generated street, rank 30, loops 1; memory is the peak of a process of its own")
    print(
        f"{'σ/radius':>9}{'points':>12}  {'solver':<9}{'seconds':>9}{'exponent':>10}{'peak GiB':>10}"
        f"{'result GiB':>12}"
    )
    rows: list[dict[str, Any]] = []
    for radii in (5.0, 0.5):
        before = None
        for size in sizes:
            command = [sys.executable, __file__, "--one", str(size), str(radii)]
            row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            exponent = math.nan
            if before is not None:
                exponent = math.log(row["seconds"] / before["seconds"]) / math.log(size / before["points"])
            row["exponent"] = None if math.isnan(exponent) else exponent
            rows.append(row)
            before = row
            print(
                f"{radii:>9g}{size:>12,}  {row['solver']:<9}{row['seconds']:>9.2f}{exponent:>10.2f}"
                f"{row['peak']:>10.2f}{row['result']:>12.2f}"
            )
    print()
    return rows


def one_size(n: int, radii: float) -> dict[str, Any]:
    street = generate_street(100_000).X
    rng = np.random.default_rng(0)
    points = street[rng.integers(len(street), size=n)]
    points += rng.normal(scale=0.05, size=points.shape)
    sigma = radii * float(np.median(np.linalg.norm(street - np.median(street, axis=0), axis=1)))
    warm = GaussianGraph(street[:5_000], sigma, loops=1.0)
    warm.spectrum(30)  # libraries loaded, threads started
    spectrum, seconds = timed(lambda: GaussianGraph(points, sigma, loops=1.0).spectrum(30))
    gib = 2.0**30
    return {
        "points": n,
        "sigma_in_radii": radii,
        "solver": spectrum.solver,
        "seconds": seconds,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / gib,
        "result": spectrum.basis.nbytes / gib,
        "input": points.nbytes / gib,
        "residual": float(spectrum.residuals.max()),
    }


# ---------------------------------------------------------------------------------------- new points


def extend(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Points a second at rank 30, and beside it the bare product or transform that it needs."""
    street = generate_street(100_000).X
    radius = float(np.median(np.linalg.norm(street - np.median(street, axis=0), axis=1)))
    rng = np.random.default_rng(1)
    new = street[rng.integers(len(street), size=500_000)] + rng.normal(scale=0.05, size=(500_000, 3))
    print("extend: street of 100,000 points, rank 30, 500,000 new points")
    print(f"{'σ/radius':>9}  {'solver':<9}{'points/s':>12}{'bare, points/s':>16}{'share':>8}")
    rows = []
    for radii, solver in ((5.0, "taylor"), (0.5, "fourier")):
        spectrum = GaussianGraph(street, radii * radius, loops=1.0).spectrum(30, solver=solver)
        kernel, coefficients = spectrum.extension.kernel, spectrum.extension.coefficients
        speeds, bare = [], []
        for _ in range(arguments.repeats):
            speeds.append(len(new) / timed(partial(spectrum.extend, new))[1])
            bare.append(len(new) / bare_evaluation(kernel, coefficients, new))
        row = {
            "sigma_in_radii": radii,
            "solver": solver,
            "points_per_second": median(speeds),
            "bare_points_per_second": median(bare),
            "share": median(speeds) / median(bare),
        }
        rows.append(row)
        print(
            f"{radii:>9g}  {solver:<9}{row['points_per_second']:>12,.0f}"
            f"{row['bare_points_per_second']:>16,.0f}{row['share']:>8.2f}"
        )
    print()
    return rows


def bare_evaluation(kernel: TaylorKernel | FourierKernel, coefficients: np.ndarray, new: np.ndarray) -> float:
    """Seconds of Φ(x) W with Φ whole in memory, or of one batched type-2 transform, on all cores."""
    if isinstance(kernel, TaylorKernel):
        features = np.ascontiguousarray(kernel.features(new).T)
        return timed(lambda: features @ coefficients)[1]
    angles = kernel.box.local(new) * (2 * math.pi / kernel.periods)[:, None]
    shape = coefficients.shape[1:]
    plan = finufft.Plan(
        2,
        shape,
        n_trans=len(coefficients),
        eps=kernel.precision,
        isign=1,
        dtype="complex128",
        nthreads=cores(),
    )
    plan.setpts(*angles)
    return timed(lambda: plan.execute(coefficients))[1]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    result = work()
    return result, time.perf_counter() - started


if __name__ == "__main__":
    main()
