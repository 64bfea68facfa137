"""One learner at a hub, over HTTP as a browser would: log in, start the server, run a notebook's cells, check a lab.

Runs in the environment of the hub: python learner.py HUB NAME PASSWORD OTHER [HOW] < code cells as a JSON list. HOW is
"process", "container" (its memory is limited by a cgroup, so who takes too much is killed) or "leave": log in and out
again. Prints one JSON object: what each step came to.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from typing import Any
from urllib.parse import urlsplit

import requests
import websocket


def token(session: requests.Session, path: str) -> str:
    """The cross-site token of the longest path that fits."""
    fits = [c for c in session.cookies if c.name == "_xsrf" and path.startswith(c.path)]
    return max(fits, key=lambda c: len(c.path)).value or "" if fits else ""


def log_in(session: requests.Session, hub: str, name: str, password: str) -> int:
    session.get(f"{hub}/hub/login")
    data = {"username": name, "password": password, "_xsrf": token(session, "/hub/")}
    return session.post(f"{hub}/hub/login", data=data, allow_redirects=False).status_code


def start(session: requests.Session, hub: str, name: str) -> int:
    """Ask for the server and wait until its pages answer; the last status."""
    answer = session.get(f"{hub}/hub/spawn")
    end = time.monotonic() + 150
    while time.monotonic() < end:
        if answer.status_code >= 400:
            return answer.status_code
        if urlsplit(answer.url).path.startswith(f"/user/{name}/"):
            return answer.status_code
        time.sleep(1)
        answer = session.get(f"{hub}/user/{name}/lab")
        if answer.status_code in (424, 503):  # not there yet
            answer = session.get(f"{hub}/hub/spawn-pending/{name}")
    return 599


class Kernel:
    """A kernel of the learner's server, over its websocket."""

    def __init__(self, session: requests.Session, hub: str, name: str) -> None:
        base = f"/user/{name}/"
        made = session.post(f"{hub}{base}api/kernels", headers={"X-XSRFToken": token(session, base)}, json={})
        made.raise_for_status()
        self._cookies = "; ".join(f"{c.name}={c.value}" for c in session.cookies if base.startswith(c.path))
        self._address = f"{hub.replace('http', 'ws', 1)}{base}api/kernels/{made.json()['id']}/channels"
        self._hub = hub
        self.connect()

    def connect(self) -> None:
        self.socket = websocket.create_connection(self._address, cookie=self._cookies, origin=self._hub, timeout=120)

    def revive(self) -> None:
        """Wait for the kernel that follows a killed one: the server tells of it before it has its ports."""
        end = time.monotonic() + 90
        while time.monotonic() < end:
            self.socket.close()
            time.sleep(1)
            self.connect()
            self.socket.settimeout(5)
            try:
                if self.run("pass")[0] == "ok":
                    self.socket.settimeout(120)
                    return
            except (websocket.WebSocketException, OSError):  # nobody answers there yet
                continue
        raise TimeoutError("the kernel does not come back")

    def run(self, code: str) -> tuple[str, str]:
        """(status with the error's name, what was printed or shown as text)."""
        number = uuid.uuid4().hex
        header = {"msg_id": number, "msg_type": "execute_request", "username": "", "session": number, "version": "5.3"}
        content: dict[str, Any] = {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
        self.socket.send(
            json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"})
        )
        status, shown, idle = "", "", False
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


LIMIT = "import resource; print(resource.getrlimit(resource.RLIMIT_DATA)[0])"
HOG = "hog = bytearray(2_000_000_000)"
CONTAINER_LIMIT = """
import os
from pathlib import Path
file = Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")
print((file if file.exists() else Path("/sys/fs/cgroup/memory.max")).read_text().strip(), os.getuid())
"""
CONTAINER_HOG = "hog = [b'x' * 2**20 for _ in range(2000)]"


def main(hub: str, name: str, password: str, other: str, how: str = "process") -> None:
    session, found = requests.Session(), dict[str, Any](name=name)
    found["login"] = log_in(session, hub, name, password)
    if how == "leave":
        found["logout"] = session.get(f"{hub}/hub/logout").status_code
        print(json.dumps(found))
        return
    began = time.monotonic()
    found["server"] = start(session, hub, name) if found["login"] == 302 else 0
    found["server seconds"] = round(time.monotonic() - began, 1)
    if found["server"] == 200:
        there = session.get(f"{hub}/user/{name}/api/contents/course/notebooks").json()
        found["notebooks"] = len(there["content"])
        kernel, began = Kernel(session, hub, name), time.monotonic()
        found["cells"] = [kernel.run(code)[0] for code in json.load(sys.stdin)]
        found["notebook seconds"] = round(time.monotonic() - began, 1)
        lab = "lab = Lab('01-make-it-guaranteed'); print(lab.check('guaranteed'))"
        found["check"] = kernel.run(f"from kitlib.lab import Lab; {lab}")
        found["closed"] = kernel.run("Lab('02-throttled-on-an-idle-node')")
        found["pid"] = kernel.run("import os; print(os.getpid(), os.getppid())")
        found["limit"] = kernel.run(CONTAINER_LIMIT if how == "container" else LIMIT)
        found["hog"] = kernel.run(CONTAINER_HOG if how == "container" else HOG)
        if found["hog"][0] == "killed":
            kernel.revive()
        found["after"] = kernel.run("print('still here')")
        found["neighbour"] = session.get(f"{hub}/user/{other}/api/contents").status_code
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:6])
