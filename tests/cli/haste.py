"""Tables with networks that are trained for a moment, and few folds: for tests of everything else."""

from __future__ import annotations

import pytest

import pinvgcn.fitting.settings
import pinvgcn.report.held_out


def hurry(patch: pytest.MonkeyPatch, epochs: int) -> None:
    """Few epochs and folds."""
    patch.setitem(pinvgcn.fitting.settings.EPOCHS, "table", epochs)
    patch.setattr(pinvgcn.report.held_out, "TABLE_FOLDS", 2)
