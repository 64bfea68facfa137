"""Pseudo-terminals of containers: reception from the runtime, change of size.

Source: OCI runtime-spec, console-socket; ioctl_tty(2) TIOCSWINSZ.
"""

from __future__ import annotations

import array
import fcntl
import os
import signal
import struct
import termios
from typing import Any


class ConsoleSocket:
    """The socket over which crun sends the terminal that it creates.

    Args:
        path: path of the socket; at most 107 bytes.

    Attributes:
        path: path of the socket.
    """

    def __init__(self, path: str) -> None:
        import socket  # imported here: other containers do not need it

        self.path = path
        self._listens: Any = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listens.bind(path)
        self._listens.listen(1)
        self._listens.settimeout(5.0)

    def receive(self) -> int:
        """Return the master side of the terminal, after crun has exited.

        Raises:
            OSError: crun has sent none.
        """
        import socket

        connection, _ = self._listens.accept()
        with connection:
            fds = array.array("i")
            _, ancillary, _, _ = connection.recvmsg(256, socket.CMSG_LEN(fds.itemsize))
            for level, kind, data in ancillary:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    fds.frombytes(data[: fds.itemsize])
        if not fds:
            raise OSError("no terminal was sent")
        os.set_blocking(fds[0], False)
        os.set_inheritable(fds[0], False)
        return fds[0]

    def close(self) -> None:
        """Close and remove the socket."""
        self._listens.close()
        if os.path.exists(self.path):
            os.unlink(self.path)


def resize(descriptor: int, width: int, height: int) -> None:
    """Set a terminal's size; the kernel sends SIGWINCH to its foreground processes."""
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", height & 0xFFFF, width & 0xFFFF, 0, 0))


def nudge(descriptor: int) -> None:
    """Make the program in a terminal redraw for a client that has just attached, by SIGWINCH."""
    group = fcntl.ioctl(descriptor, termios.TIOCGPGRP, b"\0" * 4)
    pid = struct.unpack("i", group)[0]
    if pid > 0:
        os.kill(-pid, signal.SIGWINCH)
