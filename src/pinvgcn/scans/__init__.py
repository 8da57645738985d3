"""Scan files of any size: labels in, a model fitted, every point classified, a copy out.

::

    segment(request)     fit a model to the labels of scans and classify all of their points
    predict(request)     classify the points of scans with a saved model
    plan(request)        what either would do and cost

One scan or several that are one cloud, by one process or by several: there is one ``pipeline``. Before it,
``job`` refuses what cannot be done: ``scan_files`` reads the headers, ``survey`` the labels (``labels``,
``label_file``), ``frame`` says what a model sees of a point, ``protection`` which points keep their class.
Then ``subsample`` draws the points to fit, ``streaming`` classifies tile by tile, ``outcomes`` are what is
written at each point and ``copies`` writes them. ``questions`` asks about places that ``uncertainty`` finds.
"""

from pinvgcn.scans.pipeline import predict, segment
from pinvgcn.scans.plan import ScanPlan, plan
from pinvgcn.scans.requests import PredictRequest, SegmentRequest
from pinvgcn.scans.result import ScanResult

__all__ = ["PredictRequest", "ScanPlan", "ScanResult", "SegmentRequest", "plan", "predict", "segment"]
