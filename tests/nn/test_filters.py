"""The filter space against the formulas of the paper's section 2 (eq:filter3d and the three parts)."""

from __future__ import annotations

import numpy as np
import pytest

from pinvgcn.errors import ParameterError
from pinvgcn.nn import FilterBasis
from pinvgcn.spectra import Spectrum

VALUES = np.array([0.2, 0.25, 0.5, 0.9])
BEYOND = np.array([0.9000001, 1.0, 1.9])


def spectrum_with(values: np.ndarray, components: int = 1) -> Spectrum:
    """Only the numbers matter here: the vectors are orthonormal and otherwise meaningless."""
    n = 12
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(n, components + len(values))))
    return Spectrum(Q, values, np.zeros(len(values)), "test")


def phi(lam: float, alpha: float, beta: float, gamma: float, first: float, last: float) -> float:
    """eq:filter3d, written out."""
    if lam == 0:
        return alpha
    return first * beta / lam if lam <= last else first * gamma


def test_the_three_parts_are_those_of_the_paper():
    basis = FilterBasis.of(spectrum_with(VALUES))
    at = np.array([0.0, *VALUES, *BEYOND])
    zero_impulse, pseudoinverse, high_pass = basis.evaluate(at)
    np.testing.assert_allclose(zero_impulse, [1, 0, 0, 0, 0, 0, 0, 0], atol=0)
    np.testing.assert_allclose(pseudoinverse, [0, 1, 0.8, 0.4, 0.2 / 0.9, 0, 0, 0], rtol=1e-15)
    np.testing.assert_allclose(high_pass, [0, 0, 0, 0, 0, 0.2, 0.2, 0.2], rtol=1e-15)


def test_every_choice_evaluates_to_eq_filter3d(choice):
    filters, parts = choice
    basis = FilterBasis.of(spectrum_with(VALUES), filters)
    at = np.array([0.0, 1e-9, 0.1, *VALUES, 0.3, *BEYOND])
    expected = [[phi(lam, *part, first=0.2, last=0.9) for lam in at] for part in parts]
    assert len(basis) == len(basis.names) == len(parts)
    np.testing.assert_allclose(basis.evaluate(at), expected, rtol=1e-14)


@pytest.mark.parametrize("components", [1, 3])
@pytest.mark.parametrize("rank", [0, 1, 4])
def test_gains_and_high_are_the_values_on_the_basis_and_beyond(choice, components, rank):
    values = VALUES[:rank]
    basis = FilterBasis.of(spectrum_with(values, components), choice[0])
    on_basis = np.concatenate([np.zeros(components), values])
    np.testing.assert_allclose(basis.high[:, None], basis.evaluate([1.95]), rtol=1e-15)
    np.testing.assert_allclose(basis.gains + basis.high[:, None], basis.evaluate(on_basis), atol=1e-15)
    assert basis.gains.shape == (len(choice[1]), components + rank)


def test_without_known_pairs_every_eigenvalue_counts_as_one():
    basis = FilterBasis.of(spectrum_with(VALUES[:0]))
    np.testing.assert_array_equal(basis.evaluate([0.0, 0.5, 1.0]), [[1, 0, 0], [0, 0, 0], [0, 1, 1]])


def test_rounding_below_zero_is_zero():
    basis = FilterBasis.of(spectrum_with(VALUES), (3.0, 1.0, 1.0))
    np.testing.assert_array_equal(basis.evaluate([-1e-16]), [[3.0]])


def test_three_part_filters_span_every_fixed_filter():
    """α φ^(1) + β φ^(2) + γ φ^(3) = φ_{α,β,γ}: what eq:learnedfilter says."""
    spectrum = spectrum_with(VALUES)
    alpha, beta, gamma = 0.7, -2.0, 1.25
    at = np.linspace(0, 2, 41)
    combined = np.array([alpha, beta, gamma]) @ FilterBasis.of(spectrum).evaluate(at)
    np.testing.assert_allclose(FilterBasis.of(spectrum, [alpha, beta, gamma]).evaluate(at)[0], combined)


def test_a_filter_without_a_spectral_part():
    """With one eigenvector and (λ₁, λ₁, 1), φ = λ₁ on all eigenvalues: a layer sees its own node alone."""
    gap = VALUES[0]
    basis = FilterBasis.of(spectrum_with(VALUES[:1]), (gap, gap, 1.0))
    np.testing.assert_allclose(basis.evaluate([0, *np.linspace(gap, 2, 41)]), gap)
    np.testing.assert_allclose(basis.gains, 0, atol=1e-15)


@pytest.mark.parametrize(
    "filters",
    [
        "x",
        "",
        "Three-Part",
        None,
        3,
        (1, 2),
        (1, 2, 3, 4),
        (1, 2, "a"),
        (1, np.nan, 0),
        (1, np.inf, 0),
        [[1, 2, 3]],
    ],
    ids=str,
)
def test_bad_filters_are_refused_with_the_value(filters):
    with pytest.raises(ParameterError, match=r"filters must be one of .* Got") as caught:
        FilterBasis.of(spectrum_with(VALUES), filters)
    assert repr(filters) in str(caught.value)
    assert "'no-high-pass'" in str(caught.value)
    assert "\n" not in str(caught.value)
