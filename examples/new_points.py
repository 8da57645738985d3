"""Points that come later.

A model that has learned from one scan labels points that were not in it: a second pass of the scanner, or
the rest of a file that is too large to hold. It travels as one file.
"""

import tempfile
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from _scan_picture import PALE, class_colours, draw_scan

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import generate_street, random_split

street = generate_street(12_000, random_state=0)
first = np.random.default_rng(0).random(len(street.y)) < 0.5  # the others come later
points, truth = street.X[first], street.y[first]
later, later_truth = street.X[~first], street.y[~first]

labels = random_split(truth, per_class=20, random_state=0)
model = PinvGCNClassifier(members=1, epochs=300).fit(points, labels)  # one network of five, to be quick
print(f"the scan itself: {np.mean(model.transduction_ == truth):.1%} right")

# %%
# The file has arrays and a description, nothing in it can run code, and the points of the second pass go
# through it a thousand at a time.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "street.safetensors"
    model.save(path)
    print(f"saved in {path.stat().st_size / 2**20:.1f} MiB")
    again = PinvGCNClassifier.load(path)
pieces = [later[i : i + 1000] for i in range(0, len(later), 1000)]
answer = np.concatenate([again.predict(piece) for piece in pieces])
print(f"points never seen: {np.mean(answer == later_truth):.1%} right")

# %%
# Asked again about a point that it has learned from, the model says what it said before, bit for bit or
# nearly so.
same = np.abs(again.predict_proba(points) - model.transduction_proba_).max()
print(f"largest difference of a probability: {same:.0e}")

# %%
# Points outside the scan are classified by their shapes alone, and `predict` says so.
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    again.predict(later[:5] + np.array([150.0, 0.0, 0.0]))
print(said[0].message)

# %%
# The scan with the labels that it was learned from, and the second pass with the classes that the model
# gives it:
colours = class_colours(street.target_names)
figure, (scan, axes) = plt.subplots(1, 2, figsize=(11, 3.4), layout="constrained")
known = labels >= 0
draw_scan(scan, points, PALE, "The scan", marks=(points[known], colours[labels[known]]))
draw_scan(axes, later, colours[answer], f"{len(later):,} points that came later")
for colour, name in zip(colours, street.target_names, strict=True):
    axes.scatter([], [], color=colour, label=name)
figure.legend(loc="outside lower center", ncols=5, frameon=False)
plt.show()
