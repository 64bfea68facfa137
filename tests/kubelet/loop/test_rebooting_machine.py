"""A machine that is rebooted: what is lost, what is kept, and which containers start again."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.cluster import Cluster

STATIC = ["--cpu-manager-policy=static", "--reserved-cpus=0", "--kube-reserved=cpu=500m"]


def container(name: str = "c", command: str = "sleep inf", **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "busybox", "command": ["sh", "-c", command], **more}


def pod(name: str, *containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    spec = {"containers": list(containers) or [container()], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def cluster() -> Any:
    with Cluster.simulated([{"name": "n", "cpus": 8, "kubelet": STATIC}]) as made:
        yield made


def states(pod: Any) -> dict[str, Any]:
    of = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return {one.name: (one.restart_count, next(iter(one.state)), ended(one)) for one in of}


def ended(status: Any) -> tuple[int, str]:
    found = status.state.get("terminated") or status.last_state.get("terminated") or {}
    return found.get("exitCode", -1), found.get("reason", "")


def test_containers_start_again_in_new_sandboxes(cluster: Any) -> None:
    cluster.apply(pod("a"))
    cluster.advance(5)
    before = cluster.node().owners()
    boot = cluster.get("Node", "n").status.node_info["bootID"]
    cluster.node().reboot()
    cluster.advance(5)
    assert states(cluster.pod("a")) == {"c": (1, "running", (255, "Unknown"))}
    assert not before.keys() & cluster.node().owners().keys()
    assert cluster.node().differences() == []
    told = [event.message for event in cluster.events("a") if event.reason == "SandboxChanged"]
    assert told == ["Pod sandbox changed, it will be killed and re-created."]
    again = cluster.get("Node", "n").status.node_info["bootID"]
    assert again != boot
    told = [event.message for event in cluster.events("n") if event.reason == "Rebooted"]
    assert told == [f"Node n has been rebooted, boot id: {again}"]


@pytest.mark.parametrize(
    ("policy", "phase", "first"),
    [
        ("Never", "Failed", (0, "terminated", (255, "Unknown"))),
        ("OnFailure", "Running", (1, "running", (255, "Unknown"))),
        ("Always", "Running", (1, "running", (255, "Unknown"))),
    ],
)
def test_the_restart_policy_decides(cluster: Any, policy: str, phase: str, first: Any) -> None:
    cluster.apply(pod("a", container(), container("done", "exit 0"), restartPolicy=policy))
    cluster.advance(1)
    done = states(cluster.pod("a"))["done"]
    cluster.node().reboot()
    cluster.advance(2)
    after = cluster.pod("a")
    assert (after.status.phase, states(after)["c"]) == (phase, first)
    if policy != "Always":  # a container that has succeeded does not run again
        assert states(after)["done"] == done == (0, "terminated", (0, "Completed"))


def test_init_containers_run_again(cluster: Any) -> None:
    cluster.apply(pod("a", initContainers=[container("init", "sleep 1")]))
    cluster.advance(5)
    assert states(cluster.pod("a"))["init"] == (0, "terminated", (0, "Completed"))
    cluster.node().reboot()
    assert states(cluster.pod("a"))["init"][:2] == (1, "running")
    cluster.advance(10)
    assert states(cluster.pod("a")) == {
        "init": (1, "terminated", (0, "Completed")),
        "c": (1, "running", (255, "Unknown")),
    }


def test_a_container_that_may_never_restart_starts_in_a_new_sandbox(cluster: Any) -> None:
    cluster.apply(pod("a", container(restartPolicy="Never"), container("other")))
    cluster.advance(2)
    cluster.node().reboot()
    cluster.advance(2)
    assert states(cluster.pod("a"))["c"] == (1, "running", (255, "Unknown"))


def test_cpus_stay_assigned_and_a_deleted_pod_goes(cluster: Any) -> None:
    resources = {"limits": {"cpu": "2", "memory": "64Mi"}}
    cluster.apply([pod("pinned", container(resources=resources)), pod("leaving", terminationGracePeriodSeconds=600)])
    cluster.advance(5)
    before = cluster.node().proc("pinned")["Cpus_allowed_list"]
    cluster.delete("Pod", "leaving")
    cluster.advance(2)
    assert {one.name for one in cluster.pods()} == {"leaving", "pinned"}
    cluster.node().reboot()
    cluster.advance(2)
    assert [one.name for one in cluster.pods()] == ["pinned"]
    assert cluster.node().proc("pinned")["Cpus_allowed_list"] == before


def test_memory_and_values_written_by_hand_are_lost(cluster: Any) -> None:
    volumes = [{"name": "v", "emptyDir": {"medium": "Memory"}}]
    writer = container(command="dd if=/dev/zero of=/v/f bs=1M count=50; sleep inf")
    writer["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    cluster.apply(pod("a", writer, restartPolicy="Never", volumes=volumes))
    cluster.advance(5)
    node = cluster.node()
    used = node.usage("/kubepods")
    node.write("/kubepods", "cpu.weight", "7")
    node.reboot()
    cluster.advance(2)
    assert used >= 50 * 2**20 > node.usage("/kubepods")
    assert node.differences() == [] and node.kernel_log() == []


def test_a_reboot_is_in_the_journal_and_is_replayed(cluster: Any) -> None:
    cluster.apply(pod("a"))
    cluster.advance(2)
    cluster.node().reboot()
    cluster.advance(2)
    with Cluster.simulated([{"name": "n", "cpus": 8, "kubelet": STATIC}]) as again:
        again.replay(cluster.journal)
        assert states(again.pod("a")) == states(cluster.pod("a"))
