"""Sends the kernel's messages to the page without TCP delays.

The response to a slider is several short messages. TCP delays the second until the first is acknowledged (Nagle's
algorithm), and a browser acknowledges up to 40 ms later; Jupyter Server does not disable this.

Source: RFC 896, RFC 1122 section 4.2.3.2 (delayed acknowledgements); tcp(7) TCP_NODELAY.
"""

from __future__ import annotations

from typing import Any


def without_delay(connection: type[Any]) -> type[Any]:
    """Return a subclass of the server's connections between page and kernel that sends at once.

    Args:
        connection: a `BaseKernelWebsocketConnection` of Jupyter Server.
    """

    class UndelayedConnection(connection):
        def connect(self) -> Any:
            self.websocket_handler.set_nodelay(True)
            return super().connect()

    return UndelayedConnection
