"""Names: a class name means one thing, no function takes a model of any kind, private names stay at home."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pinvgcn

SOURCE = Path(pinvgcn.__file__).parent


@cache
def trees() -> dict[str, ast.Module]:
    """Every file as Python reads it: when a test asks, as each worker collects all tests."""
    return {
        str(file.relative_to(SOURCE)): ast.parse(file.read_text(encoding="utf-8"))
        for file in sorted(SOURCE.rglob("*.py"))
    }


@cache
def nodes_of_files() -> dict[str, list[ast.AST]]:
    """Every part of every file."""
    return {file: list(ast.walk(tree)) for file, tree in trees().items()}


TREES = {
    str(file.relative_to(SOURCE)): ast.parse(file.read_text(encoding="utf-8"))
    for file in sorted(SOURCE.rglob("*.py"))
}

NODES = {file: list(ast.walk(tree)) for file, tree in TREES.items()}

# other packages, where there is no public way
FOREIGN = {
    "os._exit",
    "self._buttons_at._children",
    "self._server._websock_server",
    "client._websock_connection",
    "interface._incoming_handlers",
    "gui._handle_gui_updates",
    "dispatcher._cache",
    "kept._load_index",
    "kept._source_stamp",
}
NAMED_TUPLE = ("_asdict", "_fields", "_make", "_replace")


def test_no_class_name_is_defined_twice() -> None:
    places = defaultdict(list)
    for file, nodes in nodes_of_files().items():
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(file)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_no_function_takes_any_model() -> None:
    found = {
        function.name
        for nodes in nodes_of_files().values()
        for function in nodes
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        if argument.arg in ("model", "estimator") and _is_any(argument.annotation)
    }
    assert found == set()


def test_private_attributes_are_used_in_their_module_only() -> None:
    found = {use for tree in trees().values() for use in foreign_uses(tree)}
    assert found <= FOREIGN


def test_the_check_sees_private_attributes() -> None:
    """What a class inherits, and what the module defines itself, is its own."""
    text = """
class Own(Base):
    def __init__(self):
        self._kept = 1
        self._inherited, cls._shared = super()._above, 2
def f(own, other):
    own._kept, other._theirs, other.part._deeper, other._replace(a=1), other.__class__
"""
    assert set(foreign_uses(ast.parse(text))) == {"other._theirs", "other.part._deeper"}


def test_a_group_travels_inside_the_objects_that_own_rows() -> None:
    """A function that has such an object takes no process group besides; nor does its own method."""
    owners = group_owners()
    assert {"Basis", "Graph", "Problem", "Spectrum", "Tiles"} <= owners
    found = set()
    for nodes in nodes_of_files().values():
        for function in nodes:
            if isinstance(function, ast.FunctionDef):
                arguments = (*function.args.args, *function.args.kwonlyargs)
                kinds = " ".join(ast.unparse(a.annotation) for a in arguments if a.annotation is not None)
                if "group" in [a.arg for a in arguments] and owners & set(re.findall(r"\w+", kinds)):
                    found.add(function.name)
        for owner in nodes:
            if isinstance(owner, ast.ClassDef) and owner.name in owners:
                for method in owner.body:
                    if isinstance(method, ast.FunctionDef) and method.args.args[:1]:
                        names = [a.arg for a in (*method.args.args, *method.args.kwonlyargs)]
                        if names[0] == "self" and "group" in names and method.name != "__init__":
                            found.add(f"{owner.name}.{method.name}")
    assert found == set()


def group_owners() -> set[str]:
    """Classes with an attribute ``group``, and those that inherit it."""
    classes = [
        node for nodes in nodes_of_files().values() for node in nodes if isinstance(node, ast.ClassDef)
    ]
    owners = {
        owner.name
        for owner in classes
        if any(
            (isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "group")
            or (isinstance(node, ast.Attribute) and ast.unparse(node) == "self.group" and _is_stored(node))
            or (isinstance(node, ast.FunctionDef) and node.name == "group")
            for node in ast.walk(owner)
        )
    }
    for _ in range(3):
        owners |= {node.name for node in classes if {ast.unparse(base) for base in node.bases} & owners}
    return owners


def foreign_uses(tree: ast.Module) -> Iterator[str]:
    """Uses ``x._name`` where x is not ``self`` and nothing in the module defines ``_name``."""
    own = set(_defined(tree))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and node.attr.startswith("_")
            and not node.attr.startswith("__")
            and node.attr not in (*NAMED_TUPLE, *own)
            and not _is_self(node.value)
        ):
            yield ast.unparse(node)


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            yield node.attr


def _is_stored(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store)


def _is_self(node: ast.expr) -> bool:
    return ast.unparse(node) in ("self", "cls", "super()")


def _is_any(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation) in ("Any", "Any | None", "object")


def test_files_of_tests_have_names_of_their_own() -> None:
    """pytest knows them by their names alone."""
    names = [file.name for file in Path(__file__).parents[1].rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []
