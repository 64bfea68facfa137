"""Lifecycle hooks: pauses, commands, and what the hook after the start holds up."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster
from tests.kubelet.loop.test_termination import POLITE, pod, reasons, running, seconds_to_end


@pytest.mark.parametrize(
    "hook", [{"sleep": {"seconds": 9}}, {"exec": {"command": ["sleep", "9"]}}], ids=["sleep", "exec"]
)
def test_a_hook_may_sleep_without_a_program(hook: dict[str, Any]) -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod(POLITE, {"preStop": hook}))
        cluster.advance(3)
        assert seconds_to_end(cluster, lambda: cluster.delete("Pod", "p")) == 9


def test_a_post_start_hook_holds_up_the_pod() -> None:
    made = pod(POLITE, {"postStart": {"exec": {"command": ["sleep", "7"]}}})
    made["spec"]["containers"].append({"name": "d", "image": "busybox", "command": POLITE})
    with Cluster.simulated(1) as cluster:
        cluster.apply(made)
        cluster.advance(6)
        assert (cluster.pod("p").status.phase, running(cluster)) == ("Pending", {"c"})
        cluster.advance(2)
        assert (cluster.pod("p").status.phase, running(cluster)) == ("Running", {"c", "d"})


def test_a_pod_is_deleted_though_its_post_start_hook_runs() -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod(POLITE, {"postStart": {"exec": {"command": ["sleep", "700"]}}}))
        cluster.advance(5)
        assert seconds_to_end(cluster, lambda: cluster.delete("Pod", "p")) == 0
        cluster.advance(1)
        assert not cluster.pods()


def test_a_post_start_hook_that_fails_kills_its_container() -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod(POLITE, {"postStart": {"exec": {"command": ["false"]}}}))
        cluster.advance(5)
        status = cluster.pod("p").status.container_statuses[0]
        assert (status.state["waiting"]["reason"], status.restart_count) == ("CrashLoopBackOff", 1)
        assert ("FailedPostStartHook", "PostStartHook failed") in reasons(cluster)
        assert ("Killing", "FailedPostStartHook") in reasons(cluster)


def test_a_hook_over_tcp_has_no_handler() -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod(POLITE, {"preStop": {"tcpSocket": {"port": 80}}}))
        cluster.advance(3)
        assert seconds_to_end(cluster, lambda: cluster.delete("Pod", "p")) == 0
        assert ("FailedPreStopHook", "PreStopHook failed") in reasons(cluster)


def test_a_pod_that_is_deleted_at_once_has_no_pre_stop_hook() -> None:
    """Source: killContainer: the hook runs only with a grace period above 0; minimumGracePeriodInSeconds."""
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod(POLITE, {"preStop": {"exec": {"command": ["sleep", "9"]}}}))
        cluster.advance(3)
        assert seconds_to_end(cluster, lambda: cluster.delete("Pod", "p", grace=0)) in (0, 1, 2)
