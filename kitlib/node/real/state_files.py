"""Files of the runtime's own state in a node: what it reads and removes below /run."""

from __future__ import annotations

import os
from contextlib import suppress

STATE = "/run/kitlib"


def read(path: str) -> str:
    """A file's text; "" where it cannot be read."""
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return ""


def remove(directory: str) -> None:
    """Remove a directory with all that is in it, following no link."""
    for place, directories, files in os.walk(directory, topdown=False):
        for name in files:
            with suppress(OSError):
                os.unlink(f"{place}/{name}")
        for name in directories:
            with suppress(OSError):
                (os.unlink if os.path.islink(f"{place}/{name}") else os.rmdir)(f"{place}/{name}")
    with suppress(OSError):
        os.rmdir(directory)
