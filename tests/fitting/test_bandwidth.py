"""σ chosen by labels that are held out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pinvgcn import PinvGCNClassifier
from pinvgcn.fitting.fit import FACTORS, _clearly_best
from pinvgcn.graphs import automatic_sigma


def stripes(n: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two classes in a plane, in turns along x."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 6, size=(n, 2))
    truth = points[:, 0].astype(int) % 2
    labels = np.full(n, -1)
    for c in (0, 1):
        chosen = rng.choice(np.flatnonzero(truth == c), 40, replace=False)
        labels[chosen] = c
    return points, truth, labels


def test_the_labels_choose_among_multiples_of_the_automatic_sigma(reloaded: Path) -> None:
    points, truth, labels = stripes()
    model = PinvGCNClassifier(sigma="labels", rank=20, epochs=150, learning_rate=0.05).fit(points, labels)
    base = automatic_sigma(points)
    assert min(abs(model.sigma_ / base - factor) for factor in FACTORS) < 1e-12
    assert model.sigma_ != base  # stripes gain from another σ, clearly
    assert model.graph_.sigma == model.sigma_
    unlabelled = labels == -1
    plain = PinvGCNClassifier(rank=20, epochs=150, learning_rate=0.05).fit(points, labels)
    assert plain.sigma_ == pytest.approx(base)
    right = [np.mean(m.transduction_[unlabelled] == truth[unlabelled]) for m in (model, plain)]
    assert right[0] >= right[1]
    again = PinvGCNClassifier(sigma="labels", rank=20, epochs=150, learning_rate=0.05).fit(points, labels)
    assert again.sigma_ == model.sigma_
    np.testing.assert_array_equal(again.transduction_proba_, model.transduction_proba_)
    loaded = reloaded(model)
    assert loaded.sigma_ == model.sigma_
    np.testing.assert_array_equal(loaded.predict(points), model.transduction_)


def test_one_label_a_class_leaves_the_automatic_sigma() -> None:
    points, truth, _ = stripes(100)
    labels = np.full(100, -1)
    labels[[np.flatnonzero(truth == 0)[0], np.flatnonzero(truth == 1)[0]]] = [0, 1]
    assert PinvGCNClassifier(sigma="labels", epochs=5).fit(points, labels).sigma_ == automatic_sigma(points)


def test_a_gain_below_its_standard_error_is_none() -> None:
    rng = np.random.default_rng(0)
    base = rng.exponential(size=50)
    assert _clearly_best({1.0: base, 2.0: base - 0.01 + rng.normal(size=50)}, 1.0) == 1.0
    assert _clearly_best({1.0: base, 2.0: base - 0.5}, 1.0) == 2.0
    assert _clearly_best({2.0: base, 4.0: base + 1}, 1.0) == 2.0  # σ = 1 had isolated points
    assert _clearly_best({}, 1.0) == 1.0


def test_tables_have_no_sigma() -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": ["x", "y"] * 10, "b": ["u", "u", "v", "v"] * 5})
    model = PinvGCNClassifier(graph="categorical", epochs=5).fit(frame, [0, 1] + [-1] * 18)
    assert not hasattr(model, "sigma_")
