"""Accuracy with the paper's settings and protocol: 10 labels a class, 500 epochs, many seeds.

    python benchmarks/accuracy.py [--datasets mushroom covertype45 covertype67] [--seeds 20] [--json FILE]

Prints ours beside the paper's mean over 100 runs, and beside logistic regression and extremely randomised
trees on the same labels. Data that is not embedded is found through PINVGCN_DATA.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import mean, median, stdev

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from pinvgcn import PinvGCNClassifier
from pinvgcn.datasets import load_dataset, random_split

PAPER = {"mushroom": (91.38, 3.92), "covertype45": (99.58, 0.71), "covertype67": (96.33, 1.41)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=list(PAPER), choices=list(PAPER))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results = {}
    print(
        f"{'data set':<14}{'ours %':>9}{'sd':>7}{'paper %':>10}{'sd':>7}{'logistic':>10}{'trees':>8}"
        f"{'eigengap':>10}{'rank':>6}{'s/run':>8}"
    )
    for name in arguments.datasets:
        data = load_dataset(name)
        one_hot = pd.get_dummies(data.X).to_numpy(float)
        accuracies, seconds = [], []
        simple: dict[str, list[float]] = {"logistic": [], "trees": []}
        for seed in range(arguments.seeds):
            labels = random_split(data.y, per_class=10, random_state=seed)
            model = PinvGCNClassifier.paper(graph="categorical", random_state=seed).fit(data.X, labels)
            unlabelled = labels == -1
            accuracies.append(100 * float(np.mean(model.transduction_[unlabelled] == data.y[unlabelled])))
            seconds.append(sum(model.timings_.values()))
            for method, rival in (
                ("logistic", LogisticRegression(max_iter=1000)),
                ("trees", ExtraTreesClassifier(300, random_state=seed)),
            ):
                rival.fit(one_hot[~unlabelled], labels[~unlabelled])
                simple[method].append(100 * rival.score(one_hot[unlabelled], data.y[unlabelled]))
        spread = stdev(accuracies) if len(accuracies) > 1 else 0.0
        spectrum = model.spectrum_
        print(
            f"{name:<14}{mean(accuracies):>9.2f}{spread:>7.2f}{PAPER[name][0]:>10.2f}{PAPER[name][1]:>7.2f}"
            f"{mean(simple['logistic']):>10.2f}{mean(simple['trees']):>8.2f}"
            f"{spectrum.eigengap:>10.4f}{spectrum.rank:>6}{median(seconds):>8.1f}",
            flush=True,
        )
        results[name] = {
            "accuracy": accuracies,
            "seconds": seconds,
            **simple,
            "eigengap": spectrum.eigengap,
            "rank": spectrum.rank,
        }
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
