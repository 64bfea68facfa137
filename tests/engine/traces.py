"""What nodes leave behind on this machine: containers, cgroups, mounts, processes."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from docker.errors import APIError

from kitlib.node.real import container, engine
from tests.engine.helpers import SLOW

HOLDERS = (b"containerd-shim-runc-v2", b"containerd-shim", b"conmon", b"podman", b"runc", b"crun")


class Traces:
    """What this machine holds of the nodes of this test, also while others use the engine."""

    def __init__(self, run: str) -> None:
        self._run, self._since, self._client = run, int(time.time()) - 1, engine.connect()
        self._known: set[str] = set()
        self._data = str(self._client.info().get("DockerRootDir", ""))
        self._before = self._layers()

    def ids(self) -> set[str]:
        """Every container that was ever made in this test; the engine itself remembers the last 256 events only."""
        wanted = {"event": ["create"], "label": [f"{container.RUN}={self._run}"]}
        told = self._client.api.events(since=self._since, until=int(time.time()) + 1, filters=wanted, decode=True)
        self._known |= {event["id"] for event in told}
        # Podman writes its events to a file, which may be behind
        self._known |= {one["Id"] for one in self._containers()}
        return self._known

    def _containers(self) -> list[dict[str, str]]:
        found: list[dict[str, str]] = self._client.api.containers(
            all=True, filters={"label": f"{container.RUN}={self._run}"}
        )
        return found

    def containers(self) -> list[str]:
        """Containers that there are at this moment, and in which state; quicker than all the others."""
        return [f"container {one['Id']} {one['State']}" for one in self._containers()]

    def sweep(self) -> None:
        """Remove what was created and never started, as every new cluster does."""
        container.sweep(self._client)

    def left(self) -> list[str]:
        """Containers, cgroups, mounts and processes that are still there."""
        ids = self.ids()
        left = self.containers()
        for top in self._parents():
            left += [f"cgroup {one}" for one in top.iterdir() if any(i in one.name for i in ids)]
        left += [f"mount {place}" for place in self._mounts(ids)]
        return left + [f"process {pid}" for pid in {*self.processes(ids), *self.holders(ids)}]

    @staticmethod
    def _parents() -> list[Path]:
        """Where engines put their containers' cgroups: in each hierarchy on v1."""
        mounts = Path("/sys/fs/cgroup")
        names = ("docker", "system.slice", "machine.slice", "libpod_parent")
        places = [place / name for place in (mounts, *mounts.iterdir()) for name in names]
        return [place for place in places if place.is_dir()]

    def _mounts(self, ids: set[str]) -> list[str]:
        """Mounts that carry a container's id, and file systems of containers that no container of the engine has."""
        first = self._layers()
        others = set()
        for one in self._client.api.containers(all=True):
            with suppress(APIError):  # another test's, which goes in this moment
                found = self._client.api.inspect_container(one["Id"]).get("GraphDriver") or {}
                others.add(str((found.get("Data") or {}).get("MergedDir", "")))
        named = [
            line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if any(i in line for i in ids)
        ]
        return sorted({*named, *(first & self._layers()) - self._before - others})

    def _layers(self) -> set[str]:
        """The root file systems of containers that the engine has mounted: their names are not the containers' ids."""
        places = {line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()}
        return {p for p in places if self._data and p.startswith(f"{self._data}/") and p.endswith("/merged")}

    @staticmethod
    def holders(ids: set[str]) -> list[str]:
        """The engine's own processes for one of these containers: a shim, a monitor, a clean-up."""
        found = []
        for place in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                words = place.read_bytes().split(b"\0")
                if words[0].rpartition(b"/")[2] in HOLDERS and any(i.encode() in words for i in ids):
                    found.append(place.parent.name)
        return found

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
