"""What is known of a data set itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvgcn.experiments.task import Task
from pinvgcn.graphs import GaussianGraph, Hypergraph

SIGMAS = (10.0, 100.0)
FEW = 5  # eigenpairs, of which only the first is wanted


def statistics(task: Task) -> dict[str, Any]:
    """Plain numbers, for JSON."""
    described: dict[str, Any] = {
        "nodes": task.rows,
        "classes": len(task.class_names),
        "label_rate": round(100 * task.given / task.rows, 4),  # percent
    }
    if task.kind == "points":
        points = np.asarray(task.X, dtype=float)
        described["diameter"] = round(diameter(points), 4)
        described["eigengap"] = {
            f"{sigma:g}": _eigengap(GaussianGraph(points, sigma, loops=0.0)) for sigma in SIGMAS
        }
        return described
    spectrum = task.graph.spectrum(None if isinstance(task.graph, Hypergraph) else FEW)
    described["components"] = int(spectrum.components)
    described["eigengap"] = round(float(spectrum.eigengap), 6)
    if isinstance(task.graph, Hypergraph):
        described["hyperedges"] = task.graph.n_hyperedges
        described["largest_rank"] = int(spectrum.rank)
    return described


def _eigengap(graph: GaussianGraph) -> float:
    return round(float(graph.spectrum(FEW).eigengap), 6)


def diameter(points: np.ndarray) -> float:
    """The largest distance between two points (n, d): both are corners of the convex hull."""
    from scipy.spatial import ConvexHull
    from scipy.spatial.distance import pdist

    corners = points[ConvexHull(points).vertices]
    return float(pdist(corners).max())
