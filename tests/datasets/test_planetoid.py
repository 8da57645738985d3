"""Citation networks: statistics, standard splits, and pickles that are not to be trusted."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from pinvgcn.datasets import dataset_info, load_dataset, planetoid, planetoid_split
from pinvgcn.errors import DatasetError

STATISTICS = {  # nodes, features, edges, components, classes
    "cora": (2708, 1433, 5278, 78, 7),
    "citeseer": (3327, 3703, 4552, 438, 6),
    "pubmed": (19717, 500, 44324, 1, 3),
}


@pytest.fixture(params=STATISTICS)
def network(request, data_set):
    return data_set(request.param)


def test_networks_have_the_known_statistics(network):
    nodes, features, edges, components, classes = STATISTICS[network.name]
    assert network.X.shape == (nodes, features)
    assert network.X.format == "csr"
    assert network.X.dtype == np.float64
    A = network.adjacency
    assert A.shape == (nodes, nodes)
    assert A.nnz == 2 * edges
    assert (A != A.T).nnz == 0
    assert A.diagonal().sum() == 0
    assert set(A.data) == {1.0}
    assert connected_components(A)[0] == components
    assert len(network.target_names) == classes
    assert network.y.dtype == np.int64
    assert set(network.y) == set(range(classes))


def test_the_standard_split_is_20_a_class_then_500_then_1000(network):
    split, classes = network.split, len(network.target_names)
    assert np.bincount(network.y[split.train]).tolist() == [20] * classes
    assert len(split.validation) == 500
    assert len(split.test) == 1000
    assert len(set(split.train) | set(split.validation) | set(split.test)) == 1500 + 20 * classes


def test_planetoid_split_shows_the_training_labels_alone(network):
    labels = planetoid_split(network)
    assert np.array_equal(np.flatnonzero(labels != -1), network.split.train)
    assert np.array_equal(labels[network.split.train], network.y[network.split.train])
    assert labels.dtype == np.int64


def test_features_are_in_the_order_of_the_graph(network):
    """Neighbours share words: were the test nodes in file order, theirs would be like strangers'."""
    A, X = network.adjacency, network.X
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    norms[norms == 0] = 1

    def likeness(i: np.ndarray, j: np.ndarray) -> float:
        return float((np.asarray(X[i].multiply(X[j]).sum(axis=1)).ravel() / norms[i] / norms[j]).mean())

    i, j = A[network.split.test].nonzero()
    i = network.split.test[i]
    strangers = np.random.default_rng(0).permutation(j)
    assert likeness(i, j) > 1.5 * likeness(i, strangers)
    assert (network.y[i] == network.y[j]).mean() > 0.7


def test_fifteen_nodes_of_citeseer_have_no_features_and_are_in_no_split(data_set):
    data = data_set("citeseer")
    split = data.split
    degrees = np.asarray(data.adjacency.sum(axis=1)).ravel()
    assert (degrees == 0).sum() == 48  # other nodes, which do have features
    beyond = np.setdiff1d(np.arange(2312, 3327), split.test)
    assert len(beyond) == 15
    assert data.X[beyond].nnz == 0
    assert (degrees[beyond] > 0).all()
    assert not np.isin(beyond, np.concatenate([split.train, split.validation, split.test])).any()
    assert (data.y[beyond] == 0).all()


class Harmful:
    """Unpickled by Python's own reader, this makes a folder."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_a_pickle_that_runs_code_is_refused(tmp_path):
    target = tmp_path / "harm"
    with pytest.raises(DatasetError, match=r"ind\.x cannot be read.*mkdir is not allowed in a data file"):
        planetoid.unpickle(pickle.dumps(Harmful(str(target))), "ind.x")
    assert not target.exists()


@pytest.mark.parametrize(
    "opcodes",
    [b"cbuiltins\neval\n.", b"c__builtin__\ngetattr\n.", b"cnumpy\nload\n.", b"cnumpy\nndarray.tofile\n."],
)
def test_names_beyond_the_few_needed_are_refused(opcodes):
    with pytest.raises(DatasetError, match="is not allowed in a data file"):
        planetoid.unpickle(opcodes, "ind.x")


@pytest.mark.parametrize("content", [b"", b"garbage", pickle.dumps([1, 2, 3])[:-3]])
def test_a_damaged_pickle_is_refused(content):
    with pytest.raises(DatasetError, match="cannot be read as a pickle of arrays"):
        planetoid.unpickle(content, "ind.x")


def test_a_tampered_file_is_refused_before_it_is_unpickled(bare, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PINVGCN_DATA", str(tmp_path))
    (tmp_path / "planetoid").mkdir()
    for file in dataset_info("cora").files:
        (tmp_path / file.path).write_bytes(pickle.dumps(Harmful(str(tmp_path / "harm"))))
    with pytest.raises(DatasetError, match=r"ind\.cora\.allx is not the file"):
        load_dataset("cora")
    assert not (tmp_path / "harm").exists()
