"""Connections to ports on which a pod's processes listen.

`dial` connects to a pod with a network namespace of its own. If the pods of a node share its loopback device, `connect`
checks the owner of the listening socket: a pod's port never leads to another pod.

Source: proc(5), /proc/PID/fd, /proc/net/tcp; containerd sandbox_portforward.go; apiserver's proxy to a pod's address.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from kitlib.api.errors import KitError
from kitlib.node.real.pod_network import PodNamespace

_LISTEN = "0A"
_PATIENCE = 5.0
"""Maximum time in seconds of an attempt to connect, for which the node waits."""
_HOSTS = {"tcp": "127.0.0.1", "tcp6": "::1"}


def dial(place: PodNamespace, port: int, *, localhost: bool) -> int:
    """Return the descriptor of a non-blocking socket connected to a port of a pod.

    Args:
        place: the pod's network namespace.
        port: the port.
        localhost: whether to connect to the loopback address in the namespace, else to the pod's address.

    Raises:
        KitError: the pod refuses the connection.
    """
    import socket

    hosts = tuple(_HOSTS.values()) if localhost else (place.address,)
    told = OSError()
    for host in hosts:
        with place.inside() if localhost else place.reaching(host):
            made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            made.settimeout(_PATIENCE)
            made.connect((host, port))
            made.setblocking(False)
            return made.detach()
        except OSError as error:
            made.close()
            told = told if told.errno else error  # the first host's: a pod without IPv6 says nothing about the port
    whom, why = "localhost" if localhost else place.address, (told.strerror or str(told)).lower()
    raise KitError(f"failed to connect to {whom}:{port}: connect: {why}")


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
                made.settimeout(_PATIENCE)
                try:
                    made.connect((host, port))
                except OSError:  # it listens on IPv4 addresses through an IPv6 socket, or on them alone
                    made.close()
                    made = socket.create_connection(("127.0.0.1", port), _PATIENCE)
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
