"""A cloud that ranks share out has the spectrum of the whole: against one process, and dense formulas."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
from ranks import SIZES, shares

from oracles import departure, eigenpairs, gaussian_adjacency, normalised, residuals, sine
from pinvgcn import GaussianGraph
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.errors import DataError, GraphError, ParameterError
from pinvgcn.fitting.inputs import InputScaling
from pinvgcn.fitting.nodes import outside
from pinvgcn.graphs import automatic_sigma
from pinvgcn.kernels import Box
from pinvgcn.spectra import kernel_solvers, krylov_eigenpairs, operator
from pinvgcn.spectra.functions import _orthonormaliser, _separate
from pinvgcn.spectra.operator import RowSample
from pinvgcn.spectra.spectrum import orient

KINDS = ("even", "uneven", "empty")


def blob(n: int, seed: int = 0) -> np.ndarray:
    """Points of a flat cloud, far from the origin as map coordinates are."""
    draw = np.random.default_rng(seed)
    return draw.uniform(-1, 1, size=(n, 3)) * [12.0, 7.0, 1.5] + [5e5, 5e6, 100.0]


def two_blobs(n: int) -> np.ndarray:
    """Two flat clouds 60 apart, mixed: every rank has points of both."""
    points = np.random.default_rng(1).normal(size=(n, 2))
    points[np.arange(n) % 5 < 2, 0] += 60.0
    return points


def spectrum_of(process_group, points, kind, rank, sigma, loops, solver, new, tolerance=None):
    """What a rank has of the spectrum."""
    group = Group.of(process_group)
    mine = points[shares(len(points), group.size, kind)[group.rank]]
    graph = GaussianGraph(mine, sigma, loops=loops, process_group=process_group)
    spectrum = graph.spectrum(rank, solver=solver, tolerance=tolerance)
    return {
        "place": (graph.start, graph.n_nodes, graph.n_total),
        "degrees": graph.degrees,
        "product": graph.normalized_adjacency @ mine,
        "null": spectrum.null_vectors,
        "vectors": spectrum.vectors,
        "values": spectrum.values,
        "residuals": spectrum.residuals,
        "reason": spectrum.reason,
        "numbers": (spectrum.largest, spectrum.smallest, spectrum.degree_error, spectrum.degree_bound),
        "orthogonality": spectrum.orthogonality,
        "extended": spectrum.extend(new),
        "solver": spectrum.solver,
    }


def check_against_one_process(
    ranks, points, size, kind, *, rank, sigma, loops, solver, tolerance=None, function=None
):
    """Eigenvalues to 1e-10, vectors where they are told apart, extensions, degrees, certificates."""
    new = points[:40] + 0.05
    graph = GaussianGraph(points, sigma, loops=loops)
    whole = graph.spectrum(rank, solver=solver, tolerance=tolerance)
    arguments = (points, kind, rank, sigma, loops, solver, new, tolerance)
    found = ranks.run(size, function or spectrum_of, *arguments)
    first = found[0]
    for one, share in zip(found, shares(len(points), size, kind), strict=True):
        assert one["place"] == (share.start, share.stop - share.start, len(points))
        for name in ("values", "residuals", "extended"):  # the same bits everywhere
            np.testing.assert_array_equal(one[name], first[name])
        assert one["numbers"] == first["numbers"]
    degrees, product, null, U = (
        np.concatenate([one[name] for one in found]) for name in ("degrees", "product", "null", "vectors")
    )
    np.testing.assert_allclose(degrees, graph.degrees, rtol=1e-11)
    np.testing.assert_allclose(product, graph.normalized_adjacency @ points, rtol=1e-9)
    assert first["values"].shape == whole.values.shape
    np.testing.assert_allclose(first["values"], whole.values, rtol=0, atol=1e-10)
    np.testing.assert_allclose(null, whole.null_vectors, atol=1e-9)
    assert max(departure(np.hstack([null, U])), first["orthogonality"]) < 1e-9
    gaps = np.diff(whole.values, prepend=-1.0, append=3.0)
    apart = np.minimum(gaps[:-1], gaps[1:]) > 1e-6
    assert apart.any()
    np.testing.assert_allclose(U[:, apart], whole.vectors[:, apart], atol=1e-7)
    assert sine(U, whole.vectors) < 1e-6
    extended = whole.extend(new)
    np.testing.assert_allclose(first["extended"][:, apart], extended[:, apart], atol=1e-7)
    np.testing.assert_allclose(first["residuals"], whole.residuals, rtol=0.05, atol=1e-9)
    np.testing.assert_allclose(
        first["numbers"][:2], (np.abs(U).max(), np.linalg.norm(null, axis=1).min()), rtol=1e-12
    )
    return whole, null, U, first


@pytest.mark.parametrize(
    ("kind", "size", "sigma", "loops", "solver"),
    [
        ("even", 2, 12.0, 1.0, "taylor"),
        ("empty", 2, 12.0, 0.0, "fourier"),
        ("uneven", 4, 12.0, 0.0, "taylor"),
        ("empty", 4, 6.0, 1.0, "fourier"),
        ("uneven", 2, 3.0, 0.0, "dense"),
        ("even", 4, 1.5, 0.0, "auto"),
    ],
)
def test_against_the_dense_formula(ranks, kind, size, sigma, loops, solver):
    """All n² weights by numpy, at no more points than that allows."""
    points = blob(900)
    _, null, U, found = check_against_one_process(
        ranks, points, size, kind, rank=12, sigma=sigma, loops=loops, solver=solver
    )
    A = gaussian_adjacency(points, sigma, loops)
    N = normalised(A)
    mu, exact = eigenpairs(N)
    assert found["solver"] == ("dense" if solver == "auto" else solver)
    np.testing.assert_allclose(found["values"], 1 - mu[1:13], rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.abs(null[:, 0]), np.sqrt(A.sum(axis=1) / A.sum()), rtol=1e-8)
    true = residuals(N, found["values"], U)
    assert (true <= found["residuals"]).all()
    assert found["residuals"].max() < 1e-6
    if mu[12] - mu[13] > 1e-4:
        assert sine(exact[:, 1:13], U) < 1e-5


@pytest.mark.parametrize(
    ("kind", "size", "sigma", "loops", "solver"),
    [
        ("even", 2, 15.0, 0.0, "taylor"),
        ("uneven", 4, 15.0, 1.0, "taylor"),
        ("uneven", 2, 5.0, 1.0, "fourier"),
        ("empty", 4, 5.0, 0.0, "fourier"),
    ],
)
def test_more_points_than_any_rank_may_gather(ranks, kind, size, sigma, loops, solver):
    check_against_one_process(
        ranks, blob(4_500), size, kind, rank=20, sigma=sigma, loops=loops, solver=solver
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("n", "solver"), [(1_500, "fourier"), (4_000, "auto")])
def test_two_clouds_far_apart_have_two_null_vectors(ranks, size, n, solver):
    points = two_blobs(n)
    _, null, _, _ = check_against_one_process(
        ranks, points, size, "uneven", rank=8, sigma=4.0, loops=1.0, solver=solver
    )
    right = points[:, 0] > 30
    for column in null.T:  # each lives on one cloud, and is √degree there
        assert (column[right].max() < 1e-6) != (column[~right].max() < 1e-6)


def test_pairs_that_only_a_qr_has(ranks):
    """1 − λ far below the rounding of a Gram matrix: from the R of all ranks."""
    points = blob(3_500)
    whole = GaussianGraph(points, 60.0, loops=1.0).spectrum(60, solver="taylor")
    assert whole.mu[-1] < 1e-12
    found = ranks.run(4, tiny, points)
    np.testing.assert_allclose(found[0], whole.mu, rtol=1e-4)


def tiny(process_group, points):
    group = Group.of(process_group)
    mine = points[shares(len(points), group.size, "uneven")[group.rank]]
    graph = GaussianGraph(mine, 60.0, loops=1.0, process_group=process_group)
    return graph.spectrum(60, solver="taylor").mu


def refined_of(process_group, *arguments):
    """As ``spectrum_of``, of a graph that counts as large."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_solvers, "ALL_ROWS", 100)
        patch.setattr(operator, "ALL_ROWS", 100)
        return spectrum_of(process_group, *arguments)


def test_refined_pairs(ranks, monkeypatch):
    """Degrees of about 15: without loops the smooth pairs miss the tolerance, and an iteration follows."""
    calls = []
    refine = kernel_solvers.krylov_eigenpairs
    monkeypatch.setattr(
        kernel_solvers, "krylov_eigenpairs", lambda *a, **k: calls.append(k) or refine(*a, **k)
    )
    monkeypatch.setattr(kernel_solvers, "ALL_ROWS", 100)
    monkeypatch.setattr(operator, "ALL_ROWS", 100)
    points = np.random.default_rng(2).uniform(0, 24, size=(700, 2))
    settings = {"rank": 6, "sigma": 2.0, "loops": 0.0, "solver": "fourier", "tolerance": 1e-4}
    check_against_one_process(ranks, points, 2, "uneven", **settings, function=refined_of)
    assert calls


def iterated(process_group, diagonal, rank, kind):
    """Of a diagonal matrix, the first coordinate deflated; and the rows that a sample draws."""
    group = Group.of(process_group)
    mine = shares(len(diagonal), group.size, kind)[group.rank]
    own = diagonal[mine, None]
    deflate = (np.arange(len(diagonal)) == 0).astype(float)[mine, None]
    found = krylov_eigenpairs(
        lambda X: own * X,
        len(own),
        rank,
        deflate=deflate,
        tolerance=lambda theta: np.full_like(theta, 1e-10),
        group=group,
    )
    sample = RowSample.of(SimpleNamespace(degrees=1 / diagonal[mine], group=group, total=len(diagonal)))
    return found.values, found.vectors, mine.start + sample.rows, sample.weights


@pytest.mark.parametrize(
    ("size", "rank", "kind"), [(2, 20, "uneven"), (4, 20, "empty"), (2, 400, "even"), (4, 400, "empty")]
)
def test_an_iteration_and_a_sample(ranks, size, rank, kind):
    """Eigenvalues that are known, one of them more often than a block holds; all of the space at rank 400."""
    diagonal = np.concatenate([[9.0], np.full(20, 2.0), 1 / np.arange(1.0, 3_101)])
    diagonal = diagonal[:900] if rank == 400 else diagonal
    expected = np.sort(diagonal[1:])[::-1][:rank]
    alone = RowSample.of(SimpleNamespace(degrees=1 / diagonal, group=ALONE, total=len(diagonal)))
    found = ranks.run(size, iterated, diagonal, rank, kind)
    for values, *_ in found:
        np.testing.assert_allclose(values, expected, rtol=1e-12)
    U, rows, weights = (np.concatenate([one[i] for one in found]) for i in (1, 2, 3))
    assert departure(U) < 1e-12
    np.testing.assert_allclose(diagonal[:, None] * U, U * expected, atol=1e-9)
    np.testing.assert_array_equal(rows, alone.rows)
    np.testing.assert_allclose(weights, alone.weights, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "sigma", "loops", "size"), [("street", "auto", 1.0, 2), ("oakland1", 20.0, 0.0, 4)]
)
def test_real_scans(ranks, data_set, name, sigma, loops, size):
    points = data_set(name).X[:, :3]
    check_against_one_process(
        ranks, points[::3], size, "uneven", rank=20, sigma=sigma, loops=loops, solver="auto"
    )


def pieces_of(process_group, E, null, symmetric, kind):
    """What is found of functions of which each rank has some rows."""
    group = Group.of(process_group)
    share = shares(len(E), group.size, kind)[group.rank]
    operator = SimpleNamespace(group=group, noise=1e-12)  # all that is asked of it here
    T, chosen = _orthonormaliser(operator, E[share])
    signs = orient(symmetric[share], group=group)
    return T, chosen, _separate(operator, null[share]), signs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
def test_dependent_functions_pieces_and_signs(ranks, size, kind):
    """By the R of each rank, by a node of each piece, and by the first of the largest entries."""
    draw = np.random.default_rng(7)
    E = draw.random((90, 6))
    E[:, 3] = E[:, 1] + 1e-9 * draw.random(90)  # one of the others
    E[:, 5] *= 1e-20  # cannot be heard
    pieces = np.zeros((90, 3))
    pieces[np.arange(90), np.arange(90) // 31] = 0.5 + draw.random(90)  # some live on one rank
    pieces /= np.linalg.norm(pieces, axis=0)
    turned = pieces @ np.linalg.qr(draw.normal(size=(3, 3)))[0]
    x = np.linspace(-1, 1, 90)
    symmetric = np.linalg.qr(np.stack([x, x**3, x**5], axis=1))[0]  # third moments vanish
    expected = pieces_of(None, E, turned, symmetric, "even")
    for T, chosen, rotation, signs in ranks.run(size, pieces_of, E, turned, symmetric, kind):
        np.testing.assert_array_equal(chosen, expected[1])
        np.testing.assert_allclose(T, expected[0], rtol=1e-6, atol=1e-10)
        assert departure(E @ T) < 1e-9
        np.testing.assert_allclose(rotation, expected[2], atol=1e-12)
        np.testing.assert_array_equal(signs, np.where(symmetric[0] > 0, 1.0, -1.0))
        found = turned @ rotation
        np.testing.assert_allclose(found[:, np.argsort(found.argmax(axis=0))], pieces, atol=1e-12)


def settings_of(process_group, points, kind):
    """All that is found of the points beside the graph."""
    group = Group.of(process_group)
    mine = points[shares(len(points), group.size, kind)[group.rank]]
    box = Box.around(mine, group)
    scaling = InputScaling.of(mine, np.exp(mine), scaling="ranks", coordinates=2, group=group)
    ranks = scaling.normal_scores
    return automatic_sigma(mine, group), box.centre, box.half, scaling.shift, scaling.scale, ranks.knots


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
def test_bandwidth_box_and_scaling(ranks, size, kind):
    points = two_blobs(3_001)
    radius = np.linalg.norm(points - np.median(points, axis=0), axis=1)
    scaling = InputScaling.of(points, np.exp(points), scaling="ranks", coordinates=2)
    whole = Box.around(points)
    for sigma, centre, half, shift, scale, knots in ranks.run(size, settings_of, points, kind):
        assert sigma == 5 * np.median(radius)
        np.testing.assert_allclose(centre, whole.centre, rtol=1e-12)
        np.testing.assert_allclose(half, whole.half, rtol=1e-12)
        np.testing.assert_allclose(shift, scaling.shift, atol=1e-12)
        np.testing.assert_allclose(scale, scaling.scale, rtol=1e-12)
        np.testing.assert_array_equal(knots, scaling.normal_scores.knots)


def sigma_of_pool(process_group, n):
    group = Group.of(process_group)
    share = shares(n, group.size, "uneven")[group.rank]
    points = np.arange(n, dtype=float)[share, None]
    return automatic_sigma(points, group)


def test_the_bandwidth_of_more_points_than_a_pool_holds(ranks):
    """The median distance from the middle of 0 … n is n/4; from a pool, whoever has its points."""
    n = 400_000
    alone = automatic_sigma(np.arange(n, dtype=float)[:, None])
    assert alone == pytest.approx(5 * n / 4, rel=0.01)
    assert alone != 5 * n / 4
    for size in SIZES:
        assert ranks.run(size, sigma_of_pool, n) == [alone] * size


def message_of(process_group, points, kind, change, arguments, rank=5, solver="auto"):
    """The error that a rank raises; the last rank may have changed its points."""
    group = Group.of(process_group)
    mine = points[shares(len(points), group.size, kind)[group.rank]].copy()
    if change is not None and group.rank == group.size - 1:
        mine = change(mine)
    try:
        GaussianGraph(mine, process_group=process_group, **arguments).spectrum(rank, solver=solver)
    except (DataError, GraphError, ParameterError) as error:
        return type(error).__name__, str(error)


def spoil(points):
    points[3, 1] = np.nan
    return points


def drop_a_column(points):
    return points[:, :2]


def lonely(points):
    points[-1] += 40.0
    return points


@pytest.mark.parametrize(
    ("change", "arguments", "solver", "n", "expected"),
    [
        (spoil, {}, "auto", 100, r"DataError Rank 1: points must be finite. Got NaN in row 3; remove"),
        (drop_a_column, {}, "auto", 100, "points must have the same columns on all ranks.* Got 3 .* 2 on ra"),
        (lonely, {"sigma": 5.0}, "auto", 4_000, r"GraphError .* Got 1 isolated node \(first: node 3999\)"),
        (
            None,
            {"sigma": 5.0},
            "cutoff",
            100,
            "solver='cutoff' does not take this graph: its nodes are sh",
        ),
        (
            None,
            {"sigma": 5.0},
            "krylov",
            100,
            "solver='krylov' does not take this graph: its nodes are sh",
        ),
        (None, {"sigma": 5.0}, "dense", 4_000, "4,000 nodes, more than 3,000, and its nodes are shared out"),
        (None, {"sigma": 1e-3}, "auto", 4_000, "ParameterError sigma must be larger for points that 2 proce"),
        (None, {"sigma": -1.0}, "auto", 100, "sigma must be a positive"),
    ],
)
def test_every_rank_refuses_what_one_refuses(ranks, change, arguments, solver, n, expected):
    """One message on all ranks, and nobody waits."""
    found = ranks.run(2, message_of, blob(n), "even", change, arguments, 5, solver)
    assert found[0] == found[1]
    assert re.search(expected, " ".join(found[0]))


def other_settings(process_group, points):
    """The message where rank 1 has another σ, and where its σ is no number."""
    group = Group.of(process_group)
    told = []
    for sigma in (["auto", 5.0], [5.0, "wide"]):
        with pytest.raises(ParameterError) as error:
            GaussianGraph(points, sigma[group.rank], loops=1.0, process_group=process_group)
        told.append(str(error.value))
    return told


def test_settings_that_differ(ranks):
    for told in ranks.run(2, other_settings, blob(10)):
        assert told == [
            "sigma and loops must be the same on all ranks. Got auto and 1.0, 5.0 and 1.0 instead.",
            "Rank 1: sigma must be a positive number or 'auto'. Got 'wide' instead.",
        ]


def saved(process_group, points, path):
    group = Group.of(process_group)
    mine = points[shares(len(points), group.size, "even")[group.rank]]
    spectrum = GaussianGraph(mine, 10.0, process_group=process_group).spectrum(4)
    far = outside(spectrum.extend_basis(points[:50] + 5.0), spectrum)
    with pytest.raises(GraphError, match=r"must be whole to be saved. Got the rows of one of 2 ranks"):
        spectrum.save(path)
    return far


def test_what_is_local_afterwards(ranks, tmp_path):
    points = blob(600)
    whole = GaussianGraph(points, 10.0).spectrum(4)
    expected = outside(whole.extend_basis(points[:50] + 5.0), whole)
    assert 0 < expected.sum() < 50
    for far in ranks.run(2, saved, points, tmp_path / "spectrum"):
        np.testing.assert_array_equal(far, expected)
    assert not list(tmp_path.iterdir())
