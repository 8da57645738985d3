"""Numbers in, inline SVG out: one kind of figure a file.

``drawing`` holds what all of them share, ``scene`` turns points into pixels.
"""

from pinvgcn.experiments.figures.confusion import confusion
from pinvgcn.experiments.figures.filters import filters
from pinvgcn.experiments.figures.importance import importance
from pinvgcn.experiments.figures.plan import plan
from pinvgcn.experiments.figures.rows import row_map
from pinvgcn.experiments.figures.scan import confidence, patterns, segmentation
from pinvgcn.experiments.figures.training import training
from pinvgcn.experiments.figures.views import views

__all__ = [
    "confidence", "confusion", "filters", "importance", "patterns", "plan", "row_map", "segmentation",
    "training", "views",
]  # fmt: skip
