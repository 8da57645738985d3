"""What tests of commands share: one that is refused, and one that runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pinvgcn.cli import main


@pytest.fixture
def refused(capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The one line on standard error of a command that must not run."""

    def run(*arguments: Any) -> str:
        assert main([str(argument) for argument in arguments]) == 2
        out, err = capfd.readouterr()
        assert out == ""
        assert err.count("\n") == 1, err
        assert err.startswith("pinvgcn: error: ")
        return err

    return run


@pytest.fixture
def done_by(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[str, str]]:
    """What a command that must work prints: its output, and its standard error."""

    def run(*arguments: Any) -> tuple[str, str]:
        code = main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        assert code == 0, err
        return out, err

    return run
