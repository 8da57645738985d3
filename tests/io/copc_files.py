"""A small cloud-optimised LAZ file (COPC 1.0), written by its specification: laspy reads them only."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import laspy
import lazrs
import numpy as np

HEADER = 375
VLR, EVLR = struct.Struct("<H16sHH32s"), struct.Struct("<H16sHQ32s")


def write_copc(path: Path, points: np.ndarray, classes: np.ndarray, *, depth: int = 3) -> int:
    """Points in an octree whose upper levels have a few of them each; returns its number of nodes."""
    header = laspy.LasHeader(version="1.4", point_format=6)
    header.scales, header.offsets = np.full(3, 0.001), np.floor(points.min(axis=0))
    las = laspy.LasData(header)
    las.xyz, las.classification = points, classes
    las.return_number[:] = las.number_of_returns[:] = 1
    plain = io.BytesIO()
    las.write(plain)
    raw = np.frombuffer(plain.getvalue(), np.uint8)
    (start,), size = struct.unpack_from("<I", raw, 96), las.header.point_format.size
    rows = raw[start : start + len(points) * size].reshape(len(points), size)
    low, side = points.min(axis=0), float(np.ptp(points, axis=0).max()) * 1.001
    level = np.minimum(np.random.default_rng(0).geometric(0.4, len(points)) - 1, depth)
    level = depth - level
    cell = np.floor((points - low) / (side / 2.0**level)[:, None]).astype(int)
    keys, node = np.unique(np.column_stack([level, cell]), axis=0, return_inverse=True)
    keys, node = _with_parents(keys, node.ravel())
    vlr = lazrs.LazVlr.new_for_compression(6, 0, True)
    packing = bytes(vlr.record_data())
    begin = HEADER + 54 + 160 + 54 + len(packing)
    out = io.BytesIO(bytes(begin))
    out.seek(begin)
    compressor, entries = lazrs.LasZipCompressor(out, vlr), []
    before = begin + 8
    for number, key in enumerate(keys.tolist()):
        own = np.flatnonzero(node == number)
        if len(own):
            compressor.compress_many(np.ascontiguousarray(rows[own]).reshape(-1))
            compressor.finish_current_chunk()
        end = out.tell()
        entries.append((*key, before if len(own) else 0, end - before if len(own) else 0, len(own)))
        before = end
    compressor.done()
    out.seek(0, 2)
    pages, at = b"".join(struct.pack("<4iQ2i", *entry) for entry in entries), out.tell()
    out.write(EVLR.pack(0, b"copc", 1000, len(pages), b"hierarchy") + pages)
    head = bytearray(plain.getvalue()[:HEADER])
    struct.pack_into("<II", head, 96, begin, 2)
    head[104] |= 0x80
    struct.pack_into("<QI", head, 235, at, 1)
    centre = low + side / 2
    info = struct.pack("<5d2Q2d", *centre, side / 2, side / 16, at + 60, len(pages), 0, 0) + bytes(88)
    out.seek(0)
    out.write(head + VLR.pack(0, b"copc", 1, 160, b"info") + info)
    out.write(VLR.pack(0, b"laszip encoded", 22204, len(packing), b"packing") + packing)
    path.write_bytes(out.getvalue())
    return sum(entry[-1] > 0 for entry in entries)


def _with_parents(keys: np.ndarray, node: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every node has its parents in the hierarchy, empty ones too."""
    whole = {tuple(key) for key in keys.tolist()}
    for level, x, y, z in list(whole):
        whole |= {(level - up, x >> up, y >> up, z >> up) for up in range(1, level + 1)}
    ordered = sorted(whole)
    place = {key: number for number, key in enumerate(ordered)}
    return np.array(ordered), np.array([place[tuple(key)] for key in keys.tolist()])[node]
