"""A process that cleans up after a killed owner: containers that were not started yet, paused nodes, pods.

A node ends by itself with its owner's stream, but these do not. Therefore the owner starts a small process in its own
session, which reads from a pipe without a writer. The end of the pipe means that the owner has ended.
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
"""Seconds of the search after the owner's end, or after the last find: the engine may still process a request."""
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
    """Start the reaper for this process, once for each engine.

    Args:
        module: name of the module whose function `reap` cleans up.
        words: arguments of that function; none = the owner, for the container engine.
    """
    told = (module, *(words or (owner(),)))
    with _lock:
        if told in _running and _running[told].poll() is None:
            return
        root = str(Path(__file__).parents[3])
        with suppress(OSError):  # it is needed only after a kill
            _running[told] = subprocess.Popen(
                [sys.executable, "-c", _WAITS, root, *told],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )


def reap(whose: str) -> None:
    """Remove the containers of an ended owner."""
    clean(engine.connect(), whose)


def clean(client: Any, whose: str) -> None:
    """Remove the containers of an ended owner until no new one has appeared for `LOOKS_FOR` seconds.

    Args:
        client: client of the engine.
        whose: the owner, as in its containers' labels.
    """
    began = last = time.monotonic()
    while time.monotonic() < min(last + LOOKS_FOR, began + LOOKS_AT_MOST):
        with suppress(Exception):  # the engine may be stopping or restarting
            for found in client.api.containers(all=True, filters={"label": f"{OWNER}={whose}"}):
                last = time.monotonic()
                with suppress(Exception):  # it is ending by itself
                    client.api.remove_container(found["Id"], force=True)
        time.sleep(EVERY)
