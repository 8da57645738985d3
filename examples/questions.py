"""A few questions at a time.

Labels cost an expert's time, so they should be where they help most. The expert begins with ten edible and
ten poisonous mushrooms and is then asked about five more a round: those of which the model is least sure.
`warm_start` keeps the spectrum and begins at the weights of the round before.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import load_dataset, random_split

ROUNDS, QUESTIONS, BEGINNINGS = 6, 5, 2
mushroom = load_dataset("mushroom")


def work(choose, seed):
    """The share of unlabelled rows that is right and the seconds that it took, for each round."""
    random = np.random.default_rng(seed)
    labels = random_split(mushroom.y, per_class=10, random_state=seed)
    alone = {"members": 1, "neighbours": None, "epochs": 200}  # a single network, to be quick
    model = PinvGCNClassifier(graph="categorical", warm_start=True, random_state=seed, **alone)
    right, seconds = [], []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        model.fit(mushroom.X, labels)
        seconds.append(time.perf_counter() - started)
        unknown = np.flatnonzero(labels == -1)
        right.append(np.mean(model.transduction_[unknown] == mushroom.y[unknown]))
        asked = choose(model.transduction_proba_, unknown, random)
        labels[asked] = mushroom.y[asked]  # the expert answers
    return right, seconds


def least_sure(proba, unknown, random):
    """Of a thousand rows, so that the five are not each other's twins."""
    some = random.choice(unknown, 1000, replace=False)
    return some[np.argsort(proba[some].max(axis=1))[:QUESTIONS]]


def any_row(proba, unknown, random):
    return random.choice(unknown, QUESTIONS, replace=False)


# %%
# The same number of questions, about the rows that the model asks for and about any:
runs = {}
for choose in (least_sure, any_row):
    runs[choose] = [work(choose, seed) for seed in range(BEGINNINGS)]
    shares = np.mean([right for right, _ in runs[choose]], axis=0)
    print(f"{choose.__name__:<10}", " ".join(f"{share:.1%}" for share in shares))
first, *others = runs[least_sure][0][1]
print(f"the first fit took {first:.1f} s, each of the others {np.mean(others):.1f} s")

# %%
# Thin lines are single beginnings, thick ones their mean:
figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
known = 20 + QUESTIONS * np.arange(ROUNDS)
for choose, colour, style, words in (
    (least_sure, "#0072b2", "-", "about the rows it is least sure of"),
    (any_row, "#d55e00", "--", "about any rows"),
):
    shares = np.array([right for right, _ in runs[choose]])
    axes.plot(known, shares.T, style, color=colour, linewidth=0.8, alpha=0.6)
    axes.plot(known, shares.mean(axis=0), style, color=colour, linewidth=2.5, marker="o", label=words)
axes.set(xlabel="mushrooms that the expert has named", ylabel="share of all others that is right")
axes.set_ylim(top=1)
axes.set_title("What a question is worth", loc="left")
figure.legend(frameon=False, loc="outside lower center", ncols=2)
plt.show()

# %%
# A model must have seen something of every kind before its doubts are worth following: from two labels on
# instead of twenty, any rows are the better ones to ask about, until there are about twenty (`per_class=1`
# shows it).
