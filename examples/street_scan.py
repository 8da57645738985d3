"""A street from two hundred labels.

A surveyor has a scan of a street and has labelled forty points of each of five classes. The model labels
the rest.
"""

import matplotlib.pyplot as plt
import numpy as np
from _scan_picture import PALE, class_colours, draw_scan

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import generate_street, random_split

street = generate_street(20_000, random_state=0)
labels = random_split(street.y, per_class=40, random_state=0)  # -1 where unlabelled
print(f"{len(labels):,} points, {np.sum(labels >= 0)} of them labelled: {', '.join(street.target_names)}")

# %%
# No setting is needed; fewer `epochs` than the default only keep this page quick. `transduction_` has a class
# for every point that was given, labelled or not.
model = PinvGCNClassifier(epochs=150).fit(street.X, labels)
print(model.spectrum_)

# %%
# Here the truth is known, so that the answer can be checked, at the points that had no label.
asked = labels == -1
right = model.transduction_ == street.y
print(f"all classes  {right[asked].mean():6.1%}")
for code, name in enumerate(street.target_names):
    print(f"{name:<12} {right[asked & (street.y == code)].mean():6.1%}")

# %%
# What the model was told, what it answered, what is true, and where the model is wrong:
colours = class_colours(street.target_names)
figure, ((told, answered), (true, wrong)) = plt.subplots(2, 2, figsize=(11, 5.6), layout="constrained")
draw_scan(told, street.X, PALE, "200 labelled points", marks=(street.X[~asked], colours[labels[~asked]]))
draw_scan(answered, street.X, colours[model.transduction_], "The model's answer")
draw_scan(true, street.X, colours[street.y], "The truth")
error = asked & ~right
draw_scan(
    wrong,
    street.X,
    np.where(error[:, None], (0.0, 0.0, 0.0), PALE),
    f"Its errors: {error.sum():,} of {asked.sum():,} points",
    on_top=error,
)
for colour, name in zip(colours, street.target_names, strict=True):
    answered.scatter([], [], color=colour, label=name)
figure.legend(loc="outside lower center", ncols=5, frameon=False)
plt.show()

# %%
# Poles and wires, of which there are few points, are the hard part. More labels there help most: see [a few
# questions at a time](questions.py), and [choosing settings](../docs/settings.md).
