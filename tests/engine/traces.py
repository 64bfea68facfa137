"""What nodes leave behind on this machine: containers, cgroups, mounts, processes."""

from __future__ import annotations

import time
from pathlib import Path

from kitlib.node.real import container, engine
from tests.engine.helpers import SLOW


class Traces:
    """What this machine holds of the nodes of this test, whoever else uses the engine at the same time."""

    def __init__(self, run: str) -> None:
        self._run, self._since, self._client = run, int(time.time()) - 1, engine.connect()
        self._known: set[str] = set()

    def ids(self) -> set[str]:
        """Every container that was ever made in this test; the engine itself remembers the last 256 events only."""
        wanted = {"event": ["create"], "label": [f"{container.RUN}={self._run}"]}
        told = self._client.api.events(since=self._since, until=int(time.time()) + 1, filters=wanted, decode=True)
        self._known |= {event["id"] for event in told}
        return self._known

    def containers(self) -> list[str]:
        """Containers that there are at this moment, and in which state; quicker than all the others."""
        found = self._client.api.containers(all=True, filters={"label": f"{container.RUN}={self._run}"})
        return [f"container {one['Id']} {one['State']}" for one in found]

    def sweep(self) -> None:
        """Remove what was created and never started, as every new cluster does."""
        container.sweep(self._client)

    def left(self) -> list[str]:
        """Containers, cgroups, mounts and processes that are still there."""
        ids = self.ids()
        left = self.containers()
        for place in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"):
            for base in ("docker", "system.slice", "machine.slice", "libpod_parent"):
                top = Path(place, base)
                if top.is_dir():
                    left += [f"cgroup {one}" for one in top.iterdir() if any(i in one.name for i in ids)]
        mounts = Path("/proc/mounts").read_text().splitlines()
        left += [f"mount {line}" for line in mounts if any(i in line for i in ids)]
        return left + [f"process {pid}" for pid in self.processes(ids)]

    @staticmethod
    def processes(ids: set[str]) -> list[str]:
        """Processes that stand in a cgroup of one of these containers."""
        found = []
        for place in Path("/proc").glob("[0-9]*/cgroup"):
            try:
                where = place.read_text()
            except OSError:
                continue
            if any(i in where for i in ids):
                found.append(place.parent.name)
        return found

    def gone(self, seconds: float) -> list[str]:
        """What is left after at most that time, on a machine that is not emulated."""
        deadline = time.monotonic() + seconds * SLOW
        while True:
            left = self.left()
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.05)
