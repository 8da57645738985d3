"""Scans as text: XYZ, CSV, TSV. ``lines.py``: lines in, in constant memory; ``dialect.py``: what separates
columns and what they are called; ``cells.py``: lines to numbers; ``source.py``; ``writer.py``.
"""

from pinvgcn.io.text.source import TextSource

__all__ = ["TextSource"]
