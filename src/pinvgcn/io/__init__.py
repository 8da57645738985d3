"""Files in and out.

::

    open_scan(path)      a LAS, LAZ, PLY, PCD or text scan: its points, its fields, a writer of copies
    open_table(path)     a CSV, TSV or Parquet table: its rows in chunks, a writer of copies
    asprs.class_name(c)  what a class number of a LAS file means

- ``formats`` tells formats of scans apart; ``scan`` and ``scan_writer`` say what each of them offers; one
  folder a format
- ``tables``: a table of any format, by its content; ``delimited`` and ``parquet`` are the formats
- ``encodings``: which characters the bytes of a text file stand for
- ``unfinished``: a file that is whole or not there
- ``tensors``: arrays and JSON in one safetensors file
"""

from pinvgcn.io.formats import open_scan
from pinvgcn.io.scan import Piece, ScanSource
from pinvgcn.io.scan_writer import ScanWriter
from pinvgcn.io.tables import TableSource, open_table

__all__ = ["Piece", "ScanSource", "ScanWriter", "TableSource", "open_scan", "open_table"]
