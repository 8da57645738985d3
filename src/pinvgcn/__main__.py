"""``python -m pinvgcn`` is the ``pinvgcn`` command."""

import os
import sys

from pinvgcn.cli import main
from pinvgcn.cli.failure import INTERRUPTED, TERMINATED

if __name__ == "__main__":
    code = main()
    if code in (INTERRUPTED, TERMINATED):
        # An interrupt that was caught while code compiled from text ran (dataclasses are made so) lets
        # ``python -m`` end itself by the signal, whatever the exit code.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
