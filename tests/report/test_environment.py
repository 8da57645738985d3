"""What a result was computed with."""

from __future__ import annotations

import re
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import pinvgcn
from pinvgcn.report.page import environment, source_digest


def test_versions() -> None:
    versions = environment()["versions"]
    assert versions["pinvgcn"] == pinvgcn.__version__
    assert versions["numpy"] == np.__version__


@pytest.mark.parametrize("name", ["numba", "torch_geometric"])
def test_what_some_methods_need_is_named_where_it_is_installed(name: str) -> None:
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    assert environment()["versions"][name] == version(name)


def test_every_change_of_the_source_is_another_state(tmp_path: Path) -> None:
    """Contents, names, and what is in which file; nothing but Python files."""
    (tmp_path / "room").mkdir()
    first, second = tmp_path / "a.py", tmp_path / "room" / "b.py"
    states = []
    for one, other in [("x = 1", "y = 2"), ("x = 1", "y = 3"), ("y = 2", "x = 1"), ("x = 1y = 2", "")]:
        first.write_text(one)
        second.write_text(other)
        states.append(source_digest(tmp_path))
        (tmp_path / "notes.txt").write_text(one + other)
        assert source_digest(tmp_path) == states[-1]
    second.rename(tmp_path / "b.py")
    states.append(source_digest(tmp_path))
    assert len(set(states)) == len(states)
    assert all(re.fullmatch("[0-9a-f]{12}", state) for state in states)


def test_the_same_state_wherever_it_is_installed(tmp_path: Path) -> None:
    package = Path(pinvgcn.__file__).parent
    for path in package.rglob("*.py"):
        copy = tmp_path / path.relative_to(package)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    assert source_digest(tmp_path) == source_digest()
