"""Where files are looked for, and what happens to those that are missing or damaged."""

from __future__ import annotations

import gzip
import hashlib
import socket
from pathlib import Path

import pytest

from pinvgcn.datasets import locate
from pinvgcn.datasets.locate import DataFile, cache_folder, find, is_here, read
from pinvgcn.errors import DatasetError

TEXT = b"1 2 3\n" * 500
SHA256 = hashlib.sha256(TEXT).hexdigest()


def put(folder: Path, path: str, content: bytes) -> Path:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return target


def test_the_embedded_file_comes_before_the_folder_and_the_folder_before_the_cache(
    bare, tmp_path, monkeypatch
):
    file = DataFile("a/b.txt", SHA256)
    in_cache = put(bare, file.path, TEXT)
    assert find(file) == in_cache
    monkeypatch.setenv("PINVGCN_DATA", str(tmp_path / "data"))
    in_folder = put(tmp_path / "data", file.path, TEXT)
    assert find(file) == in_folder
    monkeypatch.setattr(locate, "EMBEDDED", tmp_path / "embedded")
    embedded = put(tmp_path / "embedded", file.path, TEXT)
    assert find(file) == embedded


def test_cache_folder_is_chosen_else_xdg_else_in_the_home(monkeypatch, tmp_path):
    monkeypatch.delenv("PINVGCN_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "pinvgcn"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "pinvgcn"
    monkeypatch.setenv("PINVGCN_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"


def test_a_data_folder_that_is_none_is_an_error(bare, monkeypatch, tmp_path):
    monkeypatch.setenv("PINVGCN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetError, match=r"PINVGCN_DATA must name a folder.*nowhere"):
        find(DataFile("a"))


@pytest.mark.parametrize("damage", [TEXT[:-1], TEXT + b"4", b"", b"x" + TEXT[1:]])
def test_wrong_content_is_refused_with_both_hashes_and_a_remedy(bare, monkeypatch, tmp_path, damage):
    monkeypatch.setenv("PINVGCN_DATA", str(tmp_path))
    put(tmp_path, "a.txt", damage)
    with pytest.raises(DatasetError) as caught:
        read(DataFile("a.txt", SHA256))
    message = str(caught.value)
    for part in (str(tmp_path / "a.txt"), SHA256, hashlib.sha256(damage).hexdigest(), "replace it"):
        assert part in message


def test_in_the_cache_the_remedy_is_to_delete(bare):
    put(bare, "a.txt", TEXT[:100])
    with pytest.raises(DatasetError, match="delete it, and it will be downloaded again"):
        read(DataFile("a.txt", SHA256, url="http://127.0.0.1:1/a.txt"))


def test_the_hash_of_an_archive_is_that_of_its_content(bare):
    for level in (1, 9):
        put(bare, "a.gz", gzip.compress(TEXT, level))
        assert read(DataFile("a.gz", SHA256)) == TEXT


ARCHIVE = gzip.compress(TEXT, mtime=0)


@pytest.mark.parametrize("damage", [ARCHIVE[:-9], b"no archive", ARCHIVE[:5]], ids=["end", "all", "start"])
def test_a_damaged_archive_is_refused(bare, damage):
    put(bare, "a.gz", damage)
    with pytest.raises(DatasetError, match=r"a\.gz is damaged.*complete gzip"):
        read(DataFile("a.gz", SHA256))


def test_a_download_is_kept_and_not_repeated(bare, server):
    file = DataFile("folder/a.gz", SHA256, server.offer("/a.gz", gzip.compress(TEXT)))
    assert not is_here(file)
    assert read(file) == TEXT
    assert is_here(file)
    assert find(file) == bare / "folder/a.gz"
    assert read(file) == TEXT
    assert server.requests == ["/a.gz"]
    assert [path.name for path in (bare / "folder").iterdir()] == ["a.gz"]


def test_a_download_with_a_wrong_hash_is_not_kept(bare, server):
    file = DataFile("a.txt", SHA256, server.offer("/a.txt", b"<html>moved</html>"))
    with pytest.raises(
        DatasetError, match=rf"{file.url} is not the file.*Expected content of sha256 {SHA256}"
    ):
        read(file)
    assert not bare.exists()


def test_a_download_that_breaks_off_is_not_kept(bare, server):
    file = DataFile("a.txt", None, server.offer("/a.txt", TEXT))
    server.cut = True
    with pytest.raises(DatasetError, match="could not be downloaded"):
        read(file)
    assert not bare.exists()
    server.cut = False
    assert read(file) == TEXT


def test_a_missing_page_names_the_address(bare, server):
    with pytest.raises(DatasetError, match=r"/gone could not be downloaded \(HTTP Error 404"):
        read(DataFile("a.txt", SHA256, server.address + "/gone"))


def test_without_a_network_the_message_says_what_to_do(bare):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/a.txt"
    with pytest.raises(DatasetError) as caught:
        read(DataFile("folder/a.txt", SHA256, url))
    for part in (url, "folder/a.txt", "set PINVGCN_DATA"):
        assert part in str(caught.value)


def test_a_cache_that_cannot_be_written_is_said(bare, server):
    bare.write_bytes(b"a file where the folder should be")
    with pytest.raises(DatasetError, match="set PINVGCN_CACHE to a folder that can be written"):
        read(DataFile("a.txt", SHA256, server.offer("/a.txt", TEXT)))


def test_a_file_without_an_address_can_only_be_found(bare):
    with pytest.raises(DatasetError, match=r"a\.txt was not found and has no public address"):
        read(DataFile("a.txt", SHA256))


def test_the_alternative_is_used_only_where_the_file_is_missing(bare, server):
    other = DataFile("other.txt", None, server.offer("/other.txt", b"other"))
    file = DataFile("a.txt", SHA256, alternative=other)
    assert not is_here(file)
    assert read(file) == b"other"
    assert is_here(file)
    put(bare, "a.txt", TEXT)
    assert read(file) == TEXT
