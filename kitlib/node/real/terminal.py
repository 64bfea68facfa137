"""Pseudo-terminals of containers: received from the runtime, resized.

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
    """Where crun sends the terminal that it makes.

    Args:
        path: of the socket; at most 107 bytes.

    Attributes:
        path: of the socket.
    """

    def __init__(self, path: str) -> None:
        import socket  # other containers do without it

        self.path = path
        self._listens: Any = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listens.bind(path)
        self._listens.listen(1)
        self._listens.settimeout(5.0)

    def receive(self) -> int:
        """The terminal's master side, once crun has ended.

        Raises:
            OSError: where crun has sent none.
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
        """Remove the socket."""
        self._listens.close()
        if os.path.exists(self.path):
            os.unlink(self.path)


def resize(descriptor: int, width: int, height: int) -> None:
    """Give a terminal a size; its foreground processes hear of it."""
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", height & 0xFFFF, width & 0xFFFF, 0, 0))


def nudge(descriptor: int) -> None:
    """Have the program in a terminal draw its line again for a client that has just attached."""
    group = fcntl.ioctl(descriptor, termios.TIOCGPGRP, b"\0" * 4)
    pid = struct.unpack("i", group)[0]
    if pid > 0:
        os.kill(-pid, signal.SIGWINCH)
