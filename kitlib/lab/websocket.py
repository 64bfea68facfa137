"""What the kernel says reaches the page at once.

A slider's answer is several short messages. TCP holds the second back until the first is acknowledged (Nagle's
algorithm), and a browser acknowledges up to 40 ms later; Jupyter Server leaves that as it is.

Source: RFC 896, RFC 1122 section 4.2.3.2 (delayed acknowledgements); tcp(7) TCP_NODELAY.
"""

from __future__ import annotations

from typing import Any


def without_delay(connection: type[Any]) -> type[Any]:
    """The server's class of connections between page and kernel, made to send at once.

    Args:
        connection: a `BaseKernelWebsocketConnection` of Jupyter Server.
    """

    class UndelayedConnection(connection):
        def connect(self) -> Any:
            self.websocket_handler.set_nodelay(True)
            return super().connect()

    return UndelayedConnection
