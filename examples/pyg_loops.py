"""Layers in PyTorch Geometric's own loops.

`PinvConv` is a layer like others: it stands beside `GCNConv` in an ordinary model, and takes batches of
several graphs from a `DataLoader`. What it needs of a graph, a transform has added before.
"""

import numpy as np
import torch
from sklearn.datasets import make_moons
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GCNConv

from pinvgcn.datasets import dataset_info, load_dataset
from pinvgcn.pyg import AddGaussianEigenvectors, AddSparseEigenvectors, PinvConv, SpectrumBatch

torch.manual_seed(0)


# %%
# Small clouds, each two moons, turned by some angle and of some size. Two points of each moon carry its name;
# all others are to be told which moon they belong to. What a network learns here is how to spread names over
# a cloud that it has never seen.
def cloud(seed):
    random = np.random.default_rng(seed)
    points, moon = make_moons(random.integers(150, 300), noise=0.08, random_state=seed)
    angle = random.uniform(0, 2 * np.pi)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    named = np.concatenate([random.choice(np.flatnonzero(moon == side), 2, False) for side in (0, 1)])
    x = torch.zeros(len(points), 2)
    x[named, moon[named]] = 10.0
    return Data(x=x, pos=torch.from_numpy(points @ turn).float(), y=torch.from_numpy(moon))


transform = AddGaussianEigenvectors(10, sigma=0.2)
clouds = [transform(cloud(seed)) for seed in range(80)]
print(clouds[0])


# %%
# The network and the loop are as anywhere. `SpectrumBatch.of(data)` is one graph's spectrum, or those of all
# graphs in a batch; graphs of a batch do not see each other.
class Spread(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = PinvConv(2, 16), PinvConv(16, 2)

    def forward(self, data):
        spectra = SpectrumBatch.of(data)
        return self.conv2(self.conv1(data.x, spectra).relu(), spectra)


network = Spread()
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
for epoch in range(40):
    for batch in DataLoader(clouds[:64], batch_size=16, shuffle=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(network(batch), batch.y)
        loss.backward()
        optimizer.step()
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}")

new = next(iter(DataLoader(clouds[64:], batch_size=16)))
right = network(new).argmax(dim=1) == new.y
print(
    f"{new.num_graphs} clouds never seen, {new.num_nodes:,} points: {100 * right.float().mean():.1f} % right"
)


# %%
# Cora, with its standard split. The second layer has two parts: `GCNConv` for neighbours, `PinvConv` for the
# smoothest patterns of the whole network, which reach further than two steps.
class Both(torch.nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.conv1, self.conv2 = GCNConv(inputs, 32), GCNConv(32, classes)
        self.whole = PinvConv(32, classes)

    def forward(self, data, spectra):
        h = F.dropout(data.x, 0.5, self.training)
        h = F.dropout(self.conv1(h, data.edge_index).relu(), 0.5, self.training)
        return self.conv2(h, data.edge_index) + self.whole(h, spectra)


def train_cora():
    cora = load_dataset("cora")
    words, edges = torch.from_numpy(cora.X.toarray()).float(), cora.adjacency.tocoo()
    data = Data(
        x=words / words.sum(dim=1, keepdim=True),
        y=torch.from_numpy(cora.y),
        edge_index=torch.from_numpy(np.stack([edges.row, edges.col]).astype(np.int64)),
    )
    data = AddSparseEigenvectors(50, loops=1.0)(data)
    spectra = SpectrumBatch.of(data)
    network = Both(data.num_features, int(data.y.max()) + 1)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(100):
        network.train()
        optimizer.zero_grad()
        F.cross_entropy(network(data, spectra)[cora.split.train], data.y[cora.split.train]).backward()
        optimizer.step()
    network.eval()
    right = (network(data, spectra).argmax(dim=1) == data.y)[cora.split.test]
    return f"Cora, {len(cora.split.train)} labels: {100 * right.float().mean():.1f} % of the test nodes right"


# %%
# The data set is found through the environment variable `PINVGCN_DATA`, or downloaded when it is asked for
# ([data sets](../docs/api/datasets.md)); here it is used only if it is there already.
if dataset_info("cora").available:
    print(train_cora())
else:
    print("Cora is not on this machine.")
