"""Graceful node shutdown on simulated nodes: groups, statuses, admission, the node's condition, the power switch."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster

PERIODS = {"shutdownGracePeriod": "30s", "shutdownGracePeriodCriticalPods": "10s"}
POLITE = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 1; done"]
DEAF = ["sh", "-c", "trap '' TERM; while true; do sleep 1; done"]
MESSAGE = "Pod was terminated in response to imminent node shutdown."
REJECTED = "Pod was rejected: Pod was rejected as the node is shutting down."


def pod(name: str, command: list[str], grace: int = 30, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "busybox", "command": command}]
    body = {"containers": containers, "terminationGracePeriodSeconds": grace, "nodeName": "a", **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": body}


def cluster(*pods: dict[str, Any], kubelet: Any = PERIODS, release: str = "1.36") -> Any:
    made = Cluster.simulated([{"name": "a", "kubelet": kubelet}, {"name": "b"}], release=release)
    made.apply(list(pods))
    made.advance(3)
    return made


def phases(made: Any, namespace: str = "default") -> dict[str, tuple[str, str]]:
    return {one.name: (one.status.phase, one.status.reason) for one in made.pods(namespace)}


def ready(made: Any) -> tuple[str, str, str]:
    found = next(one for one in made.get("Node", "a").status.conditions if one.type == "Ready")
    return found.status, found.reason, found.message


def critical(name: str, command: list[str]) -> dict[str, Any]:
    made = pod(name, command, priorityClassName="system-node-critical")
    return {**made, "metadata": {"name": name, "namespace": "kube-system"}}


def test_pods_end_in_groups_and_the_machine_goes_off_after_the_last() -> None:
    """The deaf pod takes the whole first period; the critical pod runs on until then, and only then is stopped."""
    with cluster(pod("deaf", DEAF), pod("short", DEAF, 5), critical("dns", DEAF)) as made:
        made.node("a").shutdown()
        assert ready(made) == ("False", "KubeletNotReady", "node is shutting down")
        made.advance(6)
        assert phases(made) == {"deaf": ("Running", ""), "short": ("Failed", "Terminated")}
        made.advance(15)
        assert phases(made)["deaf"] == ("Failed", "Terminated")
        ended = made.pod("deaf").status
        assert (ended.message, ended.container_statuses[0].state["terminated"]["exitCode"]) == (MESSAGE, 137)
        target = next(one for one in ended.conditions if one.type == "DisruptionTarget")
        assert (target.reason, target.message) == ("TerminationByKubelet", MESSAGE)
        assert phases(made, "kube-system") == {"dns": ("Running", "")}
        made.advance(60)
        assert phases(made, "kube-system") == {"dns": ("Running", "")}  # the machine was off before its status
        assert made.node("a").processes() == []


def test_only_the_pods_of_a_group_are_waited_for() -> None:
    """Pods that end by themselves make the shutdown short; one that succeeds is Succeeded, without a reason."""
    with cluster(pod("polite", POLITE), critical("dns", POLITE)) as made:
        made.node("a").shutdown()
        made.advance(1)
        assert (phases(made), phases(made, "kube-system")) == (
            {"polite": ("Succeeded", "")},
            {"dns": ("Succeeded", "")},
        )
        steps = [entry.action for entry in made.node("a").timeline() if entry.actor == "machine"]
        assert steps == ["powering off"]


def test_a_new_pod_is_rejected_while_the_node_shuts_down() -> None:
    with cluster(pod("deaf", DEAF)) as made:
        made.node("a").shutdown()
        made.apply([pod("late", POLITE), critical("late", POLITE)])
        made.advance(2)
        assert phases(made)["late"] == ("Failed", "NodeShutdown")
        assert phases(made, "kube-system")["late"] == ("Failed", "NodeShutdown")
        assert made.pod("late").status.message == REJECTED
        reasons = [event.reason for event in made.events("a")]
        assert reasons[-2:] == ["NodeShutdown", "NodeNotReady"]


def test_a_cancelled_shutdown_admits_pods_again() -> None:
    with cluster(pod("deaf", DEAF, 10)) as made:
        made.node("a").shutdown()
        made.advance(2)
        made.node("a").cancel_shutdown()
        made.apply(pod("late", POLITE))
        made.advance(20)
        assert phases(made) == {"deaf": ("Failed", "Terminated"), "late": ("Running", "")}
        assert ready(made)[:2] == ("True", "KubeletReady")


@pytest.mark.parametrize(("release", "seconds"), [("1.31", 40), ("1.32", 50)])
def test_without_periods_the_machine_is_off_at_once_and_found_missing(release: str, seconds: int) -> None:
    """The node-lifecycle controller marks it Unknown after its grace period, and its pods are deleted after 300 s."""
    with cluster(pod("deaf", DEAF), kubelet=[], release=release) as made:
        made.node("a").shutdown()
        made.advance(seconds - 5)
        assert (ready(made)[0], phases(made)) == ("True", {"deaf": ("Running", "")})
        made.advance(20)
        assert ready(made)[:2] == ("Unknown", "NodeStatusUnknown")
        made.advance(310)
        assert made.pod("deaf").metadata.deletion_timestamp is not None


def test_by_priority_each_group_has_its_own_period() -> None:
    groups = [{"priority": 0, "shutdownGracePeriodSeconds": 4}, {"priority": 1000, "shutdownGracePeriodSeconds": 8}]
    low, high = pod("low", DEAF), pod("high", DEAF, priorityClassName="high")
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    with cluster(kind, low, high, kubelet={"shutdownGracePeriodByPodPriority": groups}) as made:
        made.node("a").shutdown()
        made.advance(6)
        assert phases(made) == {"low": ("Failed", "Terminated"), "high": ("Running", "")}


def test_a_shutdown_is_replayed_and_a_machine_that_is_off_stays_off() -> None:
    with cluster(pod("short", DEAF, 5)) as made:
        made.node("a").shutdown()
        made.advance(30)
        before = phases(made)
        with cluster() as again:
            again.replay(made.journal)
            assert phases(again) == before == {"short": ("Failed", "Terminated")}
        with pytest.raises(KitError, match=r"the machine was shut down; boot it with node\.reboot\(\)"):
            made.node("a").shutdown()


def test_a_machine_that_was_shut_down_boots() -> None:
    """The node is Ready again, and its pods start in new sandboxes unless they have ended."""
    with cluster(pod("long", DEAF), kubelet=[]) as made:
        made.node("a").shutdown()
        made.advance(100)
        assert ready(made)[0] == "Unknown"
        made.node("a").reboot()
        made.advance(30)
        assert ready(made)[:2] == ("True", "KubeletReady") and made.get("Node", "a").spec.taints == []
        (status,) = made.pod("long").status.container_statuses
        assert (phases(made), status.restart_count) == ({"long": ("Running", "")}, 1)
        assert [status.last_state["terminated"][key] for key in ("exitCode", "reason")] == [255, "Unknown"]
        made.apply(pod("late", POLITE))
        made.advance(200)
        assert phases(made)["late"] == ("Running", "") and ready(made)[0] == "True"
        with cluster(kubelet=[]) as again:
            again.replay(made.journal)
            assert phases(again) == phases(made) and ready(again) == ready(made)


def test_pods_that_were_deleted_while_the_machine_was_off_go_with_its_boot() -> None:
    with cluster(pod("evicted", DEAF), pod("gone", DEAF), kubelet=[]) as made:
        made.node("a").shutdown()
        made.delete("Pod", "gone", grace=0)
        made.advance(400)
        assert made.pod("evicted").metadata.deletion_timestamp is not None
        made.node("a").reboot()
        made.advance(40)
        assert made.pods() == [] and made.node("a").processes() == []
        assert ready(made)[0] == "True"


def test_a_graceful_shutdown_and_a_boot_leave_the_ended_pods_and_admit_new_ones() -> None:
    with cluster(pod("deaf", DEAF, 5)) as made:
        made.node("a").shutdown()
        made.advance(30)
        made.node("a").reboot()
        made.apply(pod("late", POLITE))
        made.advance(20)
        assert phases(made) == {"deaf": ("Failed", "Terminated"), "late": ("Running", "")}
        assert ready(made)[:2] == ("True", "KubeletReady")


def test_before_1_26_the_kubelet_sets_no_disruption_target() -> None:
    with cluster(pod("short", DEAF, 3), release="1.25") as made:
        made.node("a").shutdown()
        made.advance(6)
        status = made.pod("short").status
        assert status.reason == "Terminated"
        assert not [one for one in status.conditions if one.type == "DisruptionTarget"]
