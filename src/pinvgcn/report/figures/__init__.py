"""Numbers in, inline SVG out: a file for each thing that is shown.

``drawing`` has their looks and the way into a page, ``palette`` the colours; ``scene`` renders points.
"""

from pinvgcn.report.figures.confusion import confusion
from pinvgcn.report.figures.network import filters, training
from pinvgcn.report.figures.plan import plan
from pinvgcn.report.figures.scan import confidence, patterns, segmentation, views
from pinvgcn.report.figures.table import importance, row_map

__all__ = [
    "confidence", "confusion", "filters", "importance", "patterns", "plan", "row_map", "segmentation",
    "training", "views",
]  # fmt: skip
