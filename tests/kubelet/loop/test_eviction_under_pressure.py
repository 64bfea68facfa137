"""A simulated node under pressure of disk and process ids, its system processes, and the timeline of its kubelet."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Event
from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from kitlib.kubelet.cm.system_cgroups import SystemProcess, kubelet_step, system_steps
from kitlib.views.timeline import timeline_frame, timeline_text

DISK = {"ephemeral_storage": "100Gi"}


def pod(name: str, workload: str = "", *, resources: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": resources or {}}
    meta = {"name": name, "annotations": {"kitlib.dev/workload.c": workload} if workload else {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], **spec}}


def events(cluster: SimulatedCluster, reason: str) -> list[Event]:
    return [event for event in cluster.list("Event") if event.reason == reason]


def condition(cluster: SimulatedCluster, kind: str) -> tuple[str, str]:
    found = next(c for c in cluster.nodes[0].status.conditions if c.type == kind)
    return found.status, found.reason


def test_a_full_disk_evicts_who_wrote_most_above_its_request() -> None:
    cluster = Cluster.simulated([{**DISK}])
    asked = {"requests": {"ephemeral-storage": "60Gi"}}
    cluster.apply([pod("asked", "disk=50Gi", resources=asked), pod("greedy", "20s; disk=30Gi logs=15Gi")])
    assert condition(cluster, "DiskPressure") == ("False", "KubeletHasNoDiskPressure")
    cluster.advance(35)
    gone = cluster.pod("greedy").status
    assert (gone.phase, gone.reason) == ("Failed", "Evicted")
    assert gone.message == (
        "The node was low on resource: ephemeral-storage. Threshold quantity: 10737418400, available: 5Gi. "
        "Container c was using 45Gi, request is 0, has larger consumption of ephemeral-storage. "
    )
    target = next(c for c in gone.conditions if c.type == "DisruptionTarget")
    assert (target.status, target.reason) == ("True", "TerminationByKubelet")
    assert cluster.pod("asked").status.phase == "Running"
    assert condition(cluster, "DiskPressure") == ("True", "KubeletHasDiskPressure")
    assert [t.key for t in cluster.nodes[0].spec.taints] == ["node.kubernetes.io/disk-pressure"]
    assert [e.message for e in events(cluster, "NodeHasDiskPressure")] == [
        "Node node-1 status is now: NodeHasDiskPressure"
    ]
    assert events(cluster, "EvictionThresholdMet")[0].message == "Attempting to reclaim ephemeral-storage"
    cluster.advance(400)
    assert condition(cluster, "DiskPressure") == ("False", "KubeletHasNoDiskPressure")
    assert cluster.nodes[0].spec.taints == []


def test_a_node_under_disk_pressure_admits_nobody_but_critical_pods() -> None:
    cluster = Cluster.simulated([{**DISK}], scheduler=False)
    cluster.apply(pod("greedy", "disk=95Gi", nodeName="node-1"))
    cluster.advance(11)
    cluster.apply(pod("late", nodeName="node-1", resources={"requests": {"cpu": "1"}}))
    cluster.apply(pod("vital", nodeName="node-1", priorityClassName="system-node-critical"))
    refused = cluster.pod("late").status
    assert (refused.phase, refused.reason) == ("Failed", "Evicted")
    assert refused.message == "Pod was rejected: The node had condition: [DiskPressure]. "
    assert cluster.pod("vital").status.phase == "Running"


def test_under_memory_pressure_only_besteffort_pods_are_refused() -> None:
    cluster = Cluster.simulated(
        [{"memory": "1Gi", "kubelet": ["--eviction-hard=memory.available<500Mi"]}], scheduler=False
    )
    cluster.apply(pod("greedy", "memory=600Mi", nodeName="node-1"))
    cluster.advance(11)
    cluster.apply(
        [pod("best", nodeName="node-1"), pod("burst", nodeName="node-1", resources={"requests": {"cpu": "1"}})]
    )
    assert cluster.pod("best").status.reason == "Evicted"
    assert cluster.pod("burst").status.phase == "Running"


def test_too_many_files_evict_too() -> None:
    cluster = Cluster.simulated([{**DISK}])
    cluster.apply([pod("files", "inodes=6400k"), pod("few", "inodes=10")])
    cluster.advance(11)
    assert cluster.pod("files").status.message.startswith("The node was low on resource: inodes. ")
    assert cluster.pod("few").status.phase == "Running"


def test_process_ids_that_run_out_evict_by_priority_and_number() -> None:
    flags = ["--eviction-hard=pid.available<1000"]
    cluster = Cluster.simulated([{"max_pid": 4000, "kubelet": flags}])
    cluster.apply([pod("bomb", "15s pids=10; pids=2500"), pod("many", "pids=700"), pod("few", "pids=20")])
    cluster.advance(11)
    assert {p.status.phase for p in cluster.pods()} == {"Running"}
    cluster.advance(10)
    gone = cluster.pod("bomb").status
    assert gone.message.startswith("The node was low on resource: pids. Threshold quantity: 1k, available: ")
    cluster.advance(5)  # the condition comes with the next node status
    assert condition(cluster, "PIDPressure") == ("True", "KubeletHasInsufficientPID")
    assert [t.key for t in cluster.nodes[0].spec.taints] == ["node.kubernetes.io/pid-pressure"]
    assert cluster.pod("many").status.phase == "Running"


def test_a_soft_disk_threshold_waits_and_gives_time_to_end() -> None:
    flags = [
        "--eviction-soft=nodefs.available<50%",
        "--eviction-soft-grace-period=nodefs.available=30s",
        "--eviction-max-pod-grace-period=20",
    ]
    cluster = Cluster.simulated([{**DISK, "kubelet": flags}])
    cluster.apply(pod("greedy", "disk=60Gi"))
    cluster.advance(30)
    assert cluster.pod("greedy").status.phase == "Running"
    cluster.advance(25)
    assert cluster.pod("greedy").status.reason == "Evicted"
    (stop,) = [e for e in cluster.node().kubelet.timeline if e.action == "stopping container"]
    assert stop.detail == "grace 20 s"


def test_minimum_reclaim_goes_on_until_there_is_some_more() -> None:
    hard = "--eviction-hard=nodefs.available<10Gi"
    pods = [pod(f"p{i}", f"disk={size}Gi") for i, size in enumerate((40, 30, 25))]
    for flags, left in (([hard], 2), ([hard, "--eviction-minimum-reclaim=nodefs.available=50Gi"], 1)):
        cluster = Cluster.simulated([{**DISK, "kubelet": flags}])
        cluster.apply(pods)
        cluster.advance(60)
        assert sum(p.status.phase == "Running" for p in cluster.pods()) == left


LIMITS: list[tuple[dict[str, Any], str, dict[str, Any], str]] = [
    (
        {"limits": {"ephemeral-storage": "1Gi"}},
        "disk=600Mi logs=600Mi",
        {},
        "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ",
    ),
    (
        {},
        "volume=2Gi",
        {"volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}]},
        'Usage of EmptyDir volume "scratch" exceeds the limit "1Gi". ',
    ),
]


@pytest.mark.parametrize(("resources", "workload", "spec", "message"), LIMITS)
def test_who_writes_more_than_its_own_limit_goes_without_any_pressure(
    resources: dict[str, Any], workload: str, spec: dict[str, Any], message: str
) -> None:
    cluster = Cluster.simulated([{**DISK}])
    cluster.apply(pod("writer", workload, resources=resources, **spec))
    cluster.advance(11)
    assert (cluster.pod("writer").status.reason, cluster.pod("writer").status.message) == ("Evicted", message)
    assert condition(cluster, "DiskPressure")[0] == "False"


def test_one_containers_limit_is_its_own() -> None:
    cluster = Cluster.simulated([{**DISK}])
    made = pod("two", "disk=2Gi", resources={"limits": {"ephemeral-storage": "1Gi"}})
    made["spec"]["containers"].append(
        {"name": "other", "image": "x", "resources": {"limits": {"ephemeral-storage": "4Gi"}}}
    )
    cluster.apply(made)
    cluster.advance(11)
    assert cluster.pod("two").status.message == 'Container c exceeded its local ephemeral storage limit "1Gi". '


def test_a_machine_without_memory_left_reports_a_system_oom() -> None:
    cluster = Cluster.simulated([{"memory": "1Gi", "kubelet": ["--enforce-node-allocatable=none"]}])
    cluster.apply(pod("hog", "5s memory=10Mi; memory=950Mi"))
    cluster.advance(6)
    (event,) = events(cluster, "SystemOOM")
    assert (event.type, event.involved_object.kind) == ("Warning", "Node")
    assert event.message.startswith("System OOM encountered, victim process: app, pid: ")
    assert cluster.pod("hog").status.container_statuses[0].restart_count == 1


# System cgroups.


def test_what_ensure_system_cgroups_moves_and_what_it_leaves() -> None:
    found = [
        SystemProcess(1, "init", "/"),
        SystemProcess(2, "kthreadd", "/", kernel=True),
        SystemProcess(300, "sshd", "/"),
        SystemProcess(301, "cron", "/system.slice/cron.service"),
    ]
    steps = {step.process.name: step.to for step in system_steps(found, "/sys.slice/system")}
    assert steps == {"init": "", "kthreadd": "", "sshd": "/sys.slice/system"}
    own = kubelet_step([SystemProcess(9, "kubelet", "/", -999)], "", -999)
    assert own is not None
    assert (own.to, own.score) == ("", -999)


@pytest.mark.parametrize("version", [1, 2])
def test_daemons_of_the_root_are_moved_every_minute(version: int) -> None:
    flags = ["--system-cgroups=/sys.slice/system", "--kubelet-cgroups=/kube.slice/kubelet", "--cgroup-root=/"]
    cluster = Cluster.simulated([{"kubelet": flags}], cgroup_version=version)
    node = cluster.node()
    there = {p.name: (p.cgroup, p.oom_score_adj) for p in node.processes()}
    assert there == {"kubelet": ("/kube.slice/kubelet", -999), "containerd": ("/sys.slice/system", -999)}
    pid = next(p.pid for p in node.processes() if p.name == "containerd")
    node.write("/", "cgroup.procs", str(pid))
    cluster.advance(59)
    assert node.read("/", "cgroup.procs") == str(pid)
    cluster.advance(2)
    assert node.read("/", "cgroup.procs") == ""
    moved = [e for e in node.kubelet.timeline if e.action == "moving process" and "containerd" in e.about]
    assert [e.source for e in moved] == ["ensureSystemCgroups"] * 2


def test_with_systemd_nothing_stands_in_the_root_so_nothing_is_moved() -> None:
    flags = ["--system-cgroups=/sys.slice/system", "--cgroup-root=/", "--cgroup-driver=systemd"]
    node = Cluster.simulated([{"kubelet": flags}]).node()
    assert node.cgroupfs.exists("/sys.slice/system")
    assert node.read("/sys.slice/system", "cgroup.procs") == ""
    assert {p.name: p.cgroup for p in node.processes()}["kubelet"] == "/system.slice/kubelet.service"
    assert {p.name: p.oom_score_adj for p in node.processes()}["kubelet"] == -999


def test_the_system_cgroup_cannot_be_the_root() -> None:
    with pytest.raises(KitError, match="system container cannot be root"):
        Cluster.simulated([{"kubelet": ["--system-cgroups=/", "--cgroup-root=/"]}])


# The timeline.


def test_the_timeline_tells_what_the_kubelet_did_in_order() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(pod("web", "5s exit=1", resources={"requests": {"cpu": "1"}}))
    cluster.advance(70)
    node = cluster.node()
    frame = timeline_frame(node, about="web")
    assert list(frame["action"])[:4] == ["admitting pod", "starting container", "container ended", "starting container"]
    assert frame["source"].iloc[0] == "HandlePodAdditions"
    assert set(frame.columns) == {"seconds", "actor", "action", "about", "detail", "source"}
    classes = timeline_frame(node, "qosContainerManager")
    assert "cpu.weight" in classes["detail"].iloc[0]
    assert "writing again, as every minute" in timeline_text(node, "qosContainerManager")


# The finer parts of the kernel, as a pod meets them.


def test_with_memory_qos_a_container_is_slowed_down_before_it_is_killed() -> None:
    def reached(kubelet: dict[str, float]) -> tuple[int, int]:
        cluster = Cluster.simulated([{"memory": "8Gi", "kubelet": kubelet}])
        asked = {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}
        cluster.apply(pod("grower", "5s memory=50Mi; memory=3Gi", resources=asked))
        cluster.advance(20)
        used = cluster.node().usages().get(("default", "grower"), {"c": (0.0, 0)})
        return cluster.pod("grower").status.container_statuses[0].restart_count, used["c"][1]

    assert reached({})[0] >= 1
    restarts, memory = reached({"memoryThrottlingFactor": 0.9})
    # memory.high is 1 + 0.9 * (2 - 1) GiB
    assert restarts == 0
    assert 1.9 * 2**30 < memory < 2 * 2**30


def test_a_pods_limit_of_process_ids_holds_a_fork_bomb() -> None:
    cluster = Cluster.simulated([{"kubelet": ["--pod-max-pids=200"]}])
    made = pod("bomb")
    made["spec"]["containers"][0]["command"] = ["sh", "-c", ":(){ :|:& };:"]
    cluster.apply([made, pod("calm")])
    cluster.advance(5)
    node = cluster.node()
    (path,) = (c.path for c in node.desired().of_kind("pod") if c.pod.endswith("bomb"))
    assert node.read(path, "pids.current") == "200"
    assert any("fork rejected by pids controller" in line for line in node.kernel_log())
    assert cluster.pod("calm").status.phase == "Running"


@pytest.mark.parametrize("version", [1, 2])
def test_the_machines_pressure_is_seen_on_both_versions(version: int) -> None:
    cluster = Cluster.simulated([{"cpus": 1}], cgroup_version=version)
    cluster.apply([pod("a", "cpu=1"), pod("b", "cpu=1")])
    cluster.advance(60)
    node = cluster.node()
    assert node.pressure("cpu").startswith("some avg10=99.")
    assert node.pressure("memory").startswith("some avg10=0.00")
    with pytest.raises(KitError):
        node.pressure("luck")
