"""Fresh Python environments for tests that install the kit as its users do.

uv installs without compiling and shares what it has unpacked once: seconds where pip takes a minute of a processor. It
does not read pip's configuration, so where it finds no index, pip installs.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path


def make(folder: Path) -> str:
    """An environment in `folder`, unless there is one; the path of its Python."""
    python = folder / "bin" / "python"
    if not python.exists():
        _done([sys.executable, "-m", "venv", str(folder)])
    return str(python)


def install(python: str, *packages: str, again: bool = False) -> None:
    """Install packages into the environment of `python`.

    Args:
        python: path of the environment's Python.
        packages: names with versions, or paths of wheels.
        again: replace what is there under the same version, without what it needs.
    """
    options = ["-q", *(["--no-deps", "--force-reinstall"] if again else [])]
    if importlib.util.find_spec("uv") is not None:
        uv = [sys.executable, "-m", "uv", "pip", "install", "--python", python]
        if subprocess.run([*uv, *options, *packages], capture_output=True, timeout=560, check=False).returncode == 0:
            return
    _done([python, "-m", "pip", "install", *options, *packages])


def _done(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=560, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-1000:]}{done.stderr[-3000:]}"
