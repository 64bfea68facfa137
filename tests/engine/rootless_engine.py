"""A Podman of an ordinary user, beside the machine's engine: on cgroup v2 with a cgroup that was delegated to the user.

The user, its home and the cgroup are made for the test and go with it. Wants root, useradd, podman and newuidmap.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.node.real import engine
from tests.engine.helpers import SLOW, until_it_answers

MOUNT = Path("/sys/fs/cgroup")
DELEGATED = ("cpuset", "cpu", "io", "memory", "pids")
"""What the documentation of rootless Kubernetes has systemd delegate to user@.service."""
OWN = ("podman", "podman pause", "catatonit")
"""Processes of the engine itself: the service, and what holds the user's namespaces."""
_OWNED = ("cgroup.procs", "cgroup.threads", "cgroup.subtree_control")
_ENTER = 'echo $$ >"$0"; name=$1; shift; exec setpriv --reuid "$name" --regid "$name" --init-groups "$@"'
"""Only root may take a process into a cgroup that was delegated."""
_SETTINGS = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
events_logger = "file"
"""


class RootlessEngine:
    """`podman system service` of a user of its own.

    Args:
        name: of the user.

    Attributes:
        url: of its socket.
        delegated: cgroup of the user; None on cgroup v1, where there is no such thing.
        parent: the same, as an engine is told it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        subprocess.run(["useradd", "--create-home", "--shell", "/bin/sh", name], check=True, capture_output=True)
        self.user = pwd.getpwnam(name)
        self.home = Path(self.user.pw_dir)
        self.runtime = Path(f"/tmp/{name}")
        self.url = f"unix://{self.runtime}/podman.sock"
        self.delegated = MOUNT / name / "user" if (MOUNT / "cgroup.controllers").exists() else None
        self.parent = f"/{name}/user"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *controllers: str) -> None:
        """Start it and wait until it answers.

        Args:
            controllers: of cgroup v2 that are delegated to it.
        """
        self.runtime.mkdir(mode=0o700)
        settings = self.home / "containers.conf"
        settings.write_text(_SETTINGS)
        for place in (self.runtime, settings):
            os.chown(place, self.user.pw_uid, self.user.pw_gid)
        self._delegate(controllers)
        words = ["podman", "--cgroup-manager", "cgroupfs", "--storage-driver", "overlay" if self.delegated else "vfs"]
        known = {"HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.runtime), "CONTAINERS_CONF": str(settings)}
        with open(self.home / "log", "ab") as log:
            self._process = subprocess.Popen(
                [
                    "sh",
                    "-c",
                    _ENTER,
                    str(self._leaf()),
                    self.name,
                    *words,
                    "system",
                    "service",
                    "--time",
                    "0",
                    self.url,
                ],
                env={**known, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until_it_answers(self.client, self._process, self.home / "log", 20 * SLOW, "no engine without root")

    def _delegate(self, controllers: tuple[str, ...]) -> None:
        """Make the user's cgroup, with a leaf for the engine itself. Source: admin-guide/cgroup-v2.rst "Delegation"."""
        if self.delegated is None:
            return
        (self.delegated / "service").mkdir(parents=True)
        wanted = " ".join(f"+{one}" for one in controllers)
        for place in (MOUNT, self.delegated.parent, self.delegated):
            (place / "cgroup.subtree_control").write_text(wanted)
        for place in (self.delegated, self.delegated / "service"):
            for one in (place, *(place / name for name in _OWNED)):
                os.chown(one, self.user.pw_uid, self.user.pw_gid)

    def _leaf(self) -> Path:
        """Where the engine itself stands."""
        return Path(os.devnull) if self.delegated is None else self.delegated / "service" / "cgroup.procs"

    def client(self) -> Any:
        """A client of this engine; the caller closes it."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DOCKER_HOST", self.url)
            return engine.connect()

    def standing(self) -> list[str]:
        """Everything of nodes that is there: containers, cgroups, processes."""
        client = self.client()
        found = [f"container {one['Id']}" for one in client.api.containers(all=True)]
        client.close()
        if self.delegated is not None:
            found += [f"cgroup {p}" for p in self.delegated.rglob("libpod-*") if p.is_dir()]
        return found + [f"process {name}" for name in self._processes() if name not in OWN]

    def _processes(self) -> list[str]:
        """Names of the processes of the user, and of those that its containers' users are on the host."""
        first = next(
            int(line.split(":")[1]) for line in Path("/etc/subuid").read_text().splitlines() if self.name in line
        )
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                owner = place.stat().st_uid
                if owner == self.user.pw_uid or first <= owner < first + 65536:
                    found.append((place / "comm").read_text().strip())
        return found

    def gone(self, seconds: float) -> list[str]:
        """What is left after at most that time, on a machine that is not emulated."""
        deadline = time.monotonic() + seconds * SLOW
        while (left := self.standing()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left

    def stop(self) -> None:
        """End it with all that it runs; its images stay."""
        if self._process is not None:
            with suppress(KitError):
                client = self.client()
                for one in client.api.containers(all=True):
                    client.api.remove_container(one["Id"], force=True)
                client.close()
            self._process.terminate()
            self._process.wait(20 * SLOW)
            self._process = None
        self._kill()
        shutil.rmtree(self.runtime, ignore_errors=True)
        if self.delegated is not None:
            for place in sorted((MOUNT / self.name).rglob("*"), reverse=True):
                if place.is_dir():
                    place.rmdir()
            with suppress(FileNotFoundError):
                (MOUNT / self.name).rmdir()

    def _kill(self) -> None:
        """What holds the user's namespaces stays behind a service that has ended."""
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if place.stat().st_uid == self.user.pw_uid:
                    os.kill(int(place.name), 9)
        deadline = time.monotonic() + 5 * SLOW
        while self._processes() and time.monotonic() < deadline:
            time.sleep(0.05)

    def close(self) -> None:
        """End it; the user goes too."""
        self.stop()
        for line in Path("/proc/mounts").read_text().splitlines():
            if line.split()[1].startswith(f"{self.home}/"):
                subprocess.run(["umount", "-l", line.split()[1]], check=False)
        subprocess.run(["userdel", "--remove", self.name], check=False, capture_output=True)
        shutil.rmtree(self.home, ignore_errors=True)


def rootless_engine() -> Iterator[RootlessEngine]:
    """Make one for a fixture; where this machine cannot, the test is skipped (or fails, where docker is required)."""
    why = "only root can make a user" if os.geteuid() != 0 else ""
    for program in ("podman", "newuidmap", "useradd"):
        if not why and shutil.which(program) is None:
            why = f"there is no {program}"
    if why:
        if "docker" in os.environ.get("KITLIB_REQUIRE", "").split(","):
            pytest.fail(f"KITLIB_REQUIRE names docker: {why}")
        pytest.skip(why)
    made = RootlessEngine(f"kit{uuid.uuid4().hex[:8]}")
    try:
        yield made
    finally:
        made.close()
