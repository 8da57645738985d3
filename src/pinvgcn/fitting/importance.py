"""Which columns of a table mattered to its model: what is lost at held-out labels when one is permuted."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control
from scipy.stats import t as student

from pinvgcn.checks import check_count
from pinvgcn.errors import DataError, ParameterError
from pinvgcn.fitting.fitted_model import FittedModel
from pinvgcn.fitting.mixed_rows import (
    ROUNDING,
    ROWS,
    TINY,
    Sources,
    pieces,
    probabilities_at,
    sources_of,
    table_nodes,
)
from pinvgcn.fitting.table_nodes import PlainRows

MOST_LABELS = 500
FEW_LABELS = 50  # that wide tables get along with
FEWEST_ORDERS = 2  # permutations: labels differ more than these do
WRONG = 0.05  # of the columns that are said to have an effect, the expected share of those without one


@dataclass(frozen=True)
class ColumnImportance:
    """What a model loses at held-out labels when the cells of one column are permuted among them."""

    column: str
    log_likelihood: float  # lost by a label, in the mean over labels and permutations
    error: float  # its standard error, by how labels differ, which is that of other labels as well
    spread: float  # its standard deviation over permutations
    accuracy: float  # the share of labels lost, in the mean over permutations
    accuracy_spread: float  # its standard deviation over permutations
    clear: bool  # whether the loss of log-likelihood can be told from none


@dataclass(frozen=True)
class TableImportance:
    """The columns of a table, that with the largest loss of log-likelihood first."""

    labels: int  # that were asked
    permutations: int
    columns: tuple[ColumnImportance, ...]

    @property
    def clear(self) -> tuple[ColumnImportance, ...]:
        """The columns whose effect can be told from none."""
        return tuple(column for column in self.columns if column.clear)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        columns = [asdict(column) for column in self.columns]
        return {"labels": self.labels, "permutations": self.permutations, "columns": columns}


def expert_shares(fitted: FittedModel) -> dict[str, float]:
    """The weight of each expert as a share of the sum, the largest first."""
    weights = fitted.ensemble.weights
    total = sum(weights.values())
    shares = {name: weight / total if total > 0 else 1 / len(weights) for name, weight in weights.items()}
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def column_importance(
    fitted: FittedModel,
    X: Any,
    *,
    sources: Sources | None = None,
    permutations: int = 10,
    random_state: int = 0,
) -> TableImportance:
    """What each column of the table is worth to the model.

    Every held-out label is asked of the member that has not seen it, as it stands and with the cell of one
    column from another label's row. All that was made of the column moves with it. Whether a loss can be told
    from none is decided by Student's t over labels, such that of the columns with an effect 5 % are expected
    to have none (Benjamini and Hochberg; docs/maths.md, 9.9). Arguments are those of the method of
    ``PinvGCNClassifier``; X are with several processes the rows of this one, on all of them.
    """
    check_count("permutations", permutations)
    nodes = table_nodes(fitted)
    parts = sources_of(nodes, sources)
    held = fitted.conformal
    if held is None or held.rows is None:
        told = "labels of which none was held out" if held is None else "a model from a file"
        raise ParameterError(
            "The importance of columns needs labels that some member has not seen, and their rows: ask the "
            f"model that was just fitted with members=5. Got {told}."
        )
    rng = np.random.default_rng(random_state)
    some = len(held.rows)
    most = max(FEW_LABELS, min(MOST_LABELS, ROWS // (FEWEST_ORDERS * len(parts))))
    chosen = np.arange(some) if some <= most else rng.permutation(some)[:most]
    chosen = chosen[np.argsort(held.rows[chosen], kind="stable")]
    rows = PlainRows.of_all(X, held.rows[chosen], fitted.group)
    if len(rows) != len(chosen):
        raise DataError(
            f"X must be the rows that the model was fitted to. Got no row {int(held.rows[chosen][-1])}."
        )
    codes, members, n = held.codes[chosen], held.members[chosen], len(chosen)
    count = min(permutations, max(FEWEST_ORDERS, ROWS // (n * len(parts))))
    orders = np.stack([rng.permutation(n) for _ in range(count)])  # (r, n)
    names = list(parts.values())

    def asked(label: np.ndarray, part: np.ndarray, donor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log p of the true class, and whether it is the answer, for labels (m,) with one part of a donor."""
        logs, right = np.empty(len(label)), np.empty(len(label))
        for piece in pieces(len(label), len(nodes.encoder.columns)):
            i, at = label[piece], np.arange(len(label[piece]))
            source = np.repeat(i[:, None], len(names), axis=1)
            source[at, part[piece]] = donor[piece]
            P = probabilities_at(fitted, rows.mixed(names, source), members=True)[at, members[i]]
            logs[piece] = np.log(np.maximum(P[at, codes[i]], TINY))
            right[piece] = P.argmax(axis=1) == codes[i]
        return logs, right

    own = np.arange(n)
    base_logs, base_right = asked(own, np.zeros(n, dtype=np.int64), own)
    # a column with few values has few pairs of a row and another value: each is asked once
    pairs = [_pairs(rows.cells(part), orders) for part in names]
    label, donor = (np.concatenate([pair[k] for pair in pairs]) for k in (0, 1))
    part = np.repeat(np.arange(len(names)), [len(pair[0]) for pair in pairs])
    logs, right = asked(label, part, donor)
    lost_logs, lost_right = base_logs[label] - logs, base_right[label] - right
    lost_logs[np.abs(lost_logs) < ROUNDING] = 0.0
    ends = np.cumsum([len(pair[0]) for pair in pairs])[:-1]
    lost = zip(np.split(lost_logs, ends), np.split(lost_right, ends), strict=True)
    found = [
        (name, np.append(own_logs, 0.0)[place], np.append(own_right, 0.0)[place].mean(axis=1))
        for name, (_, _, place), (own_logs, own_right) in zip(parts, pairs, lost, strict=True)
    ]
    return TableImportance(n, count, _judged(found, fitted.ensemble.members))


def _pairs(cells: np.ndarray, orders: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The labels (m,) and donors (m,) of permutations (r, n) that change a cell, each pair of a label and a
    value once; and for each of (r, n) its place among them, −1 where nothing changes."""
    n = len(cells)
    first = np.unique(cells, return_index=True)[1]  # a row with each value
    keys = np.where(cells[orders] == cells, -1, np.arange(n) * len(first) + cells[orders])
    used, place = np.unique(keys, return_inverse=True)
    place = place.reshape(keys.shape)
    if len(used) and used[0] == -1:
        used, place = used[1:], place - 1
    return used // len(first), first[used % len(first)], place


def _judged(found: list[tuple[str, np.ndarray, np.ndarray]], members: int) -> tuple[ColumnImportance, ...]:
    """The columns in order, from losses of log-likelihood (r, n) and of accuracy (r,).

    A label that is held out of one member has taught the others, so that labels err together: Nadeau and
    Bengio's correction of the variance, for ``members`` folds.
    """
    chances, columns = [], []
    dependent = np.sqrt(1 + members / max(members - 1, 1))
    for name, losses, shares in found:
        r, n = losses.shape
        mean, each = float(losses.mean()), losses.mean(axis=0)
        error = float(dependent * each.std(ddof=1) / np.sqrt(n)) if n > 1 else np.inf
        chances.append(float(student.sf(mean / error, n - 1)) if n > 1 and error > 0 else 1.0 - (mean > 0))
        ddof = 1 if r > 1 else 0
        columns.append(
            ColumnImportance(
                name, mean, error if n > 1 else 0.0, float(losses.mean(axis=1).std(ddof=ddof)),
                float(shares.mean()), float(shares.std(ddof=ddof)), False,
            )
        )  # fmt: skip
    clear = false_discovery_control(chances) <= WRONG if found[0][1].shape[1] > 1 else np.zeros(len(found))
    judged = [replace(column, clear=bool(some)) for column, some in zip(columns, clear, strict=True)]
    return tuple(sorted(judged, key=lambda column: -column.log_likelihood))
