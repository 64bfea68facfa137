"""The connection between page and kernel sends without delay, whatever class the server has for it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from traitlets.config import Config

from kitlib.lab import server
from kitlib.lab.websocket import without_delay


class Connection:
    """As a server has it."""

    def __init__(self, websocket_handler: Any) -> None:
        self.websocket_handler = websocket_handler

    def connect(self) -> str:
        return "connected"


def test_a_connection_sends_at_once_and_connects_as_ever() -> None:
    said: list[bool] = []
    made = without_delay(Connection)(SimpleNamespace(set_nodelay=said.append))
    assert isinstance(made, Connection)
    assert made.connect() == "connected"
    assert said == [True]


def test_the_server_of_kitlib_lab_gets_such_connections() -> None:
    settings: dict[str, Any] = {server.CONNECTIONS: Connection}
    log = SimpleNamespace(addFilter=lambda _: None)
    kernels = SimpleNamespace(config=Config())
    app = SimpleNamespace(web_app=SimpleNamespace(settings=settings), log=log, kernel_manager=kernels)
    server._load_jupyter_server_extension(app)
    assert issubclass(settings[server.CONNECTIONS], Connection)
    assert settings[server.CONNECTIONS] is not Connection
