"""What a model has learned and where it errs: filters, eigenvalues and loss, confusion of classes.

A layer with ``N_in`` inputs and ``N_out`` outputs has learned ``N_in · N_out`` filter functions
φ_ij(λ) = Σ_k W_ij⁽ᵏ⁾ φ⁽ᵏ⁾(λ) over a basis of a few parts. Two views of them: how much each part is used,
and what the functions do to the eigenvalues of this graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from pinvgcn.estimator import PinvGCNClassifier
from pinvgcn.report.figures.drawing import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    VERMILLION,
    WIDTH,
    drawing,
    inline_svg,
    light_grid,
)

PART_COLOURS = (PURPLE, BLUE, ORANGE, GREEN, VERMILLION)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class LayerFilters:
    """The learned filters of one layer, at λ = 0, at each eigenvalue, and past the last one."""

    parts: tuple[str, ...]  # the basis functions
    mean_weight: np.ndarray  # (K,) the average of |W⁽ᵏ⁾|, as in the paper's table
    lam: np.ndarray  # (r + 2,)
    quantiles: np.ndarray  # (len(QUANTILES), r + 2) over all filters of the layer
    strongest: np.ndarray  # (s, r + 2) the filters with the largest response to one eigenvalue
    count: int  # how many filters there are


def learned_filters(model: PinvGCNClassifier, *, strongest: int = 6) -> list[LayerFilters]:
    """The filters of each layer of a fitted ``PinvGCNClassifier``."""
    values = np.asarray(model.spectrum_.values, dtype=float)  # (r,)
    last = values[-1] if len(values) else 0.0
    # the high-pass part is constant past λ_r: any eigenvalue in there stands for all of them
    lam = np.concatenate([[0.0], values, [max(1.0, last) + 0.1]])
    basis = np.asarray(model.network_.filter_basis.evaluate(lam), dtype=float)  # (K, r + 2)
    layers = []
    for layer in model.network_.layers:
        weights = layer.weights.detach().cpu().double().numpy()  # (K, N_in, N_out)
        flat = weights.reshape(len(weights), -1)
        responses = flat.T @ basis  # (N_in · N_out, r + 2)
        order = np.argsort(-np.abs(responses).max(axis=1), kind="stable")
        layers.append(
            LayerFilters(
                parts=tuple(model.network_.filter_basis.names),
                mean_weight=np.abs(flat).mean(axis=1),
                lam=lam,
                quantiles=np.quantile(responses, QUANTILES, axis=0),
                strongest=responses[order[:strongest]],
                count=len(responses),
            )
        )
    return layers


def filters(layers: Sequence[LayerFilters], name: str) -> str:
    """How much each part of the filters is used, and the filters of each layer."""
    with drawing(WIDTH, 2.9) as figure:
        bars, *panels = figure.subplots(1, 1 + len(layers), width_ratios=[1.15] + [1.5] * len(layers))
        _parts(bars, layers)
        for number, (layer, panel) in enumerate(zip(layers, panels, strict=True), start=1):
            _responses(panel, layer)
            panel.set_title(f"Layer {number}: {layer.count:,} learned filters")
        panels[0].set_ylabel("factor φ(λ)")
        handles, names = panels[-1].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower right", ncols=3)
    return inline_svg(figure, f"filters-{name}", "Mean weights of the filter parts; learned filters.")


def training(series: Sequence[tuple[str, np.ndarray, Sequence[float]]]) -> str:
    """One curve a data set: (title, eigenvalues, loss of each epoch)."""
    with drawing(WIDTH, 2.9) as figure:
        spectrum, loss = figure.subplots(1, 2)
        for (title, values, curve), colour in zip(series, (BLUE, VERMILLION, GREEN, ORANGE), strict=False):
            look = {"color": colour, "label": title}
            spectrum.plot(range(1, len(values) + 1), values, "o-", markersize=2.5, linewidth=0.8, **look)
            loss.plot(range(1, len(curve) + 1), curve, linewidth=1.0, **look)
        highest = max(1.0, *(float(np.max(values)) for _, values, _ in series))
        spectrum.set(title="Non-zero eigenvalues, smallest first", ylim=(0, 1.05 * highest))
        spectrum.set(xlabel="number of the eigenvalue", ylabel="eigenvalue λ")
        loss.set(title="Training loss on the labelled rows", yscale="log")
        loss.set(xlabel="training epoch", ylabel="cross entropy (log scale)")
        spectrum.legend(loc="lower right")
        loss.legend(loc="upper right")
        light_grid(spectrum)
        light_grid(loss)
    return inline_svg(figure, "training", "Eigenvalues of the graphs, and the loss over the epochs.")


def _parts(axes: Axes, layers: Sequence[LayerFilters]) -> None:
    """The mean absolute weight of each part in each layer, as bars."""
    parts = layers[0].parts
    height = 0.8 / len(layers)
    for number, layer in enumerate(layers):
        where = np.arange(len(parts)) + (number - (len(layers) - 1) / 2) * height
        colours = [PART_COLOURS[k % len(PART_COLOURS)] for k in range(len(parts))]
        axes.barh(where, layer.mean_weight, height * 0.88, color=colours, alpha=1 - 0.4 * (number % 2))
        for y, weight in zip(where, layer.mean_weight, strict=True):
            axes.text(weight, y, f" {weight:.3f} (layer {number + 1})", va="center", fontsize=7)
    axes.set_yticks(range(len(parts)), [part.replace(" ", "\n", 1) for part in parts])
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.75 * max(layer.mean_weight.max() for layer in layers))
    axes.set(title="Use of each part", xlabel="mean absolute weight")


def _responses(axes: Axes, layer: LayerFilters) -> None:
    """The filters over the number of the eigenvalue, with λ = 0 and all that follow λ_r set apart."""
    rank = len(layer.lam) - 2
    gap = max(2.0, 0.18 * rank)
    first, last = 1 - gap, rank + gap  # where λ = 0 and the rest are drawn
    _band(axes, layer, slice(1, -1), np.arange(1, rank + 1), labelled=True)
    for column, where in ((slice(0, 1), first), (slice(-1, None), last)):
        _band(axes, layer, column, np.array([where - 0.2 * gap, where + 0.2 * gap]))
    axes.axhline(0, color=INK, linewidth=0.6, alpha=0.5)
    for border in (1 - gap / 2, rank + gap / 2):
        axes.axvline(border, color=INK, linewidth=0.6, alpha=0.35, linestyle=(0, (2, 3)))
    shown = np.unique([1, (rank + 1) // 2, rank])
    ticks = [f"$\\lambda_{{{i}}}$\n{layer.lam[i]:.3f}" for i in shown]
    axes.set_xticks([first, *shown, last], ["$\\lambda_0$\n0", *ticks, "rest"])
    axes.set_xlabel("eigenvalue λ, in ascending order")
    light_grid(axes)


def _band(axes: Axes, layer: LayerFilters, columns: slice, x: np.ndarray, *, labelled: bool = False) -> None:
    """Quantiles of all filters as bands, the strongest ones as lines; ``labelled`` for the legend."""

    def wide(values: np.ndarray) -> np.ndarray:
        return np.broadcast_to(values[..., columns], (*values.shape[:-1], len(x)))

    low, lower, _, upper, high = wide(layer.quantiles)
    for bottom, top, share, alpha in ((low, high, 90, 0.2), (lower, upper, 50, 0.45)):
        label = f"{share} % of the filters" if labelled else None
        axes.fill_between(x, bottom, top, color=BLUE, alpha=alpha, linewidth=0, label=label)
    for number, response in enumerate(wide(layer.strongest)):
        label = f"the {len(layer.strongest)} strongest" if labelled and number == 0 else None
        axes.plot(x, response, color=VERMILLION, linewidth=0.9, label=label)


def confusion(counts: np.ndarray, class_names: Sequence[str], name: str) -> str:
    """A confusion matrix (rows: the true class), each row as shares of its class."""
    sizes = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, sizes, out=np.zeros(counts.shape), where=sizes > 0)
    m = len(class_names)
    centred: dict[str, Any] = {"ha": "center", "va": "center"}
    with drawing(0.72 * m + 1.35, 0.72 * m + 0.85) as figure:
        axes = figure.subplots()
        for (true, said), share in np.ndenumerate(shares):
            count, colour = counts[true, said], BLUE if true == said else VERMILLION
            square = Rectangle((said - 0.47, true - 0.47), 0.94, 0.94, linewidth=0, color=colour)
            square.set_alpha(0.04 + 0.5 * share)
            axes.add_patch(square)
            axes.text(said, true - 0.08, f"{share:.1%}" if count else "0", fontsize=8.5, **centred)
            if count:
                axes.text(said, true + 0.23, f"{count:,}", fontsize=6.5, alpha=0.75, **centred)
        axes.set(xlim=(-0.5, m - 0.5), ylim=(m - 0.5, -0.5), aspect="equal")
        axes.set(xlabel="answer", ylabel="true class")
        axes.set_xticks(range(m), class_names, fontsize=7.5 if m > 3 else 8.5)
        axes.set_yticks(range(m), class_names, fontsize=7.5 if m > 3 else 8.5)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    return inline_svg(figure, f"confusion-{name}", "Confusion matrix, in shares of each true class.")
