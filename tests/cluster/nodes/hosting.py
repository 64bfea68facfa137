"""A cluster that hosts nodes: simulated, served over HTTPS; who attaches to a pod there finds a node's agent.

A simulated container runs no programs, so the agent is played: it speaks the nodes' protocol and says that every pod
runs. Real agents in real pods are in tests/engine.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from kitlib.api.errors import KitError, NotFound
from kitlib.api.streams import Heard, StreamEvent
from kitlib.apiserver.http.server import GenericAPIServer
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.simulated import SimulatedNode
from kitlib.node.real import protocol

FACTS = {
    "version": 2,
    "limits": ["played"],
    "kernel": "6.1",
    "systemd": "",
    "controllers": ["cpu", "memory"],
    "lowest_score": -1000,
    "cpus": [0, 1],
    "seconds": 0.1,
    "began": 0.0,
}
KNOWN: dict[str, Any] = {"start": FACTS, "sync": 1.0, "alive": 1.0, "objects": None}
"""Requests that are answered -> with what."""
NAMESPACE = "rooms"
ADMIN_MAKES = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
    {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": NAMESPACE}},
]


class PlayedAgent:
    """An agent behind an attached stream; with the stream its container ends, as `stdinOnce` says."""

    def __init__(self, host: Hosting, node: SimulatedNode, pod: str, container: str, heard: Heard) -> None:
        self._host, self._node, self._where, self._heard = host, node, (pod, container), heard
        self._rest = b""

    def write(self, data: bytes) -> None:
        self._heard(StreamEvent(taken=len(data)))
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            asked = protocol.decode(line)
            self._host.asked.append(asked)
            if asked["do"] not in KNOWN:
                self._say({"id": asked["id"], "error": protocol.error_to_data(KitError("it is only played"))})
                continue
            ok: Any = KNOWN[asked["do"]]
            if asked["do"] == "sync":
                for pod in asked["pods"]:
                    about = [pod["metadata"]["namespace"], pod["metadata"]["name"], pod["metadata"]["uid"]]
                    self._say({"report": "status", "pod": about, "status": {"phase": "Running"}})
            self._say({"id": asked["id"], "ok": ok})

    def _say(self, message: Mapping[str, Any]) -> None:
        self._heard(StreamEvent(data=protocol.encode(message)))

    def end_input(self) -> None:
        self.close()

    def resize(self, width: int, height: int) -> None: ...

    def more(self, size: int) -> None: ...

    def close(self) -> None:
        with self._host.service.lock:
            self._host.ended.append(self._where[0])
            with suppress(NotFound):  # the pod has been deleted already
                self._node.kernel.kill(self._node.process(*self._where, NAMESPACE).pid, 143)
                self._node.kubelet.tick()


class Hosting:
    """The served cluster.

    Attributes:
        cluster, service: of the host.
        kubeconfig: path of the administrator's.
        asked: what owners asked of their agents.
        ended: pods whose stream has ended.
    """

    def __init__(self, cluster: Any, folder: Path) -> None:
        self.cluster = cluster
        self.kubeconfig = folder / "kubeconfig"
        self.service = GenericAPIServer(cluster, kubeconfig_path=self.kubeconfig, pace=20.0)
        self.asked: list[dict[str, Any]] = []
        self.ended: list[str] = []
        self._changed = threading.Event()
        cluster.api.store.subscribe(lambda event: self._changed.set())

    def pods(self) -> list[Any]:
        """The node pods that there are."""
        with self.service.lock:
            return list(self.cluster.pods(NAMESPACE))

    def on_create(self, act: Callable[[Any], None]) -> None:
        """Do something with every node pod that is created."""

        def heard(event: Any) -> None:
            if event.type == "ADDED" and event.object.kind == "Pod":
                act(event.object)

        self.cluster.api.store.subscribe(heard)

    def wait(self, until: Callable[[list[Any]], bool], within: float = 60.0) -> None:
        """Wait until the node pods are as they must become."""
        deadline = time.monotonic() + within
        while not until(self.pods()):
            assert self._changed.wait(deadline - time.monotonic()), names(self.pods())
            self._changed.clear()

    def as_user(self, name: str, folder: Path) -> Path:
        """A kubeconfig of a user who has only the rights that roles give."""
        self.service.add_user(name)
        config = self.service.config
        config["current-context"] = f"kitlib-{name}"
        path = folder / f"kubeconfig-{name}"
        path.write_text(yaml.safe_dump(config))
        return path


@contextmanager
def hosting(monkeypatch: pytest.MonkeyPatch, folder: Path, **options: Any) -> Iterator[Hosting]:
    """Serve a cluster of two machines with a namespace for node pods."""
    with Cluster.simulated([{"cpus": 16, "memory": "64Gi", "count": 2, "name": "machine"}], **options) as cluster:
        cluster.apply(ADMIN_MAKES)
        host = Hosting(cluster, folder)

        def attach(
            node: SimulatedNode, namespace: str, pod: str, container: str, heard: Heard, *, stdin: bool, tty: bool
        ) -> PlayedAgent:
            assert stdin and not tty
            return PlayedAgent(host, node, pod, container, heard)

        monkeypatch.setattr(SimulatedNode, "attach", attach)
        with host.service:
            yield host


def names(pods: Sequence[Any]) -> list[str]:
    return sorted(pod.name for pod in pods)
