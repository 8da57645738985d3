"""The low end of a Laplacian's spectrum, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinvgcn.errors import GraphError, ModelFileError
from pinvgcn.io.tensors import load_tensors, save_tensors
from pinvgcn.spectra.extension import Extension, extension_from_state

ZERO = 1e-12  # eigenvalues at or below this are null


@dataclass(frozen=True, eq=False)
class Spectrum:
    """L u_i = λ_i u_i with L = I − D^(−1/2) A D^(−1/2): null vectors and the smallest λ_i > 0.

    Parameters
    ----------
    null_vectors : (n, k) array
        An orthonormal basis for λ = 0: √degree on each connected component, zero elsewhere.
    values : (r,) array
        The smallest eigenvalues above zero, ascending.
    vectors : (n, r) array
        Their eigenvectors, orthonormal, with deterministic signs (``orient``).
    residuals : (r,) array
        |L u_i − λ_i u_i| of the true operator, self loops respected.
    solver : str
        What computed them.
    extension : Extension, optional
        The same vectors as functions of a node's data; None where nodes are known by index only.
    """

    null_vectors: np.ndarray
    values: np.ndarray
    vectors: np.ndarray
    residuals: np.ndarray
    solver: str
    extension: Extension | None = None

    @property
    def rank(self) -> int:
        """r, the number of eigenvalues above zero that are known."""
        return len(self.values)

    @property
    def n_nodes(self) -> int:
        """n"""
        return len(self.vectors)

    @property
    def eigengap(self) -> float:
        """λ₁, or 1 where no pair is known: then every non-zero eigenvalue is taken to be 1."""
        return float(self.values[0]) if self.rank else 1.0

    @property
    def basis(self) -> np.ndarray:
        """V = [U₀ U_r]: (n, k + r)."""
        return np.hstack([self.null_vectors, self.vectors])

    def extend(self, nodes: Any) -> np.ndarray:
        """The eigenvectors at nodes never seen, (m, r); at the nodes of the graph, ``vectors``."""
        return self.extend_basis(nodes)[:, self.null_vectors.shape[1] :]

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
            f"Spectrum(n_nodes={self.n_nodes}, components={self.null_vectors.shape[1]}, rank={self.rank}, "
            f"eigengap={self.eigengap:.4g}, solver={self.solver!r})"
        )

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything, as a description for JSON and arrays."""
        arrays = {
            "null_vectors": self.null_vectors,
            "values": self.values,
            "vectors": self.vectors,
            "residuals": self.residuals,
        }
        description: dict[str, Any] = {"solver": self.solver, "extension": None}
        if self.extension is not None:
            numbers, more = self.extension.state()
            description["extension"] = {"kind": self.extension.kind, **numbers}
            arrays |= {f"extension.{name}": array for name, array in more.items()}
        return description, arrays

    @classmethod
    def from_state(cls, description: dict[str, Any], arrays: dict[str, np.ndarray]) -> Spectrum:
        """The inverse of ``state``."""
        extension = None
        if description["extension"] is not None:
            prefix = "extension."
            mine = {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
            extension = extension_from_state(description["extension"]["kind"], description["extension"], mine)
        return cls(
            arrays["null_vectors"],
            arrays["values"],
            arrays["vectors"],
            arrays["residuals"],
            description["solver"],
            extension,
        )

    def save(self, path: str | Path) -> None:
        """Write a safetensors file (docs/file-format.md)."""
        description, arrays = self.state()
        save_tensors(path, "spectrum", description, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Spectrum:
        """Read a file that ``save`` wrote."""
        description, arrays = load_tensors(path, "spectrum")
        try:
            return cls.from_state(description, arrays)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"{path} is damaged: {error!r}. Save it again.") from None


def count_zeros(values: np.ndarray) -> int:
    """How many of these ascending eigenvalues are 0 within rounding: pieces that hardly touch."""
    return int((values <= ZERO).sum())


def orient(vectors: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """The sign ±1 of each column that makes Σ u³ positive, (r,); row i counts ``counts[i]`` times.

    The third moment does not depend on the order of the nodes. Where it vanishes (symmetric
    vectors) the entry of largest size decides, the first of them in the order of the nodes.
    """
    often = np.ones(len(vectors)) if counts is None else counts
    sizes = np.abs(vectors)
    cubes = often @ vectors**3
    undecided = np.abs(cubes) <= 1e-8 * (often @ sizes**3)
    first = (sizes >= (1 - 1e-8) * sizes.max(axis=0)).argmax(axis=0)  # of those equal but for rounding
    largest = vectors[first, np.arange(vectors.shape[1])]
    return np.where(np.where(undecided, largest, cubes) < 0, -1.0, 1.0)
