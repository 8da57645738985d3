"""Damages valid scans in many ways and reads them: python fuzz.py CASES [SEED] [FORMAT …]

Each damaged file must be read with finite coordinates, or be refused with an error of this package:
no other error, no crash, no hang, no memory beyond the limit. Prints what happened as JSON, one line for
each format; a case that goes wrong is kept in the folder pinvgcn-fuzz among the temporary files. The
limits hold for the whole process, so this is run in one of its own.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path

import numpy as np
from scan_files import write_scans

from pinvgcn.errors import PinvGCNError
from pinvgcn.io import open_scan

FORMATS = ("las", "laz", "ply", "pcd", "text")
SECONDS = 10  # for one file of a few kilobytes
MEMORY = 512 << 20  # bytes beyond what is in use after the first file


def damage(content: bytes, rng: np.random.Generator) -> bytes:
    """One to three changes: bits flipped, bytes cut off, left out, doubled, overwritten, numbers replaced."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        if not data:
            break
        head = rng.random() < 0.5  # headers are where a change matters most
        at = int(rng.integers(0, min(len(data), 500) if head else len(data)))
        length = int(rng.integers(1, 64))
        kind = rng.integers(0, 8)
        if kind == 0:
            data[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            del data[at : at + length]
        elif kind == 3:
            data[at:at] = data[at : at + length]
        elif kind == 4:
            data[at : at + length] = rng.bytes(length)
        elif kind == 5:  # the largest and smallest numbers of each width
            width = int(rng.choice([1, 2, 4, 8]))
            data[at : at + width] = bytes([rng.choice([0, 0x7F, 0x80, 0xFF])]) * width
        elif kind == 6:
            digits = [n for n in range(len(data)) if 48 <= data[n] < 58]
            if digits:
                at = int(rng.choice(digits))
                data[at : at + 1] = rng.choice([b"9999999999", b"-1", b"0", b"1e400", b"nan", b"", b"x"])
        else:
            data[at : at + 1] = rng.choice([b"\n", b"\r", b"\0", b" ", b",", b'"', b"#", b"\xff"])
    return bytes(data)


def read(path: Path, out: Path) -> str:
    """How reading, and copying what can be read, ended."""
    try:
        source = open_scan(path)
        points = 0
        for piece in source.chunks(97):
            assert np.isfinite(piece.points).all()
            points += len(piece)
            if points > 1_000_000:
                return "is long"
        assert points == source.count
        with source.writer(out, {"confidence": np.float32}, format=source.format) as writer:
            writer.write({"confidence": np.zeros(points, dtype=np.float32)})
        np.testing.assert_array_equal(open_scan(out).read(fields=[]).points, source.read(fields=[]).points)
    except PinvGCNError as error:
        return "was refused" if "\n" not in str(error) else "was refused in several lines"
    return "was read"


def hung(*_: object) -> None:
    raise TimeoutError(f"no answer within {SECONDS} seconds")


def main(cases: int, seed: int, formats: tuple[str, ...]) -> int:
    """Run so many cases of each format; 1 if any of them went wrong."""
    wrong = 0
    signal.signal(signal.SIGALRM, hung)
    kept = Path(tempfile.gettempdir()) / "pinvgcn-fuzz"
    kept.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scans = list(write_scans(folder).values())
        groups: dict[str, list[bytes]] = {}
        for path in scans:
            assert read(path, folder / "out") == "was read", path
            groups.setdefault(open_scan(path).format, []).append(path.read_bytes())
        used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, resource.RLIM_INFINITY))
        for format in formats:
            ends: Counter[str] = Counter()
            for case in range(cases):
                rng = np.random.default_rng([seed, FORMATS.index(format), case])
                path = folder / "damaged"
                path.write_bytes(damage(groups[format][case % len(groups[format])], rng))
                (kept / "last").write_bytes(path.read_bytes())  # for a crash that leaves no time for more
                signal.alarm(SECONDS)
                try:
                    ends[read(path, folder / "out")] += 1
                except BaseException as error:
                    signal.alarm(0)
                    wrong += 1
                    ends["went wrong"] += 1
                    (kept / f"{format}-{seed}-{case}").write_bytes(path.read_bytes())
                    print(f"{kept}/{format}-{seed}-{case}: {type(error).__name__}: {error}", file=sys.stderr)
                    traceback.print_exception(error, limit=-4)
                signal.alarm(0)
            print(json.dumps({"format": format, **ends}), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(
        main(int(arguments[0]), int(arguments[1]) if arguments[1:] else 0, tuple(arguments[2:]) or FORMATS)
    )
