"""A convolution on several graphs at once is the convolution on each."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from pinvgcn import GaussianGraph, Hypergraph, SparseGraph
from pinvgcn.errors import GraphError, ParameterError
from pinvgcn.nn import FilterBasis, PinvConv, SpectrumBatch

pytestmark = pytest.mark.usefixtures("double")
RNG = np.random.default_rng(0)
PATH = np.diag(np.ones(6), 1)
TWO_PATHS = sp.block_diag([PATH + PATH.T, PATH + PATH.T])
SPECTRA = [
    GaussianGraph(RNG.normal(size=(40, 3)), 2.0, loops=1.0).spectrum(5),
    SparseGraph(TWO_PATHS).spectrum(4),  # two components
    Hypergraph(np.eye(3)[RNG.integers(0, 3, 20)] + np.eye(3)[np.arange(20) % 3]).spectrum(),  # 2 pairs
    GaussianGraph(RNG.normal(size=(7, 2)), 1.0).spectrum(3),
]
SIZES = [spectrum.n_nodes for spectrum in SPECTRA]


@pytest.mark.parametrize("filters", ["three-part", "no-high-pass", "low-rank", "pseudoinverse", (0.5, 2, -1)])
def test_each_graph_by_its_own_spectrum(filters):
    conv = PinvConv(3, 4, filters)
    torch.nn.init.normal_(conv.bias)
    X = torch.randn(sum(SIZES), 3, requires_grad=True)
    Y = conv(X, SpectrumBatch.from_spectra(SPECTRA))
    expected = []
    for spectrum, rows in zip(SPECTRA, X.split(SIZES), strict=True):
        single = PinvConv(3, 4, FilterBasis.of(spectrum, filters))
        single.weights, single.bias = conv.weights, conv.bias
        expected.append(single(rows, torch.from_numpy(spectrum.basis)))
    expected = torch.cat(expected)
    torch.testing.assert_close(Y, expected, rtol=0, atol=1e-12)
    probe = torch.randn_like(Y)
    ours = torch.autograd.grad((Y * probe).sum(), [X, conv.weights], retain_graph=True)
    theirs = torch.autograd.grad((expected * probe).sum(), [X, conv.weights])
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


def test_graphs_do_not_see_each_other():
    conv, batch = PinvConv(2, 2), SpectrumBatch.from_spectra(SPECTRA)
    X = torch.randn(sum(SIZES), 2)
    changed = X.clone()
    changed[SIZES[0] :] += 1
    torch.testing.assert_close(conv(X, batch)[: SIZES[0]], conv(changed, batch)[: SIZES[0]], rtol=0, atol=0)
    assert repr(batch) == "SpectrumBatch(4 graphs, 81 nodes, rank=5)"


def test_columns_are_cut_and_padded():
    batch = SpectrumBatch.from_spectra(SPECTRA, rank=3)
    assert batch.vectors.shape == (81, 3)
    assert batch.values.shape == (4, 3)
    np.testing.assert_array_equal(batch.values[0], SPECTRA[0].values[:3])
    assert (batch.vectors[54:74, 2] == 0).all()
    assert batch.values[2, 2] == 1


def test_in_single_precision():
    batch, X = SpectrumBatch.from_spectra(SPECTRA), torch.randn(81, 3)
    conv = PinvConv(3, 4)
    exact = conv(X, batch)
    torch.testing.assert_close(conv.float()(X.float(), batch).double(), exact, rtol=1e-4, atol=1e-4)


def test_what_cannot_be_used():
    with pytest.raises(ParameterError, match=r"needs a SpectrumBatch. Got a tensor V"):
        PinvConv(3, 4)(torch.randn(40, 3), torch.from_numpy(SPECTRA[0].basis))
    with pytest.raises(ParameterError, match="filters must be one of"):
        PinvConv(3, 4, "four-part")
    batch = SpectrumBatch.from_spectra(SPECTRA)
    with pytest.raises(GraphError, match="sorted by graph"):
        SpectrumBatch(batch.vectors, batch.values, batch.null_index, batch.null_value, batch.batch.flip(0))
