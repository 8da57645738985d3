"""What the filters have learned.

A layer multiplies each pattern of the graph by a factor φ(λ) that depends on its eigenvalue. The factor is
a mix of three parts, and the mix is what training finds: the constant on the whole graph, the smooth
patterns by the inverse of their λ, and all the rest.
"""

import matplotlib.pyplot as plt
import numpy as np

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import load_dataset, random_split

mushroom = load_dataset("mushroom")
labels = random_split(mushroom.y, per_class=10, random_state=0)
model = PinvGCNClassifier(graph="categorical", members=1).fit(mushroom.X, labels)
values = model.spectrum_.values
print(f"{model.spectrum_.rank} eigenvalues from {values[0]:.3f} to {values[-1]:.3f}, the others are 1")

# %%
# There is a filter for each pair of an input and an output channel: W has a coefficient for each of the
# three parts.
basis = model.network_.filter_basis
lam = np.concatenate([[0.0], values, [1.1]])  # beyond the last one all are treated alike
parts = basis.evaluate(lam)  # (3, 1 + r + 1)
for number, layer in enumerate(model.network_.convs, start=1):
    size = layer.weights.detach().abs().mean(dim=(1, 2)).numpy()
    use = ", ".join(f"{name} {weight:.3f}" for name, weight in zip(basis.names, size, strict=True))
    print(f"layer {number}, average weight: {use}")

# %%
# The parts, and for each layer the middle half and nine tenths of all its filters:
figure, (given, *learned) = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
looks = ("#cc79a7", "s"), ("#0072b2", "o"), ("#e69f00", "^")
for name, part, (colour, marker) in zip(basis.names, parts, looks, strict=True):
    there = part != 0
    given.plot(lam[there], part[there], marker, color=colour, markersize=4, label=name)
given.annotate("", (0, 0.3), (values[0], 0.3), arrowprops={"arrowstyle": "<->"})
given.text(values[0] / 2, 0.32, "eigengap", ha="center")
given.set(xlabel="eigenvalue λ", ylabel="factor φ(λ)", ylim=(0, 1.05))
given.set_title("Three parts", loc="left")
given.legend(loc="center", frameon=False, fontsize=8)
for number, (axes, layer) in enumerate(zip(learned, model.network_.convs, strict=True), start=1):
    weights = layer.weights.detach().numpy().reshape(len(basis), -1)  # (3, filters)
    response = weights.T @ parts
    low, quarter, middle, three, high = np.quantile(response, [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)
    axes.vlines(lam, low, high, color="#56b4e9", linewidth=1, label="nine tenths")
    axes.vlines(lam, quarter, three, color="#0072b2", linewidth=3, label="half")
    axes.plot(lam, middle, ".", color="black", markersize=3, label="median")
    axes.set(xlabel="eigenvalue λ")
    axes.set_title(f"Layer {number}: {response.shape[0]:,} filters", loc="left")
figure.legend(*learned[-1].get_legend_handles_labels(), loc="outside lower right", ncols=3, frameon=False)
plt.show()
