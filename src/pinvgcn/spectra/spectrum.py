"""The low end of a Laplacian's spectrum, as a value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.compute.parallel import ranges, share_out
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.errors import GraphError, ModelFileError
from pinvgcn.io.tensors import Shapes, load_tensors, reading, save_tensors
from pinvgcn.spectra.extension import EXTENSIONS, Extension

ZERO = 1e-12  # eigenvalues at or below this are null
CHUNK = 8_192  # nodes at a time
ARRAYS = ("basis", "values", "residuals", "mu", "noise")  # that a file has
NUMBERS = ("degree_error", "degree_bound", "largest", "smallest")


@dataclass(frozen=True, eq=False)
class Spectrum:
    """L u_i = λ_i u_i with L = I − D^(−1/2) A D^(−1/2): null vectors and the smallest λ_i > 0.

    Parameters
    ----------
    basis : (n, k + r) array
        V = [U₀ U_r]. U₀ is an orthonormal basis for λ = 0: √degree on each connected component, zero
        elsewhere; U_r the eigenvectors of ``values``, orthonormal, with deterministic signs (``orient``).
    values : (r,) array
        The smallest eigenvalues above zero, ascending.
    residuals : (r,) array
        |L u_i − λ_i u_i| of the true operator, self loops respected. Beyond 3,000 nodes what the
        kernel's own error adds is estimated from a sample of rows, times 1.5.
    solver : str
        What computed them.
    extension : Extension, optional
        The same vectors as functions of a node's data; None where nodes are known by index only.
    mu : (r,) array, optional
        1 − λ with all the digits that the solver has of it; by default 1 − ``values``.
    noise : (r,) array, optional
        What rounding and the approximation of the kernel may do to each value; zero where nothing is known.
    degree_error, degree_bound : float
        The largest relative error of a degree that was seen against the exact kernel, and the one that no
        degree exceeds, by the error bound of the kernel map.
    reason : str
        Why this solver was chosen.
    group : Group
        The processes that share out the nodes: rows of ``basis`` are those of this rank, all else is of all.
    largest, smallest : float, optional
        The largest |entry| of an eigenvector (infinite where there is none) and the smallest norm of a row of
        U₀, over all nodes; by default from the rows of ``group``, which then compares them.
    count : int, optional
        The number of nodes, where their rows of ``basis`` were not kept.
    """

    basis: np.ndarray
    values: np.ndarray
    residuals: np.ndarray
    solver: str
    extension: Extension | None = None
    mu: np.ndarray = field(default_factory=lambda: np.zeros(0))
    noise: np.ndarray = field(default_factory=lambda: np.zeros(0))
    degree_error: float = 0.0
    degree_bound: float = math.inf
    reason: str = ""
    group: Group = ALONE
    largest: float = math.nan
    smallest: float = math.nan
    count: int | None = None

    def __post_init__(self) -> None:
        if len(self.noise) != self.rank:
            object.__setattr__(self, "noise", np.zeros(self.rank))
        if len(self.mu) != self.rank:
            object.__setattr__(self, "mu", 1 - self.values)
        if math.isnan(self.largest) or math.isnan(self.smallest):
            parts = list(share_out(self._extremes, ranges(self.n_nodes, CHUNK)))
            largest = self.group.largest(max((part[0] for part in parts), default=0.0))
            smallest = self.group.smallest(min((part[1] for part in parts), default=math.inf))
            object.__setattr__(self, "largest", largest if self.rank else math.inf)
            object.__setattr__(self, "smallest", smallest)

    def _extremes(self, rows: slice) -> tuple[float, float]:
        null, vectors = self.null_vectors[rows], self.vectors[rows]
        return float(np.abs(vectors).max(initial=0)), float(np.linalg.norm(null, axis=1).min())

    @property
    def components(self) -> int:
        """k, the number of null vectors."""
        return self.basis.shape[1] - self.rank

    @property
    def known(self) -> np.ndarray:
        """[U₀ U_r] at the nodes; an error where it was not kept."""
        if self.count is not None:
            raise GraphError(
                f"The eigenvectors at the {self.count:,} fitted rows were not kept. Call "
                "extend(rows), which gives them at these rows and at any others."
            )
        return self.basis

    @property
    def null_vectors(self) -> np.ndarray:
        """U₀: (n, k)."""
        return self.known[:, : self.components]

    @property
    def vectors(self) -> np.ndarray:
        """U_r: (n, r)."""
        return self.known[:, self.components :]

    @property
    def relative_residuals(self) -> np.ndarray:
        """|L u_i − λ_i u_i| / |1 − λ_i|: how exact u_i is where 1 − λ_i is tiny."""
        return self.residuals / np.maximum(np.abs(self.mu), 1e-300)

    @property
    def orthogonality(self) -> float:
        """The largest entry of VᵀV − I. Where ranks share out the nodes, all must ask for it together."""
        gram = self.group.sum(self.basis.T @ self.basis)
        return float(np.abs(gram - np.eye(len(gram))).max(initial=0))

    @property
    def certificate(self) -> dict[str, Any]:
        """What is known of the exactness of all pairs, in types that JSON keeps (docs/solvers.md)."""
        return {
            "solver": self.solver,
            "reason": self.reason,
            "residual": float(self.residuals.max(initial=0)),
            "relative_residual": float(self.relative_residuals.max(initial=0)),
            "orthogonality": self.orthogonality,
            "noise": float(self.noise.max(initial=0)),
            "degree_error": self.degree_error,
            "degree_bound": self.degree_bound if math.isfinite(self.degree_bound) else None,
        }

    def without_rows(self) -> Spectrum:
        """The same functions, without their values at the nodes: what ``extend`` needs and no more."""
        return replace(self, basis=self.basis[:0].copy(), count=self.n_nodes)

    @property
    def rank(self) -> int:
        """r, the number of eigenvalues above zero that are known."""
        return len(self.values)

    @property
    def n_nodes(self) -> int:
        """n, of this rank"""
        return len(self.basis) if self.count is None else self.count

    @property
    def eigengap(self) -> float:
        """λ₁, or 1 where no pair is known: then every non-zero eigenvalue is taken to be 1."""
        return float(self.values[0]) if self.rank else 1.0

    def extend(self, nodes: Any) -> np.ndarray:
        """The eigenvectors at nodes never seen, (m, r); at the nodes of the graph, ``vectors``."""
        return self.extend_basis(nodes)[:, self.components :]

    def extend_basis(self, nodes: Any) -> np.ndarray:
        """[U₀ U_r] at nodes never seen: (m, k + r)."""
        if self.extension is None:
            raise GraphError(
                "This spectrum knows its own nodes only: the nodes of a sparse graph have no coordinates "
                "or values from which others could be placed."
            )
        return self.extension(nodes)

    def __repr__(self) -> str:
        return (
            f"Spectrum(n_nodes={self.n_nodes}, components={self.components}, rank={self.rank}, "
            f"eigengap={self.eigengap:.4g}, solver={self.solver!r})"
        )

    def state(self, *, without: int | None = None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything, as a description for JSON and arrays. What is extended may go ``without`` its basis at
        so many nodes, those of all ranks."""
        kept = without is None or self.extension is None
        arrays = {name: getattr(self, name) for name in ARRAYS}
        if not kept:
            arrays["basis"] = self.basis[:0]
        numbers = {name: getattr(self, name) for name in NUMBERS}
        description: dict[str, Any] = {  # JSON has no infinity
            "solver": self.solver,
            "reason": self.reason,
            **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
            "extension": None,
            "count": self.count if kept else without,
        }
        if self.extension is not None:
            numbers, more = self.extension.state()
            description["extension"] = {"kind": self.extension.kind, **numbers}
            arrays |= {f"extension.{name}": array for name, array in more.items()}
        return description, arrays

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, np.ndarray]) -> Spectrum:
        """The inverse of ``state``."""
        count = description["count"]
        shapes = _checked(arrays, "n" if count is None else "0")
        if count is not None:
            shapes.known["n"] = count
        extension = None
        if (saved := description["extension"]) is not None:
            prefix = "extension."
            mine = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
            extension = EXTENSIONS[saved["kind"]].from_state(saved, mine)
            extension.check(shapes)
        numbers = {name: math.inf if description[name] is None else description[name] for name in NUMBERS}
        kept: dict[str, Any] = numbers | {name: arrays[name] for name in ARRAYS}
        solver, reason = description["solver"], description["reason"]
        return cls(**kept, solver=solver, reason=reason, extension=extension, count=count)

    def save(self, path: str | Path) -> None:
        """Write a safetensors file (docs/file_format.md)."""
        if not self.group.alone:
            raise GraphError(
                f"A spectrum must be whole to be saved. Got the rows of one of {self.group.size} ranks; "
                "save the model that was fitted with it."
            )
        description, arrays = self.state()
        save_tensors(path, "spectrum", description, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Spectrum:
        """Read a file that ``save`` wrote."""
        description, arrays = load_tensors(path, "spectrum")
        with reading(path):
            return cls.from_state(description, arrays)


def _checked(arrays: dict[str, np.ndarray], rows: str) -> Shapes:
    """The sizes n and k of a spectrum in a file, whose arrays agree on them; its basis has so many rows."""
    shapes = Shapes()
    shapes("basis", arrays["basis"], f"{rows} k")
    for name in ARRAYS[1:]:
        shapes(name, arrays[name], "r")
    if shapes.known["r"] >= shapes.known["k"]:
        raise ModelFileError(
            f"its spectrum must have a null vector. Got {shapes.known['r']} values and {shapes.known['k']} "
            "vectors; save it again."
        )
    return shapes


def count_zeros(values: np.ndarray) -> int:
    """How many of these ascending eigenvalues are 0 within rounding: pieces that hardly touch."""
    return int((values <= ZERO).sum())


def orient(vectors: np.ndarray, counts: np.ndarray | None = None, *, group: Group = ALONE) -> np.ndarray:
    """The sign ±1 of each orthonormal column that makes Σ u³ positive, (r,); row i is ``counts[i]`` rows.

    The third moment does not depend on the order of the nodes. Where it vanishes (symmetric
    vectors) the entry of largest size decides, the first of them in the order of the nodes.
    """
    often = np.ones(len(vectors)) if counts is None else counts
    parts = share_out(lambda rows: third_moments(vectors[rows], often[rows]), ranges(len(vectors), CHUNK))
    moments = group.sum(sum(parts, np.zeros(vectors.shape[1])))
    return signs_of(vectors, moments, group.sum(float(often.sum())), group=group)


def third_moments(vectors: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """Σ_i c_i u_i³ of each column."""
    once = vectors if counts is None else counts[:, None] * vectors
    return np.einsum("ij,ij,ij->j", once, vectors, vectors)


def signs_of(
    vectors: np.ndarray, moments: np.ndarray, n: float | None = None, *, group: Group = ALONE
) -> np.ndarray:
    """The signs that ``orient`` gives, from the moments of all ``n`` nodes, of which this rank has some."""
    smallest = 1 / np.sqrt(len(vectors) if n is None else n)  # that Σ |u|³ can be
    deciding = moments.copy()
    for column in np.flatnonzero(np.abs(moments) <= 1e-8 * smallest):
        u = vectors[:, column]
        sizes = np.abs(u)
        large = sizes >= (1 - 1e-8) * group.largest(sizes.max(initial=0.0))  # equal but for rounding
        deciding[column] = group.rows(u[large][:1])[0]
    return np.where(deciding < 0, -1.0, 1.0)
