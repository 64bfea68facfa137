"""Connections to ports on which a pod's processes listen.

The pods of a node share its loopback device, so the owner of the listening socket is checked: a pod's port never leads
to another pod.

Source: proc(5), /proc/PID/fd, /proc/net/tcp; containerd sandbox_portforward.go.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from kitlib.api.errors import KitError

_LISTEN = "0A"
_HOSTS = {"tcp": "127.0.0.1", "tcp6": "::1"}


def connect(pids: Iterable[int], port: int) -> int:
    """Return the descriptor of a non-blocking socket connected to a port of one of these processes.

    Raises:
        KitError: none of the processes listens on the port.
    """
    import socket  # imported here: most nodes have no connections

    own = set(sockets(pids))
    for table, host in _HOSTS.items():
        if any(inode in own for inode in listeners(table, port)):
            family = socket.AF_INET if table == "tcp" else socket.AF_INET6
            made = socket.socket(family, socket.SOCK_STREAM)
            try:
                made.settimeout(5.0)
                try:
                    made.connect((host, port))
                except OSError:  # it listens on IPv4 addresses through an IPv6 socket, or on them alone
                    made.close()
                    made = socket.create_connection(("127.0.0.1", port), 5.0)
                made.setblocking(False)
                return made.detach()
            except OSError as error:
                made.close()
                raise KitError(f"failed to connect to localhost:{port}: {error.strerror}") from error
    raise KitError(f"failed to connect to localhost:{port}: connect: connection refused")


def shut(descriptor: int) -> None:
    """End the sending direction of a connection."""
    import socket

    with suppress(OSError):
        made = socket.socket(fileno=os.dup(descriptor))
        with made:
            made.shutdown(socket.SHUT_WR)


def sockets(pids: Iterable[int]) -> Iterator[str]:
    """Yield the inodes of the sockets that processes hold."""
    for pid in pids:
        with suppress(OSError):
            for name in os.listdir(f"/proc/{pid}/fd"):
                with suppress(OSError):
                    target = os.readlink(f"/proc/{pid}/fd/{name}")
                    if target.startswith("socket:["):
                        yield target[8:-1]


def listeners(table: str, port: int) -> Iterator[str]:
    """Yield the inodes of the sockets that listen on a port, of the table `tcp` or `tcp6`."""
    with suppress(OSError), open(f"/proc/net/{table}") as file:
        next(file, None)
        for line in file:
            words = line.split()
            if words[3] == _LISTEN and int(words[1].rpartition(":")[2], 16) == port:
                yield words[9]
