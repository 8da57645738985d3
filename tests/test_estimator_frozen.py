"""``PinvGCNClassifier.paper`` is fixed for ever: its probabilities are those that were once stored.

Fifty epochs freeze all that 500 would: graph, spectrum, start, dropout, optimiser. Training amplifies the
last bit of a product: after 500 epochs, other processor instructions change a probability by 0.008.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from pinvgcn import PinvGCNClassifier, SparseGraph
from pinvgcn.datasets import load_dataset

STORED = Path(__file__).parent / "files" / "paper.npz"


def spiral() -> tuple[np.ndarray, np.ndarray]:
    """Three arms of 100 points (300, 3), five labels in each; the points stand in order along the arms."""
    t = np.arange(300)
    arm, s = t % 3, 0.5 + 2.5 * (t // 3) / 100
    angle = s + 2 * np.pi * arm / 3
    points = 10 * np.column_stack([s * np.cos(angle), s * np.sin(angle), 0.3 * np.sin(7.0 * t)])
    return points, np.where(t // 3 % 20 == 5, arm, -1)


def gaussian() -> np.ndarray:
    points, labels = spiral()
    model = PinvGCNClassifier.paper("gaussian", sigma=10.0, rank=20, epochs=50)
    return model.fit(points, labels).transduction_proba_


def categorical() -> np.ndarray:
    mushroom = load_dataset("mushroom")
    labels = np.asarray(mushroom.y)[::16].copy()
    labels[np.arange(len(labels)) % 12 != 0] = -1
    return (
        PinvGCNClassifier.paper("categorical", epochs=50)
        .fit(mushroom.X.iloc[::16], labels)
        .transduction_proba_
    )


def sparse() -> np.ndarray:
    """The points of an arm in a chain, and every tenth joined with the next arm."""
    points, labels = spiral()
    along = np.arange(297)
    across = np.arange(0, 300, 30)
    ends = np.concatenate([along, across]), np.concatenate([along + 3, across + 1])
    adjacency = sp.coo_array((np.ones(len(ends[0])), ends), shape=(300, 300))
    graph = SparseGraph((adjacency + adjacency.T).tocsr())
    return PinvGCNClassifier.paper(graph=graph, rank=20, epochs=50).fit(points, labels).transduction_proba_


@pytest.mark.parametrize("kind", [gaussian, categorical, sparse], ids=lambda kind: kind.__name__)
def test_probabilities_are_the_stored_ones(kind):
    with np.load(STORED) as stored:
        np.testing.assert_allclose(kind(), stored[kind.__name__], rtol=0, atol=1e-6)
