"""``python -m pinvgcn`` is the ``pinvgcn`` command."""

import sys

from pinvgcn.cli import main

if __name__ == "__main__":
    sys.exit(main())
