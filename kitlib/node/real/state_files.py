"""Reading and removing files of the runtime's own state in a node, below /run."""

from __future__ import annotations

import os
from contextlib import suppress

STATE = "/run/kitlib"


def read(path: str) -> str:
    """Return a file's text without surrounding whitespace; "" if it cannot be read."""
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return ""


def remove(directory: str) -> None:
    """Remove a directory with its contents, without following links."""
    for place, directories, files in os.walk(directory, topdown=False):
        for name in files:
            with suppress(OSError):
                os.unlink(f"{place}/{name}")
        for name in directories:
            with suppress(OSError):
                (os.unlink if os.path.islink(f"{place}/{name}") else os.rmdir)(f"{place}/{name}")
    with suppress(OSError):
        os.rmdir(directory)
