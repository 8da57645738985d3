"""Files in and out.

::

    open_scan(path)      a LAS, LAZ, PLY, PCD or text scan: its points, its fields, a writer of copies
    open_table(path)     a CSV, TSV or Parquet table: its columns, its rows in chunks, a writer of copies
    asprs.class_name(c)  what a class number of a LAS file means

``formats.py`` tells the formats of scans apart; ``scan.py`` and ``scan_writer.py`` say what each of them
offers; one folder a format. ``tables.py`` does all of that for tables; ``delimited.py`` and ``parquet.py``
are their formats, ``encodings.py`` which characters the bytes of a text file stand for, ``atomic.py``
files that are written whole or not at all. ``tensors.py``: arrays and JSON in one safetensors file.
"""

from pinvgcn.io.formats import open_scan
from pinvgcn.io.scan import ScanChunk, ScanSource
from pinvgcn.io.scan_writer import ScanWriter
from pinvgcn.io.tables import TableSource, open_table

__all__ = ["ScanChunk", "ScanSource", "ScanWriter", "TableSource", "open_scan", "open_table"]
