"""PinvGCN in the settings that are compared.

============  ==================================================================================
"paper"       what the paper says: no loops, coordinates as they are, eigenvectors to 1e-3 (found by the
              solvers of this package, which return none that does not stand out from rounding)
"corrected"   loops of weight 1, centred coordinates, accurate eigenvectors
"default"     what this package does when nothing is asked for, of coordinates alone as all others
============  ==================================================================================

On hypergraphs and networks, whose loops and features are given, only the first and the last differ.
"""

from __future__ import annotations

from typing import Any, Literal

from pinvgcn.experiments.ours import Pinv

Setting = Literal["paper", "corrected", "default"]
APART: dict[Setting, dict[str, Any]] = {  # from the paper's settings, or the package's own
    "paper": {},
    "corrected": {"loops": 1.0, "scaling": "centre", "tolerance": None},
    "default": {"geometry": False},
}
FILTERS = {"no-high-pass": " without high-pass", "low-rank": " without high-pass, γ = 0"}  # in titles


def pinv(
    setting: Setting = "paper",
    *,
    sigma: float | None = None,
    rank: int | None = None,
    filters: str = "three-part",
) -> Pinv:
    """A method whose name tells its settings; ``rank`` None is the largest that exists."""
    settings = dict(APART[setting])
    words = ["pinvgcn", setting]
    title = "PinvGCN"
    if sigma is not None:
        settings["sigma"] = sigma
        words.append(f"sigma={sigma:g}")
        title += f", σ = {sigma:g}"
    if rank is not None:
        settings["rank"] = rank
        words.append(f"rank={rank}")
        title += f", r = {rank}"
    if filters != "three-part":
        settings["filters"] = filters
        words.append(filters)
        title += FILTERS[filters]
    if setting != "paper":
        title += f" ({setting})"
    return Pinv(settings, name=" ".join(words), title=title, paper=setting != "default")
