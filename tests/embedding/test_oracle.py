"""Each transformer against the dense eigenproblem."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.manifold import SpectralEmbedding

from oracles import eigenpairs, gaussian_adjacency, gaussian_kernel, normalised, residuals, sine
from pinvgcn import GaussianEigenmap, HypergraphEigenmap
from pinvgcn.embedding import sigma_for_rank
from pinvgcn.errors import DataError, GraphError, ParameterError, RankWarning, UnseenValueWarning

RNG = np.random.default_rng(0)
CLOUDS = {d: RNG.normal(size=(400, d)) * np.arange(1, d + 1) for d in (1, 2, 3, 6)}


@pytest.mark.parametrize("loops", [0.0, 1.0])
@pytest.mark.parametrize("dimension", CLOUDS)
def test_points(dimension, loops):
    points = CLOUDS[dimension]
    eigenmap = GaussianEigenmap(5, sigma=2.5 * dimension, loops=loops)
    features = eigenmap.fit_transform(points)
    N = normalised(gaussian_adjacency(points, 2.5 * dimension, loops))
    mu, U = eigenpairs(N)
    np.testing.assert_allclose(eigenmap.eigenvalues_, 1 - mu[1:6], atol=1e-9)
    assert sine(U[:, 1:6], features / 20) < 1e-8
    np.testing.assert_allclose((features**2).mean(axis=0), 1, rtol=1e-9)
    true = residuals(N, eigenmap.eigenvalues_, features / 20)
    assert (true <= eigenmap.residuals_).all()
    np.testing.assert_allclose(eigenmap.transform(points), features, atol=1e-7)
    certificate = eigenmap.certificate_
    assert certificate["residual"] == eigenmap.residuals_.max() < 1e-9
    assert certificate["orthogonality"] < 1e-9
    assert certificate["solver"] == "dense"


def test_new_points_by_the_formula_of_the_extension():
    """u(x) = Σ_j k(x, x_j) u_j / (√(d(x) d_j) μ), with loops of weight 1."""
    points, new = CLOUDS[2], CLOUDS[2][:50] + 0.3
    features = (eigenmap := GaussianEigenmap(4, sigma=3.0)).fit_transform(points)
    degrees = gaussian_kernel(points, points, 3.0).sum(axis=1)
    k = gaussian_kernel(new, points, 3.0)
    expected = k / np.sqrt(degrees) / np.sqrt(k.sum(axis=1))[:, None] @ features / (1 - eigenmap.eigenvalues_)
    np.testing.assert_allclose(eigenmap.transform(new), expected, atol=1e-8)


def test_more_points_than_the_dense_solver_takes():
    points = RNG.uniform(size=(1_300, 2)) * [3, 1]
    eigenmap = GaussianEigenmap(6, sigma=0.5)
    features = eigenmap.fit_transform(points) / np.sqrt(1_300)
    mu, U = eigenpairs(normalised(gaussian_adjacency(points, 0.5, 1.0)))
    assert eigenmap.certificate_["solver"] != "dense"
    assert sine(U[:, 1:7], features) < 1e-4
    assert eigenmap.residuals_.max() < 1e-6
    np.testing.assert_allclose(eigenmap.eigenvalues_, 1 - mu[1:7], atol=1e-8)


def test_without_loops_it_is_the_spectral_embedding_of_scikit_learn():
    points = CLOUDS[2]
    ours = GaussianEigenmap(3, sigma=2.0, loops=0.0).fit_transform(points)
    degrees = gaussian_adjacency(points, 2.0, 0.0).sum(axis=1)
    theirs = SpectralEmbedding(3, affinity="rbf", gamma=0.25, random_state=0).fit_transform(points)
    theirs *= np.sqrt(degrees)[:, None]
    assert sine(np.linalg.qr(theirs)[0], ours / 20) < 1e-6


def test_tables():
    frame = pd.DataFrame(
        {"kind": RNG.choice(list("abc"), 60), "wet": RNG.random(60) > 0.4, "size": RNG.random(60)}
    )
    eigenmap = HypergraphEigenmap(4, bins=3)
    features = eigenmap.fit_transform(frame)
    third = np.argsort(np.argsort(frame["size"])) // 20
    H = np.column_stack(
        [frame["kind"] == value for value in "abc"] + [frame["wet"]] + [third == i for i in range(3)]
    )
    H = H.astype(float)
    mu, U = eigenpairs(normalised(H / H.sum(axis=0) @ H.T))
    np.testing.assert_allclose(eigenmap.eigenvalues_, 1 - mu[1:5], atol=1e-12)
    assert sine(U[:, 1:5], features / np.sqrt(60)) < 1e-9
    np.testing.assert_allclose(eigenmap.transform(frame), features, atol=1e-10)
    assert eigenmap.encoder_.columns == ("kind", "wet", "size")
    assert eigenmap.residuals_.max() < 1e-12


def test_values_never_seen():
    frame = pd.DataFrame({"a": list("xxyyxy"), "b": list("pqqppq")})
    eigenmap = HypergraphEigenmap().fit(frame)
    with pytest.warns(UnseenValueWarning, match=r"'b' \(1 rows\)"):
        one = eigenmap.transform(pd.DataFrame({"a": ["x"], "b": ["new"]}))
    assert np.isfinite(one).all()
    with (
        pytest.warns(UnseenValueWarning),
        pytest.raises(DataError, match="no value that training knew"),
    ):
        eigenmap.transform(pd.DataFrame({"a": ["z"], "b": ["new"]}))


def test_fewer_eigenvectors_than_asked_for():
    few = np.array([[0.0], [1.0], [3.0]])
    with pytest.warns(RankWarning, match="rank=7 was asked for and 2 eigenvectors exist"):
        features = GaussianEigenmap(7).fit_transform(few)
    assert features.shape == (3, 2)
    assert GaussianEigenmap().fit_transform(few).shape == (3, 2)  # nobody asked
    assert GaussianEigenmap().fit_transform(np.ones((5, 2))).shape == (5, 0)


def test_bad_input_has_one_clear_line():
    for eigenmap in (GaussianEigenmap(0), GaussianEigenmap(sigma="wide"), GaussianEigenmap(2.5)):
        with pytest.raises(ParameterError, match=r"must be .*Got .* instead"):
            eigenmap.fit(CLOUDS[2])
    with pytest.raises(DataError, match="too far from all training points"):
        GaussianEigenmap(sigma=0.5).fit(CLOUDS[2]).transform([[1e4, 0.0]])


def test_rows_are_not_kept():
    eigenmap = GaussianEigenmap(3).fit(CLOUDS[3])
    assert eigenmap.spectrum_.n_nodes == 400
    with pytest.raises(GraphError, match="at the 400 fitted rows were not kept"):
        _ = eigenmap.spectrum_.vectors
    np.testing.assert_allclose(eigenmap.spectrum_.extend(CLOUDS[3]) * 20, eigenmap.transform(CLOUDS[3]))


class TestAutomaticSigma:
    @pytest.mark.parametrize("dimension", CLOUDS)
    @pytest.mark.parametrize("rank", [1, 5, 40])
    def test_eigenvalues_sum_to_a_quarter_of_the_rank(self, dimension, rank):
        """1 − λ over all eigenvalues but the first, by the trace of the dense matrix."""
        points = CLOUDS[dimension]
        N = normalised(gaussian_adjacency(points, sigma_for_rank(points, rank), 1.0))
        assert np.trace(N) - 1 == pytest.approx(rank / 4, rel=0.01)

    def test_of_many_points_some_are_looked_at(self):
        points = RNG.normal(size=(20_000, 2))
        some = points[:3_000]
        N = normalised(gaussian_adjacency(some, sigma_for_rank(points, 8), 1.0))
        assert np.trace(N) - 1 == pytest.approx(2, rel=0.1)

    def test_it_follows_the_unit_of_length(self):
        points = CLOUDS[3]
        assert sigma_for_rank(1024 * points, 6) == pytest.approx(1024 * sigma_for_rank(points, 6), rel=1e-3)

    def test_points_that_coincide(self):
        assert sigma_for_rank(np.ones((9, 2)), 3) == 1.0
        assert sigma_for_rank(np.repeat([[0.0], [2.0]], 50, axis=0), 5) == pytest.approx(2.0)
