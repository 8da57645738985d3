"""``pinvgcn`` with networks that are trained for a moment, for tests of everything else."""

import runpy

from pinvgcn.fitting.settings import EPOCHS
from pinvgcn.report import held_out

EPOCHS |= dict.fromkeys(EPOCHS, 20)
held_out.TABLE_FOLDS = 2

if __name__ == "__main__":
    runpy.run_module("pinvgcn", run_name="__main__")
