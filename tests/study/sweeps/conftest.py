"""A module that workers can import, and the places where its functions leave their traces."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = '''
"""Scenarios for the tests of sweeps."""

import os
import signal
import time
from pathlib import Path

HERE = Path(__file__).parent


def note(name, text=""):
    with open(HERE / name, "a") as file:
        file.write(f"{text}\\n")


def lines(name):
    path = HERE / name
    return path.read_text().splitlines() if path.exists() else []


def square(x, seed=0):
    return {"square": x * x, "seeded": seed * x}


def noted(x):
    """Leaves the process and the point that it computed."""
    note("computed", f"{os.getpid()} {x}")
    return x


def fails(x):
    if x % 2:
        raise KeyError(f"no {x}")
    return x


def dies_once(x):
    """The process that computes 3 first is killed."""
    if x == 3 and not lines("died"):
        note("died")
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def dies(x):
    if x == 3:
        note("died")
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def leaves(x):
    os._exit(7)


def waits(x):
    """Computes 2 for ever."""
    if x == 2:
        note("waiting", os.getpid())
        time.sleep(3600)
    return x


def starts_another(x):
    """Starts a process that would outlive it."""
    import subprocess
    import sys

    made = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    note("children", made.pid)
    note("waiting", os.getpid())
    time.sleep(3600)


def prints(x):
    print("this is no message")
    os.write(1, b"neither is this\\n")
    return x
'''


@pytest.fixture
def scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module, on this process's path and so on its workers'."""
    import importlib

    (tmp_path / "sweep_scenarios.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("sweep_scenarios", None)
    importlib.invalidate_caches()
    yield importlib.import_module("sweep_scenarios")
    sys.modules.pop("sweep_scenarios", None)
