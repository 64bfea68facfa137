"""Pods that run on the simulated kernel: started in order, killed, restarted, evicted; files stay as desired."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.api.serialize import to_dict
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from tests.sizes import sampled


def pod(name: str, workload: str = "", *, resources: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    notes = {"kitlib.dev/workload.c": workload} if workload else {}
    container = {"name": "c", "image": "x", "resources": resources or {}}
    meta = {"name": name, "annotations": notes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], **spec}}


def state(cluster: SimulatedCluster, name: str) -> tuple[str, str, int]:
    """Phase, the container's state or its reason, restarts."""
    found = cluster.pod(name)
    one = found.status.container_statuses[0]
    (kind, detail), *_ = one.state.items()
    return found.status.phase, detail.get("reason", kind), one.restart_count


def test_a_container_over_its_limit_is_killed_and_restarted_with_back_off() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(pod("hog", "5s memory=50Mi; memory=300Mi", resources={"limits": {"memory": "128Mi"}}))
    assert state(cluster, "hog") == ("Running", "running", 0)
    cluster.advance(5)
    assert state(cluster, "hog") == ("Running", "running", 1)
    last = cluster.pod("hog").status.container_statuses[0].last_state["terminated"]
    assert (last["reason"], last["exitCode"]) == ("OOMKilled", 137)
    cluster.advance(6)
    assert state(cluster, "hog") == ("Running", "CrashLoopBackOff", 1)
    cluster.advance(10)
    assert state(cluster, "hog") == ("Running", "running", 2)
    assert any("oom-killer" in line for line in cluster.node().kernel_log())
    assert [e.reason for e in cluster.events("hog")][:3] == ["Scheduled", "Created", "Started"]


def test_init_containers_come_first_and_a_job_succeeds() -> None:
    cluster = Cluster.simulated(1)
    init = {"name": "i", "image": "x", "command": ["sleep", "2"]}
    made = pod("job", "5s cpu=1", restartPolicy="Never", initContainers=[init])
    cluster.apply(made)
    assert state(cluster, "job") == ("Pending", "PodInitializing", 0)
    cluster.advance(3)
    assert state(cluster, "job") == ("Running", "running", 0)
    cluster.advance(5)
    assert state(cluster, "job") == ("Succeeded", "Completed", 0)
    assert cluster.node().differences() == []


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [("Never", 0, "Succeeded"), ("Never", 3, "Failed"), ("OnFailure", 0, "Succeeded"), ("Always", 0, "Running")],
)
def test_the_restart_policy_decides_what_an_end_means(policy: str, code: int, phase: str) -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(pod("a", f"1s exit={code}", restartPolicy=policy))
    cluster.advance(2)
    assert cluster.pod("a").status.phase == phase


def test_a_pod_that_the_node_has_no_room_for_is_rejected() -> None:
    cluster = Cluster.simulated([{"cpus": 2}], scheduler=False)
    made = [pod(n, nodeName="node-1", resources={"requests": {"cpu": "1500m"}}) for n in ("a", "b")]
    cluster.apply(made)
    assert cluster.pod("a").status.phase == "Running"
    rejected = cluster.pod("b").status
    assert (rejected.phase, rejected.reason) == ("Failed", "OutOfcpu")
    assert "requested: 1500, used: 1500, capacity: 2000" in rejected.message


def test_a_pod_deleted_by_force_gives_its_room_back_before_its_processes_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Source: Kubelet.HandlePodRemoves; GetActivePods (for canAdmitPod) knows only pods of the API server."""
    cluster = Cluster.simulated([{"cpus": 2}], scheduler=False)
    large = {"requests": {"cpu": "1500m"}}
    cluster.apply(pod("a", nodeName="node-1", resources=large))
    runtime = cluster.node().runtime
    stopped: list[str] = []
    with monkeypatch.context() as slow:
        slow.setattr(runtime, "stop", lambda identity, grace=0.0: stopped.append(identity))
        cluster.delete("Pod", "a", grace=0)
        cluster.apply(pod("b", nodeName="node-1", resources=large))
        assert stopped
        assert cluster.pod("b").status.phase == "Running"
    for identity in stopped:
        runtime.stop(identity)
    cluster.advance(2)
    assert {one.pod.name for one in cluster.node().kubelet.workers} == {"b"}


def test_a_node_keeps_no_exit_codes_of_pods_that_are_gone() -> None:
    cluster = Cluster.simulated()
    for grace in (30, 0):
        cluster.apply([pod("a", "exit=3"), pod("b")])
        cluster.advance(2)
        for name in ("a", "b"):
            cluster.delete("Pod", name, grace=grace)
        cluster.advance(40)
    assert not cluster.pods() and not cluster.node().runtime._codes


def test_memory_pressure_evicts_who_uses_more_than_requested() -> None:
    cluster = Cluster.simulated([{"memory": "1Gi", "kubelet": ["--eviction-hard=memory.available<200Mi"]}])
    cluster.apply(pod("modest", "memory=300Mi", resources={"requests": {"memory": "320Mi"}}))
    cluster.apply(pod("greedy", "20s memory=50Mi; memory=500Mi", resources={"requests": {"memory": "64Mi"}}))
    cluster.advance(35)
    evicted = cluster.pod("greedy").status
    assert (evicted.phase, evicted.reason) == ("Failed", "Evicted")
    assert evicted.message.startswith("The node was low on resource: memory. Threshold quantity: 200Mi, available: ")
    assert cluster.pod("modest").status.phase == "Running"
    cluster.advance(200)
    assert [t.key for t in cluster.nodes[0].spec.taints] == ["node.kubernetes.io/memory-pressure"]
    cluster.advance(120)
    assert cluster.nodes[0].spec.taints == []


def test_a_soft_threshold_waits_for_its_grace_period() -> None:
    flags = ["--eviction-hard=memory.available<50Mi", "--eviction-soft=memory.available<400Mi"]
    flags.append("--eviction-soft-grace-period=memory.available=60s")
    cluster = Cluster.simulated([{"memory": "1Gi", "kubelet": flags}])
    cluster.apply(pod("greedy", "memory=600Mi", resources={"requests": {"memory": "64Mi"}}))
    cluster.advance(50)
    assert cluster.pod("greedy").status.phase == "Running"
    cluster.advance(40)
    assert cluster.pod("greedy").status.reason == "Evicted"


def test_class_cgroups_are_written_again_every_minute_and_others_are_not() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(pod("a", resources={"requests": {"cpu": "1"}}))
    node = cluster.node()
    burstable = next(c.path for c in node.tree().of_kind("qos") if "burstable" in c.path)
    own = next(c.path for c in node.tree().of_kind("pod"))
    node.write(burstable, "cpu.weight", "7")
    node.write(own, "cpu.weight", "7")
    assert len(node.differences()) == 2
    cluster.advance(61)
    assert [d.path for d in node.differences()] == [own]


@pytest.mark.parametrize(
    ("version", "driver"),
    sampled(
        [pytest.param(version, driver) for driver, version in product(("systemd", "cgroupfs"), (2, 1))],
        4,
        pytest.mark.thorough,
    ),
)
def test_desired_equals_observed_for_two_hundred_random_pods(version: int, driver: str) -> None:
    dice = random.Random(version)
    machine = {"cpus": 64, "memory": "256Gi", "kubelet": [f"--cgroup-driver={driver}", "--max-pods=300"]}
    cluster = Cluster.simulated([machine], cgroup_version=version)
    made = []
    for i in range(200):
        amounts = {"cpu": f"{dice.randint(1, 300)}m", "memory": f"{dice.randint(4, 512)}Mi"}
        some = dict(dice.sample(sorted(amounts.items()), dice.randint(0, 2)))
        made.append(pod(f"p{i}", resources={"requests": some, "limits": some if dice.random() < 0.4 else {}}))
    cluster.apply(made)
    assert {p.status.phase for p in cluster.pods()} == {"Running"}
    assert cluster.node().differences() == []
    for i in range(0, 200, 3):
        cluster.delete("pod", f"p{i}")
    assert cluster.node().differences() == []
    assert len(cluster.node().tree().of_kind("pod")) == len(cluster.pods())


def test_a_killed_process_is_restarted_and_a_replay_does_the_same() -> None:
    first = Cluster.simulated(2, seed=1)
    first.apply([pod("a", "cpu=1"), pod("b", "3s memory=20Mi; exit=1", restartPolicy="OnFailure")])
    first.advance(10)
    first.node(first.pod("a").spec.node_name).signal("a", "c", 9)
    first.advance(30)
    assert first.pod("a").status.container_statuses[0].restart_count == 1
    second = Cluster.simulated(2, seed=1)
    second.replay(first.journal)
    assert second.snapshot() == first.snapshot()
    with pytest.raises(KitError, match="signal: must be one of 2, 3, 9, 15, got 1"):
        first.node(first.pod("a").spec.node_name).signal("a", "c", 1)


@pytest.mark.parametrize(
    ("command", "signal", "code"),
    [
        ("sleep 1000", 15, None),
        ("sleep 1000", 2, None),
        ("sleep 1000", 9, 137),
        ("nginx", 15, 0),
        ("./server", 15, 143),
    ],
)
def test_a_signal_by_hand_ends_process_1_by_its_handler_only(command: str, signal: int, code: int | None) -> None:
    cluster = Cluster.simulated(1)
    container = {"name": "c", "image": "x", "command": command.split()}
    cluster.apply(pod("a", containers=[container], restartPolicy="Never"))
    cluster.node().signal("a", "c", signal)
    cluster.advance(1)
    ended = cluster.pod("a").status.container_statuses[0].state.get("terminated")
    assert (ended and ended["exitCode"]) == code


def test_a_workload_that_cannot_be_read_keeps_the_container_waiting() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(pod("a", "cpu=lots"))
    assert state(cluster, "a")[1] == "CreateContainerConfigError"


@pytest.mark.parametrize(
    ("script", "grace", "seconds"),
    [
        ("sleep infinity", 6, 6),
        ("nginx", 6, 0),
        ("sleep infinity & wait", 6, 6),
        ("trap 'sleep 3; exit 0' TERM; sleep infinity & wait", 6, 3),
        ("trap '' TERM; sleep infinity & wait", 6, 6),
        ("trap 'sleep 9' TERM; sleep infinity & wait", 6, 6),
        ("trap '' TERM; sleep infinity & wait", 0, 0),
    ],
)
def test_a_pod_leaves_when_its_process_has_tidied_up_and_after_its_grace_period_at_the_latest(
    script: str, grace: int, seconds: int
) -> None:
    cluster = Cluster.simulated([{"name": "n", "cpus": 1}])
    made = pod("old")
    made["spec"]["containers"][0] |= {"command": ["sh", "-c", script], "resources": {"requests": {"cpu": "1"}}}
    cluster.apply(made)
    cluster.apply(pod("new", resources={"requests": {"cpu": "1"}}))
    cluster.delete("Pod", "old", grace=grace)
    for _ in range(seconds):
        assert cluster.node().owners() and not cluster.pod("new").spec.node_name
        cluster.advance(1)
    cluster.advance(2)  # the newcomer's back-off, and what a process has at least to end
    assert [p.name for p in cluster.pods()] == ["new"]
    assert {name for _, name, _ in cluster.node().owners().values()} == {"new"}
    assert cluster.node().differences() == []


def test_a_status_names_the_container_its_user_and_its_mounts() -> None:
    """The ID is the last part of the container's cgroup, as on a real node."""
    cluster = Cluster.simulated(1)
    mounts = [
        {"name": "data", "mountPath": "/data"},
        {"name": "data", "mountPath": "/seen", "readOnly": True, "recursiveReadOnly": "IfPossible"},
        {"name": "data", "mountPath": "/old", "readOnly": True},
    ]
    container = {"name": "c", "image": "app", "volumeMounts": mounts, "securityContext": {"runAsUser": 1000}}
    ending = {"name": "once", "image": "app", "command": ["sh", "-c", "exit 3"]}
    group = {"runAsGroup": 2000, "fsGroup": 3000, "supplementalGroups": [4000]}
    spec = {
        "containers": [container, ending],
        "restartPolicy": "Never",
        "securityContext": group,
        "volumes": [{"name": "data", "emptyDir": {}}],
    }
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    cluster.advance(3)
    runs, ended = (to_dict(one) for one in cluster.pod("p").status.container_statuses)
    scheme, _, identity = runs["containerID"].partition("://")
    assert scheme == "simulated"
    assert [path for path in cluster.node().cgroupfs.paths() if path.endswith(f"/{identity}")]
    assert runs["user"] == {"linux": {"uid": 1000, "gid": 2000, "supplementalGroups": [2000, 3000, 4000]}}
    assert runs["volumeMounts"] == [
        {"name": "data", "mountPath": "/data"},
        {"name": "data", "mountPath": "/seen", "readOnly": True, "recursiveReadOnly": "Enabled"},
        {"name": "data", "mountPath": "/old", "readOnly": True, "recursiveReadOnly": "Disabled"},
    ]
    assert ended["state"]["terminated"]["containerID"] == ended["containerID"] != runs["containerID"]
    old = Cluster.simulated(1, release="1.30")
    old.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {**spec, "containers": [ending]}})
    old.advance(3)
    assert to_dict(old.pod("p").status.container_statuses[0]).keys().isdisjoint({"user", "volumeMounts"})
