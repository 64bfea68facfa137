"""Runs another program to its end, without the pipe, the threads and the 0.7 MB that `subprocess` brings with it."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

_PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)


def run(words: Sequence[str], output: int = -1) -> int:
    """Run a program, with nothing on its standard input, and wait for it.

    Args:
        words: its path and what it is told. output: descriptor for what it and its children say; -1 = nowhere.

    Returns:
        Its exit code; of a signal that ended it the negative number.

    Raises:
        OSError: where it cannot be started.
    """
    to = (os.POSIX_SPAWN_DUP2, output, 1) if output >= 0 else (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    pid = os.posix_spawn(
        words[0],
        list(words),
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), to, (os.POSIX_SPAWN_DUP2, 1, 2)],
        setsigdef=_PYTHON_IGNORES,
    )
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
