"""scikit-learn's conventions: its own checks, pipelines, frames, clones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from pinvgcn import GaussianEigenmap, HypergraphEigenmap

X, Y = make_blobs(90, centers=3, cluster_std=1.0, random_state=3)


@parametrize_with_checks(
    [GaussianEigenmap(), GaussianEigenmap(2, sigma=3.0, loops=0.0), HypergraphEigenmap()]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [GaussianEigenmap, HypergraphEigenmap])
def test_parameters_are_cloned_and_documented(kind):
    eigenmap = kind(3)
    assert clone(eigenmap).get_params() == eigenmap.get_params()
    assert clone(eigenmap).set_params(rank=5).rank == 5
    for name in eigenmap.get_params():
        assert name in kind.__doc__.split("Attributes")[0]
    with pytest.raises(NotFittedError):
        eigenmap.transform(X)
    with pytest.raises(NotFittedError):
        eigenmap.save("nowhere")


@pytest.mark.parametrize(
    "eigenmap", [GaussianEigenmap(4), HypergraphEigenmap(4)], ids=lambda e: type(e).__name__
)
def test_frames_in_and_out(eigenmap):
    frame = pd.DataFrame(X, columns=["east", "north"], index=np.arange(90) + 7)
    features = clone(eigenmap).set_output(transform="pandas").fit_transform(frame)
    names = [f"{type(eigenmap).__name__.lower()}{i}" for i in range(4)]
    assert features.columns.tolist() == names
    assert features.index.equals(frame.index)
    fitted = clone(eigenmap).fit(frame)
    assert fitted.get_feature_names_out().tolist() == names
    np.testing.assert_allclose(fitted.transform(frame), features, atol=1e-10)
    with pytest.raises(ValueError, match="Feature names"):
        fitted.transform(frame.rename(columns={"east": "up"}))


def test_one_line_in_a_pipeline():
    """Two moons, which a straight line cannot part."""
    points, side = make_moons(300, noise=0.06, random_state=0)
    straight = cross_val_score(LogisticRegression(), points, side, cv=3).mean()
    curved = cross_val_score(
        make_pipeline(GaussianEigenmap(), LogisticRegression()), points, side, cv=3
    ).mean()
    assert straight < 0.92
    assert curved > 0.98
    search = GridSearchCV(
        make_pipeline(GaussianEigenmap(), LogisticRegression()), {"gaussianeigenmap__rank": [2, 12]}, cv=3
    ).fit(points, side)
    assert search.best_params_ == {"gaussianeigenmap__rank": 12}


def test_tables_in_a_pipeline(data_set):
    mushrooms = data_set("mushroom")
    model = make_pipeline(HypergraphEigenmap(20), LogisticRegression())
    learned, judged = np.arange(8_124) % 8 == 0, np.arange(8_124) % 8 == 3
    model.fit(mushrooms.X[learned], mushrooms.y[learned])
    assert model.score(mushrooms.X[judged], mushrooms.y[judged]) > 0.97
