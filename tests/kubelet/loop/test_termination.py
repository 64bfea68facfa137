"""preStop hooks, and the order in which the containers of a pod end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kitlib.cluster import Cluster

DEAF = ["sh", "-c", "trap '' TERM; while true; do sleep 1; done"]
POLITE = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 1; done"]


def pod(command: list[str], hooks: dict[str, Any] | None = None, grace: int = 30, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "busybox", "command": command, **({"lifecycle": hooks} if hooks else {})}
    body = {"containers": [container], "terminationGracePeriodSeconds": grace, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": body}


def pre_stop(*command: str) -> dict[str, Any]:
    return {"preStop": {"exec": {"command": list(command)}}}


def seconds_to_end(cluster: Any, act: Callable[[], object]) -> int:
    """Return the whole seconds until no process of a pod is left."""
    act()
    passed = 0
    while cluster.node().owners():
        cluster.advance(1)
        passed += 1
        assert passed < 1_000
    return passed


def reasons(cluster: Any) -> list[tuple[str, str]]:
    return [(event.reason, event.message) for event in cluster.events("p")]


@pytest.mark.parametrize(
    ("command", "hook", "grace", "release", "expected"),
    [
        (POLITE, ("sleep", "12"), 30, "1.36", 12),
        (DEAF, ("sleep", "12"), 30, "1.36", 30),
        (POLITE, ("sleep", "300"), 30, "1.36", 30),
        (DEAF, ("sleep", "300"), 30, "1.36", 32),
        (DEAF, ("sh", "-c", "while true; do sleep 5; done"), 30, "1.36", 32),
        (DEAF, ("sleep", "300"), 30, "1.27", 60),
        (DEAF, ("sleep", "12"), 30, "1.27", 42),
    ],
    ids=[
        "SIGTERM after the hook",
        "SIGKILL at the end of the period, hook included",
        "SIGTERM at the end of the period though the hook runs",
        "two seconds more for a container without a handler",
        "a hook that never ends",
        "before 1.28 the whole period twice",
        "before 1.28 the period after the hook",
    ],
)
def test_a_pre_stop_hook_runs_within_the_grace_period(
    command: list[str], hook: tuple[str, ...], grace: int, release: str, expected: int
) -> None:
    with Cluster.simulated(1, release=release) as cluster:
        cluster.apply(pod(command, pre_stop(*hook), grace))
        cluster.advance(3)
        assert seconds_to_end(cluster, lambda: cluster.delete("Pod", "p")) == expected
        assert "FailedPreStopHook" not in dict(reasons(cluster))


def test_a_pre_stop_hook_that_fails_is_told_and_the_container_ends() -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod(POLITE, pre_stop("sh", "-c", "echo secret; exit 3")))
        cluster.advance(3)
        assert seconds_to_end(cluster, lambda: cluster.delete("Pod", "p")) == 0
        assert ("FailedPreStopHook", "PreStopHook failed") in reasons(cluster)


def test_a_shorter_period_begins_anew_with_the_hook() -> None:
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod(DEAF, pre_stop("sleep", "300"), 100))
        cluster.advance(3)
        cluster.delete("Pod", "p")
        cluster.advance(10)
        assert seconds_to_end(cluster, lambda: cluster.delete("Pod", "p", grace=50)) == 52


def test_a_container_that_fails_its_liveness_probe_gets_its_hook() -> None:
    made = pod(POLITE, pre_stop("sleep", "8"))
    made["spec"]["containers"][0]["livenessProbe"] = {"exec": {"command": ["false"]}, "periodSeconds": 5}
    with Cluster.simulated(1) as cluster:
        cluster.apply(made)
        while "Killing" not in dict(reasons(cluster)):
            cluster.advance(1)
        first = cluster.node().process("p").pid
        cluster.advance(7)
        assert cluster.node().process("p").pid == first
        cluster.advance(2)
        assert cluster.node().process("p").pid != first
        assert cluster.pod("p").status.container_statuses[0].restart_count == 1


def test_an_evicted_pod_gets_its_hook_within_the_period_of_the_eviction() -> None:
    made = pod(POLITE, pre_stop("sleep", "20"), 60)
    made["metadata"]["annotations"] = {"kitlib.dev/workload.c": "memory=7Gi"}
    soft = {
        "evictionSoft": {"memory.available": "4Gi"},
        "evictionSoftGracePeriod": {"memory.available": "1s"},
        "evictionMaxPodGracePeriod": 12,
    }
    with Cluster.simulated([{"cpus": 2, "memory": "8Gi", "kubelet": soft}]) as cluster:
        cluster.apply(made)
        while "Evicted" not in dict(reasons(cluster)):
            cluster.advance(1)
        assert seconds_to_end(cluster, lambda: None) == 12


def with_sidecars(last: list[str], grace: int = 30) -> dict[str, Any]:
    made = pod(["sh", "-c", "trap 'sleep 7; exit 0' TERM; while true; do sleep 1; done"], grace=grace)
    made["spec"]["initContainers"] = [
        {"name": name, "image": "busybox", "restartPolicy": "Always", "command": command}
        for name, command in (("first", POLITE), ("second", last))
    ]
    return made


def running(cluster: Any) -> set[str]:
    return {container for _, _, container in cluster.node().owners().values()}


def test_sidecars_end_after_the_containers_that_they_serve_in_reverse_order() -> None:
    with Cluster.simulated(1) as cluster:
        made = with_sidecars(["sh", "-c", "trap 'sleep 4; exit 0' TERM; while true; do sleep 1; done"])
        made["spec"]["initContainers"][0]["command"] = [
            "sh",
            "-c",
            "trap 'sleep 3; exit 0' TERM; while true; do sleep 1; done",
        ]
        cluster.apply(made)
        cluster.advance(5)
        cluster.delete("Pod", "p")
        seen = []
        while running(cluster):
            seen.append(running(cluster))
            cluster.advance(1)
        assert [seen.count(one) for one in ({"c", "first", "second"}, {"first", "second"}, {"first"})] == [7, 4, 3]


def test_a_sidecar_waits_no_longer_than_the_grace_period() -> None:
    made = with_sidecars(POLITE, grace=10)
    made["spec"]["containers"][0]["command"] = DEAF
    with Cluster.simulated(1) as cluster:
        cluster.apply(made)
        cluster.advance(5)
        cluster.delete("Pod", "p")
        cluster.advance(9)
        assert running(cluster) == {"c", "first", "second"}
        cluster.advance(2)
        assert running(cluster) == set()


def test_the_sidecar_of_a_finished_pod_gets_its_whole_period() -> None:
    made = with_sidecars(POLITE)
    made["spec"] |= {"restartPolicy": "Never"}
    made["spec"]["initContainers"] = made["spec"]["initContainers"][:1]
    made["spec"]["initContainers"][0]["command"] = [
        "sh",
        "-c",
        "trap 'sleep 12; exit 0' TERM; while true; do sleep 1; done",
    ]
    made["spec"]["containers"][0]["command"] = ["sh", "-c", "sleep 2"]
    with Cluster.simulated(1) as cluster:
        cluster.apply(made)
        while "c" in running(cluster):
            cluster.advance(1)
        cluster.advance(10)
        assert running(cluster) == {"first"}
        cluster.advance(3)
        assert running(cluster) == set()


WAITING = ["sh", "-c", "nginx -s quit; while killall -0 nginx; do sleep 1; done"]
NGINX = ["nginx", "-g", "daemon off;"]
SIGNALS = [
    # the hook, the container, seconds until it has ended, whether the hook counts as failed
    # kubernetes.io/examples/pods/lifecycle-events.yaml: nginx has gone before the loop looks again
    (WAITING, NGINX, 0, True),
    (["nginx", "-s", "quit"], NGINX, 0, False),
    (["sh", "-c", "sleep 5; kill 1; sleep 20"], NGINX, 5, True),
    (["sh", "-c", "sleep 5; kill 1"], NGINX, 5, False),
    (["sh", "-c", "kill -TERM 1; sleep 20"], ["sh", "-c", "trap 'sleep 3; exit 0' TERM; sleep 999 & wait"], 3, True),
    (["sh", "-c", "kill 1; sleep 4"], ["sleep", "1000"], 30, False),  # no handler
    (["sh", "-c", "kill -9 1; sleep 4"], NGINX, 4, False),  # not from inside
]


@pytest.mark.parametrize(("hook", "command", "seconds", "failed"), SIGNALS)
def test_a_hook_sends_signals(hook: list[str], command: list[str], seconds: int, failed: bool) -> None:
    """A command in a container is killed with it: kubernetes.io/docs/concepts/containers/container-lifecycle-hooks."""
    with Cluster.simulated(1) as cluster:
        cluster.apply(pod(command, pre_stop(*hook)))
        cluster.advance(5)
        assert seconds_to_end(cluster, lambda: cluster.delete("pod", "p")) == seconds
        cluster.advance(1)
        assert (("FailedPreStopHook", "PreStopHook failed") in reasons(cluster)) == failed
