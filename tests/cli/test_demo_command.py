"""``pinvgcn demo`` from end to end, as its users run it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pinvgcn.experiments import demo


@pytest.mark.slow
def test_the_demo_prints_its_tables_and_writes_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done_by: Callable[..., tuple[str, str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(demo, "methods", partial(demo.methods, epochs=60))
    out, err = done_by("demo", "--quick", "--seed", 3)
    folder = tmp_path / "pinvgcn-demo"
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "results.json", "tiles.png"]
    assert "pinvgcn-demo/report.html" in out
    assert "Survey, labelled tile, split 1 of 1: PinvGCN" in err
    assert "Warning" not in err

    numbers = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    survey, away, mushroom = numbers["comparisons"]
    assert (survey["rows"], survey["labels_per_class"], survey["seeds"]) == (15_000, 20, [3])
    assert (away["rows"], away["labels_per_class"], away["seeds"]) == (15_000, 0, [3])
    assert (mushroom["rows"], mushroom["labels_per_class"], mushroom["seeds"]) == (8124, 10, [3])
    first, rest = out.split("Survey, next tile: 15,000 points, 5 classes, no label", 1)
    second, third = rest.split("Mushroom: 8,124 rows", 1)
    for comparison, printed in zip(numbers["comparisons"], (first, second, third), strict=True):
        for method in comparison["methods"].values():
            line = next(line for line in printed.splitlines() if line.strip().startswith(method["title"]))
            assert f"{100 * method['accuracy']:.1f} %" in line
        # one choice of labels says little about accuracy: here it must only have learned something
        methods = comparison["methods"]
        assert methods["pinvgcn"]["accuracy"] > methods["majority"]["accuracy"] + 0.1
    home, elsewhere = numbers["expected_accuracy"]
    assert 0.5 < home["accuracy"] <= 1
    assert elsewhere["accuracy"] != home["accuracy"]


def test_interrupting_the_demo_is_one_line_and_130(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "pinvgcn", "demo", "--quick", "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a test run in the background ignores Ctrl-C, and so would its children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if "PinvGCN" in line:
                break
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert err.splitlines()[-1] == "pinvgcn: interrupted"
    assert "Traceback" not in err
    assert out == ""
    assert list((tmp_path / "out").iterdir()) == []
