"""Running another program, without the pipe, the threads and the 0.7 MB of memory of `subprocess`."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Sequence

EVERY = 1.0
"""Seconds between two calls of `waits`."""
# A signal that is ignored stays ignored after exec: without SIGPIPE a pipeline such as `yes | head` would not end.
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
        words: path of the program and its arguments.
        output: file descriptor of its standard output; -1 = /dev/null.
        inputs: file descriptor of its standard input; -1 = /dev/null.
        errors: file descriptor of its standard error; -1 = the output.
        timeout: seconds after which it is killed.
        waits: function that is called every `EVERY` seconds while it runs.

    Returns:
        The exit code; if a signal ended it, the negative number of the signal.

    Raises:
        TimeoutError: it was killed after the timeout.
        OSError: it cannot be started.
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
    """Start a program and return its process id; the arguments are those of `run`, and the caller waits for it.

    Raises:
        OSError: it cannot be started.
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
    """Return whether a child exits in time; before Linux 5.3, without pidfd, the caller waits without a limit."""
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
