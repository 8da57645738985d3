"""Sums, losses and gradients over ranks, against the plain formula on all nodes in one process."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from ranks import SIZES, shares

from pinvgcn import GaussianGraph, Hypergraph
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.nn import Basis, FilterBasis, Labels, PinvGCN, Problem, TrainingSettings, sampling, train
from pinvgcn.nn.hidden import FastNetwork
from pinvgcn.nn.nodewise import fold
from pinvgcn.nn.sampling import NodeSubsample

N = 60
WIDTHS = {"one": (), "two": 5, "three": (6, 4)}
CODES = np.where(np.arange(N) % 5 == 0, np.arange(N) % 3, -1)  # labels at every fifth node
CODES[40:] = -1  # and none on the last ranks


pytestmark = pytest.mark.usefixtures("double")


def cloud():
    """A spectrum of all nodes, and features."""
    X = np.random.default_rng(0).normal(size=(N, 3))
    return GaussianGraph(X, 2.0, loops=1.0).spectrum(6), X


def network_on(spectrum, hidden):
    return PinvGCN(spectrum, 3, 3, hidden=hidden, generator=torch.Generator().manual_seed(1))


def part(process_group, kind):
    """The group, this rank's nodes, and the problem of them: rows of what one process has."""
    group = ALONE if process_group is None else Group.of(process_group)
    mine = slice(0, N) if group.alone else shares(N, group.size, kind)[group.rank]
    spectrum, X = cloud()
    here = replace(spectrum, basis=spectrum.basis[mine], group=group)
    ids = np.arange(N)[mine]
    filters = FilterBasis.of(spectrum, "three-part")
    problem = Problem.of(Basis.of(here), X[mine], filters, like=torch.empty(0), ids=ids, places=X[mine])
    return group, mine, spectrum, X, problem


def labels_in(mine, group):
    rows = np.flatnonzero(CODES[mine] >= 0)
    return Labels.of(
        torch.from_numpy(rows),
        torch.from_numpy(CODES[mine][rows]),
        3,
        torch.from_numpy(1.0 + np.arange(N)[mine][rows]),
        group=group,
    )


def gradients(process_group, kind, depth):
    group, mine, spectrum, _, problem = part(process_group, kind)
    network, labels = network_on(spectrum, WIDTHS[depth]), labels_in(mine, group)
    loss = labels.loss(FastNetwork(network, problem, labels.nodes)((7, 3)))
    loss.backward()
    found = [loss.detach().reshape(1)] + [weights.grad for weights in network.parameters()]
    group.sum_(found)
    return [tensor.numpy() for tensor in found]


@pytest.mark.parametrize("depth", WIDTHS)
@pytest.mark.parametrize("kind", ["uneven", "empty"])
@pytest.mark.parametrize("size", SIZES)
def test_gradients_are_those_of_the_formula(ranks, size, kind, depth):
    """Dropout included: its masks belong to nodes, whoever has them."""
    spectrum, X = cloud()
    network = network_on(spectrum, WIDTHS[depth])
    rows = torch.from_numpy(np.flatnonzero(CODES >= 0))
    scores = network(torch.from_numpy(X), rows, (7, 3))
    weights = 1.0 + rows
    wrong = -torch.log_softmax(scores, dim=1)[torch.arange(len(rows)), torch.from_numpy(CODES[rows])]
    loss = (weights * wrong).sum() / weights.sum()
    loss.backward()
    expected = [loss.detach().reshape(1)] + [weights.grad for weights in network.parameters()]
    for found in ranks.run(size, gradients, kind, depth):
        for mine, tensor in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, tensor.numpy(), atol=1e-12)


def trained(process_group, kind):
    group, mine, spectrum, X, problem = part(process_group, kind)
    network = network_on(spectrum, (5, 4))
    settings = TrainingSettings(epochs=20, patience=10)
    losses = train(network, problem, labels_in(mine, group), settings, held_out=labels_in(mine, group))
    layers = fold(network, X[mine], Basis(spectrum.basis[mine], group=group))
    return losses, [array for layer in layers for array in layer]


@pytest.mark.parametrize("size", SIZES)
def test_training_and_folding(ranks, size):
    losses, layers = trained(None, "")
    for mine, found in ranks.run(size, trained, "empty"):
        np.testing.assert_allclose(mine, losses, rtol=1e-9)
        for one, other in zip(found, layers, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-8)


def drawn(process_group, kind, most):
    """A pool that is smaller than all, of points and of rows of a table."""
    before, sampling.MOST = sampling.MOST, most
    try:
        group, mine, *_, problem = part(process_group, kind)
        points = NodeSubsample.of(problem, np.flatnonzero(CODES[mine] >= 0))
        H = (np.random.default_rng(1).random((N, 4)) < 0.4).astype(float)
        H[:, 0] = 1.0  # rows of 16 kinds at most
        values, first, counts = np.unique(H[mine], axis=0, return_index=True, return_counts=True)
        order = np.argsort(first)
        ids = (values @ [1, 2, 4, 8])[order].astype(np.int64) * 2**59 - 2**62
        whole = Hypergraph(H).spectrum()
        basis = Basis(whole.basis[mine][first[order]], group=group)
        rows = Problem.of(
            basis,
            values[order],
            FilterBasis.of(whole, "three-part"),
            like=torch.empty(0),
            weights=counts[order].astype(float),
            ids=ids,
        )
        table = NodeSubsample.of(rows, np.zeros(int(mine.start == 0), dtype=int))  # the first row has a label
        found = []
        for pool in (points, table):
            problem = pool.problem
            omega = np.ones(len(problem)) if problem.weights is None else problem.weights.numpy()
            found.append((problem.F.matrix.numpy(), problem.ids.numpy(), omega, pool.total))
        return found
    finally:
        sampling.MOST = before


@pytest.mark.parametrize("most", [5, 30, 1000])
@pytest.mark.parametrize(("size", "kind"), [(2, "uneven"), (4, "even"), (4, "empty")])
def test_a_pool_does_not_depend_on_who_has_its_nodes(ranks, size, kind, most):
    one = drawn(None, "", most)
    labelled = np.flatnonzero(CODES >= 0)
    for F, ids, omega, _ in one:
        assert omega.sum() == pytest.approx(N)  # it stands for all nodes
        assert len(F) == len(ids) == len(np.unique(ids))
    if most < N:
        assert len(labelled) < len(one[0][1]) < N
        assert (one[0][2][np.isin(one[0][1], labelled)] == 1).sum() == len(labelled)
    for several in ranks.run(size, drawn, kind, most):
        for found, expected in zip(several, one, strict=True):
            for mine, array in zip(found, expected, strict=True):
                np.testing.assert_allclose(mine, array, atol=1e-12)


def table() -> np.ndarray:
    """H of 160 rows, of 3 columns with 10 values each."""
    columns = np.random.default_rng(0).integers(0, 10, (160, 3))
    return np.hstack([np.eye(10)[column] for column in columns.T])


def basis_of(process_group, kind):
    group = Group.of(process_group)
    H = sp.csr_array(table())[shares(160, group.size, kind)[group.rank]]
    graph = Hypergraph(H, process_group=process_group)
    basis = Basis.of(graph.spectrum(), graph.incidence)
    return basis.Z is not None, basis @ np.eye(basis.width)


@pytest.mark.parametrize("kind", ["even", "empty"])
def test_a_basis_is_factored_where_that_pays_for_all_ranks(ranks, kind):
    """3 nnz + P |E| (k + r) against n (k + r) with P ranks, each of which multiplies with Z."""
    spectrum = Hypergraph(table()).spectrum()
    width = spectrum.basis.shape[1]
    pays = {size: 3 * 480 + size * 30 * width <= 160 * width for size in (1, *SIZES)}
    assert pays == {1: True, 2: True, 4: False}
    assert Basis.of(spectrum, sp.csr_array(table())).Z is not None
    for size in SIZES:
        found = ranks.run(size, basis_of, kind)
        assert [factored for factored, _ in found] == [pays[size]] * size
        V = np.vstack([part for _, part in found])
        np.testing.assert_allclose(V @ V.T, spectrum.basis @ spectrum.basis.T, atol=1e-8)
