"""``pinvgcn doctor``: what of this machine works, one line for each thing that a command may need."""

from __future__ import annotations

import io
import json
import os
import platform
import socket
import tempfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated, Any

import typer

from pinvgcn.cli import console
from pinvgcn.cli.console import say
from pinvgcn.cli.failure import BAD_INPUT

NAME = "pinvgcn"
POINTS = 100  # of the small files and transforms that are tried


class Broken(Exception):
    """Something does not work; the message says what to do."""


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Say what works on this machine, and what to do about the rest.

    The exit code is 2 where something is broken; its line says what to do.
    """
    with console.loading():
        found = [_tried(name, check) for name, check in CHECKS.items()]
    if as_json:
        typer.echo(json.dumps([dict(zip(("what", "works", "found"), line, strict=True)) for line in found]))
    else:
        for name, works, text in found:
            mark = "[green]works [/green]" if works else "[red]BROKEN[/red]"
            console.out().print(f"{mark}  {name:<19} ", end="")
            say(text)
    if not all(works for _, works, _ in found):
        raise typer.Exit(BAD_INPUT)


def _tried(name: str, check: Callable[[], str]) -> tuple[str, bool, str]:
    """Whatever a check raises is a finding, not the end of the command."""
    try:
        return name, True, check()
    except Broken as error:
        return name, False, str(error)
    except Exception as error:
        advice = f". Run: pip install --force-reinstall {NAME}" if isinstance(error, ImportError) else ""
        return name, False, f"{type(error).__name__}: {' '.join(str(error).split())}{advice}"


def _python() -> str:
    system = f"{platform.system()} {platform.machine()}"
    return f"{NAME} {version(NAME)}, Python {platform.python_version()}, {system}"


def _libraries() -> str:
    from packaging.requirements import Requirement

    found, wrong, needed = [], [], []
    for wanted in map(Requirement, requires(NAME) or []):
        if wanted.marker and not wanted.marker.evaluate({"extra": ""}):
            continue
        try:
            present = version(wanted.name)
        except PackageNotFoundError:
            present = ""
        found.append(f"{wanted.name} {present}")
        if not present or not wanted.specifier.contains(present, prereleases=True):
            wrong.append(f"{wanted.name} {present or 'is not installed'}")
            needed.append(f"'{wanted.name}{wanted.specifier}'")
    if wrong:
        raise Broken(f"{', '.join(wrong)}. Run: pip install {' '.join(needed)}")
    return ", ".join(found)


def _threads() -> str:
    import torch

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    policy = os.environ.get("OMP_WAIT_POLICY", "not set")
    return f"{cores} cores for this process, {torch.get_num_threads()} threads of PyTorch, waiting {policy}"


def _memory() -> str:
    names = getattr(os, "sysconf_names", {})
    if not {"SC_PAGE_SIZE", "SC_PHYS_PAGES", "SC_AVPHYS_PAGES"} <= set(names):
        return "this system does not say"
    page = os.sysconf("SC_PAGE_SIZE")
    whole, free = (page * os.sysconf(name) / 2**30 for name in ("SC_PHYS_PAGES", "SC_AVPHYS_PAGES"))
    return f"{whole:.1f} GiB, {free:.1f} of them unused"


def _compiler() -> str:
    """A loop of the package, and where numba keeps such loops."""
    import numba
    import numpy as np

    from pinvgcn.features import local_geometry

    points = np.random.default_rng(0).normal(size=(POINTS, 3))
    if not np.isfinite(local_geometry(points)).all():
        raise Broken("the loops that numba compiled give numbers that are not finite. Reinstall numba.")
    try:
        kept = numba.njit(cache=True)(_twice)
        kept(1)
    except (RuntimeError, OSError):
        raise Broken(
            "numba finds no folder to keep compiled loops in, so that every command compiles them "
            "anew. Set NUMBA_CACHE_DIR to a folder that you may write to."
        ) from None
    return f"numba compiles them and keeps them, as in {kept.stats.cache_path}"


def _twice(number: int) -> int:
    return 2 * number


def _transforms() -> str:
    """A NUFFT beside the sum that it stands for."""
    import finufft
    import numpy as np

    rng = np.random.default_rng(0)
    x, c = rng.uniform(-np.pi, np.pi, POINTS), rng.normal(size=POINTS) + 0j
    modes = np.arange(-8, 8)
    error = np.abs(finufft.nufft1d1(x, c, 16, eps=1e-9) - np.exp(1j * np.outer(modes, x)) @ c).max()
    if error > 1e-6:
        raise Broken(f"finufft is wrong by {error:.1e}. Reinstall finufft.")
    return f"finufft agrees with the sum to {error:.0e}"


def _laz() -> str:
    import laspy
    import numpy as np

    written = laspy.create(point_format=6, file_version="1.4")
    written.header.scales = np.full(3, 0.01)
    written.xyz = np.random.default_rng(0).integers(0, 10_000, (POINTS, 3)) / 100
    file = io.BytesIO()
    written.write(file, do_compress=True)
    file.seek(0)
    if not np.array_equal(laspy.read(file).X, written.X):
        raise Broken("points of a LAZ file differ after they were written. Reinstall laspy and lazrs.")
    return f"{POINTS} points written and read back"


def _page() -> str:
    try:
        viser = version("viser")
    except PackageNotFoundError:
        raise Broken("`pinvgcn label` needs viser. Run: pip install viser") from None
    import viser as _viser  # noqa: F401

    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
    return f"viser {viser}, and a port of this machine can be opened"


def _processes() -> str:
    """A process group of one: what torchrun would start."""
    import torch
    import torch.distributed as dist

    if not (dist.is_available() and dist.is_gloo_available()):
        raise Broken("this build of PyTorch has no torch.distributed with gloo; one process works.")
    if dist.is_initialized():
        return "torch.distributed is in use"
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
        try:
            one = torch.ones(3)
            dist.all_reduce(one)
        finally:
            dist.destroy_process_group()
    return "torch.distributed works with gloo"


def _spectrum() -> str:
    """The package's own arithmetic: a fast solver beside the dense one."""
    import numpy as np

    from pinvgcn import GaussianGraph

    graph = GaussianGraph(np.random.default_rng(0).normal(size=(POINTS, 3)), sigma=3.0, loops=1.0)
    fast, dense = (graph.spectrum(5, solver=solver).values for solver in ("taylor", "dense"))
    error: Any = np.abs(fast - dense).max()
    if error > 1e-6:
        raise Broken(f"eigenvalues of the fast solver are wrong by {error:.1e}. Reinstall numpy and scipy.")
    return f"eigenvalues of the fast solver agree with dense ones to {error:.0e}"


def _data() -> str:
    from pinvgcn.datasets.locate import cache_folder

    given = os.environ.get("PINVGCN_DATA")
    if given and not Path(given).is_dir():
        raise Broken(
            f"PINVGCN_DATA must name a folder. Got {given!r} instead; unset it, or create that folder."
        )
    return f"PINVGCN_DATA is {given or 'not set'}; downloads go to {cache_folder()}"


CHECKS = {
    "version": _python,
    "libraries": _libraries,
    "threads": _threads,
    "memory": _memory,
    "compiled loops": _compiler,
    "Fourier transforms": _transforms,
    "spectra": _spectrum,
    "LAZ": _laz,
    "labelling page": _page,
    "several processes": _processes,
    "data": _data,
}
