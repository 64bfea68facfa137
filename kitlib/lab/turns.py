"""Checks of a room take turns: as many run at once as the host has processors, in the order in which they came.

A hub puts a file for each processor into the folder `turns` beside the room's file, which learners can read and not
write. A check locks one of them (flock works on a file that is open for reading). Who waits holds the lock `queue`
until a processor is free; Linux gives a contended lock to the one who has waited longest. A process that ends gives its
locks back, so no turn is lost. After `PATIENCE` seconds a check runs anyway.

Without turns thirty checks run at once, and all of them end last.

Source: flock(2); fs/locks.c locks_insert_block (a waiter is chained behind the earlier ones since Linux 5.0).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kitlib.lab.room import VARIABLE

FOLDER, QUEUE, SLOTS = "turns", "queue", "slot-*"
PATIENCE = 60.0
"""Seconds after which a check no longer waits: somebody may hold a lock for fun."""
SHORT = 1.0
"""Seconds of waiting that need no explanation."""
WAITING = "Waiting for a free processor: the room's checks take turns …"


@contextmanager
def turn(tell: Callable[[str], None] = print) -> Iterator[None]:
    """Wait for a turn, and give it back at the end; outside of a room there is nothing to wait for.

    Args:
        tell: is given a sentence if the wait is not short.
    """
    held = None
    if room := os.environ.get(VARIABLE):
        with suppress(OSError, ImportError):  # no such folder, or a file system or platform without flock
            held = _wait(Path(room).with_name(FOLDER), tell)
    try:
        yield
    finally:
        if held is not None:
            os.close(held)


def _wait(place: Path, tell: Callable[[str], None]) -> int | None:
    """Return the descriptor of a locked slot; None = there is none, or patience ended."""
    slots = sorted(place.glob(SLOTS))
    end = time.monotonic() + PATIENCE
    told = threading.Timer(SHORT, tell, [WAITING])
    told.daemon = True
    told.start()
    try:
        queue = _locked(place / QUEUE, PATIENCE) if slots else None
        if queue is None:
            return None
        try:
            while (free := _free(slots)) is None and time.monotonic() < end:
                time.sleep(0.05)
            return free
        finally:
            os.close(queue)
    finally:
        told.cancel()


def _free(slots: list[Path]) -> int | None:
    """Lock a slot that no other check holds."""
    import fcntl

    for slot in slots:
        descriptor = os.open(slot, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except OSError:
            os.close(descriptor)
    return None


def _locked(file: Path, seconds: float) -> int | None:
    """Lock a file, behind those who wait for it already; None = not within `seconds`."""
    import fcntl

    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor
    except BlockingIOError:
        pass
    # only a wait inside flock keeps the place in the queue, and flock knows no timeout
    got, over, state = threading.Event(), threading.Lock(), {"late": False}

    def wait() -> None:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        with over:
            if state["late"]:
                os.close(descriptor)
            else:
                got.set()

    threading.Thread(target=wait, daemon=True).start()
    got.wait(seconds)
    with over:
        state["late"] = not got.is_set()
        return None if state["late"] else descriptor
