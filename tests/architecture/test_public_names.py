"""The names that everything else may rely on, and that what is announced is there."""

from __future__ import annotations

import builtins
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys

import pinvgcn
from pinvgcn import errors
from pinvgcn.features import local_geometry

PACKAGES = ["pinvgcn"] + [
    module.name for module in pkgutil.walk_packages(pinvgcn.__path__, "pinvgcn.") if module.ispkg
]
ANNOUNCING = [name for name in PACKAGES if hasattr(importlib.import_module(name), "__all__")]


def test_all_is_importable_and_sorted() -> None:
    for name in ANNOUNCING:
        package = importlib.import_module(name)
        assert list(package.__all__) == sorted(set(package.__all__)), f"keep __all__ of {name} sorted"
        assert all(getattr(package, item) is not None for item in package.__all__)


def test_every_package_has_a_docstring() -> None:
    assert [name for name in PACKAGES if not inspect.getdoc(importlib.import_module(name))] == []


NAMES = {
    "pinvgcn": {"GaussianGraph", "Hypergraph", "SparseGraph", "Spectrum", "PinvGCNClassifier"}
    | {"GaussianEigenmap", "HypergraphEigenmap"},
    "pinvgcn.nn": {"Basis", "FilterBasis", "PinvConv", "PinvGCN"},
    "pinvgcn.datasets": {"load_dataset", "random_split"},
    "pinvgcn.features": {"geometry_names", "local_geometry"},
    "pinvgcn.kernels": {"Kernel"},
    "pinvgcn.spectra": {"Spectrum"},
    "pinvgcn.graphs": {"Graph", "GaussianGraph"},
}


def test_names_of_the_design() -> None:
    for module, names in NAMES.items():
        assert names <= set(importlib.import_module(module).__all__), module


SIGNATURES = [
    (pinvgcn.GaussianGraph, ["points", "sigma"], {"loops"}),
    (pinvgcn.Hypergraph.from_table, ["frame"], {"bins", "missing", "min_size"}),
    (pinvgcn.Hypergraph, ["incidence", "weights"], set()),
    (pinvgcn.SparseGraph, ["adjacency", "loops"], set()),
    (pinvgcn.GaussianEigenmap, ["rank", "sigma"], {"loops"}),
    (pinvgcn.HypergraphEigenmap, ["rank", "bins"], {"missing", "min_size"}),
    (pinvgcn.GaussianGraph.spectrum, ["self", "rank"], {"solver"}),
    (pinvgcn.Hypergraph.spectrum, ["self", "rank"], {"solver"}),
    (pinvgcn.SparseGraph.spectrum, ["self", "rank"], {"solver"}),
    (local_geometry, ["points", "cloud"], {"cell", "levels", "up"}),
]


def test_signatures_of_the_design() -> None:
    """Keyword-only after the first two arguments."""
    for function, positional, keywords in SIGNATURES:
        parameters = inspect.signature(function).parameters.values()
        assert [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD] == positional, function
        assert keywords <= {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}, function


def drawn_tree() -> dict[str, str | None]:
    """Each class of the tree in the docstring of errors.py, with the class that it hangs from."""
    parents: dict[str, str | None] = {}
    path: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^    ([\s│├└─]*)(\w+(?:Error|Warning))\s", line + " ")
        if match:
            depth = len(match[1])
            path = [(level, name) for level, name in path if level < depth]
            parents[match[2]] = path[-1][1] if path else None
            path.append((depth, match[2]))
    return parents


def test_every_error_is_in_the_drawn_tree() -> None:
    classes = {
        name: cls
        for name, cls in vars(errors).items()
        if inspect.isclass(cls) and cls.__module__ == errors.__name__
    }
    tree = drawn_tree()
    assert set(tree) == set(classes)
    for name, cls in classes.items():
        parent = tree[name]
        if parent is None:
            assert name in ("PinvGCNError", "PinvGCNWarning")
        else:
            assert cls.__bases__[0] is classes[parent], name
    assert all(issubclass(cls, errors.PinvGCNError | errors.PinvGCNWarning) for cls in classes.values())


def test_errors_are_the_builtin_ones_too() -> None:
    """What the right side of the tree says."""
    said = re.findall(r"^[\s│├└─]*(\w+) .*\(an? (\w+)\)$", errors.__doc__ or "", re.MULTILINE)
    wanted = {
        "InputError": "ValueError", "DataTypeError": "TypeError", "DatasetError": "OSError",
        "ModelFileError": "OSError", "ScanFileError": "OSError", "TrainingError": "RuntimeError",
        "MissingDependencyError": "ImportError", "PinvGCNWarning": "UserWarning",
    }  # fmt: skip
    assert wanted.items() <= dict(said).items()
    for name, builtin in said:
        assert issubclass(getattr(errors, name), getattr(builtins, builtin)), name


INTERNAL = {
    ("graphs.base", "TypeError"),  # caught at once and turned into GraphError
}


def test_rooms_raise_errors_of_the_tree() -> None:
    """``raise ValueError`` would not be caught by who catches PinvGCNError."""
    raised = re.compile(r"^\s*raise (\w+)\(", re.MULTILINE)
    for room in ("checks", "io", "features", "kernels", "spectra", "graphs"):
        package = importlib.import_module(f"pinvgcn.{room}")
        files = [room]
        if hasattr(package, "__path__"):
            files = [f"{room}.{module.name}" for module in pkgutil.iter_modules(package.__path__)]
        for file in files:
            text = inspect.getsource(importlib.import_module(f"pinvgcn.{file}"))
            bare = {name for name in raised.findall(text) if hasattr(builtins, name)}
            assert {(file, name) for name in bare} <= INTERNAL


def test_importing_the_package_is_quiet_and_needs_no_extras() -> None:
    """No warnings, no output, and neither torch_geometric nor plotting until they are asked for."""
    code = (
        "import pinvgcn, sys; pinvgcn.PinvGCNClassifier, pinvgcn.GaussianGraph, pinvgcn.Spectrum;"
        "print([name for name in ('torch_geometric', 'matplotlib') if name in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "[]\n", "")


def test_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", pinvgcn.__version__)
