"""Requests to a process that answers every line with one line."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from typing import IO


def exchange(process: subprocess.Popen[bytes], message: bytes) -> bytes:
    """Send a line and return the answer's line; b"" = the process ended before the answer was complete."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(message + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except (OSError, ValueError):
        return b""
    return line if line.endswith(b"\n") else b""


def close(*streams: IO[bytes] | None) -> None:
    """Close the pipes of an ended process."""
    for stream in streams:
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.close()
