"""The ``pinvgcn`` command: arguments in, the rooms of the package at work, plain words out.

One file a command. ``app`` puts them together; ``failure`` starts the processes of a command and turns errors
into one line and an exit code; ``console`` and ``progress`` are what commands print with. Nothing heavy is
imported before a command needs it, so that ``pinvgcn --help`` answers at once.
"""

from pinvgcn.cli.app import main

__all__ = ["main"]
