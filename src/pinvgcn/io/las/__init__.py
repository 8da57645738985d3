"""LAS and LAZ.

``layout.py``: where everything lies, and that it fits; ``source.py``: points in; ``writer.py``: points out;
``extra_bytes.py``: columns beyond the standard; ``units.py``: metres or feet.
"""

from pinvgcn.io.las.source import LasSource

__all__ = ["LasSource"]
