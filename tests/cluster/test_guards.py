"""A defect behind the boundary fails one object, which says so; its traceback is logged, and everything else goes on.

The defects are put in: every loop over objects is made to raise at one of two objects.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from kitlib.apiserver.admission import binding
from kitlib.cluster import Cluster
from kitlib.cluster.nodes.simulated import SimulatedNode
from kitlib.controllers.descriptors import CONTROLLERS, ControllerDescriptor
from kitlib.controllers.manager import ControllerManager
from kitlib.kubelet.loop.admission import Admission
from kitlib.kubelet.loop.cgroups import CgroupManager
from kitlib.kubelet.loop.evicting import Evicting
from kitlib.kubelet.loop.garbage import KubeletGarbageCollector
from kitlib.kubelet.loop.pod_syncer import PodSyncer
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.loop.pulling import ImagePuller
from kitlib.kubelet.loop.resizing import Resizer
from kitlib.kubelet.loop.starter import ContainerStarter
from kitlib.kubelet.loop.watcher import Watcher
from kitlib.node.real.agent import Agent
from kitlib.scheduler.framework.node_plugin import NodePlugin
from kitlib.scheduler.scheduler import Scheduler

CONTAINER = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "64Mi"}}}


class Defect(Exception):
    """Nobody expects it."""


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [CONTAINER], **spec}}


def name_of(one: Any) -> str:
    """The name of the object that an argument is about."""
    for attribute in ("pod", "object", "new"):
        one = getattr(one, attribute, one)
    return str(getattr(one, "name", one if isinstance(one, str | tuple) else ""))


def break_at(monkeypatch: pytest.MonkeyPatch, where: Any, method: str, bad: str = "bad") -> None:
    """Have a method raise where an argument, or one of a list, is about the object `bad`."""
    original = getattr(where, method)

    def broken(self: Any, *args: Any, **kwargs: Any) -> Any:
        about = [self, *args, *kwargs.values()]
        listed = [one for each in about for one in (each if isinstance(each, list | tuple) else [each])]
        if any(name_of(one) == bad for one in listed):
            raise Defect("put in")
        return original(self, *args, **kwargs)

    monkeypatch.setattr(where, method, broken)


def events(cluster: Any, about: str) -> set[str]:
    return {event.reason for event in cluster.events(about)}


@pytest.mark.parametrize(
    ("where", "method"),
    [
        (PodWorker, "__init__"),
        (PodWorker, "status"),
        (PodWorker, "phase"),
        (PodWorker, "to_start"),
        (PodSyncer, "report"),
        (Admission, "admit"),
        (Resizer, "work"),
        (Resizer, "finish"),
        (CgroupManager, "_wanted"),
        (ContainerStarter, "start"),
        (ImagePuller, "ensure"),
    ],
)
def test_a_pod_at_which_the_kubelet_fails_fails_alone(
    where: Any, method: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    break_at(monkeypatch, where, method)
    cluster = Cluster.simulated(1)
    cluster.apply([pod("before"), pod("bad"), pod("after")])
    if where is Resizer:  # it works on pods with a resize only
        cluster.resize("bad", {"c": {"requests": {"cpu": "200m"}}})
    cluster.advance(30)
    assert {p.name: p.status.phase for p in cluster.pods()} == {
        "before": "Running",
        "bad": "Failed",
        "after": "Running",
    }
    assert cluster.pod("bad").status.reason == "InternalError"
    assert "Defect: put in" in cluster.pod("bad").status.message
    assert "FailedSync" in events(cluster, "bad")
    assert cluster.node().differences() == []
    assert "Traceback" in caplog.text and "pod default/bad" in caplog.text.replace("Pod(", "pod default/bad")
    cluster.delete("Pod", "bad", grace=0)
    cluster.apply(pod("later"))
    cluster.advance(30)
    assert {p.name for p in cluster.pods()} == {"before", "after", "later"}
    assert cluster.pod("later").status.phase == "Running"


def test_a_pod_whose_end_fails_goes_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster.simulated(1)
    cluster.apply([pod("good"), pod("bad")])
    break_at(monkeypatch, PodSyncer, "_forget_terminated")
    cluster.delete("Pod", "bad", grace=0)
    cluster.advance(60)
    assert [p.name for p in cluster.pods()] == ["good"]
    assert [p.pod.name for p in cluster.node().kubelet.workers] == ["good"]


@pytest.mark.parametrize(
    ("where", "method", "seconds"),
    [
        (KubeletGarbageCollector, "tick", 5),
        (Watcher, "look", 30),
        (Watcher, "report_conditions", 30),
        (Evicting, "watch", 30),
    ],
)
def test_a_part_of_the_kubelets_look_that_fails_leaves_the_others(
    where: Any, method: str, seconds: float, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> None:
        raise Defect("put in")

    cluster = Cluster.simulated(1)
    monkeypatch.setattr(where, method, broken)
    cluster.apply(pod("web", restartPolicy="Always"))
    cluster.advance(seconds)
    cluster.node().signal("web", "c", 9)
    cluster.advance(seconds)
    assert cluster.pod("web").status.container_statuses[0].restart_count == 1
    assert "KubeletError" in events(cluster, "node-1")
    assert caplog.text.count("Traceback") == 1  # the same one is logged once


def test_a_pod_at_which_the_scheduler_fails_waits_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    break_at(monkeypatch, Scheduler, "schedule")
    cluster = Cluster.simulated(1)
    cluster.apply([pod("before"), pod("bad"), pod("after")])
    assert {p.name: bool(p.spec.node_name) for p in cluster.pods()} == {"before": True, "bad": False, "after": True}
    condition = next(c for c in cluster.pod("bad").status.conditions if c.type == "PodScheduled")
    assert (condition.reason, condition.message) == ("SchedulerError", "Defect: put in")
    assert "FailedScheduling" in events(cluster, "bad") and "Traceback" in caplog.text
    assert cluster.decision("bad").message == "Defect: put in" and cluster.decision("bad").explain()
    monkeypatch.undo()
    cluster.advance(400)  # its back-off, then the flush of those that nothing wakes
    assert cluster.pod("bad").status.phase == "Running"


def test_a_binding_that_fails_gives_the_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster.simulated(1, cpus=1)
    cluster.load()
    bind = binding.bind

    def broken(api: Any, name: str, *rest: Any) -> Any:
        if name == "bad":
            raise Defect("put in")
        return bind(api, name, *rest)

    monkeypatch.setattr(binding, "bind", broken)
    most = {**CONTAINER, "resources": {"requests": {"cpu": "900m"}}}
    cluster.apply(pod("bad", containers=[most]))
    assert not cluster.pod("bad").spec.node_name
    cluster.apply(pod("good", containers=[most]))
    assert cluster.pod("good").spec.node_name == "node-1"


def test_a_plugin_of_the_users_that_fails_is_an_error_of_the_cycle() -> None:
    class Mine(NodePlugin):
        name = "Mine"

        def filter_node(self, pod: Any, node: Any, pods: Any) -> str:
            raise ZeroDivisionError("division by zero")

    profile = {"plugins": {"filter": {"enabled": [{"name": "Mine"}]}}}
    cluster = Cluster.simulated(1, plugins=[Mine], scheduler={"profiles": [profile]})
    cluster.apply(pod("web"))
    assert "ZeroDivisionError: division by zero" in cluster.decision("web").message


@pytest.mark.parametrize("descriptor", CONTROLLERS, ids=lambda one: str(one.name))
def test_an_object_at_which_a_controller_fails_is_tried_again(
    descriptor: ControllerDescriptor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster.simulated(1)
    kind = descriptor.load()
    controller = cluster.controllers.controller(kind.name)
    tried: list[tuple[str, ...]] = []
    original = kind.sync

    def broken(self: Any, key: tuple[str, ...]) -> None:
        if key[-1] == "bad":
            tried.append(key)
            raise Defect("put in")
        original(self, key)

    monkeypatch.setattr(kind, "sync", broken)
    controller.queue.add(("default", "bad"))
    controller.queue.add(("default", "good"))
    cluster.apply(pod("web"))
    cluster.advance(5)
    assert len(tried) > 1 and {name for name, *_ in cluster.controllers.errors} == {kind.name}
    assert cluster.pod("web").status.phase == "Running" and caplog.text.count("Traceback") == 1


def test_the_object_at_which_a_controller_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster.simulated(1)
    kind = type(cluster.controllers.controller("deployment-controller"))
    break_at(monkeypatch, kind, "sync", "('default', 'bad')")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    for name in ("bad", "good"):
        cluster.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec})

    def fails(self: Any, key: Any) -> None:
        raise Defect("put in")

    monkeypatch.setattr(kind, "sync", fails)
    cluster.scale("Deployment", "bad", 2)
    assert "InternalError" in events(cluster, "bad")


def test_a_change_at_which_a_handler_fails_reaches_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster.simulated(1)

    def broken(change: Any) -> None:
        if change.new.name == "bad":
            raise Defect("put in")

    cluster.apply(pod("first"))
    cluster.controllers._handlers["Pod"].insert(0, broken)
    cluster.apply([pod("bad"), pod("good")])
    assert [p.status.phase for p in cluster.pods()] == ["Running"] * 3
    assert "InternalError" in events(cluster, "bad") and len(cluster.controllers.errors) >= 1
    assert isinstance(cluster.controllers, ControllerManager)


@pytest.mark.parametrize("method", ["sync", "advance"])
def test_a_node_that_fails_leaves_the_others(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster.simulated(2)
    break_at(monkeypatch, SimulatedNode, method, "node-1")
    cluster.apply([pod("a", nodeName="node-1"), pod("b", nodeName="node-2")])
    cluster.advance(5)
    assert cluster.pod("b").status.phase == "Running"
    assert "KubeletError" in events(cluster, "node-1")
    assert "KubeletError" not in events(cluster, "node-2")


def test_an_agent_whose_look_fails_says_so_and_looks_again(caplog: pytest.LogCaptureFixture) -> None:
    reads, writes = os.pipe()
    agent = Agent(0, writes)

    class Broken:
        def tick(self) -> None:
            raise Defect("put in")

    agent._kubelet = Broken()  # type: ignore[assignment]
    try:
        agent._look()
        agent._look()
        agent._owner.flush()
        said = os.read(reads, 1 << 16).decode()
    finally:
        os.close(reads)
        os.close(writes)
    assert said.count("look: Defect: put in") == 2 and '"KubeletError"' in said
    assert caplog.text.count("Traceback") == 1


def test_a_loop_is_not_stopped_by_a_mark_that_cannot_be_made(caplog: pytest.LogCaptureFixture) -> None:
    from kitlib.api.guard import Guard

    def cannot(about: str, error: Exception) -> None:
        raise KeyError("nowhere")

    def fails() -> None:
        raise Defect("put in")

    guard: Guard[str] = Guard("loop", cannot)
    works: Callable[[], object] = list
    assert [guard.run(one, work) for one, work in (("a", fails), ("b", works))] == [False, True]
    assert "loop: a: Defect: put in" in caplog.text and "cannot be marked failed: KeyError" in caplog.text
