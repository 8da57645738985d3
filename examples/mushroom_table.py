"""A table from twenty known rows.

8,124 mushrooms with 22 attributes each, all of them words: colour of the cap, smell, habitat. For ten
edible and ten poisonous ones it is known which they are. Two rows are the closer to each other the more
values they share.
"""

import matplotlib.pyplot as plt
import numpy as np

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import load_dataset, random_split

mushroom = load_dataset("mushroom")
truth = np.array(mushroom.target_names)[mushroom.y]  # "edible", "poisonous"
labels = random_split(truth, per_class=10, random_state=0)  # None where unknown
print(mushroom.X.iloc[:3, :6].to_string())

# %%
# Text labels stay text, and None or NaN means that the class is not known.
model = PinvGCNClassifier(graph="categorical").fit(mushroom.X, labels)
unknown = np.array([label is None for label in labels])
right = model.transduction_ == truth
print(f"{right[unknown].mean():.1%} of the other {unknown.sum():,} rows are right")

# %%
# A table has no picture of its own. The first eigenvectors of its graph give it one: rows that share much
# lie close together. On the right, what the model says for each smell, beside the truth.
BLUE, VERMILLION = "#0072b2", "#d55e00"
poisonous = list(model.classes_).index("poisonous")
share = model.transduction_proba_[:, poisonous]
figure, (plane, bars) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
position = model.spectrum_.vectors[:, :2] * np.sqrt(len(truth))
order = np.random.default_rng(0).permutation(len(truth))
dots = plane.scatter(*position[order].T, c=share[order], s=4, cmap="cividis", vmin=0, vmax=1)
for name, marker, colour in (("edible", "o", BLUE), ("poisonous", "^", VERMILLION)):
    known = np.array([label == name for label in labels])
    plane.scatter(
        *position[known].T, marker=marker, c=colour, edgecolors="white", s=60, label=f"known: {name}"
    )
plane.set(xlabel="first eigenvector, times √n", ylabel="second eigenvector, times √n")
plane.set_title("8,124 rows as the graph sees them", loc="left")
plane.legend(loc="best", fontsize=8)
figure.colorbar(dots, ax=plane, label="probability of being poisonous")

words = ["almond", "anise", "creosote", "fishy", "foul", "musty", "none", "pungent", "spicy"]
smell = mushroom.X["odor"].map(dict(zip("alcyfmnps", words, strict=True)))
names = smell.value_counts().index
place = np.arange(len(names))
bars.barh(place - 0.2, [share[smell == name].mean() for name in names], 0.38, color=BLUE, label="the model")
true = [np.mean(truth[smell == name] == "poisonous") for name in names]
bars.barh(place + 0.2, true, 0.38, color="#9a9a9a", label="truth")
bars.set_yticks(place, [f"{name} ({np.sum(smell == name):,})" for name in names])
bars.invert_yaxis()
bars.set(xlabel="share that is poisonous", xlim=(0, 1))
bars.set_title("By smell (rows)", loc="left")
bars.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, fontsize=8, frameon=False)
plt.show()
