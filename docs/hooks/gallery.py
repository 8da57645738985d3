"""The gallery: every script of ``examples/`` is run, and shown with what it printed and drew.

A script opens with a docstring, title first; a line ``# %%`` begins a block, and the comments that follow it
are its text. The list in ``examples/README.md`` gives the order and a line about each. Scripts run in
processes of their own, a thread and a core each. One that fails, or warns, fails the build.
"""

from __future__ import annotations

import ast
import io
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIDE = "---\nhide: [toc]\n---\n"  # the space of a table of contents is better used for code and pictures
ENTRY = re.compile(r"^- \[([^\]]+)\]\((\w+\.py)\): (.+)$", re.MULTILINE)
SECONDS = 600  # for a script, on a busy machine


@dataclass(frozen=True)
class Block:
    """Some text and the code that follows it, which begins after ``line`` lines of the script."""

    text: str
    code: str
    line: int


def blocks_of(source: str) -> tuple[str, list[Block]]:
    """The title of a script and its blocks."""
    tree = ast.parse(source)
    title, _, opening = (ast.get_docstring(tree) or "").partition("\n")
    start = tree.body[0].end_lineno or 0
    lines = source.splitlines()
    cuts = [start, *(i for i in range(start, len(lines)) if lines[i].startswith("# %%")), len(lines)]
    blocks = []
    for first, last in itertools.pairwise(cuts):
        stop = first
        while first > start and stop < last and lines[stop].startswith("#"):
            stop += 1
        comments = [line[1:].removeprefix(" ") for line in lines[first:stop] if not line.startswith("# %%")]
        text = opening.strip() if first == start else "\n".join(comments)
        blocks.append(Block(text, "\n".join(lines[stop:last]), stop))
    return title.rstrip("."), blocks


def run(script: Path, folder: Path) -> None:
    """Run a script block by block; write what each printed, and its figures, to the folder."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    # torch_geometric reaches for parts of torch that are announced as going away
    warnings.filterwarnings("ignore", category=DeprecationWarning, module="torch")
    sys.path.insert(0, str(script.parent))
    plt.show = lambda *_, **__: None  # the figure stays open, and is saved below
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(script)}
    shown = []
    for block in blocks_of(script.read_text(encoding="utf-8"))[1]:
        printed = io.StringIO()
        # after as many empty lines as come before it, so that a traceback names the script's own lines
        code = compile("\n" * block.line + block.code, str(script), "exec")
        with redirect_stdout(printed):
            exec(code, names)
        pictures = []
        for number in plt.get_fignums():
            pictures.append(f"{script.stem}-{len(shown)}-{number}.png")
            plt.figure(number).savefig(folder / pictures[-1], dpi=150)
        plt.close("all")
        shown.append({"printed": printed.getvalue(), "pictures": pictures})
    seconds = time.process_time()  # of the processor: what it takes where nothing else runs
    (folder / f"{script.stem}.json").write_text(json.dumps({"blocks": shown, "seconds": seconds}))


def page(script: Path, result: dict[str, Any]) -> str:
    """The page of a script, as Markdown."""
    title, blocks = blocks_of(script.read_text(encoding="utf-8"))
    parts = [f"{WIDE}\n# {title}"]
    for block, shown in zip(blocks, result["blocks"], strict=True):
        # links are right where the script lies; here its neighbours are pages, and docs/ is the parent
        text = block.text.replace("](../docs/", "](../")
        parts.append(re.sub(r"\]\((\w+)\.py\)", r"](\1.md)", text))
        if block.code.strip():
            parts.append("```python\n" + block.code.strip("\n") + "\n```")
        if shown["printed"]:
            printed = f"```text\n{shown['printed'].rstrip()}\n```"
            parts.append(f'<div class="printed" markdown>\n\n{printed}\n\n</div>')
        words = _in_words(block.text) or title
        parts += [f"![{words}]({picture}){{ .picture }}" for picture in shown["pictures"]]
    parts.append(
        f"[:material-download: {script.name}]({script.name}){{ .md-button }} &nbsp; "
        f"{result['seconds']:.0f} seconds of one core, when this page was built."
    )
    return "\n\n".join(part for part in parts if part)


def _in_words(text: str) -> str:
    """What a picture shows: the sentence that introduces it."""
    sentence = re.split(r"(?<=[.:])\s", " ".join(text.split()))[0]
    return re.sub(r"[\[\]`*]", "", sentence)


def contents(readme: str, results: dict[str, Any]) -> str:
    """The opening page: the text of the README, with a card for each entry of its list."""
    opening, *_, closing = ENTRY.split(readme)
    cards = []
    for title, name, line in ENTRY.findall(readme):
        stem = Path(name).stem
        pictures = [p for block in results[stem]["blocks"] for p in block["pictures"]]
        shown = f"[![{title}]({pictures[0]})]({stem}.md)\n\n    " if pictures else ""
        words = line[0].upper() + line[1:]
        cards.append(f"-   {shown}**[{title}]({stem}.md)**\n\n    {words}")
    return WIDE + "\n\n".join(
        [opening, '<div class="grid cards gallery" markdown>', *cards, "</div>", closing]
    )


def _readme(config: Any) -> tuple[Path, str]:
    """The folder of the examples and the README that lists them, all of them."""
    from mkdocs.exceptions import PluginError

    folder = Path(config.config_file_path).parent / "examples"
    readme = (folder / "README.md").read_text(encoding="utf-8")
    listed = {name for _, name, _ in ENTRY.findall(readme)}
    there = {path.name for path in folder.glob("[!_]*.py")}
    if listed != there:
        raise PluginError(f"examples/README.md must list every example. Differing: {sorted(listed ^ there)}")
    return folder, readme


def on_config(config: Any) -> Any:
    """The entry "gallery" of the navigation stands for all its pages."""
    pages: list[Any] = ["gallery/index.md"]
    pages += [
        {title: f"gallery/{Path(name).stem}.md"} for title, name, _ in ENTRY.findall(_readme(config)[1])
    ]
    config.nav = [{"Gallery": pages} if item == {"Gallery": "gallery"} else item for item in config.nav]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Run the examples and add what they gave to the files of the site."""
    from mkdocs.exceptions import PluginError
    from mkdocs.structure.files import File

    folder, readme = _readme(config)
    scripts = [folder / name for _, name, _ in ENTRY.findall(readme)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(cores) as pool:

        def begin(script: Path) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-W", "error", __file__, str(script), temporary]
            own = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            return subprocess.run(
                command, env=own, cwd=temporary, capture_output=True, text=True, timeout=SECONDS
            )

        for script, done in zip(scripts, pool.map(begin, scripts), strict=True):
            if done.returncode:
                raise PluginError(f"examples/{script.name} failed:\n{done.stderr}")
        results = {path.stem: json.loads(path.read_text()) for path in Path(temporary).glob("*.json")}
        added: dict[str, str | bytes] = {"index.md": contents(readme, results)}
        added |= {f"{script.stem}.md": page(script, results[script.stem]) for script in scripts}
        added |= {script.name: script.read_text(encoding="utf-8") for script in folder.glob("*.py")}
        added |= {picture.name: picture.read_bytes() for picture in Path(temporary).glob("*.png")}
    for name, content in added.items():
        files.append(File.generated(config, f"gallery/{name}", content=content))
    return files


if __name__ == "__main__":
    run(Path(sys.argv[1]), Path(sys.argv[2]))
