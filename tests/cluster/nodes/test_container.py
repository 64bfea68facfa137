"""A node that stops answering is lost, one that is at work is not, and one that answers again is back."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kitlib.cluster.control_plane.options import ClusterOptions
from kitlib.cluster.control_plane.realtime import RealTimeCluster
from kitlib.cluster.nodes import container
from kitlib.cluster.nodes.container import ContainerNode, container_node_config
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.node.real import protocol
from kitlib.node.real.link import TIMEOUT, Conversation, NodeGone

PATIENCE = 0.2
FACTS = {"version": 2, "limits": [], "kernel": "6.1", "systemd": ""}


class Lines(Conversation):
    """A node that answers, or says that it is at work and answers then, or says nothing."""

    def __init__(self) -> None:
        super().__init__("n")
        self.patience = PATIENCE
        self.silent, self.busy = False, 0
        self.asked: list[dict[str, Any]] = []

    def write(self, line: bytes) -> None:
        if not self.alive:
            raise BrokenPipeError
        asked = protocol.decode(line)
        self.asked.append(asked)
        if not self.silent:
            self._work(self.busy, asked["id"])

    def _work(self, words: int, number: int) -> None:
        if words == 0:
            self.say({"id": number, "ok": 0.0})
            return
        self.say({"report": "busy"})
        threading.Timer(PATIENCE / 2, self._work, (words - 1, number)).start()

    def say(self, message: dict[str, Any]) -> None:
        self._take(protocol.encode(message).rstrip())


class Held:
    def __init__(self) -> None:
        self.link = Lines()

    def close(self) -> None:
        self.link._over()


class Fake(RealTimeCluster):
    def _make_node(self, one: NodePlan) -> Any:
        return ContainerNode(one, container_node_config(one, self.release), Held(), self._record, facts=FACTS)


@pytest.fixture
def cluster() -> Fake:
    return Fake(ClusterOptions.of(1, release="1.36"))


def apply(cluster: Fake, name: str) -> None:
    container = {"name": "c", "image": "x"}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}})


def ready(cluster: Fake) -> tuple[str, str]:
    (node,) = cluster.nodes
    return next((c.status, c.reason) for c in node.status.conditions if c.type == "Ready")


def told_of(cluster: Fake) -> dict[str, int]:
    return {event.reason: event.count for event in cluster.events() if event.reason in ("NodeReady", "NodeNotReady")}


def test_a_node_that_says_that_it_is_at_work_is_waited_for(cluster: Fake) -> None:
    cluster.node().link.busy = 5
    apply(cluster, "slow")
    assert ready(cluster) == ("True", "KubeletReady")
    assert not cluster.node().link.reports, "being at work is nothing to be written down"


def test_a_silent_node_is_lost_and_back_with_its_next_word(cluster: Fake) -> None:
    link, before = cluster.node().link, told_of(cluster)
    link.silent = True
    apply(cluster, "a")
    assert ready(cluster) == ("Unknown", "NodeStatusUnknown")
    (node,) = cluster.nodes
    taints = {(t.key, t.effect) for t in node.spec.taints}
    assert taints == {("node.kubernetes.io/unreachable", "NoSchedule")}, "no node answers: none is given up"
    asked = len(link.asked)
    apply(cluster, "b")
    assert len(link.asked) == asked, "a lost node is not asked again"
    assert cluster.pod("b").status.phase == "Pending" and not cluster.pod("b").spec.node_name

    link.silent = False
    link.say({"id": link.asked[-1]["id"], "ok": 0.0})
    cluster.refresh()
    assert ready(cluster) == ("True", "KubeletReady")
    (node,) = cluster.nodes
    assert node.spec.taints == []
    assert told_of(cluster) == {"NodeNotReady": 1, "NodeReady": before.get("NodeReady", 0) + 1}
    assert "a" in {pod["metadata"]["name"] for pod in link.asked[-1]["pods"]}, "it is told everything again"
    cluster.wait(lambda c: c.pod("b").spec.node_name, 15)
    told = {pod["metadata"]["name"] for one in link.asked for pod in one.get("pods", ())}
    assert told == {"a", "b"}


def test_an_idle_node_that_says_nothing_is_lost(cluster: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but a word is asked of it; a node of which nothing was asked is not lost, however long it is silent."""
    link = cluster.node().link
    cluster.wait(lambda c: ready(c)[0] == "True", 15)
    monkeypatch.setattr(container, "HEARTBEAT", 0.0)
    cluster.refresh()
    assert [one["do"] for one in link.asked][-1] == "alive" and ready(cluster)[0] == "True"
    link.silent = True
    cluster.wait(lambda c: ready(c) == ("Unknown", "NodeStatusUnknown"), 15)
    link.silent = False
    link.say({"report": "busy"})
    cluster.wait(lambda c: ready(c)[0] == "True", 15)


def test_the_time_of_an_idle_nodes_silence_is_that_of_the_guide() -> None:
    """A minute, as docs/real-nodes.md says; node-monitor-grace-period was 40 s until 1.32 and is 50 s since."""
    assert 50 <= container.HEARTBEAT + TIMEOUT <= 70


def test_a_node_that_has_ended_does_not_come_back(cluster: Fake) -> None:
    link = cluster.node().link
    cluster.node().container.close()
    cluster.refresh()
    assert ready(cluster) == ("Unknown", "NodeStatusUnknown")
    link.say({"report": "busy"})
    cluster.refresh()
    assert ready(cluster) == ("Unknown", "NodeStatusUnknown")
    with pytest.raises(NodeGone, match="node n has ended"):
        link.ask("alive")


def test_a_question_is_answered_with_how_long_nothing_was_heard() -> None:
    link = Lines()
    link.silent = True
    with pytest.raises(NodeGone, match=r"node n: no answer within 0\.05 s"):
        link.ask("alive", timeout=0.05)
