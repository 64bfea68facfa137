"""What an owner keeps of pods that have gone: of a cluster whose containers are threads of this process."""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from kitlib.api.meta import KubeStruct
from kitlib.apiserver.store import events, store
from kitlib.apiserver.store.watch_events import WatchEvent
from kitlib.cluster.control_plane import local
from kitlib.cluster.control_plane.container.agent import ControlPlane
from kitlib.cluster.control_plane.container.client import ContainerControlPlaneClient
from kitlib.cluster.control_plane.docker import DockerCluster
from kitlib.cluster.control_plane.options import ClusterOptions
from kitlib.cluster.control_plane.polling import PollingCluster
from kitlib.cluster.journal import Journal
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.node.real import protocol
from kitlib.node.real.link import Lines, Link
from kitlib.scheduler.framework import snapshot
from kitlib.scheduler.framework.pod_info import PodInfo

FACTS = {"version": 2, "controllers": ["cpu", "cpuset", "memory", "pids"], "lowest_score": -1000, "kernel": "6.1"}
FACTS |= {"systemd": "", "cpus": [0, 1, 2, 3], "limits": [], "seconds": 0.0, "began": 0.0}
POD = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c", "image": "x"}]}}


class Far:
    """The far end of a container's streams, served by a thread; `line` takes each request."""

    def __init__(self) -> None:
        self.near, self._far = socket.socketpair()
        self._lock = threading.Lock()

    def start(self) -> None:
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def line(self, line: bytes) -> None:
        raise NotImplementedError

    def send(self, line: bytes) -> None:
        """As an engine sends what a container has written to standard output."""
        with self._lock, suppress(OSError):
            self._far.sendall(b"\x01\0\0\0" + len(line).to_bytes(4, "big") + line)

    def _serve(self) -> None:
        lines = Lines(protocol.MAX_LINE)
        with suppress(OSError):
            while piece := self._far.recv(1 << 16):
                for one in lines.feed(piece):
                    self.line(one)
        self.ended()

    def ended(self) -> None:
        self._far.close()


class FarNode(Far):
    """A node whose pods succeed at once."""

    def line(self, line: bytes) -> None:
        asked = protocol.decode(line)
        answer = {"start": FACTS, "sync": 0.0}.get(asked["do"])
        self.send(protocol.encode({"report": "lease"}))
        if asked["do"] == "sync":
            for pod in asked["pods"]:
                self._run(pod["metadata"], pod.get("status", {}).get("phase", ""))
        self.send(protocol.encode({"id": asked["id"], "ok": answer}))

    def _run(self, meta: dict[str, Any], phase: str) -> None:
        key = [meta["namespace"], meta["name"], meta["uid"]]
        if "deletionTimestamp" in meta:
            self.send(protocol.encode({"report": "gone", "pod": key}))
        elif phase == "Pending":
            said = {"kind": "Normal", "reason": "Started", "message": "Started container c"}
            self.send(protocol.encode({"report": "event", "pod": key, **said}))
            self.send(protocol.encode({"report": "status", "pod": key, "status": {"phase": "Succeeded"}}))


class FarControl(Far):
    """A control plane over pipes."""

    def __init__(self) -> None:
        super().__init__()
        reads, self._to = os.pipe()
        self._from, writes = os.pipe()
        self._held = (reads, self._from, writes)
        self.plane = threading.Thread(target=ControlPlane(reads, writes).run, daemon=True)
        self.plane.start()
        self._pump = threading.Thread(target=self._answers, daemon=True)
        self._pump.start()

    def line(self, line: bytes) -> None:
        protocol.write(self._to, line + b"\n")

    def _answers(self) -> None:
        with suppress(OSError):
            while piece := os.read(self._from, 1 << 16):
                self.send(piece)

    def ended(self) -> None:
        os.close(self._to)
        self.plane.join()
        os.close(self._held[2])
        self._pump.join()
        super().ended()
        for descriptor in self._held[:2]:
            os.close(descriptor)


class Handle:
    def __init__(self, far: Far, name: str, connect: Callable[[str, Any], Link]) -> None:
        self.id, self._far = name, far
        far.start()
        self.link = connect(name, far.near)

    def check(self, facts: object) -> None: ...

    def close(self) -> None:
        self.link.close()
        self._far.thread.join()


class Threads:
    """Provides threads of this process in the place of containers."""

    progress = None

    def __init__(self) -> None:
        self._all: list[Handle] = []

    def provisioner(self) -> Threads:
        return self

    def prepare(self) -> None:
        pass

    def begin(
        self, one: NodePlan, config: NodeConfig, number: int, link: Callable[[str, Any], Link] = Link
    ) -> tuple[Handle, list[str]]:
        self._all.append(Handle(FarNode(), one.name, link))
        return self._all[-1], []

    def begin_control(self, link: Callable[[str, Any], Link]) -> Handle:
        self._all.append(Handle(FarControl(), "control", link))
        return self._all[-1]

    def let_go(self) -> None:
        for one in self._all:
            one.link.close()

    def close(self) -> None:
        for one in self._all:
            one.close()


PLANES: dict[str, Callable[[ClusterOptions, Threads], PollingCluster]] = {
    "container": ContainerControlPlaneClient,
    "process": DockerCluster,
}
BOUNDS = (
    (local, "EXPIRE_EVERY", 0),
    (events, "EVENT_TTL_SECONDS", 0),
    (events, "MAX_LRU_CACHE_ENTRIES", 10),
    (store, "MARK_SECONDS", 0),
    (store, "COMPACTION_SECONDS", 0),
    (snapshot, "MAX_HISTORY", 10),
)
"""Module, name of its bound, seconds or entries: what is kept for a while has gone before it is counted."""
PODS = 60


def until(cluster: PollingCluster, condition: Callable[[PollingCluster], bool]) -> None:
    """Ask until it is so, and do nothing else: `wait` lets time pass, too."""
    end = time.monotonic() + 60
    while not condition(cluster):
        assert time.monotonic() < end
        time.sleep(0.005)


def come_and_go(cluster: PollingCluster, numbers: range) -> tuple[int, int]:
    """Have pods come and go; return the numbers of API objects and entries of journals that this process holds then."""
    cluster.apply([{**POD, "metadata": {"name": f"p{number}"}} for number in numbers])
    until(cluster, lambda c: {pod.status.phase for pod in c.pods()} == {"Succeeded"})
    for number in numbers:
        cluster.delete("Pod", f"p{number}", grace=0)
    until(cluster, lambda c: not c.pods() and not c.events())
    for _ in range(3):  # each side forgets the changes that the other has read
        cluster.refresh()
    gc.collect()
    held = gc.get_objects()
    entries = sum(len(one) for one in held if type(one) is Journal)
    return sum(isinstance(one, KubeStruct | WatchEvent | PodInfo) for one in held), entries


@pytest.mark.parametrize("plane", PLANES)
def test_nothing_is_kept_of_pods_that_have_gone(plane: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by the owner nor by the control plane: only the journal grows, and it stands once."""
    for module, bound, value in BOUNDS:
        monkeypatch.setattr(module, bound, value)
    monkeypatch.setattr(gc, "freeze", lambda: None)  # what a control plane freezes would not be counted
    cluster = PLANES[plane](ClusterOptions.of(1, cpus=4, memory="4Gi"), Threads())
    try:
        objects, entries = come_and_go(cluster, range(PODS))
        later_objects, later_entries = come_and_go(cluster, range(PODS, 3 * PODS))
        assert later_objects - objects < PODS
        assert later_entries - entries == 1 + 2 * PODS  # one `apply`, and a `delete` for each
    finally:
        cluster.close()
