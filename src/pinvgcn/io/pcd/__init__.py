"""PCD. ``header.py``: fields and counts; ``source.py``; ``writer.py``; ``compressed.py``: columns packed by
LZF.
"""

from pinvgcn.io.pcd.source import PcdSource

__all__ = ["PcdSource"]
