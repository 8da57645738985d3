"""Whole scan files, of any size: labels in, a model fitted, every point classified, a copy out.

::

    segment(request)     fit a model to the labels of a file and classify all of its points
    predict(request)     classify the points of another file with a model that was saved

``frame`` turns a file's numbers into what a model sees, ``columns`` chooses its extra columns, ``labels`` and
``label_file`` find the labels, ``survey`` reads all of that in one pass. ``thinning`` picks the points that a
large scan's model is fitted to, ``everywhere`` classifies tile by tile, ``output`` writes the copy.
"""

from pinvgcn.scans.jobs import predict, segment
from pinvgcn.scans.requests import PredictRequest, SegmentRequest
from pinvgcn.scans.result import Result

__all__ = ["PredictRequest", "Result", "SegmentRequest", "predict", "segment"]
