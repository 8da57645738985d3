"""A network that you already have.

People, and who knows whom. For three members of each of three circles it is known to which they belong; for
everybody else only the acquaintances are. Such a graph is sparse and has no coordinates: it goes in as a
matrix.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from pinvgcn import PinvGCNClassifier, SparseGraph
from pinvgcn.datasets import random_split

random = np.random.default_rng(4)
n, circles = 600, 3
circle = random.integers(circles, size=n)
lively = random.gamma(4.0, 0.25, n)  # some know many
inside = circle[:, None] == circle
chance = np.where(inside, 0.08, 0.01) * np.outer(lively, lively)
knows = np.triu(random.random((n, n)) < chance, 1)
knows |= knows.T
adjacency = sp.csr_array(knows.astype(float))
print(f"{n} people, {adjacency.nnz // 2:,} acquaintances")

# %%
# `loops=1.0` joins everybody to themselves, which somebody who knows nobody would need. Nothing is known of
# the people themselves, so the first eigenvectors stand in as features.
graph = SparseGraph(adjacency, loops=1.0)
spectrum = graph.spectrum(10)
labels = random_split(circle, per_class=3, random_state=0)
model = PinvGCNClassifier(graph, rank=10).fit(spectrum.vectors * np.sqrt(n), labels)
asked = labels == -1
right = model.transduction_ == circle
print(f"{right[asked].mean():.1%} of the {asked.sum()} others are in the right circle (by chance: a third)")
print(f"eigenvalues {np.round(spectrum.values[:6], 2)}: two below the rest, for three circles")

# %%
# People at the place that the first two eigenvectors give them, in the colour of the circle that the model
# gives them; those it has wrong have a ring.
COLOURS = np.array(["#0072b2", "#e69f00", "#009e73"])
figure, axes = plt.subplots(1, 2, figsize=(10, 4.7), layout="constrained", width_ratios=[1.3, 1])
place = spectrum.vectors[:, :2] / spectrum.null_vectors.sum(axis=1, keepdims=True)  # a walker's view
friends = sp.triu(adjacency).tocoo()
joined = place[np.stack([friends.row, friends.col], axis=1)]  # (edges, 2, 2)
axes[0].plot(*np.insert(joined, 2, np.nan, axis=1).reshape(-1, 2).T, color="#d8d8d8", linewidth=0.3, zorder=0)
axes[0].scatter(*place.T, c=COLOURS[model.transduction_], s=14)
wrong = asked & ~right
axes[0].scatter(*place[wrong].T, s=45, facecolors="none", edgecolors="black", linewidths=0.8, label="wrong")
told = labels >= 0
axes[0].scatter(*place[told].T, s=90, c=COLOURS[labels[told]], marker="*", edgecolors="black", label="told")
axes[0].set(xlabel="first eigenvector, over that of λ = 0", ylabel="second eigenvector, over that of λ = 0")
axes[0].legend(frameon=False)
axes[0].set_title("Circles of acquaintances", loc="left")
axes[1].plot(np.arange(1, 11), spectrum.values, color="#0072b2", marker="o")
axes[1].set(xlabel="number of the eigenvalue", ylabel="eigenvalue λ of the Laplacian", ylim=(0, 1))
axes[1].set_title("Two smooth patterns, then noise", loc="left")
plt.show()
