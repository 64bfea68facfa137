"""A soak of one real node: a pod begins every few seconds for hours, and each minute a line says what was held.

Run by `test_soak.py`; by hand: `python -m tests.engine.soak SECONDS FILE`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from kitlib.cluster import Cluster
from kitlib.node.real import engine

BEAT = 5.0
"""Seconds from the beginning of one pod to the next one's."""


def figures_of(pid: int) -> dict[str, float]:
    """Read what one process holds: private memory (KiB), threads, descriptors, and the CPU seconds it has used."""
    folder = Path("/proc", str(pid))
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
    stat = (folder / "stat").read_text().rsplit(")", 1)[1].split()
    return {
        "anon_kb": int(status["RssAnon"].split()[0]),
        "threads": int(status["Threads"]),
        "descriptors": len(os.listdir(folder / "fd")),
        "cpu_seconds": (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK"),
    }


def child_of(container: str) -> int:
    """Find the Python process that the watchdog of a container (its id) runs: the agent's, or the control plane's.

    From /proc, because `docker top` needs the time of boot, which User Mode Linux does not have.
    """
    client = engine.connect()
    watchdog = client.containers.get(container).attrs["State"]["Pid"]
    client.close()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, rest = (folder / "stat").read_text().rsplit(")", 1)
        except OSError:  # it ended meanwhile
            continue
        if int(rest.split()[1]) == watchdog and "python" in name:
            return int(folder.name)
    raise LookupError(f"process {watchdog} has no Python process as its child")


def simple(name: str) -> dict[str, Any]:
    """Make a pod that ends by itself after a moment."""
    container = {"name": "c", "image": "x", "command": ["sh", "-c", "echo hello; sleep 0.3"]}
    spec = {"terminationGracePeriodSeconds": 0, "restartPolicy": "Never", "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def soak(seconds: float, file: Path, pause: float = 60.0) -> None:
    """Begin a pod each beat and delete those that have ended; append a row of figures to the file each minute."""
    with Cluster.docker([{"name": "n1", "memory": "512Mi"}], control_plane="container") as cluster:
        containers = {"agent": cluster.node("n1").container.id, "plane": cluster._relay.control.id}
        processes = {"owner": os.getpid(), **{name: child_of(one) for name, one in containers.items()}}
        began = time.monotonic()
        made = ended = 0
        next_row = BEAT * 2  # what is loaded at the first use is there by then
        while (now := time.monotonic() - began) < seconds or ended < made:
            gone = [pod.name for pod in cluster.pods() if pod.status.phase in ("Succeeded", "Failed")]
            for name in gone:
                cluster.delete("Pod", name, grace=0)
            ended += len(gone)
            if now < seconds:
                cluster.apply(simple(f"p{made}"))
                made += 1
            if now >= next_row or now >= seconds:
                next_row = now + pause
                row = {"seconds": round(now), "made": made, "ended": ended, "journal": len(cluster.journal)}
                with file.open("a") as lines:
                    print(json.dumps({**row, **{k: figures_of(p) for k, p in processes.items()}}), file=lines)
            time.sleep(max(BEAT - (time.monotonic() - began - now), 0.1))
        ready = next(c.status for c in cluster.get("Node", "n1").status.conditions if c.type == "Ready")
        unready = [event.message for event in cluster.events() if event.reason == "NodeNotReady"]
        left = len(cluster.pods())
        with file.open("a") as lines:
            print(json.dumps({"ready": ready, "unready": unready, "left": left, "ended": ended}), file=lines)


if __name__ == "__main__":
    soak(float(sys.argv[1]), Path(sys.argv[2]))
