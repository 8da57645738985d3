"""E57 files as other programs write them, by the library's own nodes."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pye57
from pye57 import libe57


def write_e57(path: Path, scans: list[dict[str, Any]]) -> None:
    """A scan has ``columns``, {element: array}, and maybe a ``rotation`` (w, x, y, z) and ``translation``."""
    with pye57.E57(str(path), mode="w") as file:
        image = file.image_file
        for scan in scans:
            node = libe57.StructureNode(image)
            node.set("guid", libe57.StringNode(image, f"{{{uuid.uuid4()}}}"))
            pose = libe57.StructureNode(image)
            for part, axes in (("rotation", "wxyz"), ("translation", "xyz")):
                if part in scan:
                    numbers = libe57.StructureNode(image)
                    for axis, value in zip(axes, scan[part], strict=True):
                        numbers.set(axis, libe57.FloatNode(image, float(value)))
                    pose.set(part, numbers)
            if "rotation" in scan or "translation" in scan:
                node.set("pose", pose)
            _points(file, node, scan["columns"])


def _points(file: Any, node: Any, columns: dict[str, np.ndarray]) -> None:
    image = file.image_file
    prototype, buffers = libe57.StructureNode(image), libe57.VectorSourceDestBuffer()
    held = []
    for name, values in columns.items():
        array = np.ascontiguousarray(values, dtype=np.float64)  # the library converts
        low, high = (array.min().item(), array.max().item()) if len(array) else (0, 0)
        if values.dtype.kind == "f":
            prototype.set(name, libe57.FloatNode(image, low, libe57.E57_DOUBLE, low, high))
        else:
            kind = np.iinfo(values.dtype)
            prototype.set(name, libe57.IntegerNode(image, 0, int(kind.min), int(kind.max)))
        held.append(array)
        buffers.append(libe57.SourceDestBuffer(image, name, array, max(1, len(array)), True, True))
    points = libe57.CompressedVectorNode(image, prototype, libe57.VectorNode(image, True))
    node.set("points", points)
    file.data3d.append(node)
    if len(held[0]):
        writer = points.writer(buffers)
        writer.write(len(held[0]))
        writer.close()
