"""Logistic regression on columns by their relevance, plain and with a Gaussian kernel."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

import pinvgcn.experts.kernel
from pinvgcn.experts import ByValues, KernelMachine, Linear, RowLabels, Seen, TableColumns

RNG = np.random.default_rng(0)
M, V = 45, 6
CODES = np.arange(M) % 3
X = np.hstack([RNG.integers(0, 2, (M, 3)), RNG.normal(size=(M, 3))]) + 0.7 * (CODES == 1)[:, None]
NEW = RNG.normal(size=(20, V))
COLUMNS = TableColumns(np.arange(V), np.arange(V) >= 3)
WEIGHTS = RNG.uniform(0.2, 3, M)


def labels_of(classes: int, weights=None) -> tuple[np.ndarray, RowLabels]:
    some = np.flatnonzero(np.isin(CODES, np.arange(classes)))
    given = None if weights is None else weights[some]
    return X[some], RowLabels.of(CODES[some], len(some), sample_weight=given)


@pytest.mark.parametrize(
    "weights", [None, WEIGHTS, 1_000 * WEIGHTS], ids=["equal", "weighed", "in other units"]
)
@pytest.mark.parametrize("classes", [2, 3])
def test_linear_is_that_of_scikit_learn(classes, weights):
    rows, labels = labels_of(classes, weights)
    omega = COLUMNS.relevance(rows, labels.codes, classes)
    model = LogisticRegression(C=1.0, max_iter=10_000, tol=1e-10)
    model.fit(rows * omega, labels.codes, None if weights is None else labels.weights / labels.weights.mean())
    found = Linear.fitted(rows, labels, COLUMNS)
    np.testing.assert_allclose(found.log_proba(NEW), model.predict_log_proba(NEW * omega), atol=1e-2)
    np.testing.assert_allclose(found.log_proba(sp.csr_array(NEW)), found.log_proba(NEW), atol=1e-12)


def dual(K: np.ndarray, codes: np.ndarray, classes: int, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A and b that minimise −Σ c_i log p_i + ½ tr(AᵀKA)/C, C = 3: the kernel regression itself."""
    m = len(codes)

    def split(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return z[: m * classes].reshape(m, classes), z[m * classes :]

    def loss(z: np.ndarray) -> tuple[float, np.ndarray]:
        A, b = split(z)
        logs = log_softmax(K @ A + b, axis=1)
        rest = counts[:, None] * (np.exp(logs) - np.eye(classes)[codes])
        value = -(counts * logs[np.arange(m), codes]).sum() + 0.5 * (A * (K @ A)).sum() / 3.0
        return value, np.append((K @ rest + K @ A / 3.0).ravel(), rest.sum(axis=0))

    found = minimize(loss, np.zeros(m * classes + classes), jac=True, method="L-BFGS-B",
                     options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9})  # fmt: skip
    return split(found.x)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighed"])
def test_a_kernel_machine_is_kernel_regression(weights):
    rows, labels = labels_of(3, weights)
    omega = COLUMNS.relevance(rows, labels.codes, 3)
    squares = ((rows[:, None] - rows[None]) ** 2 * omega**4).sum(axis=2)
    gamma = 2.0 / squares.mean()
    counts = np.ones(M) if weights is None else labels.weights / labels.weights.mean()
    A, b = dual(np.exp(-gamma * squares), labels.codes, 3, counts)
    new = np.exp(-gamma * ((NEW[:, None] - rows[None]) ** 2 * omega**4).sum(axis=2))
    found = KernelMachine.fitted(rows, labels, COLUMNS, seed=0)
    np.testing.assert_allclose(found.log_proba(NEW), log_softmax(new @ A + b, axis=1), atol=5e-3)
    np.testing.assert_allclose(found.log_proba(sp.csr_array(NEW)), found.log_proba(NEW), atol=1e-12)


def test_rows_with_few_values():
    """Their kernel is found by a sparse product; it is that of the definition."""
    rows, labels = labels_of(3)
    found = KernelMachine.fitted(rows, labels, COLUMNS, seed=0)
    few = np.where(np.random.default_rng(0).random(NEW.shape) < 0.1, NEW, 0.0)
    apart = few[:, None] * found.scale - found.landmarks
    expected = np.exp(-(apart**2).sum(axis=2))
    for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array):
        np.testing.assert_allclose(found.kernel(kind(few)), expected, rtol=1e-10)


def test_two_classes_by_explicit_features():
    """Coordinates whose products are the kernel, handed to scikit-learn."""
    rows, labels = labels_of(2)
    found = KernelMachine.fitted(rows, labels, COLUMNS, seed=0)
    K = found.kernel(rows)
    values, U = np.linalg.eigh(K)
    back = U / np.sqrt(values)
    model = LogisticRegression(C=3.0, max_iter=10_000, tol=1e-10).fit(K @ back, labels.codes)
    expected = model.predict_log_proba(found.kernel(NEW) @ back)
    np.testing.assert_allclose(found.log_proba(NEW), expected, atol=2e-3)


def test_more_labels_than_landmarks(monkeypatch):
    """Landmarks are some of the labelled rows, drawn by the seed; all labels are learned from."""
    rows, labels = labels_of(3)
    whole = KernelMachine.fitted(rows, labels, COLUMNS, seed=0)
    assert whole.landmarks.shape == (M, V)
    monkeypatch.setattr(pinvgcn.experts.kernel, "LANDMARKS", 30)
    some, again, other = (KernelMachine.fitted(rows, labels, COLUMNS, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(some.landmarks, again.landmarks)
    assert some.landmarks.shape == other.landmarks.shape == (30, V)
    assert not np.array_equal(some.landmarks, other.landmarks)
    places = [np.flatnonzero((np.abs(rows * some.scale - row) < 1e-12).all(axis=1)) for row in some.landmarks]
    assert all(len(place) == 1 for place in places)
    assert np.abs(some.log_proba(NEW) - whole.log_proba(NEW)).max() < 0.5
    # Nyström: coordinates of all rows in the space of the landmarks
    K = some.kernel(rows)
    inner = some.kernel(rows[np.concatenate(places)])
    values, U = np.linalg.eigh(inner)
    model = LogisticRegression(C=3.0, max_iter=10_000, tol=1e-10).fit(K @ U / np.sqrt(values), labels.codes)
    expected = model.predict_log_proba(some.kernel(NEW) @ U / np.sqrt(values))
    np.testing.assert_allclose(some.log_proba(NEW), expected, atol=5e-3)


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_rows_that_do_not_differ(kind):
    """Then the shares of the labels are all that is known."""
    rows, labels = np.ones((6, 2)), RowLabels.of([0, 0, 0, 0, 1, 1], 6)
    columns = TableColumns(np.arange(2), np.array([False, True]))
    model = (
        Linear.fitted(rows, labels, columns)
        if kind == "linear"
        else KernelMachine.fitted(rows, labels, columns, seed=0)
    )
    found = np.exp(model.log_proba(rows))
    np.testing.assert_allclose(found, np.tile([2 / 3, 1 / 3], (6, 1)), atol=1e-3)
    assert np.isfinite(model.log_proba(rows + 100)).all()


@pytest.mark.parametrize("kind", [Linear, KernelMachine])
def test_state(kind):
    rows, labels = labels_of(3)
    extra = {} if kind is Linear else {"seed": 0}
    members = ByValues([kind.fitted(rows, labels, COLUMNS, **extra) for _ in range(2)], "some")
    arrays = members.state()
    assert {name for name in arrays if name.startswith("member1.some.")}
    again = ByValues.from_state(arrays, kind, members=2, name="some")
    for one, other in zip(
        again.opinions(Seen(None, None, NEW)), members.opinions(Seen(None, None, NEW)), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert ByValues.from_state(arrays, kind, members=2, name="none") is None
    for missing in ("some.offsets", "member1.some.offsets"):
        with pytest.raises(TypeError):
            ByValues.from_state(
                {k: a for k, a in arrays.items() if k != missing}, kind, members=2, name="some"
            )
    first = {k: a for k, a in arrays.items() if k.startswith("member1.")}
    with pytest.raises(TypeError):
        ByValues.from_state(first, kind, members=2, name="some")
