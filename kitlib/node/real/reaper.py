"""A process that cleans up after a killed owner: containers that were not started yet, paused nodes, layers, pods.

A node ends by itself with its owner's stream, but these do not. Therefore the owner starts a small process in its own
session, which reads from a pipe without a writer. The end of the pipe means that the owner has ended.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from kitlib.node.real import engine
from kitlib.node.real.container import OWNER, owner
from kitlib.node.real.leftovers import remove_unfinished

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
    """Remove the containers of an ended owner, and the images of a build that it did not finish."""
    clean(engine.connect(), whose)


def clean(client: Any, whose: str) -> None:
    """Remove what an ended owner has left until nothing new has appeared for `LOOKS_FOR` seconds.

    Args:
        client: client of the engine.
        whose: the owner, as in the labels of its containers and of the layers that it built.
    """

    def remove() -> bool:
        found = client.api.containers(all=True, filters={"label": f"{OWNER}={whose}"})
        for one in found:
            with suppress(Exception):  # it ends by itself in this moment
                client.api.remove_container(one["Id"], force=True)
        return bool(remove_unfinished(client, lambda held: held == whose)) or bool(found)

    until_none_comes(remove, LOOKS_FOR, EVERY)


def until_none_comes(remove: Callable[[], bool], seconds: float, every: float) -> None:
    """Remove what an owner has left until none of it has appeared for some time, at most `LOOKS_AT_MOST` seconds.

    Args:
        remove: removes what is there; returns whether there was anything.
        seconds: the time without any.
        every: seconds between two looks.
    """
    began = last = time.monotonic()
    looked = False
    while time.monotonic() < min(last + seconds, began + LOOKS_AT_MOST):
        left = True
        with suppress(Exception):  # the engine may be about to end, or to come back
            left = remove()
        if left or not looked:  # counted from the end of a request: a busy engine takes longer for it than this waits
            last = time.monotonic()
        looked = True
        time.sleep(every)
