"""What stays as it is while the weights change: the basis V, and the problem that training solves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.distributed.rows import rows_of_all
from pinvgcn.errors import ParameterError
from pinvgcn.nn.conv import PinvConv, scaled
from pinvgcn.nn.filters import FilterBasis
from pinvgcn.nn.rows import Rows, rows_of
from pinvgcn.spectra import IncidenceExtension, Spectrum

SPARSE_COST = 3  # what an entry of a sparse product costs, in entries of a dense one


@dataclass(frozen=True)
class Basis:
    """V = F Z: (n, k + r), F with a row a node, Z small, or V = F without Z.

    The basis of a table is D^(−1/2) H times a small matrix (docs/maths.md, 5.1), and H has an entry for each
    attribute of a row where V has k + r: V itself is then never formed.
    """

    F: Any  # (n, q) array or scipy sparse array
    Z: np.ndarray | None = None  # (q, k + r)
    group: Group = ALONE  # the processes that share the nodes

    @classmethod
    def of(cls, spectrum: Spectrum, incidence: Any = None, *, nodes: np.ndarray | None = None) -> Basis:
        """V of this process's nodes, or of some of them, factored where there is an incidence matrix and
        that pays for all processes."""
        group = spectrum.group
        if incidence is not None:
            H = incidence if nodes is None else incidence[nodes]
            entries, rows = group.sum(np.array([H.nnz, H.shape[0]])).tolist()
            width = spectrum.components + spectrum.rank
            # with more hyperedges than rows, Z is no longer small; and every rank multiplies with it
            if SPARSE_COST * entries + group.size * H.shape[1] * width <= rows * width:
                extension = spectrum.extension
                assert isinstance(extension, IncidenceExtension)
                return cls(extension.factor(H), extension.coefficients, group)
        return cls(spectrum.basis if nodes is None else spectrum.basis[nodes], group=group)

    @property
    def width(self) -> int:
        """k + r"""
        return int((self.F if self.Z is None else self.Z).shape[1])

    def __len__(self) -> int:
        return int(self.F.shape[0])

    def __getitem__(self, rows: Any) -> Basis:
        return Basis(self.F[rows], self.Z, self.group)

    def of_all(self) -> Basis:
        """The rows of all processes, of which each has a few."""
        return Basis(rows_of_all(self.F, self.group), self.Z)

    def __matmul__(self, M: np.ndarray) -> np.ndarray:
        """V M"""
        return self.F @ (M if self.Z is None else self.Z @ M)

    def adjoint(self, X: Any) -> np.ndarray:
        """VᵀX, X dense or sparse."""
        gathered = self.F.T @ X
        if sp.issparse(gathered):
            gathered = gathered.toarray()
        return gathered if self.Z is None else self.Z.T @ gathered

    def total(self, X: Any, weights: np.ndarray | None = None) -> np.ndarray:
        """Vᵀ diag(weights) X over the rows of all processes."""
        return self.group.sum(self.adjoint(X if weights is None else sp.diags_array(weights) @ X))


@dataclass(frozen=True)
class Problem:
    """Nodes, the basis V = F Z and the first layer's input, in the precision and on the device of training.

    The first layer is Y = Σ_j A_j Θ_j + b with constant A_j and small Θ_j, in the cheaper of two forms: all
    products 𝒦^(k)X side by side, (n, K N₀), times the weights; or F and X themselves times what 2.3 of
    docs/maths.md has for them, which are one where X = ρF, as in a table whose rows all have the same degree.
    The filters are in these constants, so that a problem is for networks with the same ones alone. A node
    with weight ω counts ω times in sums over nodes. The nodes are those of this rank of a ``group``, whose
    sums are over the nodes of all.
    """

    F: Rows  # (n, q)
    weighted: Rows  # diag(ω) F
    Z: Tensor | None  # (q, k + r)
    first: tuple[Rows, ...]  # the A_j
    C: Tensor | None  # diag(g_k) VᵀX for all k, (k + r, K N₀), where the first layer is in factored form
    ratio: float | None  # ρ
    ids: Tensor  # (n,) the nodes' numbers, by which dropout knows them
    weights: Tensor | None  # ω: (n,)
    filters: FilterBasis
    places: np.ndarray | None = None  # (n, d), near each other where nodes are alike
    group: Group = ALONE

    @classmethod
    def of(
        cls,
        basis: Basis,
        X: Any,
        filter_basis: FilterBasis,
        *,
        like: Tensor,
        weights: np.ndarray | None = None,
        ids: np.ndarray | None = None,
        places: np.ndarray | None = None,
        sums: np.ndarray | None = None,
    ) -> Problem:
        """Prepare features X (n, N₀), dense or sparse, for training with tensors ``like`` this one.

        The nodes, and the processes that share them, are those of the basis. ``sums`` is Vᵀ diag(ω) X over
        the nodes of all processes, where it is known.

        Sums and products are formed in double precision: the high-pass part subtracts numbers that may be
        large and nearly equal.
        """
        F = rows_of(basis.F, like)
        omega = None if weights is None else torch.from_numpy(weights).to(like)
        numbers = torch.from_numpy(np.arange(len(basis)) if ids is None else ids).to(like.device)
        C = basis.total(X, weights) if sums is None else sums
        first: tuple[Rows, ...]
        ratio, factored = None, None
        if not sp.issparse(X) and len(filter_basis) * X.shape[1] <= basis.width + X.shape[1]:
            parts = zip(filter_basis.gains, filter_basis.high, strict=True)
            products = [basis @ (gain[:, None] * C) + high * X for gain, high in parts]
            first = (rows_of(np.hstack(products), like),)
        else:
            ratio = _ratio(X, basis)
            first = (F, rows_of(X, like)) if ratio is None else (F,)
            factored = scaled(torch.from_numpy(filter_basis.gains), torch.from_numpy(C).to(like))
        return cls(
            F,
            F if omega is None else F.scaled(omega),
            None if basis.Z is None else torch.from_numpy(basis.Z).to(like),
            first,
            factored,
            ratio,
            numbers,
            omega,
            filter_basis,
            places,
            basis.group,
        )

    def __len__(self) -> int:
        return self.F.shape[0]

    @cached_property
    def order(self) -> np.ndarray:
        """The nodes in an order that keeps neighbours together; as they come where no places are known."""
        return np.arange(len(self)) if self.places is None else along_curve(self.places)

    def take(self, nodes: Tensor, counts: Tensor) -> Problem:
        """Some of the nodes, each of which stands for ``counts`` of them in sums."""
        omega = counts if self.weights is None else counts * self.weights[nodes]
        F = self.F.take(nodes)
        return replace(
            self,
            F=F,
            weighted=F.scaled(omega),
            first=tuple(F if part is self.F else part.take(nodes) for part in self.first),
            ids=self.ids[nodes],
            weights=omega,
            places=None,
        )

    def check_filters(self, conv: PinvConv) -> None:
        """That a first layer has the filters of this problem; with others it would use these unasked."""
        pairs = (conv.gains, self.filters.gains), (conv.high, self.filters.high)
        if not all(
            own is not None
            and own.shape == given.shape
            and np.allclose(own.cpu().numpy(), given, rtol=1e-6, atol=0)
            for own, given in pairs
        ):
            raise ParameterError(
                "network must have the spectrum and the filters that problem was made with. "
                f"Got others instead; the problem's filters are: {', '.join(self.filters.names)}."
            )

    def first_coefficients(self, conv: PinvConv) -> Sequence[Tensor]:
        """The Θ_j of the first layer, which has the filters of this problem."""
        if self.C is None:
            return [conv.weights.flatten(0, 1)]
        through_basis, direct = self.spread(self.C @ conv.weights.flatten(0, 1)), conv.direct()
        return [through_basis, direct] if self.ratio is None else [through_basis + self.ratio * direct]

    def spread(self, M: Tensor) -> Tensor:
        """Z M: V M = F (Z M)."""
        return M if self.Z is None else self.Z @ M

    def gather(self, sums: Tensor) -> Tensor:
        """Zᵀ(FᵀH) = VᵀH."""
        return sums if self.Z is None else self.Z.T @ sums


def _ratio(X: Any, basis: Basis) -> float | None:
    """ρ where X = ρF within rounding, both sparse, on all processes that have entries."""
    group, ratio = basis.group, _own_ratio(X, basis.F)
    if group.alone:
        return ratio
    unlike = X.shape[0] > 0 and ratio is None
    low = group.smallest(-np.inf if unlike else np.inf if ratio is None else ratio)
    high = group.largest(np.inf if unlike else -np.inf if ratio is None else ratio)
    return low if np.isfinite(low) and np.isclose(low, high, rtol=1e-14, atol=0) else None


def _own_ratio(X: Any, F: Any) -> float | None:
    if not (sp.issparse(X) and sp.issparse(F)) or X.shape != F.shape or X.nnz != F.nnz or X.nnz == 0:
        return None
    same = np.array_equal(X.indptr, F.indptr) and np.array_equal(X.indices, F.indices)
    ratios = X.data / F.data if same else np.zeros(1)
    return float(ratios[0]) if same and np.allclose(ratios, ratios[0], rtol=1e-14, atol=0) else None


BITS = 62  # of a whole number, with room for a sign
FINEST = 20  # bits of one axis


def along_curve(places: np.ndarray) -> np.ndarray:
    """The rows of places (n, d) in the order in which Morton's curve comes through them.

    The bits of the coordinates, in steps of one common width, interleaved, are a row's place on the curve.
    """
    axes = places[:, :BITS]
    bits = min(FINEST, BITS // axes.shape[1])
    low = axes.min(axis=0)
    width = (axes.max(axis=0) - low).max()
    code = np.zeros(len(axes), dtype=np.int64)
    for axis, x in enumerate((axes - low).T):
        cells = (x / width * (2**bits - 1) if width else x).astype(np.int64)
        for bit in range(bits):
            code |= (cells >> bit & 1) << (bit * axes.shape[1] + axis)
    return np.argsort(code, kind="stable")
