"""Damaged scans of every format, as many as PINVGCN_FUZZ_CASES says (200; ``make fuzz``: 2,000)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fuzz import FORMATS, damage

CASES = int(os.environ.get("PINVGCN_FUZZ_CASES", "200"))
SEED = os.environ.get("PINVGCN_FUZZ_SEED", "0")


@pytest.fixture(scope="module")
def fuzzed() -> subprocess.CompletedProcess[str]:
    """In a process of its own, with limits of memory and time: a crash would take this one with it."""
    return subprocess.run(
        [sys.executable, "-W", "error", Path(__file__).with_name("fuzz.py"), str(CASES), SEED],
        capture_output=True, text=True, check=False, timeout=120 + 2 * CASES,
    )  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_damaged_scans_are_read_or_refused(fuzzed, format):
    ends = {line["format"]: line for line in map(json.loads, fuzzed.stdout.splitlines())}
    assert format in ends, fuzzed.stderr
    read, refused = ends[format].get("was read", 0), ends[format].get("was refused", 0)
    assert read + refused == CASES, fuzzed.stderr
    assert min(read, refused) > CASES // 100  # damage that is never noticed, or always, tests nothing


def test_nothing_is_said_beside_the_errors(fuzzed):
    """No warnings, and no complaints of the libraries."""
    assert (fuzzed.returncode, fuzzed.stderr) == (0, "")


def test_damage_is_done():
    content = bytes(range(256)) * 4
    changed = [damage(content, np.random.default_rng(seed)) for seed in range(50)]
    assert sum(data != content for data in changed) > 45
    assert min(map(len, changed)) < len(content) < max(map(len, changed))
