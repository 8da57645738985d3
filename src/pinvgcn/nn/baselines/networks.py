"""The networks that the paper compares itself with: two layers, dropout between them.

Each stands beside the matrix that it multiplies by; ``diffusion`` is another graph for a GCN.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from pinvgcn.compute.compiled import compiled
from pinvgcn.compute.parallel import ranges, share_out
from pinvgcn.errors import MissingDependencyError
from pinvgcn.nn.baselines.training import Factor, Field, HypergraphField, SparseProduct
from pinvgcn.nn.dropout import DropoutKey, dropout

STACKS = 3  # of ARMA
STEPS = 2


class Network(nn.Module):
    """scores = network(inputs.field(rows, network.depth), key).

    ``depth`` is how often the network multiplies by the graph, after the first time.
    """

    depth = 1

    def __init__(self, n_features: int, n_classes: int, *, hidden: int = 32, dropout: float = 0.5) -> None:
        super().__init__()
        self.dropout = dropout
        self.add_layers(n_features, hidden, n_classes)

    def add_layers(self, before: int, hidden: int, after: int) -> None:
        """Two layers; W (before, after) and b each, where a network does not say otherwise."""
        self.weight1 = nn.Parameter(nn.init.xavier_uniform_(torch.empty(before, hidden)))
        self.bias1 = nn.Parameter(torch.zeros(hidden))
        self.weight2 = nn.Parameter(nn.init.xavier_uniform_(torch.empty(hidden, after)))
        self.bias2 = nn.Parameter(torch.zeros(after))

    @abstractmethod
    def forward(self, field: Any, key: tuple[int, int] | None = None) -> Tensor:
        """Class scores of the nodes that the field is for; ``key`` = (seed, epoch) draws dropout masks."""

    def drop(self, H: Tensor, nodes: Tensor, key: tuple[int, int] | None) -> Tensor:
        """Hidden rows of these nodes with a share set to zero in training: a node's mask is its own."""
        p = self.dropout if self.training else 0.0
        return dropout(H, p, None if key is None else DropoutKey(*key, 1), nodes)


def geometric() -> Any:
    """The layers of PyTorch Geometric, where it is installed."""
    try:
        import torch_geometric.nn
    except ImportError:
        raise MissingDependencyError(
            "This method needs PyTorch Geometric: pip install torch_geometric"
        ) from None
    return torch_geometric.nn


class GCN(Network):
    """Y = S ReLU(S X W₁ + b₁) W₂ + b₂, from "Semi-Supervised Classification with Graph Convolutional
    Networks" (Kipf and Welling, 2017), 10.2 of docs/maths.md, with S = ``renormalised(A)``, or the diffusion
    of ``diffusion``.

    The layers are those of PyTorch Geometric; S X is not computed anew in each epoch.
    """

    def add_layers(self, before: int, hidden: int, after: int) -> None:
        layer = geometric().GCNConv
        self.conv1 = layer(before, hidden, normalize=False)
        self.conv2 = layer(hidden, after, normalize=False)

    def forward(self, field: Field, key: tuple[int, int] | None = None) -> Tensor:
        H = torch.relu(field.SX @ self.conv1.lin.weight.T + self.conv1.bias)
        H = self.drop(H, field.nodes[0], key)
        return field.products[0] @ self.conv2.lin(H) + self.conv2.bias


def renormalised(adjacency: Any) -> sp.csr_array:
    """D̂^(−1/2) Â D̂^(−1/2) with Â = A + I and D̂ its degrees: (n, n)."""
    return normalised(sp.csr_array(adjacency) + sp.eye_array(adjacency.shape[0]))


def normalised(adjacency: Any) -> sp.csr_array:
    """D^(−1/2) A D^(−1/2); nodes without neighbours keep their empty rows."""
    A = sp.csr_array(adjacency)
    degrees = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
    scale = sp.diags_array(np.divide(1, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0))
    return sp.csr_array(scale @ A @ scale)


class GraphSAGE(Network):
    """H' = ReLU(M H W + H V + b), the last layer without ReLU, from "Inductive Representation Learning on
    Large Graphs" (Hamilton, Ying and Leskovec, 2017), 10.3 of docs/maths.md, where (M H)_i is the mean of the
    neighbours' rows, M = ``averaging(A)``.

    All neighbours are used, none are sampled. The layers are those of PyTorch Geometric; M X is not computed
    anew in each epoch, and M is applied to the few class scores, not to the hidden rows.
    """

    def add_layers(self, before: int, hidden: int, after: int) -> None:
        layer = geometric().SAGEConv
        self.conv1 = layer(before, hidden)
        self.conv2 = layer(hidden, after)

    def forward(self, field: Field, key: tuple[int, int] | None = None) -> Tensor:
        near, own = self.conv1.lin_l, self.conv1.lin_r
        H = torch.relu(field.SX @ near.weight.T + near.bias + field.X @ own.weight.T)
        H = self.drop(H, field.nodes[0], key)
        gathered = field.products[0] @ (H @ self.conv2.lin_l.weight.T)
        return gathered + self.conv2.lin_l.bias + self.conv2.lin_r(H[field.own[0]])


def averaging(adjacency: Any) -> sp.csr_array:
    """M_ij = 1/(number of neighbours of i) for each neighbour j, whatever the edge weights: (n, n)."""
    A = sp.csr_array(adjacency, copy=True)
    A.data = np.repeat(1.0 / np.maximum(np.diff(A.indptr), 1), np.diff(A.indptr))
    return A


class ARMA(Network):
    """X' = (1/K) Σ_k Z_k^(T), Z_k^(t+1) = σ(S Z_k^(t) W_k^(t) + X V_k^(t) + b_k^(t)), Z_k^(0) = X, twice,
    from "Graph Neural Networks with Convolutional ARMA Filters" (Bianchi, Grattarola, Livi and Alippi,
    2019), 10.4 of docs/maths.md, with K = 3 stacks, T = 2 steps, S = D^(−1/2) A D^(−1/2)
    (``normalised``), σ = ReLU in the first layer and none in the second, whose outputs are class scores.

    The weights are those of PyTorch Geometric's layers. The stacks lie side by side, so that one product with
    S serves them all; S X is not computed anew in each epoch.
    """

    depth = 3

    def add_layers(self, before: int, hidden: int, after: int) -> None:
        layer = geometric().ARMAConv
        self.conv1 = layer(before, hidden, num_stacks=STACKS, num_layers=STEPS)
        self.conv2 = layer(hidden, after, num_stacks=STACKS, num_layers=STEPS, act=None)

    def forward(self, field: Field, key: tuple[int, int] | None = None) -> Tensor:
        first, second, third = field.products
        once, again = field.own[1:]
        skip = _skips(self.conv1, field.X)
        Z = torch.relu(_beside(field.SX, self.conv1.init_weight) + skip[0])  # (K, m_0, h)
        Z = torch.relu(_spread(first, Z @ self.conv1.weight[0]) + skip[1][:, field.own[0]])
        H = self.drop(Z.mean(dim=0), field.nodes[1], key)
        skip = _skips(self.conv2, H[once])
        Z = _spread(second, H @ self.conv2.init_weight) + skip[0]
        return (_spread(third, Z @ self.conv2.weight[0]) + skip[1][:, again]).mean(dim=0)


def _beside(X: Factor, weight: Tensor) -> Tensor:
    """X W_k for every stack, by one product: (K, m, width)."""
    stacks, _, width = weight.shape
    flat = X @ weight.transpose(0, 1).reshape(-1, stacks * width)
    return flat.reshape(-1, stacks, width).transpose(0, 1)


def _skips(conv: Any, X: Factor) -> Tensor:
    """X V_k + b_k for every step and stack: (T, K, m, width)."""
    both = _beside(X, conv.root_weight.flatten(0, 1))
    return both.unflatten(0, conv.root_weight.shape[:2]) + conv.bias


def _spread(product: SparseProduct, Z: Tensor) -> Tensor:
    """S Z_k for every stack: (K, m, width) -> (K, m', width)."""
    stacks, rows, width = Z.shape
    flat = product @ Z.transpose(0, 1).reshape(rows, stacks * width)
    return flat.reshape(-1, stacks, width).transpose(0, 1)


class HGNN(Network):
    """Y = G ReLU(G X W₁ + b₁) W₂ + b₂, G = D^(−1/2) H W B⁻¹ Hᵀ D^(−1/2), from "Hypergraph Neural Networks"
    (Feng, You, Zhang, Ji and Gao, 2019), 10.6 of docs/maths.md.

    G = H̃H̃ᵀ has at most |E| dimensions and is never formed: a layer is H̃ ((H̃ᵀX) W), a sparse product of few
    columns, a small one and a sparse one. Of the first layer, H̃ᵀX is constant.
    """

    def forward(self, field: HypergraphField, key: tuple[int, int] | None = None) -> Tensor:
        H = torch.relu(field.factor @ (field.C @ self.weight1) + self.bias1)
        H = self.drop(H, field.nodes, key)
        return field.rows @ ((field.factor.T @ H) @ self.weight2) + self.bias2


class HyperGCN(Network):
    """Y = S ReLU(S X W₁ + b₁) W₂ + b₂, from "HyperGCN: A New Method of Training Graph Convolutional Networks
    on Hypergraphs" (Yadati, Nimishakavi, Yadav, Nitin, Louis and Talukdar, 2019), 10.7 of docs/maths.md, with
    S = ``renormalised(A)`` of the graph that ``graphs.Mediators`` puts in the hypergraph's place:
    FastHyperGCN with mediators, as that graph does not follow the hidden layers.
    """

    def forward(self, field: Field, key: tuple[int, int] | None = None) -> Tensor:
        H = torch.relu(field.SX @ self.weight1 + self.bias1)
        H = self.drop(H, field.nodes[0], key)
        return field.products[0] @ (H @ self.weight2) + self.bias2


AT_A_TIME = 512  # nodes a task


def diffusion(adjacency: Any, *, alpha: float = 0.05, top: int = 64, epsilon: float = 1e-3) -> sp.csr_array:
    """The ``top`` largest entries of each row of Σ_k α (1 − α)^k T^k, divided by their sum: (n, n), where
    T = D̂^(−1/2) (A + I) D̂^(−1/2) and edge weights are disregarded.

    From "Diffusion Improves Graph Learning" (Klicpera, Weißenberger and Günnemann, 2019): personalised
    PageRank, "top k", columns normalised; 10.5 of docs/maths.md. The sum is not exact ("inexact" in PyTorch
    Geometric): mass is pushed from node to node until less than α ε d̂_j/mean(d̂) waits at each node j (a
    bound without the mean degree, α 10⁻⁴ d̂_j as PyTorch Geometric recommends, stops before the first
    neighbour where nodes have a hundred of them). PyTorch Geometric's own push keeps all that it meets until
    the end, in lists of Python's numbers, and knows no "top k": here a row is cut before the next one begins.
    """
    A = sp.csr_array(adjacency, copy=True)
    A.data[:] = 1
    A = sp.csr_array(A + sp.eye_array(A.shape[0]))
    n = A.shape[0]
    bound = alpha * epsilon * n / A.nnz  # for each neighbour that a node has
    indptr, indices = A.indptr.astype(np.int64), A.indices.astype(np.int32)

    def rows(part: slice) -> sp.csr_array:
        index = np.full((part.stop - part.start, top), -1, dtype=np.int32)
        value = np.zeros((part.stop - part.start, top))
        _push(indptr, indices, part.start, part.stop, alpha, bound, index, value)
        found = index >= 0
        ends = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
        return sp.csr_array((value[found], index[found], ends), shape=(len(index), n))

    S = sp.csr_array(sp.vstack(list(share_out(rows, ranges(n, AT_A_TIME)))))
    S.sort_indices()
    return sp.csr_array(sp.diags_array(1 / np.asarray(S.sum(axis=1)).ravel()) @ S)


@compiled
def _push(
    indptr: np.ndarray,
    indices: np.ndarray,
    start: int,
    stop: int,
    alpha: float,
    bound: float,
    index: np.ndarray,
    value: np.ndarray,
) -> None:
    """Rows ``start`` … ``stop`` of the diffusion, their largest entries first; by a queue, oldest first."""
    n = len(indptr) - 1
    settled, waiting = np.zeros(n), np.zeros(n)
    queued = np.zeros(n, dtype=np.bool_)
    queue, met = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    seen = np.zeros(n, dtype=np.bool_)
    for i in range(start, stop):
        waiting[i] = alpha
        queue[0], met[0] = i, i
        queued[i] = seen[i] = True
        head, length, count = 0, 1, 1
        while length > 0:
            u = queue[head]
            head = head + 1 if head + 1 < n else 0
            length -= 1
            queued[u] = False
            mass = waiting[u]
            waiting[u] = 0.0
            settled[u] += mass
            mass *= (1 - alpha) / (indptr[u + 1] - indptr[u])
            for e in range(indptr[u], indptr[u + 1]):
                v = indices[e]
                waiting[v] += mass
                if not seen[v]:
                    seen[v] = True
                    met[count] = v
                    count += 1
                if not queued[v] and waiting[v] >= bound * (indptr[v + 1] - indptr[v]):
                    queued[v] = True
                    end = head + length
                    queue[end if end < n else end - n] = v
                    length += 1
        weight = np.empty(count)
        size = float(indptr[i + 1] - indptr[i])
        for k in range(count):
            v = met[k]
            # of the random walk D̂⁻¹Â, changed to the symmetric T
            weight[k] = settled[v] * np.sqrt(size / (indptr[v + 1] - indptr[v]))
            settled[v] = waiting[v] = 0.0
            seen[v] = False
        order = np.argsort(-weight)
        for k in range(min(count, index.shape[1])):
            if weight[order[k]] > 0:
                index[i - start, k] = met[order[k]]
                value[i - start, k] = weight[order[k]]
