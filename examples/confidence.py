"""What the model does not know.

Every answer comes with a probability. Where it is low, a person should look; the more answers are set
aside, the more of the others are right.
"""

import matplotlib.pyplot as plt
import numpy as np
from _scan_picture import draw_scan

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import generate_street, random_split

street = generate_street(8_000, random_state=1)
labels = random_split(street.y, per_class=20, random_state=1)
model = PinvGCNClassifier(epochs=150).fit(street.X, labels)

asked = labels == -1
sure = model.transduction_proba_.max(axis=1)  # the probability of the answer
right = model.transduction_ == street.y
for least in (0.0, 0.6, 0.8, 0.95):
    kept = asked & (sure >= least)
    share = kept.sum() / asked.sum()
    print(f"at least {least:4.0%} sure: {share:6.1%} of the points, {right[kept].mean():.1%} right")

# %%
# Unsure points lie where classes meet, and on the rare ones.
figure, axes = plt.subplots(figsize=(9, 4.4), layout="constrained")
shades = plt.get_cmap("cividis")(np.clip((sure - 0.4) / 0.6, 0, 1))[:, :3]
draw_scan(axes, street.X, shades, "How sure the model is of each point")
scale = plt.cm.ScalarMappable(plt.Normalize(0.4, 1), "cividis")
figure.colorbar(scale, ax=axes, label="probability of the answer", shrink=0.7)
plt.show()

# %%
# Is the certainty deserved? Of the points at which the model says 80 %, about 80 % should be right. On the
# right, what is gained when the least sure answers are set aside.
edges = np.array([0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0])
groups = np.digitize(sure, edges[1:-1])
figure, (promise, gain) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
said = [sure[asked & (groups == g)].mean() for g in range(len(edges) - 1)]
held = [right[asked & (groups == g)].mean() for g in range(len(edges) - 1)]
promise.plot([0.3, 1], [0.3, 1], color="#9a9a9a", linestyle="--", label="as promised")
promise.plot(said, held, color="#0072b2", marker="o", label="this model")
promise.set(xlabel="probability of the answer", ylabel="share that is right")
promise.set(xlim=(0.3, 1.01), ylim=(0.3, 1.01))
promise.set_title("Promised and kept", loc="left")
promise.legend(frameon=False)
order = np.argsort(-sure[asked])
kept = np.arange(1, len(order) + 1)
gain.plot(kept[99:] / len(order), 1 - np.cumsum(right[asked][order])[99:] / kept[99:], color="#d55e00")
gain.set(xlabel="share of the points that is answered, surest first", xlim=(0, 1))
gain.set(ylabel="share of these that is wrong", ylim=(0, None))
gain.set_title("What setting answers aside gains", loc="left")
plt.show()
