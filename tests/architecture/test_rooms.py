"""The order of the rooms: imports point only backwards along the list of the design."""

from __future__ import annotations

import ast
import re
import statistics
from pathlib import Path

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
FRONT_DOOR = (SOURCE / "__init__.py", SOURCE / "__main__.py")  # may look into every room


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


def test_imports_point_backwards() -> None:
    public = {name: room_of(getattr(pinvgcn, name).__module__) for name in pinvgcn.__all__ if name[0] != "_"}
    wrong = []
    for file in FILES:
        if file in FRONT_DOOR:
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        here = ROOMS.index(file.relative_to(SOURCE).with_suffix("").parts[0])
        for name in imported_modules(tree, file):
            assert name != "pinvgcn", f"{file} imports the whole package"
            room = public.get(name.split(".")[1], name.split(".")[1])  # where it lives
            if room not in ("__version__", "__init__") and ROOMS.index(room) > here:
                wrong.append(f"{file.relative_to(SOURCE)} ({ROOMS[here]}) imports {name}")
    assert wrong == []


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


def test_no_file_relies_on_a_folder_beside_the_checkout() -> None:
    files = [path for path in SOURCE.rglob("*") if path.suffix in (".py", ".toml", ".md", ".html", ".txt")]
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert "../shared" not in text, file
        assert str(SOURCE.parents[1]) not in text, file


def test_the_page_on_architecture_names_files_that_exist() -> None:
    text = (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", text))
    known = {file.relative_to(SOURCE).as_posix() for file in FILES} | {file.name for file in FILES}
    assert len(named) > 20
    assert named - known == set()


def test_html_is_in_templates() -> None:
    """Pages are made from the templates of ``report``, not from strings in the code."""
    tags = ("<div", "<table", "<section", "<figure", "<td", "<li>")
    texts = {str(file.relative_to(SOURCE)): file.read_text(encoding="utf-8") for file in FILES}
    assert [(file, tag) for file, text in texts.items() for tag in tags if tag in text] == []


MOST_FILES, MOST_LINES = 229, 40_240  # these only go down


def test_the_house_does_not_grow() -> None:
    """Who needs room makes it: by merging what is alike, or by deleting what nobody uses."""
    lines = {
        file.relative_to(SOURCE).as_posix(): len(file.read_text(encoding="utf-8").splitlines())
        for file in FILES
    }
    assert len(lines) <= MOST_FILES
    assert sum(lines.values()) <= MOST_LINES
    # fewer files of nearly as many lines are longer ones: 120 once the lines are fewer, too
    assert statistics.median(lines.values()) <= 181
    assert [file for file, length in lines.items() if length > 400] == []
