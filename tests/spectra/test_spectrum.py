"""The value that travels: its signs, its files, its answers."""

from __future__ import annotations

import functools
import json
import stat
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from oracles import gaussian_adjacency, normalised
from pinvgcn import GaussianGraph, Hypergraph, SparseGraph, Spectrum
from pinvgcn.errors import DataError, GraphError, ModelFileError, PinvGCNError
from pinvgcn.io.tensors import described, digest
from pinvgcn.spectra.spectrum import orient


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(0, 5))
def test_signs_do_not_depend_on_order_or_on_signs_before(seed: int, n: int, r: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, r))
    oriented = vectors * orient(vectors)
    order = rng.permutation(n)
    flipped = vectors[order] * rng.choice([-1.0, 1.0], r)
    np.testing.assert_array_equal(flipped * orient(flipped), oriented[order])
    assert ((oriented**3).sum(axis=0) >= -1e-8 * (np.abs(oriented) ** 3).sum(axis=0)).all()


def test_signs_of_symmetric_vectors_are_fixed_too() -> None:
    """Where the third moment is rounding alone, the largest entry is positive."""
    up = np.array([0.5, -0.5, 0.3, -0.3, 0.1, -0.1])
    for vectors in (up[:, None], -up[:, None]):
        np.testing.assert_array_equal((vectors * orient(vectors))[:, 0], up)
    wobble = up + 1e-12 * np.random.default_rng(0).normal(size=6)
    np.testing.assert_array_equal(orient(wobble[:, None]), [1.0])
    np.testing.assert_array_equal(orient(-wobble[:, None]), [-1.0])


@pytest.mark.parametrize("n", [6, 30_000])
def test_signs_of_symmetric_vectors_survive_rounding_and_chunks(n: int) -> None:
    """u(−x) = −u(x): the first of the largest entries is positive, whatever sign and rounding came in."""
    half = np.random.default_rng(4).normal(size=n // 2)
    u = np.concatenate([half, -half[::-1]])
    u /= np.linalg.norm(u)
    expected = np.sign(u[np.argmax(np.abs(u) >= (1 - 1e-8) * np.abs(u).max())])
    wobble = 1e-15 * np.random.default_rng(5).normal(size=(n, 4))
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    np.testing.assert_array_equal(orient(u[:, None] * signs + wobble), expected * signs)


POINTS = np.random.default_rng(0).normal(size=(60, 3))


def incidence() -> np.ndarray:
    groups = np.random.default_rng(1).integers(0, 3, (40, 3))
    return np.hstack([groups[:, [j]] == np.arange(3) for j in range(3)]).astype(float)


CLOUD, NEW = (np.random.default_rng(seed).normal(size=(n, 2)) for seed, n in ((2, 1_500), (3, 9)))
SPECTRA = {
    "gaussian-dense": lambda: GaussianGraph(POINTS, 2.0).spectrum(8),
    "gaussian-krylov": lambda: GaussianGraph(CLOUD, 2.0, loops=1.0).spectrum(8, solver="krylov"),
    "gaussian-taylor": lambda: GaussianGraph(CLOUD, 20.0, loops=1.0).spectrum(8, solver="taylor"),
    "gaussian-fourier": lambda: GaussianGraph(CLOUD, 1.0, loops=1.0).spectrum(8, solver="fourier"),
    "gaussian-cutoff": lambda: GaussianGraph(CLOUD, 0.6, loops=1.0).spectrum(8, solver="cutoff"),
    "hypergraph": lambda: Hypergraph(incidence()).spectrum(),
    "sparse": lambda: SparseGraph(gaussian_adjacency(POINTS, 1.0, 0.0)).spectrum(5),
    "rank-zero": lambda: Hypergraph(np.ones((6, 1))).spectrum(),
}
NODES = {
    "gaussian-dense": POINTS + 0.1,
    **dict.fromkeys(("gaussian-krylov", "gaussian-taylor", "gaussian-fourier", "gaussian-cutoff"), NEW),
    "hypergraph": incidence()[::3],
    "rank-zero": np.ones((2, 1)),
}


@functools.cache
def spectrum_of(name: str) -> Spectrum:
    return SPECTRA[name]()


@pytest.mark.parametrize("name", SPECTRA)
def test_null_vectors_and_vectors_are_views_of_the_basis(name: str) -> None:
    spectrum = spectrum_of(name)
    k, r = spectrum.components, spectrum.rank
    assert spectrum.basis.shape == (spectrum.n_nodes, k + r)
    assert k >= 1
    np.testing.assert_array_equal(spectrum.null_vectors, spectrum.basis[:, :k])
    np.testing.assert_array_equal(spectrum.vectors, spectrum.basis[:, k:])
    for part in (spectrum.null_vectors, spectrum.vectors):
        assert np.shares_memory(part, spectrum.basis) or part.size == 0
    product = spectrum.basis.T @ spectrum.basis
    assert spectrum.orthogonality == pytest.approx(np.abs(product - np.eye(k + r)).max(), abs=1e-15)
    assert spectrum.orthogonality < 1e-8


def test_what_is_derived_from_what_is_held() -> None:
    """By hand: residuals beside μ = 1 − λ, the departure from orthonormal, a default noise of zero."""
    basis = np.array([[1.0, 0, 0.1], [0, 1, 0], [0, 0, 1]])
    spectrum = Spectrum(basis, np.array([0.5, 0.999]), np.array([1e-3, 1e-5]), "by hand")
    assert (spectrum.components, spectrum.rank, spectrum.n_nodes) == (1, 2, 3)
    np.testing.assert_allclose(spectrum.relative_residuals, [2e-3, 1e-2])
    assert spectrum.orthogonality == pytest.approx(0.1)
    np.testing.assert_array_equal(spectrum.noise, [0, 0])
    np.testing.assert_array_equal(spectrum.mu, 1 - spectrum.values)
    assert (spectrum.degree_error, spectrum.degree_bound, spectrum.reason) == (0.0, np.inf, "")
    at_one = Spectrum(
        basis, np.array([0.5, 1.0]), np.array([1e-3, 0.0]), "by hand", noise=np.array([1e-9, 2e-9])
    )
    np.testing.assert_array_equal(at_one.noise, [1e-9, 2e-9])
    assert at_one.relative_residuals[1] == 0
    assert np.isfinite(at_one.relative_residuals).all()
    tiny = Spectrum(
        basis, np.array([0.5, 1.0]), np.array([1e-3, 1e-20]), "by hand", mu=np.array([0.5, 1e-18])
    )
    np.testing.assert_allclose(tiny.relative_residuals, [2e-3, 1e-2])  # 1 − λ would be 0


@pytest.mark.parametrize("name", ["gaussian-dense", "gaussian-krylov", "gaussian-taylor"])
def test_noise_and_degree_error_are_true_bounds(name: str) -> None:
    """Against the values of the whole matrix."""
    spectrum = spectrum_of(name)
    points, sigma, loops = {
        "gaussian-dense": (POINTS, 2.0, 0.0),
        "gaussian-krylov": (CLOUD, 2.0, 1.0),
        "gaussian-taylor": (CLOUD, 20.0, 1.0),
    }[name]
    mu = np.linalg.eigvalsh(normalised(gaussian_adjacency(points, sigma, loops)))[::-1]
    error = np.abs(1 - spectrum.values - mu[1 : 1 + spectrum.rank])
    # a Rayleigh quotient is as exact as its residual squared, beside the noise and the rounding here
    assert (error <= spectrum.noise + spectrum.residuals**2 * 1e3 + 2e-15).all()
    assert spectrum.degree_error <= spectrum.degree_bound < 1e-6


@pytest.mark.parametrize("name", SPECTRA)
def test_a_saved_spectrum_comes_back_to_the_bit(name: str, tmp_path: Path) -> None:
    spectrum = spectrum_of(name)
    path = tmp_path / "a spectrum.safetensors"
    spectrum.save(path)
    again = Spectrum.load(path)
    for field in ("null_vectors", "values", "basis", "residuals", "mu", "noise"):
        before, after = getattr(spectrum, field), getattr(again, field)
        assert before.tobytes() == after.tobytes(), field
        assert (before.shape, before.dtype) == (after.shape, after.dtype), field
    for field in ("solver", "reason", "degree_error", "degree_bound", "components"):
        assert getattr(again, field) == getattr(spectrum, field), field
    assert repr(again) == repr(spectrum)
    assert (again.extension is None) == (name not in NODES)
    if name in NODES:
        assert again.extend_basis(NODES[name]).tobytes() == spectrum.extend_basis(NODES[name]).tobytes()
    assert [file.name for file in tmp_path.iterdir()] == [path.name]  # nothing unfinished beside it
    again.save(path)  # over itself
    assert Spectrum.load(path).vectors.tobytes() == spectrum.vectors.tobytes()


def test_a_saved_spectrum_may_be_read_by_others(tmp_path: Path) -> None:
    """It has the rights of any new file, not those of a secret temporary one."""
    (tmp_path / "plain").touch()
    spectrum_of("hypergraph").save(tmp_path / "spectrum")
    rights = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "spectrum")]
    assert rights[0] == rights[1]


def refusal(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        Spectrum.load(path)
    assert isinstance(caught.value, OSError)
    assert isinstance(caught.value, PinvGCNError)
    return str(caught.value)


@pytest.mark.parametrize("kept", [0, 4, 8, 60, 0.5, -1])
def test_truncated_files(kept: float, tmp_path: Path) -> None:
    path = tmp_path / "spectrum"
    spectrum_of("hypergraph").save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
    assert str(path) in refusal(path)


def test_files_that_hold_something_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert "no file" in refusal(path)
    assert "no file" in refusal(tmp_path)
    path.write_bytes(b"point,x,y\n" * 1_000)
    assert str(path) in refusal(path)
    save_file({"values": np.ones(3)}, path)
    assert "not written by pinvgcn" in refusal(path)
    for text in ("{", "[]", "7", "null", '{"kind": "spectrum"}', '{"kind": "spectrum", "format": "new"}'):
        save_file({"values": np.ones(3)}, path, metadata={"pinvgcn": text})
        assert "not written by pinvgcn" in refusal(path)


def test_another_kind_or_a_newer_format(tmp_path: Path) -> None:
    path = tmp_path / "file"
    spectrum_of("hypergraph").save(path)
    arrays = load_file(path)
    save_file(arrays, path, metadata={"pinvgcn": json.dumps({"kind": "model", "format": 1})})
    message = refusal(path)
    assert "'model'" in message
    assert "spectrum" in message
    save_file(arrays, path, metadata={"pinvgcn": json.dumps({"kind": "spectrum", "format": 99})})
    assert "99" in refusal(path)


@pytest.mark.parametrize("missing", ["values", "basis", "extension.coefficients", "extension.weights"])
def test_arrays_that_are_missing(missing: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    spectrum = spectrum_of("hypergraph")
    spectrum.save(path)
    arrays = load_file(path)
    del arrays[missing]
    description, _ = spectrum.state()
    about = described("spectrum", description)
    save_file(arrays, path, metadata={"pinvgcn": about, "sha256": digest(about, arrays)})
    assert missing.removeprefix("extension.") in refusal(path)


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    spectrum = spectrum_of("hypergraph")
    with pytest.raises(ModelFileError, match="could not be written"):
        spectrum.save(tmp_path / "no such folder" / "file")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ModelFileError, match="could not be written"):
        spectrum.save(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_nodes_of_a_sparse_graph_cannot_be_extended() -> None:
    spectrum = spectrum_of("sparse")
    with pytest.raises(GraphError, match="own nodes only"):
        spectrum.extend(np.ones((2, 3)))


def test_what_it_says_of_itself() -> None:
    spectrum = spectrum_of("hypergraph")
    assert spectrum.rank == len(spectrum.values) == spectrum.vectors.shape[1]
    assert spectrum.n_nodes == 40
    assert spectrum.eigengap == spectrum.values[0]
    np.testing.assert_array_equal(spectrum.basis, np.hstack([spectrum.null_vectors, spectrum.vectors]))
    assert spectrum_of("rank-zero").eigengap == 1.0


@pytest.mark.parametrize(
    "nodes",
    [np.ones((3, 2)), np.ones(3), np.full((2, 3), np.nan), np.ones((0, 3)), [["a", "b", "c"]]],
    ids=["columns", "1-d", "nan", "empty", "text"],
)
def test_new_points_that_cannot_be_placed(nodes: object) -> None:
    with pytest.raises(DataError):
        spectrum_of("gaussian-dense").extend(nodes)


@pytest.mark.parametrize("name", [name for name in NODES if name.startswith("gaussian")])
def test_points_that_nothing_reaches(name: str) -> None:
    spectrum = spectrum_of(name)
    far = NODES[name].copy()
    far[1] = 1e4
    with pytest.raises(DataError, match=r"1 of \d+ points are too far .* 10000"):
        spectrum.extend(far)
