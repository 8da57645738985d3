"""Numbers in, inline SVG out: one kind of figure a file.

``drawing`` holds what all of them share, ``scene`` turns points into pixels.
"""

from pinvgcn.report.figures.confusion import confusion
from pinvgcn.report.figures.filters import filters
from pinvgcn.report.figures.importance import importance
from pinvgcn.report.figures.plan import plan
from pinvgcn.report.figures.rows import row_map
from pinvgcn.report.figures.scan import confidence, patterns, segmentation
from pinvgcn.report.figures.training import training
from pinvgcn.report.figures.views import views

__all__ = [
    "confidence", "confusion", "filters", "importance", "patterns", "plan", "row_map", "segmentation",
    "training", "views",
]  # fmt: skip
