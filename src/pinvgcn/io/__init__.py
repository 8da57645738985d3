"""Files in and out.

::

    open_scan(path)      a LAS, LAZ, E57, PLY, PCD or text scan: its points, its fields, a writer of copies
    open_table(path)     a CSV, TSV or Parquet table: its columns, its rows in chunks, a writer of copies
    asprs.class_name(c)  what a class number of a LAS file means

``scan.py`` and ``scan_writer.py`` say what every format of scans offers; ``formats.py`` tells the formats
apart. A format is a file, or a folder: ``las/``, ``e57.py``, ``ply.py``, ``pcd.py``, ``text_scan.py``. To add
one, write a ``ScanSource`` and a line in ``formats.py``. ``bounds.py`` is the part of a scan inside a box.
``tables.py`` is the same for tables; ``delimited.py`` and ``parquet.py`` are their formats. ``text/`` reads
text for both. ``atomic.py`` writes files whole or not at all; ``tensors.py`` has arrays and JSON in one
safetensors file.
"""

from pinvgcn.io.bounds import Bounds
from pinvgcn.io.formats import open_scan
from pinvgcn.io.scan import ScanChunk, ScanSource
from pinvgcn.io.scan_writer import ScanWriter
from pinvgcn.io.tables import TableSource, open_table

__all__ = ["Bounds", "ScanChunk", "ScanSource", "ScanWriter", "TableSource", "open_scan", "open_table"]
