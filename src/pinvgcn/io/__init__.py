"""Files in and out.

::

    open_scan(path)      a LAS, LAZ, PLY, PCD or text scan: its points, its fields, a writer of copies
    asprs.class_name(c)  what a class number of a LAS file means

``formats.py`` tells formats apart; ``scan.py`` and ``scan_writer.py`` say what each of them offers; one
folder a format. ``tensors.py``: arrays and JSON in one safetensors file.
"""

from pinvgcn.io.formats import open_scan
from pinvgcn.io.scan import Piece, ScanSource
from pinvgcn.io.scan_writer import ScanWriter

__all__ = ["Piece", "ScanSource", "ScanWriter", "open_scan"]
