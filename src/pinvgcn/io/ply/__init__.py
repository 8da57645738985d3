"""PLY. ``header.py``: elements and their properties; ``walk.py``: rows with lists in them, one by one;
``source.py``; ``writer.py``.
"""

from pinvgcn.io.ply.source import PlySource

__all__ = ["PlySource"]
