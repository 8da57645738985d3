"""Spectral embeddings side by side: time, memory and subspace error of each way to the same eigenvectors.

    python benchmarks/embedding.py [--parts points graphs] [--sizes 1000 5000 20000 100000 1000000 10000000]
                                   [--rank 10] [--limit 600] [--json FILE]

points: a generated street, the Gaussian graph without loops, σ by ``sigma_for_rank``, the same for all. Every
method runs in a process of its own, whose peak memory is read. "error" is the sine of the largest angle
between its subspace and the eigenvectors of the whole n × n matrix (``eigsh`` to rounding) up to 20,000
points; up to a million, those of a hundredth of the tolerance. "times" is the ratio of processor seconds.
KernelPCA centres the kernel where the others normalise it, so that its subspace is another one. Ways that
hold n² numbers stop at 20,000 points, and any that takes longer than the limit is ended there.

graphs: AddLaplacianEigenvectorPE of PyTorch Geometric against AddSparseEigenvectors, on the largest
components of its own citation networks (found through PINVGCN_DATA) and on nearest-neighbour graphs of a
street.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SIZES = (1_000, 5_000, 20_000, 100_000, 1_000_000, 10_000_000)
WHOLE = 20_000  # the most points of ways that hold n² numbers
GIB = 2.0**30


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", default=["points", "graphs"], choices=["points", "graphs"])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=3, metavar=("METHOD", "SIZE", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        method, size, folder = arguments.one
        print(json.dumps(one(method, int(size), arguments.rank, Path(folder))))
        return
    results: dict[str, Any] = {}
    if "points" in arguments.parts:
        results["points"] = points_part(arguments)
    if "graphs" in arguments.parts:
        results["graphs"] = graphs_part(arguments.rank)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


# ------------------------------------------------------------------------------------------- points


def street(n: int) -> np.ndarray:
    """Points of a street; beyond 100,000 they come again, with 5 cm of noise."""
    from pinvgcn.datasets import generate_street

    points = generate_street(min(n, 100_000)).X
    if n <= len(points):
        return points
    random = np.random.default_rng(0)
    more = points[random.integers(len(points), size=n)]
    more += random.normal(scale=0.05, size=more.shape)
    return more


def weights(points: np.ndarray, sigma: float) -> np.ndarray:
    """A, the whole matrix."""
    from sklearn.metrics.pairwise import rbf_kernel

    A = rbf_kernel(points, gamma=1 / sigma**2)
    np.fill_diagonal(A, 0)
    return A


def laplacian_eigsh(points: np.ndarray, sigma: float, rank: int, tolerance: float = 1e-6) -> np.ndarray:
    from scipy.sparse.linalg import eigsh

    A = weights(points, sigma)
    scale = 1 / np.sqrt(A.sum(axis=1))
    A *= scale
    A *= scale[:, None]
    start = np.random.default_rng(0).normal(size=len(A))
    return eigsh(A, rank + 1, which="LA", tol=tolerance, v0=start)[1][:, -2::-1]


def eigenmap(points: np.ndarray, sigma: float, rank: int, tolerance: float | None = None) -> np.ndarray:
    from pinvgcn import GaussianEigenmap

    return GaussianEigenmap(rank, sigma, loops=0.0, tolerance=tolerance).fit_transform(points)


def spectral_embedding(points: np.ndarray, sigma: float, rank: int, solver: str) -> np.ndarray:
    from sklearn.manifold import SpectralEmbedding

    found = SpectralEmbedding(
        rank, affinity="rbf", gamma=1 / sigma**2, eigen_solver=solver, random_state=0
    ).fit(points)
    return found.embedding_ * np.sqrt(found.affinity_matrix_.sum(axis=1) - 1)[:, None]


def kernel_pca(points: np.ndarray, sigma: float, rank: int) -> np.ndarray:
    from sklearn.decomposition import KernelPCA

    return KernelPCA(
        rank, kernel="rbf", gamma=1 / sigma**2, eigen_solver="randomized", random_state=0
    ).fit_transform(points)


def nystroem(points: np.ndarray, sigma: float, rank: int) -> np.ndarray:
    """Singular vectors of its features, after D^(−1/2)."""
    from sklearn.kernel_approximation import Nystroem

    few = min(300, len(points))
    S = Nystroem(kernel="rbf", gamma=1 / sigma**2, n_components=few, random_state=0).fit_transform(points)
    S /= np.sqrt(np.maximum(S @ S.sum(axis=0), 1e-12))[:, None]
    values, vectors = np.linalg.eigh(S.T @ S)
    return S @ (vectors[:, -2 : -2 - rank : -1] / np.sqrt(values[-2 : -2 - rank : -1]))


METHODS: dict[str, tuple[Callable[..., np.ndarray], int]] = {  # and the most points that they take
    "GaussianEigenmap": (eigenmap, 10**9),
    "eigsh, whole matrix": (laplacian_eigsh, WHOLE),
    "SpectralEmbedding arpack": (lambda *a: spectral_embedding(*a, "arpack"), WHOLE),
    "SpectralEmbedding lobpcg": (lambda *a: spectral_embedding(*a, "lobpcg"), WHOLE),
    "SpectralEmbedding amg": (lambda *a: spectral_embedding(*a, "amg"), WHOLE),
    "KernelPCA": (kernel_pca, WHOLE),
    "Nystroem, 300": (nystroem, 1_000_000),
}


def one(method: str, n: int, rank: int, folder: Path) -> dict[str, Any]:
    """One method on one cloud, timed; its subspace is compared with the one in the folder."""
    warnings.simplefilter("ignore")
    points, sigma = np.load(folder / "points.npy"), float((folder / "sigma").read_text())
    work, _ = METHODS[method]
    work(points[:500], sigma, rank)  # libraries loaded, loops compiled
    started, used = time.perf_counter(), time.process_time()
    vectors = work(points, sigma, rank)
    seconds, processor = time.perf_counter() - started, time.process_time() - used
    peak = peak_memory()
    error = None
    if (folder / "reference.npy").exists():
        U = np.load(folder / "reference.npy")
        Q = np.linalg.qr(vectors)[0]
        error = float(np.linalg.norm(Q - U @ (U.T @ Q), 2))
    return {"points": n, "method": method, "seconds": seconds, "cpu": processor, "peak": peak, "error": error}


def peak_memory() -> float:
    """GiB of this process; ``ru_maxrss`` would count what its parent had when it began."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / GIB


def points_part(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    from pinvgcn.embedding import sigma_for_rank

    print(f"points: a street, rank {arguments.rank}; seconds, those of all cores, peak GiB, subspace error")
    print(f"{'points':>10}  {'method':<26}{'seconds':>9}{'cpu':>9}{'times':>8}{'GiB':>7}{'error':>9}")
    rows: list[dict[str, Any]] = []
    for n in arguments.sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            points = street(n)
            sigma = sigma_for_rank(points, arguments.rank)
            np.save(folder / "points.npy", points)
            (folder / "sigma").write_text(repr(sigma))
            if n <= WHOLE:
                reference = laplacian_eigsh(points, sigma, arguments.rank, 0.0)
            elif n <= 1_000_000:
                reference = np.linalg.qr(eigenmap(points, sigma, arguments.rank, 1e-8))[0]
            if n <= 1_000_000:
                np.save(folder / "reference.npy", reference)
                del reference
            del points
            ours = None
            for method, (_, most) in METHODS.items():
                if n > most:
                    continue
                row = measured(method, n, folder, arguments)
                if row is None:
                    print(f"{n:>10,}  {method:<26}  not here: it needs another package")
                    continue
                ours = row if ours is None else ours
                row["times"] = row["cpu"] / ours["cpu"]
                rows.append(row)
                more = ">" if row.get("ended") else " "
                error = "" if row["error"] is None else f"{row['error']:.1e}"
                peak = "" if row["peak"] is None else f"{row['peak']:.2f}"
                print(
                    f"{n:>10,}  {method:<26}{more}{row['seconds']:>8.2f}{more}{row['cpu']:>8.2f}"
                    f"{more}{row['times']:>7.1f}{peak:>7}{error:>9}",
                    flush=True,
                )
    print()
    return rows


def measured(method: str, n: int, folder: Path, arguments: argparse.Namespace) -> dict[str, Any] | None:
    command = [sys.executable, __file__, "--rank", str(arguments.rank), "--one", method, str(n), str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        printed, failed = process.communicate(timeout=arguments.limit)
    except subprocess.TimeoutExpired:
        used = processor_seconds(process.pid)
        process.kill()
        process.communicate()
        return {
            "points": n, "method": method, "seconds": arguments.limit, "cpu": used, "peak": None,
            "error": None, "ended": True,
        }  # fmt: skip
    if process.returncode:
        if "pyamg" in failed:
            return None
        raise SystemExit(failed)
    row: dict[str, Any] = json.loads(printed)
    return row


def processor_seconds(pid: int) -> float:
    """What a running process has used."""
    import os

    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# ------------------------------------------------------------------------------------------- graphs


def graphs_part(rank: int) -> list[dict[str, Any]]:
    """Residuals are |L u − λ u| with λ = uᵀLu, the largest of the ``rank`` vectors."""
    warnings.simplefilter("ignore")
    from torch_geometric.transforms import AddLaplacianEigenvectorPE

    from pinvgcn.pyg import AddSparseEigenvectors

    print(f"graphs: {rank} eigenvectors; cpu seconds and largest residual")
    print(
        f"{'graph':<20}{'nodes':>9}{'edges':>10}{'theirs':>9}{'ours':>8}{'times':>7}{'residual':>10}{'ours':>9}"
    )
    rows = []
    for name, data in sparse_graphs():
        made = {}
        for whose, transform in (
            ("theirs", AddLaplacianEigenvectorPE(rank, is_undirected=True)),
            ("ours", AddSparseEigenvectors(rank)),
        ):
            used = time.process_time()
            vectors = transform(data).laplacian_eigenvector_pe.double().numpy()
            made[whose] = time.process_time() - used, residual(data, vectors)
        row = {
            "graph": name,
            "nodes": data.num_nodes,
            "edges": data.num_edges // 2,
            "theirs": made["theirs"][0],
            "ours": made["ours"][0],
            "times": made["theirs"][0] / made["ours"][0],
            "their_residual": made["theirs"][1],
            "our_residual": made["ours"][1],
        }
        rows.append(row)
        print(
            f"{name:<20}{row['nodes']:>9,}{row['edges']:>10,}{row['theirs']:>9.2f}{row['ours']:>8.2f}"
            f"{row['times']:>7.1f}{row['their_residual']:>10.0e}{row['our_residual']:>9.0e}",
            flush=True,
        )
    print()
    return rows


def sparse_graphs() -> Any:
    import torch
    from torch_geometric.data import Data
    from torch_geometric.transforms import LargestConnectedComponents

    from pinvgcn.datasets import dataset_info, load_dataset
    from pinvgcn.graphs import nearest_points

    def as_data(adjacency: Any) -> Any:
        edges = adjacency.tocoo()
        index = torch.from_numpy(np.stack([edges.row, edges.col]).astype(np.int64))
        return LargestConnectedComponents()(Data(edge_index=index, num_nodes=adjacency.shape[0]))

    for name in ("cora", "citeseer", "pubmed"):
        if dataset_info(name).available:
            yield name, as_data(load_dataset(name).adjacency)
    for n in (10_000, 50_000):
        neighbours = nearest_points(street(n), 10)
        yield "street, 10 nearest", as_data(((neighbours + neighbours.T) > 0).astype(float))


def residual(data: Any, vectors: np.ndarray) -> float:
    from pinvgcn.graphs import from_pyg

    vectors = vectors / np.linalg.norm(vectors, axis=0)
    product = from_pyg(data).normalized_adjacency @ vectors
    mu = (vectors * product).sum(axis=0)
    return float(np.linalg.norm(product - vectors * mu, axis=0).max())


if __name__ == "__main__":
    main()
