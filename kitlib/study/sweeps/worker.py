"""A worker process of a sweep: it reads chunks of points from standard input and writes their rows to standard output.

A message is one line of JSON. The first line of input is the work; the first line of output says whether it can be
done. The process ends with its parent: a thread reads the input, and at its end kills the process and its children,
even in the middle of a point.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from typing import Any, BinaryIO

import msgspec

from kitlib.api.convert import decoder
from kitlib.api.errors import KitError
from kitlib.study.sweeps.row import SweepRow


class Hello(msgspec.Struct, frozen=True):
    """A worker's first answer: its version of kitlib, or why it cannot work."""

    kitlib: str = ""
    error: str = ""


def main() -> None:
    """Answer requests until the input ends."""
    with os.fdopen(os.dup(1), "wb", buffering=0) as out:
        os.dup2(2, 1)  # what a scenario prints goes to standard error: standard output carries messages
        lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=_read, args=(sys.stdin.buffer, lines), daemon=True).start()
        _answer(lines, out)


def _read(source: BinaryIO, lines: queue.SimpleQueue[bytes]) -> None:
    for line in source:
        lines.put(line)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():  # its own group: see `processes.Worker`
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _answer(lines: queue.SimpleQueue[bytes], out: Any) -> None:
    from kitlib import __version__
    from kitlib.study.sweeps.task import task_of

    try:
        task = task_of(lines.get())
    except KitError as error:
        _write(out, msgspec.json.encode(Hello(error=str(error))))
        return
    _write(out, msgspec.json.encode(Hello(__version__)))
    reads = decoder(list[dict[str, Any]])
    while True:
        rows: list[SweepRow] = [task.evaluate(point) for point in reads.decode(lines.get())]
        _write(out, msgspec.json.encode(rows))


def _write(out: Any, message: bytes) -> None:
    left = memoryview(message + b"\n")
    while left:
        left = left[out.write(left) :]
