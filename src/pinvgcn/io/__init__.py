"""Files in and out.

::

    open_scan(path)      a LAS, LAZ, E57, PLY, PCD or text scan: its points, its fields, a writer of copies
    open_table(path)     a CSV, TSV or Parquet table: its columns, its rows in chunks, a writer of copies
    las.class_name(c)    what a class number of a LAS file means

**Another format of scans** is a file with a ``ScanSource``, of which ``scan.py`` says what it must offer, and
a line of ``SOURCES`` in ``formats.py``, which tells formats apart by their first bytes. Copies in it need a
``ScanWriter`` (``scan.py``), which ``own_writer`` returns; else they become PLY, PCD, text or LAS
(``conversion.py``). The formats are ``las.py`` with ``las_layout.py`` and ``las_writer.py``, ``e57.py``,
``ply.py`` and ``pcd.py`` on ``point_rows.py``, and ``text_scan.py`` on ``text_columns.py``. ``bounds.py`` is
the part of a scan inside a box.

Tables are ``tables.py``, with the formats ``delimited.py`` and ``parquet.py``. ``text.py`` (encodings, lines,
cells) reads text for both. ``atomic.py`` writes files whole or not at all; ``tensors.py`` has arrays and JSON
in one safetensors file.
"""

from pinvgcn.io.bounds import Bounds
from pinvgcn.io.formats import open_scan
from pinvgcn.io.scan import ScanChunk, ScanSource, ScanWriter
from pinvgcn.io.tables import TableSource, open_table

__all__ = ["Bounds", "ScanChunk", "ScanSource", "ScanWriter", "TableSource", "open_scan", "open_table"]
