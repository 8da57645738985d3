"""The order of the rooms: imports point only backwards along the list of the design."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pinvgcn

SOURCE = Path(pinvgcn.__file__).parent
ROOMS = (
    "errors",
    "wording",
    "checks",
    "compute",
    "distributed",
    "io",
    "datasets",
    "features",
    "kernels",
    "spectra",
    "graphs",
    "embedding",
    "nn",
    "pyg",
    "experts",
    "fitting",
    "estimator",
    "repeated_fits",
    "jobs",
    "scans",
    "tables",
    "report",
    "app",
    "experiments",
    "cli",
)
FILES = sorted(SOURCE.rglob("*.py"))
# the front door may look into every room
INSIDE = [file for file in FILES if file not in (SOURCE / "__init__.py", SOURCE / "__main__.py")]


def room_of(module: str) -> str:
    """The room of ``pinvgcn.room.file``."""
    return module.split(".")[1]


def imported_modules(tree: ast.AST, file: Path) -> set[str]:
    """Every module of this package that the code names in an import, at any depth, also inside functions."""
    package = ("pinvgcn", *file.relative_to(SOURCE).parent.parts)
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *filter(None, [node.module])])
            # ``from pinvgcn import graphs`` names a room too
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "pinvgcn"}


def test_the_root_is_small() -> None:
    """Besides these a few modules that belong to no room, three at most."""
    always = {"__init__", "__main__", "errors", "checks", "estimator"}
    assert always <= (root := {file.stem for file in SOURCE.glob("*.py")})
    assert len(root - always) <= 3


def test_every_file_is_in_a_room() -> None:
    assert {room_of(".".join(("pinvgcn", *f.relative_to(SOURCE).with_suffix("").parts))) for f in FILES} <= {
        *ROOMS,
        "__init__",
        "__main__",
    }


@pytest.mark.parametrize("file", INSIDE, ids=lambda file: str(file.relative_to(SOURCE)))
def test_imports_point_backwards(file: Path) -> None:
    here = ROOMS.index(file.relative_to(SOURCE).with_suffix("").parts[0])
    public = {name: getattr(pinvgcn, name) for name in pinvgcn.__all__}
    for name in imported_modules(ast.parse(file.read_text(encoding="utf-8")), file):
        parts = name.split(".")
        assert len(parts) > 1, f"{file.name} imports the whole package"
        if parts[1] in ("__version__", "__init__"):
            continue
        room = parts[1]
        if room in public:  # through the front door: the room where it lives counts
            room = room_of(public[room].__module__)
        assert room in ROOMS, f"{name} is in no room"
        assert ROOMS.index(room) <= here, f"{file.relative_to(SOURCE)} ({ROOMS[here]}) imports {name}"


def test_the_check_sees_what_it_must() -> None:
    """The parser above finds imports in every form."""
    text = """
import pinvgcn.cli.app
from pinvgcn import estimator
from . import sibling
from ..graphs import base
def f():
    from pinvgcn.nn.model import PinvGCN
"""
    file = SOURCE / "spectra" / "krylov.py"
    assert imported_modules(ast.parse(text), file) == {
        "pinvgcn.cli.app",
        "pinvgcn.estimator",
        "pinvgcn.spectra.sibling",
        "pinvgcn.graphs.base",
        "pinvgcn.nn.model.PinvGCN",
    }


@pytest.mark.parametrize(
    "file",
    [path for path in sorted(SOURCE.rglob("*")) if path.suffix in (".py", ".toml", ".md", ".html", ".txt")],
    ids=lambda path: str(path.relative_to(SOURCE)),
)
def test_no_file_relies_on_a_folder_beside_the_checkout(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert "../shared" not in text
    assert str(SOURCE.parents[1]) not in text


def test_html_is_in_templates() -> None:
    """Pages are made from the templates of ``report``, not from strings in the code."""
    tags = ("<div", "<table", "<section", "<figure", "<td", "<li>")
    texts = {str(file.relative_to(SOURCE)): file.read_text(encoding="utf-8") for file in FILES}
    assert [(file, tag) for file, text in texts.items() for tag in tags if tag in text] == []
