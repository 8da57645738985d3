"""Finding the files of a data set, or fetching them.

A file is taken from the first place that has it:

1. the package itself, which embeds the small and freely licensed ones,
2. the folder that ``PINVGCN_DATA`` names,
3. the user's cache: ``PINVGCN_CACHE``, else ``pinvgcn`` in the XDG cache folder,
4. its public source, which is downloaded into the cache.

Wherever it comes from, its content is compared with its known hash before anything reads it.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import os
import urllib.request
import zlib
from dataclasses import dataclass
from pathlib import Path

from pinvgcn.errors import DatasetError
from pinvgcn.io.atomic import atomic_file

EMBEDDED = Path(__file__).parent / "embedded"
TIMEOUT = 60.0  # seconds without an answer from a server


@dataclass(frozen=True)
class DataFile:
    """A file, by its path inside a data folder.

    ``sha256`` is the hash of its content: for ``.gz`` of the unpacked one, since the same data get
    compressed in many ways. None where no hash is known; the reader must then check what it reads.
    The ``alternative`` is looked for, and downloaded, where the file itself is nowhere.
    """

    path: str
    sha256: str | None = None
    url: str | None = None
    alternative: DataFile | None = None

    @property
    def candidates(self) -> tuple[DataFile, ...]:
        """The file and its alternatives, the best first."""
        return (self, *(() if self.alternative is None else self.alternative.candidates))


def cache_folder() -> Path:
    if chosen := os.environ.get("PINVGCN_CACHE"):
        return Path(chosen)
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "pinvgcn"


def data_folder() -> Path | None:
    """The folder that ``PINVGCN_DATA`` names, None where it names none; a wrong one is an error."""
    chosen = os.environ.get("PINVGCN_DATA")
    if not chosen:
        return None
    if not Path(chosen).is_dir():
        raise DatasetError(
            f"PINVGCN_DATA must name a folder. Got {chosen!r}, which is none; correct or unset it."
        )
    return Path(chosen)


def find(file: DataFile) -> Path | None:
    """Where the file lies on this machine, None if nowhere."""
    folders = filter(None, (EMBEDDED, data_folder(), cache_folder()))
    return next((path for folder in folders if (path := folder / file.path).is_file()), None)


def is_here(file: DataFile) -> bool:
    """Whether the file or its alternative lies on this machine."""
    return any(map(find, file.candidates))


def read(file: DataFile) -> bytes:
    """The unpacked and verified content of the file, or of its alternative."""
    *_, last = file.candidates
    found = next(((one, path) for one in file.candidates if (path := find(one)) is not None), None)
    if found is None:
        return _download(last)
    file, path = found
    remedy = "replace it"
    if path.is_relative_to(cache_folder()) and file.url is not None:
        remedy = "delete it, and it will be downloaded again"
    return _verified(file, path.read_bytes(), str(path), remedy)


def _verified(file: DataFile, packed: bytes, origin: str, remedy: str) -> bytes:
    try:
        content = gzip.decompress(packed) if file.path.endswith(".gz") else packed
    except (EOFError, OSError, zlib.error) as error:
        raise DatasetError(
            f"{origin} is damaged. Expected a complete gzip archive; received {len(packed):,} bytes that "
            f"do not unpack ({error}). What to do: {remedy}."
        ) from None
    received = hashlib.sha256(content).hexdigest()
    if file.sha256 is not None and received != file.sha256:
        raise DatasetError(
            f"{origin} is not the file that belongs to this data set, or is truncated. "
            f"Expected content of sha256 {file.sha256}; "
            f"received {len(content):,} bytes of sha256 {received}. What to do: {remedy}."
        )
    return content


def _download(file: DataFile) -> bytes:
    """Fetch the file into the cache. Nothing is kept there unless it arrived whole and verified."""
    by_hand = f"put the file as {file.path} into a folder and set PINVGCN_DATA to that folder"
    if file.url is None:
        raise DatasetError(f"{file.path} was not found and has no public address. What to do: {by_hand}.")
    try:
        with urllib.request.urlopen(file.url, timeout=TIMEOUT) as response:
            packed = response.read()
    except (OSError, http.client.HTTPException) as error:
        raise DatasetError(
            f"{file.path} is not on this machine and {file.url} could not be downloaded ({error}). "
            f"What to do: try again with a network connection, or {by_hand}."
        ) from error
    content = _verified(file, packed, file.url, f"try again, or {by_hand}")
    target = cache_folder() / file.path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target, error=DatasetError) as temporary:
            temporary.write_bytes(packed)
    except OSError as error:
        raise DatasetError(
            f"The download of {file.url} could not be kept as {target} ({error}). "
            "What to do: set PINVGCN_CACHE to a folder that can be written."
        ) from error
    return content
