"""Generates pages about the public interface with pdoc, one for each module, from docstrings and signatures.

Upstream names are in the docstrings' `Source:` lines, so the pages' search finds a rule by its Kubernetes name too.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from kitlib.api.errors import KitError

PACKAGES = (
    *("api", "cel", "kubelet", "scheduler", "apiserver", "controllers", "study", "node", "cluster"),
    *("advisor", "views", "lab", "widgets"),
)
"""The public packages; a name with a leading underscore has no page."""


def build_api_pages(folder: Path) -> int:
    """Write the pages into a folder and return their number.

    Raises:
        KitError: pdoc is not installed, or it fails.
    """
    if find_spec("pdoc") is None:
        raise KitError("pdoc is not installed: pip install 'kitlib[site]'")
    names = [f"kitlib.{name}" for name in PACKAGES]
    command = [sys.executable, "-m", "pdoc", "--no-show-source", "--docformat", "google", "-o", str(folder), *names]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or ["it said nothing"]
        raise KitError(f"pdoc: {last[0]}")
    return sum(1 for _ in folder.rglob("*.html"))
