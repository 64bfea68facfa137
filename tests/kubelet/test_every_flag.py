"""Every setting of the kubelet is seen to do something: each row changes one, and what one looks at differs.

What is looked at is a running node: its cgroup files, its Node object, whom it admits, when it evicts and restarts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.cluster.simulated import SimulatedCluster
from kitlib.kubelet.settings import KubeletSettings

MI = 2**20
Look = Callable[[SimulatedCluster], Any]


def pod(name: str, workload: str = "", spec: dict[str, Any] | None = None, **resources: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": resources}
    meta = {"name": name, "annotations": {"kitlib.dev/workload.c": workload} if workload else {}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"nodeName": "node-1", "containers": [container], **(spec or {})},
    }


BURSTABLE = pod("b", requests={"cpu": "500m", "memory": "256Mi"}, limits={"cpu": "1", "memory": "512Mi"})
GUARANTEED = pod("g", limits={"cpu": "2", "memory": "1Gi"})
BEST_EFFORT = pod("e")
ALL = [GUARANTEED, BURSTABLE, BEST_EFFORT]


# What is looked at.


def file(name: str, *, kind: str = "kubepods", of: str = "") -> Look:
    """A file of the first cgroup of that kind (and pod or class); None where there is no such cgroup."""

    def look(cluster: SimulatedCluster) -> Any:
        node = cluster.node()
        for cgroup in node.desired().of_kind(kind):
            if of in ("", cgroup.qos, cgroup.pod.rpartition("/")[2]):
                return node.read(cgroup.path, name)
        return None

    return look


def at(path: str, name: str) -> Look:
    """A file of a cgroup with that path; None where there is none."""
    return lambda cluster: cluster.node().read(path, name) if cluster.node().kernel.exists(path) else None


def path(kind: str, of: str = "") -> Look:
    """Where the first cgroup of that kind stands."""

    def look(cluster: SimulatedCluster) -> Any:
        found = [c.path for c in cluster.node().desired().of_kind(kind) if of in ("", c.pod.rpartition("/")[2])]
        return found[0].replace(str(cluster.pod(of).metadata.uid), "UID") if found and of else (found or [None])[0]

    return look


def allocatable(name: str) -> Look:
    """Of the Node object."""
    return lambda cluster: str(cluster.nodes[0].status.allocatable[name])


def status(name: str) -> Look:
    """A pod's phase, or the reason why it failed."""
    return lambda cluster: cluster.pod(name).status.reason or cluster.pod(name).status.phase


def after(seconds: float, look: Look) -> Look:
    """The same, later."""

    def later(cluster: SimulatedCluster) -> Any:
        cluster.advance(seconds)
        return look(cluster)

    return later


def phases(cluster: SimulatedCluster) -> Any:
    """Of all pods: how many run, and the first reason why one does not."""
    reasons = sorted({p.status.reason for p in cluster.pods() if p.status.reason})
    return sum(p.status.phase == "Running" for p in cluster.pods()), *reasons[:1]


def pressure(cluster: SimulatedCluster) -> Any:
    return next(c.status for c in cluster.nodes[0].status.conditions if c.type == "MemoryPressure")


def restarts(cluster: SimulatedCluster) -> Any:
    return cluster.pods()[0].status.container_statuses[0].restart_count


def daemon(name: str) -> Look:
    """Where a daemon stands."""
    return lambda cluster: next(p.cgroup for p in cluster.node().processes() if p.name == name)


def score(cluster: SimulatedCluster) -> Any:
    return next(p.oom_score_adj for p in cluster.node().processes() if p.name == "kubelet")


def grace(cluster: SimulatedCluster) -> Any:
    return [e.detail for e in cluster.node().kubelet.timeline if e.action == "stopping container"]


def cpus(name: str) -> Look:
    return lambda cluster: cluster.node().proc(name)["Cpus_allowed_list"]


class Row(NamedTuple):
    """One setting.

    Attributes:
        setting: its name. before, after: flags or configuration without and with it.
        pods: that run. look: what is looked at. without, with_it: what is seen.
        machine, version: what the node is.
    """

    setting: str
    flags: list[str] | dict[str, Any]
    pods: list[dict[str, Any]]
    look: Look
    without: Any
    with_it: Any
    common: list[str] | dict[str, Any] = []
    machine: dict[str, Any] = {}
    version: int = 2


HOG = pod("hog", "memory=800Mi", requests={"memory": "100Mi"})
SMALL = {"memory": "1Gi"}
DISK = {"ephemeral_storage": "100Gi"}
QUIET = ["--eviction-hard="]
SOFT = ["--eviction-soft=memory.available<500Mi", "--eviction-soft-grace-period=memory.available=30s"]
NUMA = {"cpus": 8, "memory": "16Gi"}
MEMORY_QOS = {"featureGates": {"MemoryQoS": True}}
CRASHING = pod("crash", "1s exit=1")

ROWS = [
    Row(
        "cgroups_per_qos",
        ["--cgroups-per-qos=false"],
        ALL,
        path("kubepods"),
        "/kubepods",
        None,
        ["--enforce-node-allocatable="],
    ),
    Row("cgroup_root", ["--cgroup-root=/pods"], ALL, path("kubepods"), "/kubepods", "/pods/kubepods"),
    Row("cgroup_driver", ["--cgroup-driver=systemd"], ALL, path("kubepods"), "/kubepods", "/kubepods.slice"),
    Row(
        "cgroup_driver",
        ["--cgroup-driver=systemd"],
        ALL,
        path("pod", "b"),
        "/kubepods/burstable/podUID",
        None,
    ),
    Row(
        "enforce_node_allocatable",
        ["--enforce-node-allocatable=none"],
        ALL,
        file("memory.max"),
        str(7 * 1024 * MI),
        str(8 * 1024 * MI),
        ["--system-reserved=memory=1Gi"],
    ),
    Row(
        "enforce_node_allocatable",
        ["--enforce-node-allocatable=pods,system-reserved-compressible"],
        ALL,
        at("/sys", "cpu.weight"),
        None,
        "20",
        ["--system-reserved=cpu=500m,memory=1Gi", "--system-reserved-cgroup=/sys"],
    ),
    Row(
        "system_reserved",
        ["--system-reserved=memory=1Gi"],
        ALL,
        file("memory.max"),
        str(8 * 1024 * MI),
        str(7 * 1024 * MI),
    ),
    Row("system_reserved", ["--system-reserved=cpu=1"], ALL, allocatable("cpu"), "4", "3"),
    Row(
        "kube_reserved",
        ["--kube-reserved=memory=2Gi"],
        ALL,
        file("memory.limit_in_bytes"),
        str(8 * 1024 * MI),
        str(6 * 1024 * MI),
        version=1,
    ),
    Row(
        "kube_reserved",
        ["--kube-reserved=ephemeral-storage=10Gi"],
        ALL,
        allocatable("ephemeral-storage"),
        "100Gi",
        "90Gi",
        QUIET,
        DISK,
    ),
    Row("kube_reserved", ["--kube-reserved=pid=1000"], ALL, file("pids.max"), "4000", "3000", [], {"max_pid": 4000}),
    Row(
        "system_reserved_cgroup",
        ["--system-reserved-cgroup=/sys", "--enforce-node-allocatable=pods,system-reserved"],
        ALL,
        at("/sys", "memory.max"),
        None,
        str(1024 * MI),
        ["--system-reserved=memory=1Gi"],
    ),
    Row(
        "kube_reserved_cgroup",
        ["--kube-reserved-cgroup=/kube", "--enforce-node-allocatable=pods,kube-reserved"],
        ALL,
        at("/kube", "cpu.shares"),
        None,
        "512",
        ["--kube-reserved=cpu=500m"],
        version=1,
    ),
    Row(
        "system_cgroups",
        ["--system-cgroups=/sys.slice/system", "--cgroup-root=/"],
        ALL,
        daemon("containerd"),
        "/",
        "/sys.slice/system",
    ),
    Row(
        "kubelet_cgroups", ["--kubelet-cgroups=/kube.slice/kubelet"], ALL, daemon("kubelet"), "/", "/kube.slice/kubelet"
    ),
    Row(
        "qos_reserved",
        ["--qos-reserved=memory=50%"],
        ALL,
        file("memory.max", kind="qos", of="BestEffort"),
        "max",
        str((8 * 1024 - 512 - 128) * MI),
        ["--feature-gates=QOSReserved=true"],
    ),
    Row("reserved_system_cpus", ["--reserved-cpus=0-1"], ALL, allocatable("cpu"), "4", "2"),
    Row(
        "eviction_hard",
        ["--eviction-hard=memory.available<1Gi"],
        ALL,
        allocatable("memory"),
        "8092Mi",
        "7Gi",
    ),
    Row(
        "eviction_hard",
        ["--eviction-hard=memory.available<500Mi"],
        [HOG],
        after(30, status("hog")),
        "Running",
        "Evicted",
        machine=SMALL,
    ),
    Row("eviction_soft", SOFT, [HOG], after(60, status("hog")), "Running", "Evicted", QUIET, SMALL),
    Row(
        "eviction_soft_grace_period",
        ["--eviction-soft-grace-period=memory.available=10m"],
        [HOG],
        after(60, status("hog")),
        "Evicted",
        "Running",
        [*QUIET, *SOFT],
        SMALL,
    ),
    Row(
        "eviction_minimum_reclaim",
        ["--eviction-minimum-reclaim=memory.available=300Mi"],
        [pod(f"p{i}", "memory=250Mi") for i in range(3)],
        after(60, phases),
        (2, "Evicted"),
        (1, "Evicted"),
        ["--eviction-hard=memory.available<300Mi"],
        SMALL,
    ),
    Row(
        "eviction_pressure_transition_period",
        ["--eviction-pressure-transition-period=20s"],
        [HOG],
        after(120, pressure),
        "True",
        "False",
        ["--eviction-hard=memory.available<500Mi"],
        SMALL,
    ),
    Row(
        "eviction_max_pod_grace_period",
        ["--eviction-max-pod-grace-period=7"],
        [HOG],
        after(60, grace),
        ["grace 0 s"],
        ["grace 7 s"],
        [*QUIET, *SOFT],
        SMALL,
    ),
    Row(
        "merge_default_eviction_settings",
        {"mergeDefaultEvictionSettings": True},
        ALL,
        allocatable("memory"),
        "8Gi",
        "8092Mi",
        {"evictionHard": {"nodefs.available": "5%"}},
    ),
    Row(
        "cpu_manager_policy",
        ["--cpu-manager-policy=static"],
        [GUARANTEED],
        cpus("g"),
        "0-3",
        "1-2",
        ["--reserved-cpus=0"],
    ),
    Row(
        "topology_manager_policy_options",
        ["--topology-manager-policy-options=prefer-closest-numa-nodes=true"],
        [pod("wide", limits={"cpu": "7", "memory": "1Gi"})],
        cpus("wide"),
        "1-7",
        "1-3,8-11",
        ["--cpu-manager-policy=static", "--reserved-cpus=0", "--topology-manager-policy=best-effort"],
        {"cpus": 12, "numa": True, "numa_distances": {0: (10, 30, 12), 1: (30, 10, 30), 2: (12, 30, 10)}},
    ),
    Row(
        "cpu_manager_policy_options",
        ["--cpu-manager-policy-options=full-pcpus-only=true"],
        [pod("odd", limits={"cpu": "1", "memory": "1Gi"})],
        status("odd"),
        "Running",
        "SMTAlignmentError",
        ["--cpu-manager-policy=static", "--reserved-cpus=0,2"],
        {"cpus": 4, "threads": True},
    ),
    Row(
        "memory_manager_policy",
        ["--memory-manager-policy=Static", "--reserved-memory=0:memory=1124Mi"],
        [GUARANTEED],
        file("cpuset.mems", kind="container", of="g"),
        "",
        "0",
        ["--kube-reserved=memory=1Gi", "--eviction-hard=memory.available<100Mi"],
    ),
    Row(
        "topology_manager_policy",
        ["--topology-manager-policy=single-numa-node"],
        [pod("wide", limits={"cpu": "6", "memory": "1Gi"})],
        status("wide"),
        "Running",
        "TopologyAffinityError",
        ["--cpu-manager-policy=static", "--reserved-cpus=0"],
        {**NUMA, "numa": True},
    ),
    Row(
        "topology_manager_scope",
        ["--topology-manager-scope=pod"],
        [
            pod(
                "two",
                spec={
                    "containers": [
                        {"name": n, "image": "x", "resources": {"limits": {"cpu": "3", "memory": "1Gi"}}} for n in "ab"
                    ]
                },
            )
        ],
        status("two"),
        "Running",
        "TopologyAffinityError",
        ["--cpu-manager-policy=static", "--reserved-cpus=0", "--topology-manager-policy=single-numa-node"],
        {**NUMA, "numa": True},
    ),
    Row(
        "cpu_cfs_quota",
        ["--cpu-cfs-quota=false"],
        ALL,
        file("cpu.max", kind="pod", of="b"),
        "100000 100000",
        "max 100000",
    ),
    Row(
        "cpu_cfs_quota_period",
        ["--cpu-cfs-quota-period=10ms"],
        ALL,
        file("cpu.max", kind="container", of="b"),
        "100000 100000",
        "10000 10000",
        ["--feature-gates=CustomCPUCFSQuotaPeriod=true"],
    ),
    Row("pod_pids_limit", ["--pod-max-pids=100"], ALL, file("pids.max", kind="pod", of="e"), "max", "100"),
    Row("max_pods", ["--max-pods=2"], ALL, phases, (3,), (2, "OutOfpods")),
    Row("pods_per_core", ["--pods-per-core=1"], ALL, allocatable("pods"), "110", "4"),
    Row("oom_score_adj", ["--oom-score-adj=-500"], ALL, score, -999, -500),
    Row(
        "memory_throttling_factor",
        {"memoryThrottlingFactor": 0.5},
        ALL,
        file("memory.high", kind="container", of="b"),
        str((256 + 256 * 9 // 10) * MI + (256 * 9 % 10) * MI // 10 // 4096 * 4096),
        str((256 + 128) * MI),
        MEMORY_QOS,
    ),
    Row(
        "memory_reservation_policy",
        {"memoryReservationPolicy": "TieredReservation"},
        ALL,
        file("memory.low", kind="container", of="b"),
        "0",
        str(256 * MI),
        MEMORY_QOS,
    ),
    Row(
        "memory_swap_behavior",
        {"memorySwap": {"swapBehavior": "LimitedSwap"}},
        ALL,
        file("memory.swap.max", kind="container", of="b"),
        "0",
        str(256 * MI // 4),
        {"failSwapOn": False},
        {"swap": "2Gi"},
    ),
    Row(
        "single_process_oom_kill",
        {"singleProcessOOMKill": True},
        ALL,
        file("memory.oom.group", kind="container", of="b"),
        "1",
        "0",
    ),
    Row(
        "crash_loop_back_off_max",
        {"crashLoopBackOff": {"maxContainerRestartPeriod": "2s"}},
        [CRASHING],
        after(60, restarts),
        3,
        20,
        {"featureGates": {"KubeletCrashLoopBackOffMax": True}},
    ),
    Row(
        "feature_gates",
        {"featureGates": {"MemoryQoS": True}},
        ALL,
        file("memory.high", kind="container", of="b"),
        "max",
        None,
    ),
]
"""None in `with_it`: only that it differs; the last bytes are the business of other tests."""


REFUSALS = [
    # settings, what the machine is, cgroup version, the kubelet's words
    (["--cgroups-per-qos=false"], {}, 2, "cgroupsPerQOS (--cgroups-per-qos) must be set to true when"),
    (["--enforce-node-allocatable=system-reserved"], {}, 2, "systemReservedCgroup (--system-reserved-cgroup) must be"),
    (["--enforce-node-allocatable=kube-reserved"], {}, 2, "kubeReservedCgroup (--kube-reserved-cgroup) must be"),
    (["--enforce-node-allocatable=none,pods"], {}, 2, "may not contain additional enforcements when"),
    (["--system-cgroups=/sys"], {}, 2, "systemCgroups (--system-cgroups) was specified and cgroupRoot"),
    (["--system-cgroups=/", "--cgroup-root=/"], {}, 2, 'system container cannot be root ("/")'),
    (["--reserved-cpus=0", "--kube-reserved-cgroup=/k"], {}, 2, "can't use reservedSystemCPUs (--reserved-cpus) with"),
    (["--reserved-cpus=0-9"], {}, 2, "reserved-cpus: 0-9 is not a subset of online-cpus: 0-3"),
    (["--kube-reserved=cpu=5"], {}, 2, 'Resource "cpu" has a reservation of'),
    (["--qos-reserved=cpu=10%"], {}, 2, 'cannot reserve "cpu" resource'),
    (["--cpu-manager-policy=static"], {}, 2, "[cpumanager] unable to determine reserved CPU resources for static"),
    (["--cpu-cfs-quota-period=10ms"], {}, 2, "requires feature gate CustomCPUCFSQuotaPeriod"),
    (["--eviction-soft=memory.available<1Gi"], {}, 2, "grace period must be specified for the soft eviction threshold"),
    (
        ["--memory-manager-policy=Static"],
        {},
        2,
        'the total amount "0" of type "memory" is not equal to the value "100Mi"',
    ),
    (["--oom-score-adj=2000"], {}, 2, "oomScoreAdj (--oom-score-adj) 2000 must be between -1000 and 1000"),
    ([], {"swap": "1Gi"}, 2, "running with swap on is not supported"),
    ({"failCgroupV1": True}, {}, 1, "kubelet is configured to not run on a host using cgroup v1"),
    ({"singleProcessOOMKill": False}, {}, 1, "singleProcessOOMKill must not be explicitly set to false"),
    ({"memoryReservationPolicy": "TieredReservation"}, {}, 2, "requires MemoryQoS feature gate to be enabled"),
]


def start(flags: Any, machine: dict[str, Any], version: int) -> SimulatedCluster:
    words = {"cpus": 4, "memory": "8Gi", **machine}
    if words.pop("threads", False):
        words["topology"] = tuple(_cpu(i, i // 2, 0) for i in range(words["cpus"]))
    if words.pop("numa", False):
        words["topology"] = tuple(_cpu(i, i, i // 4) for i in range(words["cpus"]))
    return Cluster.simulated([{**words, "kubelet": flags}], cgroup_version=version, scheduler=False)


def _cpu(number: int, core: int, numa: int) -> Any:
    from kitlib.kubelet.machine import CPU

    return CPU(number, core, numa, numa, numa)


def seen(row: Row, flags: Any) -> Any:
    cluster = start(flags, row.machine, row.version)
    cluster.apply(row.pods)
    return row.look(cluster)


@pytest.mark.parametrize("row", ROWS, ids=[f"{i}-{row.setting}" for i, row in enumerate(ROWS)])
def test_a_setting_changes_what_is_seen(row: Row) -> None:
    merged = {**dict(row.common), **row.flags} if isinstance(row.flags, dict) else [*row.common, *row.flags]
    before = row.common
    without, with_it = seen(row, before), seen(row, merged)
    assert without == row.without
    assert with_it != without
    if row.with_it is not None:
        assert with_it == row.with_it


@pytest.mark.parametrize(("flags", "machine", "version", "message"), REFUSALS)
def test_a_node_does_not_start_with_a_wrong_combination(
    flags: Any, machine: dict[str, Any], version: int, message: str
) -> None:
    with pytest.raises(KitError) as caught:
        start(flags, machine, version)
    assert message in str(caught.value)


def test_every_setting_is_in_the_table() -> None:
    elsewhere = {
        "extra",  # what enforcement does not depend on
        "fail_swap_on",  # decide only whether the kubelet starts: among the refusals
        "fail_cgroup_v1",
        "reserved_memory",  # together with memory_manager_policy
        "cpu_manager_reconcile_period",  # in tests/cluster/test_shared_cpus.py
        "back_off_base",  # the kit's own, no setting of the kubelet
    }
    assert {f.name for f in fields(KubeletSettings)} - elsewhere == {row.setting for row in ROWS}
