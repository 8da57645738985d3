"""Cora, Citeseer and Pubmed, with the splits of Planetoid.

Planetoid stores a network in parts: features and classes of all nodes but the test nodes (``allx``,
``ally``), those of the test nodes (``tx``, ``ty``) in the order of ``test.index``, and neighbour
lists (``graph``). The parts are Python pickles, which may run any code when they are read. These
are compared with their hashes first, and nothing but arrays and lists can be built from them.
"""

from __future__ import annotations

import collections
import io
import pickle
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from pinvgcn.datasets.dataset import Dataset, DatasetInfo, Split
from pinvgcn.datasets.locate import DataFile, read
from pinvgcn.errors import DatasetError

ADDRESS = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data"
VALIDATION = 500  # nodes, right after the training nodes

HASHES = {
    "cora": {
        "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
        "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
        "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
        "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
        "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
        "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
        "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
    },
    "citeseer": {
        "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
        "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
        "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
        "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
        "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
        "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
        "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
    },
    "pubmed": {
        "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
        "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
        "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
        "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
        "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
        "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
        "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
    },
}

# The files hold no names; these follow from the number of papers in each class at LINQS.
CLASSES = {
    "cora": (
        "theory", "reinforcement learning", "genetic algorithms", "neural networks", "probabilistic methods",
        "case based", "rule learning",
    ),
    "citeseer": (
        "artificial intelligence", "machine learning", "information retrieval", "databases", "agents",
        "human-computer interaction",
    ),
    "pubmed": ("experimental diabetes", "type 2 diabetes", "type 1 diabetes"),
}  # fmt: skip


def _info(name: str, what: str, nodes: int) -> DatasetInfo:
    return DatasetInfo(
        name=name,
        rows=nodes,
        classes=len(CLASSES[name]),
        description=f"Papers that cite each other, by their words: {what}",
        source="Planetoid (Yang, Cohen, Salakhutdinov, 2016), from LINQS data (Sen 2008, Namata 2012)",
        licence="MIT (Planetoid)",
        files=tuple(
            DataFile(f"planetoid/ind.{name}.{part}", sha256, f"{ADDRESS}/ind.{name}.{part}")
            for part, sha256 in HASHES[name].items()
        ),
    )


def _load(info: DatasetInfo) -> Dataset:
    contents = {part: read(file) for part, file in zip(HASHES[info.name], info.files, strict=True)}
    test = np.array(contents.pop("test.index").split(), dtype=np.int64)
    parts = {part: unpickle(content, f"ind.{info.name}.{part}") for part, content in contents.items()}

    first_test = parts["allx"].shape[0]
    nodes = np.concatenate([np.arange(first_test), test])  # the node that each stored row belongs to
    n = nodes.max() + 1
    features = sp.vstack([parts["allx"], parts["tx"]]).tocoo()
    X = sp.csr_matrix(
        (features.data.astype(np.float64), (nodes[features.row], features.col)), shape=(n, features.shape[1])
    )
    # Fifteen nodes of Citeseer are cited but have no row: their features stay zero, and their class is 0
    # by the custom of taking the largest entry of an empty row. That class is not known to be right;
    # no part of the split contains them.
    membership = np.zeros((n, len(CLASSES[info.name])))
    membership[nodes] = np.vstack([parts["ally"], parts["ty"]])
    y = membership.argmax(axis=1).astype(np.int64)

    train = len(parts["y"])
    split = Split(np.arange(train), np.arange(train, train + VALIDATION), np.sort(test))
    return Dataset(info, X, y, CLASSES[info.name], _adjacency(parts["graph"], n), split)


LOADERS = {
    info: partial(_load, info)
    for info in (
        _info("cora", "7 fields of machine learning", 2_708),  # 5,278 edges, 78 components
        # 4,552 edges, 438 components: 48 of them single nodes
        _info("citeseer", "6 fields of computer science", 3_327),
        _info("pubmed", "3 kinds of diabetes", 19_717),  # 44,324 edges, connected
    )
}


def _adjacency(neighbours: dict[int, list[int]], n: int) -> sp.csr_matrix:
    """Symmetric, of zeros and ones; the lists' repetitions and self loops are dropped."""
    rows = np.repeat(list(neighbours), [len(listed) for listed in neighbours.values()])
    columns = np.fromiter(chain.from_iterable(neighbours.values()), dtype=np.int64)
    edges = rows != columns
    rows, columns = rows[edges], columns[edges]
    both = (np.concatenate([rows, columns]), np.concatenate([columns, rows]))
    adjacency = sp.csr_matrix((np.ones(len(both[0])), both), shape=(n, n))
    adjacency.data[:] = 1.0  # building summed the repetitions
    return adjacency


def _dtype(kind: str, align: int = 0, copy: int = 0) -> np.dtype:
    return np.dtype(kind, bool(align), bool(copy))  # the files have numbers where numpy wants booleans


# numpy's own name for this function has moved between versions: ask an array for it
_reconstruct: Any = np.empty(0).__reduce__()[0]

ALLOWED: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): _dtype,
    ("scipy.sparse.csr", "csr_matrix"): sp.csr_matrix,
    ("collections", "defaultdict"): collections.defaultdict,
    ("__builtin__", "list"): list,
}


class _Unpickler(pickle.Unpickler):
    """Builds arrays, sparse matrices and dictionaries of lists; refuses every other name."""

    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        try:
            return ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed in a data file") from None


def unpickle(content: bytes, origin: str) -> Any:
    """The object in ``content``, a pickle; ``origin`` is how messages call it."""
    try:
        return _Unpickler(io.BytesIO(content), encoding="latin1").load()
    except Exception as error:  # a damaged pickle can raise anything
        raise DatasetError(
            f"{origin} cannot be read as a pickle of arrays: {error}. "
            f"What to do: fetch it again from {ADDRESS}."
        ) from None
