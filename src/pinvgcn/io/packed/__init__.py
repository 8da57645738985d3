"""What PLY and PCD share: a header in text, then one row of scalars for each point, in text or packed.
``columns.py``: the scalars of a row; ``source.py``: rows in; ``writer.py``: rows out.
"""

from pinvgcn.io.packed.columns import Scalar
from pinvgcn.io.packed.source import PackedSource
from pinvgcn.io.packed.writer import PackedWriter

__all__ = ["PackedSource", "PackedWriter", "Scalar"]
