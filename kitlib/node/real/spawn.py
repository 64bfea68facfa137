"""Runs another program to its end, without the pipe, the threads and the 0.7 MB that `subprocess` brings with it."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Sequence

EVERY = 1.0
"""Seconds between two calls of `waits`."""
_PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)


def run(
    words: Sequence[str],
    output: int = -1,
    *,
    inputs: int = -1,
    errors: int = -1,
    timeout: float = float("inf"),
    waits: Callable[[], None] = lambda: None,
) -> int:
    """Run a program and wait for it.

    Args:
        words: its path and what it is told.
        output: descriptor for what it and its children say; -1 = nowhere.
        inputs: descriptor of its standard input; -1 = nothing.
        errors: descriptor for standard error; -1 = as the output.
        timeout: seconds after which it is killed.
        waits: called every `EVERY` seconds while it runs.

    Returns:
        Its exit code; of a signal that ended it the negative number.

    Raises:
        TimeoutError: where it was killed.
        OSError: where it cannot be started.
    """
    pid = start(words, output, inputs=inputs, errors=errors)
    late = not _ends(pid, timeout, waits)
    if late:
        os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if late:
        raise TimeoutError(f"{words[0]} was killed after {timeout:g} s")
    return status


def start(words: Sequence[str], output: int = -1, *, inputs: int = -1, errors: int = -1) -> int:
    """Start a program and leave it to the caller, with the arguments of `run`; its process id.

    Raises:
        OSError: where it cannot be started.
    """
    to = (os.POSIX_SPAWN_DUP2, output, 1) if output >= 0 else (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    reads = (os.POSIX_SPAWN_DUP2, inputs, 0) if inputs >= 0 else (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    return os.posix_spawn(
        words[0],
        list(words),
        os.environ,
        file_actions=[reads, to, (os.POSIX_SPAWN_DUP2, errors if errors >= 0 else 1, 2)],
        setsigdef=_PYTHON_IGNORES,
    )


def _ends(pid: int, timeout: float, waits: Callable[[], None]) -> bool:
    """Whether a child ends in time; before Linux 5.3 it is waited for however long it takes."""
    try:
        process = os.pidfd_open(pid)
    except OSError:
        return True
    try:
        ends = select.poll()
        ends.register(process, select.POLLIN)
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            if ends.poll(min(EVERY, left) * 1000):
                return True
            waits()
        return False
    finally:
        os.close(process)
