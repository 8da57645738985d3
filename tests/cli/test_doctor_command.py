"""``pinvgcn doctor``: everything works where the tests run; what is broken is named, with exit code 2."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest

from pinvgcn.cli import doctor, main


@pytest.fixture
def findings(capsys, monkeypatch):
    """Of the checks with these names alone: the exit code, and whether each works with its text."""

    def run(*names):
        monkeypatch.setattr(doctor, "CHECKS", {name: doctor.CHECKS[name] for name in names})
        code = main(["doctor", "--json"])
        return code, {
            line["what"]: (line["works"], line["found"]) for line in json.loads(capsys.readouterr().out)
        }

    return run


def test_everything_works_here(capsys):
    pytest.importorskip("viser")
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(doctor.CHECKS)
    assert all(line.startswith("works ") for line in lines)


def test_a_folder_that_is_not_there(findings, monkeypatch, tmp_path):
    monkeypatch.setenv("PINVGCN_DATA", str(tmp_path / "gone"))
    code, found = findings("version", "data")
    assert code == 2
    assert found["version"][0]
    works, text = found["data"]
    assert not works
    assert "PINVGCN_DATA must name a folder" in text


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (["no-such-thing>=2,<3"], "no-such-thing is not installed. Run: pip install 'no-such-thing<3,>=2'"),
        (["numpy<1"], f"numpy {np.__version__}. Run: pip install 'numpy<1'"),
        (["other; extra == 'x'", "numpy>=1,<99"], None),
    ],
)
def test_a_dependency_that_is_not_there_or_too_old(wanted, said, findings, monkeypatch):
    monkeypatch.setattr(doctor, "requires", lambda name: wanted)
    code, found = findings("libraries")
    assert code == (0 if said is None else 2)
    assert found["libraries"] == (said is None, said or f"numpy {np.__version__}")


def test_what_a_check_raises_is_a_finding(findings, monkeypatch):
    monkeypatch.setitem(doctor.CHECKS, "memory", lambda: 1 / 0)
    assert findings("memory", "threads")[1]["memory"] == (False, "ZeroDivisionError: division by zero")


def test_a_library_that_cannot_be_imported(findings, monkeypatch):
    monkeypatch.setitem(sys.modules, "laspy", None)
    works, text = findings("LAZ")[1]["LAZ"]
    assert not works
    assert re.fullmatch(r"\w+: .*laspy.*\. Run: pip install --force-reinstall pinvgcn", text)
