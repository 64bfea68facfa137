"""A learner at a hub, over HTTP like a browser: log in, start the server, run code in a kernel.

Rehearsals and tests use it. It needs requests and websocket-client, which JupyterLab installs.
"""

from __future__ import annotations

import json
import time
import uuid
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from kitlib.api.errors import KitError

SERVER_SECONDS = 150
"""Timeout of a server's start in seconds."""
AGAIN = (424, 503)
"""HTTP statuses of a server that is starting: JupyterHub's own, and the proxy's."""
PRESS = 4.0
"""Seconds until a learner whose request was refused repeats it."""


def session() -> Any:
    """Return an HTTP session with cookies.

    Raises:
        KitError: requests or websocket-client is missing.
    """
    try:
        import_module("websocket")
        return import_module("requests").Session()
    except ImportError as error:
        raise KitError(f"{error.name} is not installed: pip install 'kitlib[notebook]'") from error


def token(session: Any, path: str) -> str:
    """Return the cross-site token of the cookie with the longest matching path."""
    fits = [c for c in session.cookies if c.name == "_xsrf" and path.startswith(c.path)]
    return str(max(fits, key=lambda c: len(c.path)).value or "") if fits else ""


def log_in(session: Any, hub: str, account: str, own: str, room: str) -> int:
    """Log in and return the HTTP status; 302 means success.

    Args:
        session: an HTTP session.
        hub: the hub's address.
        account: the account's name.
        own: the learner's personal password, chosen at the first login.
        room: the password of the room.
    """
    session.get(f"{hub}/hub/login")
    data = {"username": account, "password": own, "otp": room, "_xsrf": token(session, "/hub/")}
    return int(session.post(f"{hub}/hub/login", data=data, allow_redirects=False).status_code)


def start(session: Any, hub: str, account: str) -> tuple[int, int]:
    """Request the server and wait until its pages answer; repeat the request if too many servers are starting.

    Returns:
        (the last status, how often the hub refused because too many servers were starting).
    """
    answer, refused = session.get(f"{hub}/hub/spawn"), 0
    end = time.monotonic() + SERVER_SECONDS
    while time.monotonic() < end:
        if answer.status_code == 429 and "asks again by itself every few seconds" in answer.text:
            refused += 1
            time.sleep(PRESS)
            answer = session.get(f"{hub}/hub/spawn")
            continue
        if answer.status_code >= 400:
            return answer.status_code, refused
        if urlsplit(answer.url).path.startswith(f"/user/{account}/"):
            return answer.status_code, refused
        time.sleep(1)
        answer = session.get(f"{hub}/user/{account}/lab")
        if answer.status_code in AGAIN:
            answer = session.get(f"{hub}/hub/spawn-pending/{account}")
    return 599, refused


class RemoteKernel:
    """A kernel of the learner's server, connected by its websocket."""

    def __init__(self, session: Any, hub: str, name: str) -> None:
        base = f"/user/{name}/"
        made = session.post(f"{hub}{base}api/kernels", headers={"X-XSRFToken": token(session, base)}, json={})
        made.raise_for_status()
        self._cookies = "; ".join(f"{c.name}={c.value}" for c in session.cookies if base.startswith(c.path))
        self._address = f"{hub.replace('http', 'ws', 1)}{base}api/kernels/{made.json()['id']}/channels"
        self._hub = hub
        self.socket: Any = None
        self.connect()

    def connect(self) -> None:
        """Connect to the kernel's channels; an earlier connection is closed."""
        if self.socket is not None:
            self.socket.close()
        made = import_module("websocket").create_connection
        self.socket = made(self._address, cookie=self._cookies, origin=self._hub, timeout=120)

    def run(self, code: str) -> tuple[str, str]:
        """Run code; return the status with the error's name, and the text output."""
        number = uuid.uuid4().hex
        header = {"msg_id": number, "msg_type": "execute_request", "username": "", "session": number, "version": "5.3"}
        content: dict[str, Any] = {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
        self.socket.send(
            json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"})
        )
        status, shown, idle = "", "", False
        # The reply and the outputs come on different channels in any order; only the idle status ends the outputs.
        while not (status and idle):
            message = json.loads(self.socket.recv())
            if message["content"].get("execution_state") in ("restarting", "autorestarting", "dead"):
                return "killed", shown
            if message["parent_header"].get("msg_id") != number:
                continue
            kind, body = message["msg_type"], message["content"]
            if kind == "stream":
                shown += body["text"]
            elif kind in ("execute_result", "display_data"):
                shown += body["data"].get("text/plain", "")
            elif kind == "execute_reply":
                status = body["status"] if body["status"] == "ok" else f"{body['ename']}: {body['evalue']}"
            idle |= kind == "status" and body["execution_state"] == "idle"
        return status, shown
