"""One learner at a hub, over HTTP as a browser would: log in, start the server, run a notebook's cells, check a lab.

Runs in the environment of the hub: python learner.py HUB NAME OWN ROOM OTHER [HOW] < code cells as a JSON list. OWN is
the learner's own word, ROOM the room's. HOW is "process", "container" (its memory is limited by a cgroup, so who takes
too much is killed) or "leave": log in and out again. Prints one JSON object: what each step came to.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import websocket

from kitlib.workshop import hub_client
from kitlib.workshop.hub_client import RemoteKernel, log_in, start


def revive(kernel: RemoteKernel) -> None:
    """Wait for the kernel that follows a killed one: the server tells of it before it has its ports."""
    end = time.monotonic() + 90
    while time.monotonic() < end:
        time.sleep(1)
        kernel.connect()
        kernel.socket.settimeout(5)
        try:
            if kernel.run("pass")[0] == "ok":
                kernel.socket.settimeout(120)
                return
        except (websocket.WebSocketException, OSError):  # its ports do not answer yet
            continue
    raise TimeoutError("the kernel does not come back")


LIMIT = "import resource; print(resource.getrlimit(resource.RLIMIT_DATA)[0])"
HOG = "hog = bytearray(2_000_000_000)"
CONTAINER_LIMIT = """
import os
from pathlib import Path
file = Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")
print((file if file.exists() else Path("/sys/fs/cgroup/memory.max")).read_text().strip(), os.getuid())
"""
CONTAINER_HOG = "hog = [b'x' * 2**20 for _ in range(2000)]"


def main(hub: str, name: str, own: str, room: str, other: str, how: str = "process") -> None:
    session, found = hub_client.session(), dict[str, Any](name=name)
    found["login"] = log_in(session, hub, name, own, room)
    if how == "leave":
        found["logout"] = session.get(f"{hub}/hub/logout").status_code
        print(json.dumps(found))
        return
    began = time.monotonic()
    found["server"] = start(session, hub, name)[0] if found["login"] == 302 else 0
    found["server seconds"] = round(time.monotonic() - began, 1)
    if found["server"] == 200:
        there = session.get(f"{hub}/user/{name}/api/contents/course/notebooks").json()
        found["notebooks"] = sum(one["type"] == "notebook" for one in there["content"])
        kernel, began = RemoteKernel(session, hub, name), time.monotonic()
        found["cells"] = [kernel.run(code)[0] for code in json.load(sys.stdin)]
        found["notebook seconds"] = round(time.monotonic() - began, 1)
        lab = "lab = Lab('01-make-it-guaranteed'); print(lab.check('guaranteed'))"
        found["check"] = kernel.run(f"from kitlib.lab import Lab; {lab}")
        found["closed"] = kernel.run("Lab('02-throttled-on-an-idle-node')")
        found["pid"] = kernel.run("import os; print(os.getpid(), os.getppid())")
        found["limit"] = kernel.run(CONTAINER_LIMIT if how == "container" else LIMIT)
        found["hog"] = kernel.run(CONTAINER_HOG if how == "container" else HOG)
        if found["hog"][0] == "killed":
            revive(kernel)
        found["after"] = kernel.run("print('still here')")
        found["neighbour"] = session.get(f"{hub}/user/{other}/api/contents").status_code
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:7])
