"""A Docker engine of a test's own, beside the machine's: it may be killed, started again, and run out of disk.

Its data stand in a tmpfs of a given size, its containers in cgroups under a name of their own. Wants root and dockerd.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kitlib.node.real import engine
from tests.engine.helpers import until_it_answers

PATIENCE = 60.0


class OwnEngine:
    """A dockerd with everything of it in one folder.

    Args:
        folder: short: a socket's path has a hundred characters at most.
        size: of the disk, for mount(8).
    """

    def __init__(self, folder: Path, size: str) -> None:
        self.folder, self.url = folder, f"unix://{folder}/engine.sock"
        self.disk = folder / "disk"
        self.cgroup = f"/kitlib-{uuid.uuid4().hex[:8]}"
        self.disk.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "kitlib-test", str(self.disk)], check=True)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *more: str) -> None:
        """Start it, with more options, and wait until it answers."""
        command = [
            *("dockerd", "--bridge=none", "--iptables=false", "--ip-forward=false", "--host", self.url),
            *("--data-root", f"{self.disk}/data", "--exec-root", f"{self.folder}/run"),
            *("--pidfile", f"{self.folder}/pid", "--cgroup-parent", self.cgroup, *more),
            *("--exec-opt", "native.cgroupdriver=cgroupfs"),  # a parent of systemd's would be a slice
        ]
        for stale in ("pid", "run/containerd/containerd.pid"):  # of one that was killed: its number may be a zombie's
            Path(self.folder, stale).unlink(missing_ok=True)
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        until_it_answers(self.client, self._process, self.folder / "log", PATIENCE, "no second engine")

    def client(self) -> Any:
        """A client of this engine; the caller closes it."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DOCKER_HOST", self.url)
            return engine.connect()

    def kill(self) -> None:
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it as the system's shutdown does; its containers are stopped."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(PATIENCE)
            self._process = None

    def fill(self, leave: int) -> Path:
        """Fill the disk but for some bytes; the file that does it."""
        filler = self.disk / "filler"
        free = os.statvfs(self.disk)
        with open(filler, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, free.f_bavail * free.f_bsize - leave))
        return filler

    def left(self) -> list[str]:
        """What is still there of its containers: cgroups, mounts, processes, those that hold their streams too."""
        cgroups = [p for top in self._tops() for p in top.iterdir() if p.is_dir()]
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        inside = [p for p in mounts if p.startswith((f"{self.disk}/data/", f"{self.folder}/run"))]
        return [f"cgroup {p}" for p in cgroups] + [f"mount {p}" for p in inside] + self._processes()

    def _tops(self) -> list[Path]:
        """The cgroup of all containers: one on v2, one of each hierarchy on v1."""
        mounts = Path("/sys/fs/cgroup")
        places = [Path(f"{place}{self.cgroup}") for place in (mounts, *mounts.iterdir())]
        return [place for place in places if place.is_dir()]

    def _processes(self) -> list[str]:
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                told = (place / "cgroup").read_text() + (place / "cmdline").read_text()
            except OSError:
                continue
            if f"{self.cgroup}/" in told or ("containerd-shim" in told and str(self.folder) in told):
                found.append(f"process {place.name}")
        return found

    def gone(self, seconds: float) -> list[str]:
        """What is left after at most that time."""
        deadline = time.monotonic() + seconds
        while (left := self.left()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

    def close(self) -> None:
        """End it with all that it runs, also where a test has failed half-way."""
        if self._process is None:
            self.start()
        client = self.client()
        for one in client.api.containers(all=True):
            client.api.remove_container(one["Id"], force=True)
        client.close()
        self.stop()
        for place in (self.disk / "data", self.disk):
            subprocess.run(["umount", "-l", str(place)], check=False, stderr=subprocess.DEVNULL)
        for place in self._tops():
            place.rmdir()
        shutil.rmtree(self.folder, ignore_errors=True)


def own_engine(size: str) -> Iterator[OwnEngine]:
    """Start one for a fixture; where this machine cannot, the test is skipped (or fails, where docker is required)."""
    why = ""
    if os.geteuid() != 0:
        why = "only root can start an engine of its own"
    elif shutil.which("dockerd") is None:
        why = "there is no dockerd"
    if why:
        if "docker" in os.environ.get("KITLIB_REQUIRE", "").split(","):
            pytest.fail(f"KITLIB_REQUIRE names docker: {why}")
        pytest.skip(why)
    made = OwnEngine(Path(f"/tmp/kitlib-{uuid.uuid4().hex[:8]}"), size)
    try:
        made.start()
        yield made
    finally:
        made.close()


def give_image(target: Any) -> None:
    """Put the nodes' image of the machine's engine into another one (whatever has a `client`)."""
    from kitlib.node.real import image

    source, client = engine.connect(), target.client()
    try:
        name = image.ensure(source)
        with engine.patiently(client):
            client.images.load(source.api.get_image(name, chunk_size=1 << 20))
    finally:
        source.close()
        client.close()
