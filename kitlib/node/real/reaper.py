"""Ends what a killed process leaves on its engine: a container that it had not started yet, a paused node, a pod.

A node ends by itself with its owner's stream, but neither of these can. So the owner has a small process beside it, in
a session of its own, which reads from a pipe that nobody writes to. When the pipe ends the owner has gone.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from kitlib.node.real import engine
from kitlib.node.real.container import OWNER, owner

LOOKS_FOR = 3.0
"""Seconds after the owner's end: a request of its may still be under way at the engine."""
LOOKS_AT_MOST = 60.0
EVERY = 0.1
_WAITS = """
import sys
sys.stdin.buffer.read()
sys.path.insert(0, sys.argv[1])
import importlib
importlib.import_module(sys.argv[2]).reap(*sys.argv[3:])
"""
_lock = threading.Lock()
_running: dict[tuple[str, ...], subprocess.Popen[bytes]] = {}


def start(module: str = __name__, *words: str) -> None:
    """Start it for this process, once for each engine.

    Args:
        module: whose function `reap` cleans up.
        words: what that function is told; none = the owner, for the container engine.
    """
    told = (module, *(words or (owner(),)))
    with _lock:
        if told in _running and _running[told].poll() is None:
            return
        root = str(Path(__file__).parents[3])
        with suppress(OSError):  # without it everything works as long as nobody is killed
            _running[told] = subprocess.Popen(
                [sys.executable, "-c", _WAITS, root, *told],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )


def reap(whose: str) -> None:
    """Remove the containers of an owner that has gone."""
    clean(engine.connect(), whose)


def clean(client: Any, whose: str) -> None:
    """Remove the containers of an owner that has gone, until none has come for a while.

    Args:
        client: of the engine.
        whose: the owner, as its containers' labels name it.
    """
    began = last = time.monotonic()
    while time.monotonic() < min(last + LOOKS_FOR, began + LOOKS_AT_MOST):
        with suppress(Exception):  # the engine may be about to end, or to come back
            for found in client.api.containers(all=True, filters={"label": f"{OWNER}={whose}"}):
                last = time.monotonic()
                with suppress(Exception):  # it ends by itself in this moment
                    client.api.remove_container(found["Id"], force=True)
        time.sleep(EVERY)
