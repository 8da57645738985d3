"""What `load_dataset` returns: the data, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinvgcn.datasets.locate import DataFile, is_here


@dataclass(frozen=True)
class DatasetInfo:
    """What can be said about a data set without loading it."""

    name: str
    description: str  # one line
    source: str
    licence: str
    rows: int
    classes: int
    files: tuple[DataFile, ...] = ()  # none where the data are generated

    @property
    def available(self) -> bool:
        """Whether the data set can be loaded without a download."""
        return all(map(is_here, self.files))


@dataclass(frozen=True)
class Split:
    """Rows for training, validation and test, as indices."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Nodes with features and known classes, as `load_dataset` returns them.

    ``X`` is what the data naturally are: coordinates (n, 3), a table, or a sparse feature matrix.
    ``y`` holds int64 codes (n,) that index ``target_names``, -1 where no class is known. Citation
    networks also have an ``adjacency`` (symmetric, of zeros and ones, without diagonal) and their standard
    ``split``; a scan may have further columns, ``features`` (n, f).
    """

    info: DatasetInfo
    X: Any
    y: np.ndarray
    target_names: tuple[str, ...]
    adjacency: sp.csr_matrix | None = None
    split: Split | None = None
    features: np.ndarray | None = None

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def description(self) -> str:
        return self.info.description

    @property
    def source(self) -> str:
        return self.info.source

    @property
    def licence(self) -> str:
        return self.info.licence

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        counts = np.bincount(self.y[self.y >= 0], minlength=len(self.target_names))
        classes = ", ".join(f"{t} {count:,}" for t, count in zip(self.target_names, counts, strict=True))
        edges = f", {self.adjacency.nnz // 2:,} edges" if self.adjacency is not None else ""
        return f"Dataset({self.name!r}: {rows:,} rows × {columns:,} columns{edges}; {classes})"
