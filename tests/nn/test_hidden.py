"""The fast network against autograd on the dense formula, in every form that its constants take."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from pinvgcn import Hypergraph
from pinvgcn.nn import Basis, Labels, PinvGCN, Problem, rows
from pinvgcn.nn.dropout import DropoutKey, keep_mask
from pinvgcn.nn.hidden import FastNetwork

DEPTHS = [(), 6, (6, 5, 4)]
ROWS = torch.tensor([0, 3, 6])
LABELS = Labels.of(ROWS, torch.tensor([3, 0, 1]), 4)
KEY = (11, 4)


def network(case, *, inputs=3, hidden=6, filters="three-part", dropout=0.0) -> PinvGCN:
    generator = torch.Generator().manual_seed(0)
    net = PinvGCN(
        case.spectrum, inputs, 4, hidden=hidden, filters=filters, dropout=dropout, generator=generator
    )
    with torch.no_grad():
        for conv in net.convs:
            conv.bias.normal_(generator=generator)
    return net.train()


def features(case, columns=3) -> np.ndarray:
    return np.random.default_rng(3).normal(size=(case.n, columns)) + 2


def problem(net: PinvGCN, basis: Basis, X, **options) -> Problem:
    return Problem.of(basis, X, net.filter_basis, like=net.convs[0].bias.detach(), **options)


def dense_scores(case, net, X, parts, p=0.0, omega=None, nodes=None, sampled=False) -> torch.Tensor:
    """eq:neuralnetwork with matrices 𝒦^(k) of the nodes; with ω, sums Σ_j of 𝒦_ij h_j weigh each node by it.

    𝒦^(k) = V diag(g_k) Vᵀ diag(ω) + c_k I: what a sample of nodes is taken to be. With ``sampled``, nodes
    that are no rows enter the last sum by the mean over their masks, which is one.
    """
    basis, n = net.filter_basis, len(X)
    nodes = torch.arange(n) if nodes is None else nodes
    if omega is None:
        K = case.convolutions(parts)
    else:
        V = torch.from_numpy(case.spectrum.basis)[nodes]
        K = torch.stack(
            [
                V @ torch.diag(torch.from_numpy(g)) @ V.T @ torch.diag(omega) + c * torch.eye(n)
                for g, c in zip(basis.gains, basis.high, strict=True)
            ]
        )
    H = torch.from_numpy(X)
    for layer, conv in enumerate(net.convs):
        if layer:
            H = torch.relu(H)
            if p:
                mask = keep_mask(nodes, H.shape[1], p, DropoutKey(*KEY, layer)) / (1 - p)
                if sampled and layer == len(net.convs) - 1:
                    mask[len(ROWS) :] = 1
                H = H * mask
        if layer == 0 and omega is not None:  # the first layer's sums are known exactly, over all nodes
            whole = case.convolutions(parts)
            everything = torch.from_numpy(features(case, X.shape[1]))
            H = torch.einsum("kmn,ni,kij->mj", whole, everything, conv.weights)[nodes] + conv.bias
        else:
            H = torch.einsum("kmn,ni,kij->mj", K, H, conv.weights) + conv.bias
    return H


def gradients(net, scores) -> list[torch.Tensor]:
    loss = LABELS.loss(scores)
    return [scores.detach(), loss.detach(), *torch.autograd.grad(loss, list(net.parameters()))]


def assert_same(got, expected, tolerance=1e-10):
    for a, b in zip(got, expected, strict=True):
        scale = max(1.0, float(b.detach().abs().max()))
        torch.testing.assert_close(a, b, rtol=0, atol=tolerance * scale)


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    """Several chunks, the last of them short."""
    monkeypatch.setattr(rows, "CHUNK", 5)
    monkeypatch.setattr(rows, "SMALLEST", 5)


@pytest.mark.usefixtures("double")
class TestAllNodes:
    @pytest.mark.parametrize("hidden", DEPTHS, ids=str)
    def test_scores_and_gradients(self, case, choice, hidden):
        net, X = network(case, hidden=hidden, filters=choice[0]), features(case)
        fast = FastNetwork(net, problem(net, Basis(case.spectrum.basis), X), ROWS)
        assert_same(gradients(net, fast()), gradients(net, dense_scores(case, net, X, choice[1])[ROWS]))

    @pytest.mark.parametrize("hidden", DEPTHS, ids=str)
    @pytest.mark.parametrize("inputs", [2, 40])  # products of the first layer, and its factors
    @pytest.mark.parametrize("p", [0.3, 0.5])
    def test_with_dropout(self, gaussian, hidden, inputs, p):
        net, X = network(gaussian, inputs=inputs, hidden=hidden, dropout=p), features(gaussian, inputs)
        fast = FastNetwork(net, problem(net, Basis(gaussian.spectrum.basis), X), ROWS)
        expected = net(torch.from_numpy(X), ROWS, KEY)
        assert_same(gradients(net, fast(KEY)), gradients(net, expected))
        parts = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
        assert_same([expected], [dense_scores(gaussian, net, X, parts, p)[ROWS]])

    @pytest.mark.parametrize("hidden", DEPTHS, ids=str)
    @pytest.mark.parametrize("features_too", [False, True])
    def test_tables_in_sparse_form(self, hypergraph, hidden, features_too, choice):
        """V = D^(−1/2) H Z is not formed, and X = H stays sparse."""
        extension, incidence = hypergraph.spectrum.extension, hypergraph.incidence
        X = sp.csr_array(incidence)
        if features_too:
            X = sp.csr_array(sp.hstack([X, features(hypergraph)]))
        net = network(hypergraph, inputs=X.shape[1], hidden=hidden, filters=choice[0], dropout=0.5)
        basis = Basis(extension.factor(incidence), extension.coefficients)
        fast = FastNetwork(net, problem(net, basis, X), ROWS)
        expected = net(torch.from_numpy(X.toarray()), ROWS, KEY)
        assert_same(gradients(net, fast(KEY)), gradients(net, expected))

    def test_the_same_bits_for_any_number_of_threads_and_in_a_second_epoch(self, gaussian):
        net, X = network(gaussian, hidden=(6, 5), dropout=0.5), features(gaussian)
        prepared = problem(net, Basis(gaussian.spectrum.basis), X)
        alone = FastNetwork(net, prepared, ROWS)
        first, second = gradients(net, alone(KEY)), gradients(net, alone(KEY))
        with ThreadPoolExecutor(3) as pool:
            together = gradients(net, FastNetwork(net, prepared, ROWS, pool.map)(KEY))
        for a, b, c in zip(first, second, together, strict=True):
            assert torch.equal(a, b)
            assert torch.equal(a, c)


@pytest.mark.usefixtures("double")
class TestSomeNodes:
    NODES = torch.tensor([0, 3, 6, 12, 7, 1, 25])  # the labelled ones first
    COUNTS = torch.tensor([1.0, 1, 1, 4.5, 4.5, 4.5, 4.5], dtype=torch.float64)

    @pytest.mark.parametrize("hidden", DEPTHS, ids=str)
    @pytest.mark.parametrize("inputs", [2, 40])
    @pytest.mark.parametrize("p", [0.0, 0.3, 0.5])
    @pytest.mark.parametrize("sampled", [False, True])
    @pytest.mark.parametrize("chunk", [2, 5, 9])  # the labelled nodes fill more than one, or less
    def test_scores_and_gradients(self, gaussian, hidden, inputs, p, sampled, chunk, monkeypatch):
        monkeypatch.setattr(rows, "CHUNK", chunk)
        monkeypatch.setattr(rows, "SMALLEST", chunk)
        net, X = network(gaussian, inputs=inputs, hidden=hidden, dropout=p), features(gaussian, inputs)
        whole = problem(net, Basis(gaussian.spectrum.basis), X)
        some = whole.take(self.NODES, self.COUNTS)
        fast = FastNetwork(net, some, torch.arange(3), sampled=sampled)
        parts = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
        expected = dense_scores(gaussian, net, X[self.NODES], parts, p, self.COUNTS, self.NODES, sampled)[:3]
        assert_same(gradients(net, fast(KEY)), gradients(net, expected))

    @pytest.mark.parametrize("hidden", DEPTHS, ids=str)
    def test_tables(self, hypergraph, hidden):
        extension, X = hypergraph.spectrum.extension, sp.csr_array(hypergraph.incidence)
        net = network(hypergraph, inputs=X.shape[1], hidden=hidden, dropout=0.5)
        nodes, counts = self.NODES[:4] % hypergraph.n, self.COUNTS[:4]
        forms = [Basis(hypergraph.spectrum.basis), Basis(extension.factor(X), extension.coefficients)]
        results = [
            gradients(net, FastNetwork(net, problem(net, b, x).take(nodes, counts), torch.arange(3))(KEY))
            for b, x in zip(forms, [X.toarray(), X], strict=True)
        ]
        assert_same(*results)

    @pytest.mark.parametrize("hidden", [6, (6, 5)], ids=str)
    def test_a_weight_is_so_many_equal_nodes(self, gaussian, hidden):
        net, X = network(gaussian, hidden=hidden), features(gaussian)
        V, counts = gaussian.spectrum.basis, np.arange(gaussian.n) % 3 + 1
        some = problem(net, Basis(V), X, weights=counts.astype(float))
        many = problem(net, Basis(np.repeat(V, counts, axis=0)), np.repeat(X, counts, axis=0))
        firsts = torch.from_numpy(np.cumsum(counts) - counts)
        assert_same(
            gradients(net, FastNetwork(net, some, ROWS)()),
            gradients(net, FastNetwork(net, many, firsts[ROWS])()),
        )


@pytest.mark.usefixtures("double")
def test_the_mean_over_all_samples_is_the_sum_over_all_nodes(gaussian):
    """C of the first layer is unbiased: every pair of unlabelled nodes in turn, exactly."""
    net, X = network(gaussian, hidden=6), features(gaussian)
    whole = problem(net, Basis(gaussian.spectrum.basis), X)
    others = [node for node in range(gaussian.n) if node not in ROWS]
    counts = torch.tensor([1.0] * 3 + [len(others) / 2] * 2)

    def summed(prepared) -> torch.Tensor:
        total = torch.zeros(prepared.F.shape[1], 6)
        Y = FastNetwork(net, prepared, torch.arange(3))
        Y()
        for chunk, part in enumerate(rows.chunks(len(prepared))):
            out = torch.empty_like(total)
            prepared.weighted.adjoint(chunk, Y._hidden[0][part], out)
            total += out
        return total

    pairs = list(itertools.combinations(others, 2))
    mean = sum(summed(whole.take(torch.tensor([*ROWS, *pair]), counts)) for pair in pairs) / len(pairs)
    torch.testing.assert_close(mean, summed(whole), rtol=1e-10, atol=1e-12)


def test_the_first_layer_takes_the_smaller_form(gaussian):
    """K N₀ numbers a node against k + r + N₀: with k + r = 8 and K = 3 even at N₀ = 4."""
    for columns, expected in [(1, True), (4, True), (5, False), (40, False)]:
        net = network(gaussian, inputs=columns)
        prepared = problem(net, Basis(gaussian.spectrum.basis), features(gaussian, columns))
        assert (prepared.C is None) is expected
        assert len(prepared.first) == (1 if expected else 2)


def test_a_basis_is_factored_where_that_is_cheaper():
    """3 nnz + |E| (k + r) against n (k + r): with more hyperedges than rows, V itself."""
    rng = np.random.default_rng(0)
    few = sp.csr_array(np.eye(20)[rng.integers(0, 20, 200)] + np.eye(20)[rng.integers(0, 20, 200)] > 0)
    many = sp.csr_array(np.hstack([np.eye(30), np.eye(30) + np.roll(np.eye(30), 1, axis=0)]))
    for incidence, factored in [(few, True), (many, False)]:
        spectrum = Hypergraph(incidence).spectrum()
        basis = Basis.of(spectrum, incidence)
        assert 3 * incidence.nnz < incidence.shape[0] * basis.width
        assert (basis.Z is not None) is factored
        np.testing.assert_allclose(basis @ np.eye(basis.width), spectrum.basis, atol=1e-12)


def test_equal_rows_count_once_where_a_basis_is_factored():
    """Many rows, of which few differ: V of these is smaller than Z."""
    rng = np.random.default_rng(0)
    kinds = (rng.random((20, 30)) < 0.05) | np.eye(20, 30, dtype=bool) | np.eye(20, 30, 10, dtype=bool)
    graph = Hypergraph(sp.csr_array(kinds[rng.permutation(2_000) % 20].astype(float)))
    spectrum, H, first = graph.spectrum(), graph.incidence, graph.distinct.first
    assert Basis.of(spectrum, H).Z is not None
    basis = Basis.of(spectrum, H, nodes=first)
    assert basis.Z is None
    np.testing.assert_array_equal(basis.F, spectrum.basis[first])
    some = np.arange(0, 2_000, 7)
    factored = Basis.of(spectrum, H, nodes=some)
    assert factored.Z is not None
    np.testing.assert_allclose(factored @ np.eye(factored.width), spectrum.basis[some], atol=1e-12)


def test_the_first_products_are_formed_in_double_precision(gaussian):
    """An offset of 10⁴ costs no more than its rounding."""
    net, X = network(gaussian), features(gaussian) + 1e4
    P = problem(net, Basis(gaussian.spectrum.basis), X).first[0].dense(torch.arange(gaussian.n))
    np.testing.assert_allclose(P[:, -3:], gaussian.matrices()[2] @ X, rtol=0, atol=1e-2)


def test_chunks_are_pieces_of_all_nodes(monkeypatch):
    monkeypatch.undo()
    for n in (1, 2_047, 2_049, 8_124, 91_515, 581_012):
        parts = rows.chunks(n)
        assert (parts[0].start, parts[-1].stop) == (0, n)
        assert all(a.stop == b.start for a, b in itertools.pairwise(parts))
        assert max(part.stop - part.start for part in parts) <= rows.CHUNK
