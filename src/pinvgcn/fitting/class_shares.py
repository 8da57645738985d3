"""How frequent the classes are where there are no labels, and what follows for probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvgcn.checks import check_positive
from pinvgcn.distributed.group import ALONE, Group
from pinvgcn.errors import ParameterError

ROUNDS = 200
STILL = 1e-6  # shares that move less have arrived
ENOUGH, ALIKE = 10, 1.25  # labels of a class, and how many more another one may have


def estimated_shares(
    P: np.ndarray,
    trained: np.ndarray,
    known: np.ndarray,
    codes: np.ndarray,
    *,
    caution: float = 0.0,
    group: Group = ALONE,
) -> np.ndarray:
    """π maximising Σ_i log Σ_c P_ic π_c/τ_c over unlabelled rows i plus Σ_t log π_{y_t} over labels t: (c,).

    Probabilities P (n, c) of a model that has learned from classes with shares ``trained`` τ are, for other
    shares π, proportional to P_ic π_c/τ_c (Bayes). Expectation maximisation finds π from the rows themselves
    (Saerens, Latinne and Decaestecker, 2002): labels that were picked class by class do not tell it. The rows
    ``known`` count for their class ``codes``, so that no class with a label vanishes. With ``caution`` γ
    there are γ more rows, of shares τ, for each row: a model of few labels may be wrong about a class.
    Sums are over the rows of all ranks, which each hand in their own.
    """
    free = np.ones(len(P), dtype=bool)
    free[known] = False
    ratios = P[free] / trained
    labelled = group.sum(np.bincount(codes, minlength=P.shape[1]).astype(float))
    rows = group.sum(len(P)) * (1 + caution)
    before = labelled + (rows - group.sum(len(P))) * trained
    shares = trained
    for _ in range(ROUNDS):
        Q = ratios * shares
        Q /= Q.sum(axis=1, keepdims=True)
        moved = (group.sum(Q.sum(axis=0)) + before) / rows
        arrived = np.abs(moved - shares).max() < STILL
        shares = moved
        if arrived:
            break
    return shares


def picked_by_class(codes: np.ndarray) -> bool:
    """Whether labels look as if they were picked class by class, so that their shares say nothing: ten of
    each or more, and of the largest class at most a quarter more than of the smallest.

    Labels that were drawn from all rows tell the shares of classes better than a model does.
    """
    counts = np.bincount(codes)
    return bool(counts.min() >= ENOUGH and counts.max() <= ALIKE * counts.min())


def stepped_factors(total: np.ndarray, trained: np.ndarray, power: float) -> np.ndarray:
    """f = (π/τ)^g, with the mean probabilities π = ``total``/Σ total of rows and the shares τ of the labels.

    One step of expectation maximisation, by a ``power`` g < 1. Where the model may be wrong about a class,
    further steps would let that class grow or vanish.
    """
    return (total / total.sum() / trained) ** power


def corrected(P: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """P_ic f_c / Σ_c' P_ic' f_c' for factors f = π/τ: (n, c)."""
    Q = P * factors
    return Q / Q.sum(axis=1, keepdims=True)


def check_priors(priors: Any) -> None:
    """What can be checked before classes are known."""
    if isinstance(priors, str) and priors in ("auto", "estimated"):
        return
    if priors is not None and not isinstance(priors, dict):
        raise ParameterError(
            f"priors must be 'auto', 'estimated', None or a dict of class: share. Got {priors!r} instead."
        )


def known_shares(priors: dict[Any, float], classes: np.ndarray) -> np.ndarray:
    """The shares of a dict, in the order of the classes, of sum 1."""
    names = classes.tolist()
    wrong = [name for name in priors if name not in names] + [name for name in names if name not in priors]
    if wrong:
        raise ParameterError(
            "priors must have a share for each labelled class and no other. "
            f"Got {[np.asarray(name).item() for name in priors]} instead; the labelled classes are {names}."
        )
    shares = np.array([check_positive(f"priors[{name!r}]", priors[name]) for name in names])
    return shares / shares.sum()
