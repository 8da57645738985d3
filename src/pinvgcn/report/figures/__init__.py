"""Numbers in, inline SVG out: a file for each thing that is shown.

``drawing`` has their looks, their colours and the way into a page; ``scene`` renders points.
"""

from pinvgcn.report.figures.model import confusion, filters, training
from pinvgcn.report.figures.scan import confidence, patterns, plan, tiles, views
from pinvgcn.report.figures.table import importance, row_map

__all__ = [
    "confidence", "confusion", "filters", "importance", "patterns", "plan", "row_map", "tiles",
    "training", "views",
]  # fmt: skip
