"""Eigenvectors as functions: their values at nodes that the spectrum was not computed from.

Extensions are what a fitted model keeps of its graph. Both evaluate node by node, in chunks, from a
few small arrays (docs/maths.md, section 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from pinvgcn.checks import as_points
from pinvgcn.compute.parallel import ranges
from pinvgcn.errors import DataError
from pinvgcn.io.tensors import Shapes
from pinvgcn.kernels import KERNELS, Kernel, TaylorKernel

CHUNK = 131_072  # nodes evaluated at a time
NUMBERS = ("columns", "missing_loop", "smallest_degree")  # of a kernel's extension, in a file
ARRAYS = ("coefficients", "shift", "gain", "transform")


@dataclass(frozen=True)
class KernelExtension:
    """u(x) = Σ_q E_q(x) T_q with E_0(x) = √d(x) and E_q(x) = f_q(x) / (√d(x) (s_q + g_q/d(x))).

    Here f_q(x) = Σ_j k(x, x_j) u_q(x_j)/√d_j and d(x) = Σ_j k(x, x_j) − (1 − ℓ). For an exact eigenpair
    (μ, u) of the normalised adjacency, s = μ and g = 1 − ℓ return u itself at the nodes x_j
    (docs/maths.md, 5.2); s = 1 and g = 0 give smooth functions that the matrix T scales.
    T (q, k + r) makes the values at the nodes orthonormal and puts the null vectors first.
    """

    kind: ClassVar[str] = "kernel"

    kernel: Kernel
    coefficients: np.ndarray  # gathered sums, column 0 for the degrees
    columns: int  # 1 + q
    shift: np.ndarray  # (q,)
    gain: np.ndarray  # (q,)
    missing_loop: float  # 1 − ℓ
    smallest_degree: float  # below this a point has no connection that can be told from rounding
    transform: np.ndarray  # (1 + q, k + r)

    def __post_init__(self) -> None:
        # in the order in which a file gives them back: the last bits of a product depend on it
        for name in ("coefficients", "transform"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name)))

    def __call__(self, nodes: Any) -> np.ndarray:
        """The k + r vectors at any points, null vectors first: (m, k + r)."""
        points = as_points(nodes, "new points")
        result, alone = self.where_joined(points)
        if alone.any():
            first = points[int(np.flatnonzero(alone)[0])]
            raise DataError(
                f"{int(alone.sum())} of {len(points)} points are too far from all training points to be "
                f"joined to them (first: {np.array2string(first, precision=6)}). "
                "Remove them, or fit with a larger sigma or with points near them."
            )
        return result

    def where_joined(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The k + r vectors (m, k + r), and which points are joined to no training point: there they mean
        nothing. A mask (m,)."""
        dimension = self.kernel.dimension
        if points.shape[1] != dimension:
            raise DataError(
                f"new points must have {dimension} coordinates, as in training. "
                f"Got {points.shape[1]} columns instead."
            )
        alone = np.zeros(len(points), dtype=bool)
        result = self._in_one_product(points, alone)
        if result is None:
            result = np.empty((len(points), self.transform.shape[1]))
            for rows in ranges(len(points), CHUNK):
                result[rows] = self.functions(points[rows], alone[rows]) @ self.transform
        for rows in ranges(len(points), CHUNK):
            alone[rows] |= ~self.kernel.inside(points[rows])
        return result, alone

    def functions(self, points: np.ndarray, alone: np.ndarray | None = None) -> np.ndarray:
        """E(x), before T: (m, 1 + q). ``alone`` is set where a point has no degree to speak of."""
        plain = self._plain

        def finish(rows: slice, values: np.ndarray) -> None:
            degrees = self._degrees(values[:, 0], None if alone is None else alone[rows])[:, None]
            root = np.sqrt(degrees)
            values *= 1 / root
            if not plain:
                values[:, 1:] /= self.shift + self.gain / degrees
            values[:, :1] = root

        return self.kernel.evaluate(points, self.coefficients, self.columns, finish)

    def _in_one_product(self, points: np.ndarray, alone: np.ndarray) -> np.ndarray | None:
        """The vectors as (φᵀ(C T) − (1 − ℓ) T₀)/√d, where s = 1 and g = 0 and the series φ is short."""
        if self._turned is None:
            return None

        def finish(rows: slice, values: np.ndarray) -> None:
            degrees = self._degrees(values[:, -1], alone[rows])
            if self.missing_loop:
                values -= missing
            values *= (1 / np.sqrt(degrees))[:, None]

        width = self.transform.shape[1]
        missing = np.append(self.missing_loop * self.transform[0], 0.0)
        return self.kernel.evaluate(points, self._turned, width + 1, finish)[:, :width]

    def _degrees(self, sums: np.ndarray, alone: np.ndarray | None) -> np.ndarray:
        """d(x) from Σ_j k(x, x_j), both (m,); 1 where that is nothing, which ``alone`` tells."""
        degrees = sums - self.missing_loop
        connected = degrees > self.smallest_degree
        if alone is not None:
            alone[:] = ~connected
        return np.where(connected, degrees, 1.0)

    @cached_property
    def _plain(self) -> bool:
        return bool((self.shift == 1).all() and (self.gain == 0).all())

    @cached_property
    def _turned(self) -> np.ndarray | None:
        """[C T c₀], for a series. Other kernels gather a row a node, or two columns as one."""
        if not (self._plain and isinstance(self.kernel, TaylorKernel)):
            return None
        return np.hstack([self.coefficients @ self.transform, self.coefficients[:, :1]])

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Numbers for JSON, and arrays."""
        numbers, arrays = self.kernel.state()
        return {
            "kernel": self.kernel.kind,
            "kernel_numbers": numbers,
            **{name: getattr(self, name) for name in NUMBERS},
        }, {
            **{f"kernel_{name}": array for name, array in arrays.items()},
            **{name: getattr(self, name) for name in ARRAYS},
        }

    def check(self, shapes: Shapes) -> None:
        """Raise where an array of a file has not the shape that n nodes with k basis values ask for."""
        shapes.known |= {"columns": self.columns, "q": self.columns - 1}
        if "sources" in (own := self.kernel.state()[1]):  # the nodes themselves
            shapes("extension.kernel_sources", own["sources"], "n d")
        gathered = " ".join(map(str, self.kernel.gathered_shape(self.columns)))
        for name, letters in (
            ("coefficients", gathered), ("shift", "q"), ("gain", "q"), ("transform", "columns k"),
        ):  # fmt: skip
            shapes(f"extension.{name}", getattr(self, name), letters)

    @classmethod
    def from_state(cls, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> KernelExtension:
        prefix = "kernel_"
        mine = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        kernel = KERNELS[numbers["kernel"]].from_state(numbers["kernel_numbers"], mine)
        saved: dict[str, Any] = {name: numbers[name] for name in NUMBERS}
        return cls(kernel, **saved | {name: arrays[name] for name in ARRAYS})


@dataclass(frozen=True)
class IncidenceExtension:
    """u(h) = d(h)^(−1/2) h Z with d(h) = Σ_e h_e w_e, for a row h of an incidence matrix.

    Z = W^(1/2) B^(−1/2) Ṽ Σ̃⁻¹ with B from training: at the training rows this is the singular value
    decomposition itself.
    """

    kind: ClassVar[str] = "incidence"

    weights: np.ndarray  # (|E|,)
    coefficients: np.ndarray  # Z: (|E|, k + r)

    def __call__(self, nodes: Any) -> np.ndarray:
        """The k + r vectors at any rows, null vectors first: (m, k + r)."""
        return self.factor(nodes) @ self.coefficients

    def factor(self, nodes: Any) -> sp.csr_array:
        """D^(−1/2) H of these rows, which Z multiplies: (m, |E|)."""
        rows, degrees = self.checked(nodes)
        entries = rows.data / np.repeat(np.sqrt(degrees), np.diff(rows.indptr))
        return sp.csr_array((entries, rows.indices, rows.indptr), shape=rows.shape)

    def checked(self, nodes: Any) -> tuple[sp.csr_array, np.ndarray]:
        """These rows as incidences H (m, |E|), and their degrees (m,); an error where one has none."""
        edges = len(self.weights)
        try:
            rows = sp.csr_array(nodes if sp.issparse(nodes) else np.asarray(nodes, dtype=float), dtype=float)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"new rows must be incidences, as of graph.encoder.transform(table)[0]. Got {error} instead."
            ) from None
        if rows.ndim != 2 or rows.shape[1] != edges:
            raise DataError(
                f"new rows must have an entry for each of the {edges} hyperedges of training. "
                f"Got shape {rows.shape} instead."
            )
        if not (np.isfinite(rows.data).all() and (rows.data >= 0).all()):
            bad = rows.data[~(np.isfinite(rows.data) & (rows.data >= 0))][0]
            raise DataError(f"new rows must be finite and zero or more. Got {bad} instead.")
        degrees = rows @ self.weights
        if (degrees <= 0).any():
            raise DataError(
                f"{int((degrees <= 0).sum())} of {rows.shape[0]} rows have no value that training knew "
                f"(first: row {int(np.flatnonzero(degrees <= 0)[0])}). Remove them, or fit with such rows."
            )
        return rows, degrees

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {}, {"weights": self.weights, "coefficients": self.coefficients}

    def check(self, shapes: Shapes) -> None:
        shapes("extension.weights", self.weights, "e")
        shapes("extension.coefficients", self.coefficients, "e k")

    @classmethod
    def from_state(cls, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> IncidenceExtension:
        return cls(arrays["weights"], arrays["coefficients"])


Extension = KernelExtension | IncidenceExtension  # evaluates all vectors of a spectrum at any nodes
EXTENSIONS: dict[str, type[Extension]] = {kind.kind: kind for kind in (KernelExtension, IncidenceExtension)}
