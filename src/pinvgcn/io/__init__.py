"""Files in and out.

- ``tensors``: arrays and JSON in one safetensors file
- ``unfinished``: a file that is whole or not there
- ``encodings``: which characters the bytes of a text file stand for
- ``tables``: a table of any format, by its content; ``delimited`` and ``parquet`` are the formats
"""

from pinvgcn.io.tables import TableSource, open_table

__all__ = ["TableSource", "open_table"]
