"""A silent node is not ready after its grace period, a busy one is ready, and one that answers again becomes ready."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kitlib.api.serialize import to_dict
from kitlib.cluster.control_plane.options import ClusterOptions
from kitlib.cluster.control_plane.real_clock import RealClock
from kitlib.cluster.control_plane.realtime import RealTimeCluster
from kitlib.cluster.nodes.container import ContainerNode, container_node_config
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.kubelet.loop.node_conditions import pressure_condition
from kitlib.node.real import link as links
from kitlib.node.real import protocol
from kitlib.node.real.agent import RENEW_INTERVAL
from kitlib.node.real.link import Conversation, NodeGone

PATIENCE = 0.2
FACTS = {"version": 2, "limits": [], "kernel": "6.1", "systemd": ""}


class Clock(RealClock):
    """Time that passes when the test says so; its date may be set, its steady date may not."""

    def __init__(self) -> None:
        self.passed, self.set_by = 0.0, timedelta()

    @property
    def seconds(self) -> float:
        return self.passed

    def now(self) -> datetime:
        return self.steady_now() + self.set_by

    def steady_now(self) -> datetime:
        return datetime(2026, 1, 5, tzinfo=UTC) + timedelta(seconds=self.passed)

    def move(self, seconds: float) -> None:
        self.passed += seconds


class Lines(Conversation):
    """A node that answers, or says that it is at work and answers then, or is paused: then its lines wait."""

    def __init__(self) -> None:
        super().__init__("n")
        self.patience = PATIENCE
        self.busy, self._paused = 0, False
        self.asked: list[dict[str, Any]] = []
        self._held: list[dict[str, Any]] = []

    def write(self, line: bytes) -> None:
        if not self.alive:
            raise BrokenPipeError
        asked = protocol.decode(line)
        self.asked.append(asked)
        self._work(self.busy, asked["id"], None if asked["do"] == "objects" else 0.0)

    def _work(self, words: int, number: int, answer: float | None) -> None:
        if words == 0:
            self.say({"id": number, "ok": answer})
            return
        self.say({"report": "busy"})
        threading.Timer(PATIENCE / 2, self._work, (words - 1, number, answer)).start()

    def say(self, message: dict[str, Any]) -> None:
        if self._paused:
            self._held.append(message)
        else:
            self._take(protocol.encode(message).rstrip())

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        held, self._held = self._held, []
        for message in held:
            self.say(message)


class Held:
    def __init__(self) -> None:
        self.link = Lines()

    def check(self, facts: object) -> None: ...

    def close(self) -> None:
        self.link._over()


class Fake(RealTimeCluster):
    def _make_node(self, one: NodePlan) -> Any:
        return ContainerNode(one, container_node_config(one, self.release), Held(), self.record_action, facts=FACTS)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Fake:
    return fake(monkeypatch, 1)


def fake(monkeypatch: pytest.MonkeyPatch, nodes: int) -> Fake:
    clock = Clock()
    monkeypatch.setattr(links, "steady_now", clock.steady_now)
    return Fake(ClusterOptions.of(nodes, release="1.36"), clock)


def let_pass(cluster: Fake, seconds: int, frozen: tuple[str, ...] = ()) -> None:
    """Let a second pass at a time; kubelets renew their Leases every ten, except those of frozen machines."""
    for _ in range(seconds):
        cluster.run_for(1)
        for name, node in cluster._nodes.items():
            if cluster.clock.passed % RENEW_INTERVAL == 0 and name not in frozen:
                node.link.say({"report": "lease"})
        cluster.refresh()


def apply(cluster: Fake, name: str) -> None:
    container = {"name": "c", "image": "x"}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}})


def ready(cluster: Fake, name: str = "node-1") -> tuple[str, str]:
    node = cluster.get("Node", name)
    return next((c.status, c.reason) for c in node.status.conditions if c.type == "Ready")


LOST = ("Unknown", "NodeStatusUnknown")
WELL = ("True", "KubeletReady")


def told_of(cluster: Fake) -> dict[str, int]:
    return {event.reason: event.count for event in cluster.events() if event.reason in ("NodeReady", "NodeNotReady")}


def test_a_node_that_says_that_it_is_at_work_is_waited_for(cluster: Fake) -> None:
    cluster.node().link.busy = 5
    apply(cluster, "slow")
    assert ready(cluster) == ("True", "KubeletReady")
    assert not cluster.node().link.reports, "being at work is nothing to be written down"


def test_an_idle_node_stays_ready_and_nothing_is_asked_of_it(cluster: Fake) -> None:
    link, asked = cluster.node().link, len(cluster.node().link.asked)
    let_pass(cluster, 3600)
    assert ready(cluster) == WELL and len(link.asked) == asked
    assert not link.reports, "a renewal waits for nobody"
    (lease,) = cluster.list("Lease", "kube-node-lease")
    assert (cluster.clock.now() - lease.spec.renew_time).total_seconds() <= RENEW_INTERVAL


def test_idling_leaves_no_changes_behind(cluster: Fake) -> None:
    """Changes exist until the first events are an hour old and expire."""
    let_pass(cluster, 60)
    version = cluster.api.store.version
    let_pass(cluster, 3000)
    assert cluster.api.store.version == version


@pytest.mark.parametrize("seconds", [45, 300, 3000])
def test_a_node_behind_a_paused_link_is_back_with_its_next_word(cluster: Fake, seconds: int) -> None:
    """The owner's process, the engine or the container is stopped: lines wait, and arrive when it continues."""
    link, before = cluster.node().link, told_of(cluster)
    apply(cluster, "a")
    let_pass(cluster, 20)
    link.pause()
    let_pass(cluster, seconds)
    lost = seconds > 60
    assert ready(cluster) == (LOST if lost else WELL)
    (node,) = cluster.nodes
    unreachable = {("node.kubernetes.io/unreachable", "NoSchedule")} if lost else set()
    assert {(t.key, t.effect) for t in node.spec.taints} == unreachable, "no node answers: none is given up"
    assert [pod.name for pod in cluster.pods()] == ["a"]
    link.resume()
    let_pass(cluster, 1)
    assert ready(cluster) == WELL and cluster.nodes[0].spec.taints == []
    told = {"NodeNotReady": 1, "NodeReady": before.get("NodeReady", 0) + 1} if lost else before
    assert told_of(cluster) == told


def test_a_node_is_silent_for_its_grace_period_before_it_is_lost(cluster: Fake) -> None:
    """50 s since a look first saw the last renewal, seen by a look every 5 s."""
    let_pass(cluster, 30)
    let_pass(cluster, 50, frozen=("node-1",))
    assert ready(cluster) == WELL
    let_pass(cluster, 15, frozen=("node-1",))
    assert ready(cluster) == LOST


def test_a_frozen_node_among_others_loses_its_pods_as_in_kubernetes(monkeypatch: pytest.MonkeyPatch) -> None:
    """50 s of silence, then 300 s that every pod tolerates: before, it keeps its pods, and has them when it is back."""
    cluster = fake(monkeypatch, 3)
    apply(cluster, "a")
    where = cluster.pod("a").spec.node_name
    let_pass(cluster, 300, frozen=(where,))
    assert ready(cluster, where) == LOST
    effects = {taint.effect for taint in cluster.get("Node", where).spec.taints}
    assert effects == {"NoSchedule", "NoExecute"}
    let_pass(cluster, 30)
    assert ready(cluster, where) == WELL and [pod.name for pod in cluster.pods()] == ["a"]
    let_pass(cluster, 400, frozen=(where,))
    assert cluster.pod("a").metadata.deletion_timestamp is not None
    assert cluster.pod("a").status.reason == "NodeLost" or cluster.pod("a").spec.node_name == where


def test_where_all_nodes_are_silent_none_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = fake(monkeypatch, 3)
    apply(cluster, "a")
    let_pass(cluster, 1000, frozen=("node-1", "node-2", "node-3"))
    assert {ready(cluster, name) for name in cluster._nodes} == {LOST}
    assert {t.effect for node in cluster.nodes for t in node.spec.taints} == {"NoSchedule"}
    let_pass(cluster, 30)
    assert {ready(cluster, name) for name in cluster._nodes} == {WELL}
    assert cluster.pod("a").metadata.deletion_timestamp is None


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_date_that_is_set_anew_loses_no_node(cluster: Fake, hours: int) -> None:
    let_pass(cluster, 25)
    cluster.clock.set_by = timedelta(hours=hours)
    let_pass(cluster, 200)
    assert ready(cluster) == WELL
    let_pass(cluster, 70, frozen=("node-1",))
    assert ready(cluster) == LOST, "looks go on, whatever the date"


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_date_that_is_set_anew_moves_no_eviction(monkeypatch: pytest.MonkeyPatch, hours: int) -> None:
    """A pod is evicted 300 s after the taint, and a node that is back loses the taint, whatever the date."""
    cluster = fake(monkeypatch, 3)
    apply(cluster, "a")
    where = cluster.pod("a").spec.node_name
    let_pass(cluster, 100, frozen=(where,))
    assert "NoExecute" in {taint.effect for taint in cluster.get("Node", where).spec.taints}
    cluster.clock.set_by = timedelta(hours=hours)
    tolerations = [*to_dict(cluster.pod("a"))["spec"]["tolerations"], {"key": "other", "operator": "Exists"}]
    cluster.patch("Pod", "a", {"spec": {"tolerations": tolerations}})  # the eviction is planned anew
    let_pass(cluster, 200, frozen=(where,))
    assert cluster.pod("a").metadata.deletion_timestamp is None
    let_pass(cluster, 100, frozen=(where,))
    assert cluster.pod("a").metadata.deletion_timestamp is not None
    let_pass(cluster, 11)
    cluster.clock.set_by += timedelta(hours=hours)
    let_pass(cluster, 20)
    assert cluster.get("Node", where).spec.taints == []


def test_a_node_that_leaves_a_request_unanswered_is_sent_everything_again(cluster: Fake) -> None:
    link = cluster.node().link
    link.pause()
    apply(cluster, "a")
    asked = len(link.asked)
    apply(cluster, "b")
    assert len(link.asked) == asked, "it is not asked again before it says something"
    link.resume()
    cluster.refresh()
    cluster.settle()
    assert {pod["metadata"]["name"] for pod in link.asked[-1]["pods"]} == {"a", "b"}


def test_what_the_kubelet_reported_stands_again_when_it_is_back(cluster: Fake) -> None:
    pressed = pressure_condition("MemoryPressure", True, cluster.now())
    cluster.node().link.say({"report": "condition", "condition": to_dict(pressed)})
    let_pass(cluster, 10)
    let_pass(cluster, 100, frozen=("node-1",))
    assert {c.status for c in cluster.get("Node", "node-1").status.conditions} == {"Unknown"}
    let_pass(cluster, 20)
    found = {c.type: c.status for c in cluster.get("Node", "node-1").status.conditions}
    assert found == {"Ready": "True", "MemoryPressure": "True", "DiskPressure": "False", "PIDPressure": "False"}


def test_a_node_that_has_ended_is_lost_at_once_and_does_not_come_back(cluster: Fake) -> None:
    link = cluster.node().link
    cluster.node().container.close()
    cluster.refresh()
    assert ready(cluster) == LOST
    link.say({"report": "lease"})
    cluster.refresh()
    assert ready(cluster) == LOST
    with pytest.raises(NodeGone, match="node n has ended"):
        link.ask("alive")


def test_a_question_is_answered_with_how_long_nothing_was_heard() -> None:
    link = Lines()
    link.pause()
    with pytest.raises(NodeGone, match=r"node n: no answer within 0\.05 s"):
        link.ask("alive", timeout=0.05)
