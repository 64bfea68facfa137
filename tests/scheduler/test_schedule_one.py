"""One loop for all: the same happenings lead to the same decisions and queues in the driver and in a cluster."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kitlib.api.core import Node, Pod
from kitlib.api.errors import KitError
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission import binding
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.cluster.control_plane.scheduling import ClusterScheduler
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.driver import EPOCH, Driver
from kitlib.scheduler.framework.plugin import Plugin
from kitlib.scheduler.framework.status import SUCCESS, Code, Status
from kitlib.scheduler.profile import Profile
from kitlib.scheduler.schedule_one import SchedulingLoop
from kitlib.study.scenario import node_of, pod_of
from tests.sizes import examples

NEVER_S = 10**6


class InDriver:
    """The loop in a driver; pods that are told to end stay until `finish`."""

    def __init__(self, nodes: list[Node], release: str, profile: Profile | None = None) -> None:
        self.driver = Driver(nodes, release=release, profile=profile, exit_after_s=NEVER_S)
        self.loop: SchedulingLoop = self.driver.loop

    def pods(self) -> list[Pod]:
        return list(self.driver.pods.values())

    def add_pod(self, pod: Pod) -> None:
        self.driver.add_pod(pod)

    def update_pod(self, name: str, change: Callable[[Pod], None]) -> None:
        pod = deepcopy(self.driver.pod(name))
        change(pod)
        self.driver.update_pod(pod)

    def delete_pod(self, name: str) -> None:
        self.driver.delete_pod(name)

    def add_node(self, node: Node) -> None:
        self.driver.add_node(node)

    def update_node(self, node: Node) -> None:
        self.driver.update_node(node)

    def remove_node(self, name: str) -> None:
        self.driver.remove_node(name)

    def pass_time(self, seconds: float) -> None:
        self.driver.pass_time(seconds)

    def attempt(self) -> Decision | None:
        return self.driver.cycle()


class InCluster:
    """The loop on an API server, without kubelets: pods that are told to end stay until `finish`."""

    def __init__(self, nodes: list[Node], release: str, profile: Profile | None = None) -> None:
        self.seconds = 0.0
        self.api = APIServer(lambda: EPOCH + timedelta(seconds=self.seconds))
        for node in nodes:
            self.api.store.create(node)
        asked = Driver([], release=release).release
        self.scheduler = ClusterScheduler(self.api, asked, profile, None, lambda: self.seconds)
        self.loop: SchedulingLoop = self.scheduler.loop

    def pods(self) -> list[Pod]:
        return self.api.store.list(Pod)

    def add_pod(self, pod: Pod) -> None:
        self.api.store.create(pod)

    def update_pod(self, name: str, change: Callable[[Pod], None]) -> None:
        pod = self.api.store.get(Pod, name, "default")
        change(pod)
        self.api.store.update(pod)

    def delete_pod(self, name: str) -> None:
        self.api.delete(Pod, name, "default")

    def add_node(self, node: Node) -> None:
        self.api.store.create(node)

    def update_node(self, node: Node) -> None:
        self.api.store.update(node)

    def remove_node(self, name: str) -> None:
        for pod in self.pods():
            if pod.spec.node_name == name:
                self.delete_pod(pod.name)
        self.api.store.delete(Node, name)

    def pass_time(self, seconds: float) -> None:
        self.seconds += seconds
        self.loop.run_timers()

    def attempt(self) -> Decision | None:
        if not self.scheduler.due():
            return None
        self.scheduler.refresh()
        decision = self.loop.schedule_one()
        for pod in self.pods():
            if pod.spec.node_name and pod.status.start_time is None:
                pod.status.start_time = self.api.store.now()
                self.api.update_status(pod)
        return decision


Side = InDriver | InCluster


def state(side: Side) -> dict[str, Any]:
    """Everything about the scheduler that a user can see: where pods wait, stand, are promised, and why."""
    nominator, queues = side.loop.queue.nominator, side.loop.queue.pending_pods()
    unordered = {name: sorted(queues[name]) for name in ("unschedulable", "gated")}
    return {
        "queues": {**queues, **unordered},
        "promised": {node: sorted(pod.name for pod in pods) for node, pods in nominator.by_node().items()},
        "pods": {
            pod.name: (
                pod.spec.node_name,
                pod.status.nominated_node_name,
                pod.metadata.deletion_timestamp is not None,
                [(c.reason, c.message) for c in pod.status.conditions if c.status == "False"],
            )
            for pod in sorted(side.pods(), key=lambda pod: pod.name)
        },
        "attempts": {
            info.pod.name: (info.attempts, info.backoff_expires_ms)
            for info in (*side.loop.queue.active(), *side.loop.queue.backing_off(), *side.loop.queue.unschedulable())
        },
    }


def answer(decision: Decision | None) -> Any:
    if decision is None:
        return None
    victims = sorted(pod.name for pod in decision.victims)
    return decision.pod.name, decision.suggested_host, decision.message, decision.nominated, victims


def drain(side: Side) -> list[Any]:
    """Attempts until no pod may be tried now."""
    made = []
    while (decision := side.attempt()) is not None:
        made.append(answer(decision))
        assert len(made) < 500, "attempts without end at one instant"
    return made


TAINT = {"key": "k", "effect": "NoSchedule"}
SELECTOR = {"matchLabels": {"app": "a"}}
AFFINITY = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": SELECTOR}
        ]
    }
}
SPREAD = [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}]
SPECS: list[dict[str, Any]] = [
    {},
    {},
    {"schedulingGates": [{"name": "a.io/x"}]},
    {"affinity": AFFINITY},
    {"topologySpreadConstraints": [{**SPREAD[0], "labelSelector": SELECTOR}]},
    {"preemptionPolicy": "Never"},
    {"nodeSelector": {"disk": "ssd"}},
    {"tolerations": [{"operator": "Exists"}]},
]
CHANGES = ["label", "taint", "ssd", "grow", "cordon", "plain"]
OPERATIONS = st.one_of(
    st.tuples(
        st.just("add"),
        st.sampled_from(["200m", "500m", "900m", "1500m", "3"]),
        st.integers(0, 3),
        st.integers(0, len(SPECS) - 1),
    ),
    st.tuples(st.just("delete"), st.integers(0, 9)),
    st.tuples(st.just("finish"), st.integers(0, 9)),
    st.tuples(st.just("open"), st.integers(0, 9)),
    st.tuples(st.just("label"), st.integers(0, 9), st.sampled_from(["a", "b"])),
    st.tuples(
        st.just("node"), st.integers(0, 3), st.sampled_from(["label", "taint", "ssd", "grow", "cordon", "plain"])
    ),
    st.tuples(st.just("join"), st.integers(1, 3)),
    st.tuples(st.just("leave"), st.integers(0, 3)),
    st.tuples(st.just("wait"), st.sampled_from([0.5, 1.0, 3.0, 31.0, 400.0])),
    st.tuples(st.just("once")),
    st.tuples(st.just("drain")),
    st.tuples(st.just("drain")),
)


def changed_node(name: str, what: str) -> Node:
    return node_of(
        {
            "name": name,
            "cpu": 3 if what == "grow" else 1,
            "labels": {"label": {"irrelevant": "yes"}, "ssd": {"disk": "ssd"}}.get(what, {}),
            "taints": [TAINT] if what == "taint" else [],
            "unschedulable": what == "cordon",
        }
    )


def play(side: Side, number: int, operation: tuple[Any, ...]) -> Any:
    """One happening, said in terms that both sides understand: the n-th pod or node that there is."""
    kind, rest = operation[0], operation[1:]
    pods = sorted(side.pods(), key=lambda pod: pod.name)
    ending = [pod for pod in pods if pod.metadata.deletion_timestamp is not None]
    gated = [pod for pod in pods if pod.spec.scheduling_gates]
    nodes = sorted(side.loop.scheduler.snapshot.names)

    def pick(listed: list[Any]) -> Any:
        return listed[rest[0] % len(listed)] if listed else None

    if kind == "add":
        cpu, priority, spec = rest
        labels = {"app": "a"} if number % 2 else {"app": "b"}
        data = {"name": f"p{number:02d}", "cpu": cpu, "priority": priority, "labels": labels, "spec": SPECS[spec]}
        pod = pod_of(data)
        pod.spec.termination_grace_period_seconds = (
            NEVER_S  # in a driver a victim leaves with it, without a kubelet not
        )
        if not side.loop.scheduler.release.enabled("PodSchedulingReadiness"):
            pod.spec.scheduling_gates = []  # an API server without the gate drops the field
        side.add_pod(pod)
    elif kind in ("delete", "finish") and (pod := pick(pods if kind == "delete" else ending)) is not None:
        side.delete_pod(pod.name)
    elif kind == "open" and (pod := pick(gated)) is not None:
        side.update_pod(pod.name, lambda one: one.spec.scheduling_gates.clear())
    elif kind == "label" and (pod := pick(pods)) is not None:
        side.update_pod(pod.name, lambda one: one.metadata.labels.update(app=rest[1]))
    elif kind == "node" and (name := pick(nodes)) is not None:
        side.update_node(changed_node(name, rest[1]))
    elif kind == "join":
        side.add_node(node_of({"name": f"n{number:02d}", "cpu": rest[0]}))
    elif kind == "leave" and len(nodes) > 1:
        side.remove_node(pick(nodes))
    elif kind == "wait":
        side.pass_time(rest[0])
    elif kind == "once":
        return answer(side.attempt())
    elif kind == "drain":
        return drain(side)
    return None


@settings(max_examples=examples(300), deadline=None)
@given(operations=st.lists(OPERATIONS, min_size=5, max_size=30), release=st.sampled_from(["1.24", "1.31", "1.36"]))
@example(
    operations=[
        *(("add", "500m", 0, 0), ("once",), ("add", "200m", 0, 0), ("once",)),
        *(("add", "200m", 1, 0), ("add", "1500m", 1, 0), ("drain",), ("wait", 31.0)),
    ],
    release="1.24",
)
def test_driver_and_cluster_decide_and_queue_alike_whatever_happens(
    operations: list[tuple[Any, ...]], release: str
) -> None:
    nodes = [node_of({"name": "n", "cpu": 1}), node_of({"name": "m", "cpu": 2})]
    sides: list[Side] = [InDriver(nodes, release), InCluster(nodes, release)]
    for number, operation in enumerate(operations):
        answers = [play(side, number, operation) for side in sides]
        assert answers[0] == answers[1], (number, operation)
        states = [state(side) for side in sides]
        assert states[0] == states[1], (number, operation)


@pytest.fixture(params=[InDriver, InCluster], ids=["driver", "cluster"])
def start(request: pytest.FixtureRequest) -> Callable[..., Side]:
    def make(*nodes: dict[str, Any], release: str = "1.36", profile: Profile | None = None) -> Side:
        return request.param([node_of(one) for one in nodes], release, profile)

    return make


Start = Callable[..., Side]


def test_a_label_that_does_not_matter_does_not_wake_a_pod_refused_for_cpu(start: Start) -> None:
    side = start({"name": "n", "cpu": 1})
    side.add_pod(pod_of({"name": "big", "cpu": 3}))
    assert len(drain(side)) == 1
    side.update_node(changed_node("n", "label"))
    side.pass_time(20)
    assert drain(side) == [] and side.loop.queue.pending_pods()["unschedulable"] == ["big"]
    side.update_node(changed_node("n", "grow"))
    assert drain(side) == [("big", "n", "", "", [])]


def test_a_promise_ends_when_a_more_important_pod_is_promised_the_node(start: Start) -> None:
    side = start({"name": "n", "cpu": 1})
    side.add_pod(pod_of({"name": "low", "cpu": 1, "node": "n"}))
    side.add_pod(pod_of({"name": "middle", "cpu": 1, "priority": 5}))
    drain(side)
    assert [pod.name for pod in side.loop.queue.nominator.pods_on("n")] == ["middle"]
    side.add_pod(pod_of({"name": "high", "cpu": 1, "priority": 9}))
    drain(side)
    assert [pod.name for pod in side.loop.queue.nominator.pods_on("n")] == ["high"]
    assert {pod.name: pod.status.nominated_node_name for pod in side.pods()} == {"low": "", "middle": "", "high": "n"}


def test_a_nominated_pod_that_is_deleted_lets_those_try_who_were_kept_away(start: Start) -> None:
    side = start({"name": "n", "cpu": 2})
    side.add_pod(pod_of({"name": "low", "cpu": 2, "node": "n"}))
    side.add_pod(pod_of({"name": "high", "cpu": 2, "priority": 9}))
    side.add_pod(pod_of({"name": "small", "cpu": 1}))
    drain(side)
    side.delete_pod("low")
    side.loop.queue.flush_unschedulable(10**9)
    side.delete_pod("high")
    side.pass_time(20)
    assert [host for _, host, *_ in drain(side)] == ["n"]


class Hold(Plugin):
    """Lets nobody in on its own."""

    name = "Hold"

    def permit(self, info: Any, node: Any) -> Status:
        return Status(Code.Wait, ("wait for the others",))


class RefusesOnce(Plugin):
    """PreBind fails the first time."""

    name = "RefusesOnce"
    failed = False

    def pre_bind(self, info: Any, node: Any) -> Status:
        if self.failed:
            return SUCCESS
        self.failed = True
        return Status(Code.Error, ("the disk is not attached",))


def with_plugin(plugin: type[Plugin]) -> Profile:
    return Profile.from_configuration({"plugins": {"multiPoint": {"enabled": [{"name": plugin.name}]}}}, own=[plugin])


def test_two_pods_that_permit_refuses_do_not_make_way_for_each_other_for_ever(start: Start) -> None:
    side = start({"name": "n", "cpu": 1}, profile=with_plugin(Hold))
    side.add_pod(pod_of({"name": "a", "cpu": 1}))
    side.add_pod(pod_of({"name": "b", "cpu": 1}))
    assert [name for name, *_ in drain(side)] == ["a", "b"]
    side.loop.reject(next(pod for pod in side.pods() if pod.name == "a"))
    # the end of its own nomination moves "a" too (updatePodInSchedulingQueue)
    assert side.loop.queue.pending_pods()["backoffQ"] == ["b", "a"] and drain(side) == []
    side.pass_time(3)
    assert [name for name, *_ in drain(side)] == ["b", "a"]
    side.loop.allow(next(pod for pod in side.pods() if pod.name == "b"))
    assert {pod.name: pod.spec.node_name for pod in side.pods()} == {"a": "", "b": "n"}


def test_a_held_pod_that_is_deleted_gives_its_place_back(start: Start) -> None:
    side = start({"name": "n", "cpu": 1}, profile=with_plugin(Hold))
    side.add_pod(pod_of({"name": "a", "cpu": 1}))
    side.add_pod(pod_of({"name": "b", "cpu": 1}))
    drain(side)
    side.delete_pod("a")
    assert side.loop.scheduler.waiting == [] and len(side.loop.queue.in_flight) == 0
    assert [made[:2] for made in drain(side)] == [("b", "n")]


def test_an_error_while_binding_is_tried_again_after_back_off_without_any_event(start: Start) -> None:
    side = start({"name": "n", "cpu": 1}, profile=with_plugin(RefusesOnce))
    side.add_pod(pod_of({"name": "a", "cpu": 1}))
    refused = 'running PreBind plugin "RefusesOnce": the disk is not attached'
    assert drain(side) == [("a", "", refused, "", [])]
    (pod,) = side.pods()
    assert [c.reason for c in pod.status.conditions] == ["SchedulerError"]
    assert side.loop.queue.pending_pods()["backoffQ"] == ["a"]
    side.pass_time(3)
    assert drain(side) == [("a", "n", "", "", [])]


def test_a_binding_that_the_api_server_refuses_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    side = InCluster([node_of({"name": "n", "cpu": 1})], "1.36")
    side.add_pod(pod_of({"name": "a", "cpu": 1}))

    def refuse(*_: Any) -> Pod:
        raise KitError("the server is shutting down")

    with monkeypatch.context() as patch:
        patch.setattr(binding, "bind", refuse)
        assert drain(side) == [("a", "", 'running Bind plugin "DefaultBinder": the server is shutting down', "", [])]
    assert side.loop.scheduler.snapshot.requested["cpu"].sum() == 0
    side.pass_time(3)
    assert drain(side) == [("a", "n", "", "", [])]


def test_pods_of_other_schedulers_and_ended_pods_are_left_alone(start: Start) -> None:
    side = start({"name": "n", "cpu": 1}, profile=with_plugin(Hold))
    done = pod_of({"name": "done", "cpu": 1, "node": "n"})
    done.status.phase = "Succeeded"
    side.add_pod(done)
    assert side.loop.scheduler.pods == {}
    if isinstance(side, InCluster):  # a driver with one profile takes every pod
        side.add_pod(pod_of({"name": "other", "spec": {"schedulerName": "another"}}))
        assert drain(side) == [] and len(side.loop.queue) == 0
