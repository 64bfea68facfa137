"""Who gets which part of the CPUs when all are busy, and what `free` shows in a container."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import NotFound
from kitlib.cluster import Cluster
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupFile, CgroupTree
from kitlib.views.kubectl import metrics
from kitlib.views.lxcfs import free, inside_frame, meminfo, seen
from kitlib.views.shares import parts, shares_frame

GI = 2**30


def pod(name: str, workload: str = "", **resources: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": resources}
    meta = {"name": name, "annotations": {"kitlib.dev/workload.c": workload} if workload else {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}


def test_the_91_percent_of_kubepods_beside_three_slices_and_the_level_below() -> None:
    def cgroup(path: str, kind: Any, shares: int) -> Cgroup:
        return Cgroup(path, kind, files={"cpu.shares": CgroupFile("cpu.shares", str(shares))})

    tree = CgroupTree(
        1,
        "cgroupfs",
        [
            cgroup("/", "root", 1024),
            cgroup("/kubepods", "kubepods", 30720),
            cgroup("/kubepods/burstable", "qos", 3072),
            cgroup("/kubepods/burstable/podb", "pod", 3072),
            cgroup("/kubepods/burstable/podb/c", "container", 3072),
            cgroup("/kubepods/besteffort", "qos", 2),
            cgroup("/kubepods/podg", "pod", 1024),
            cgroup("/kubepods/podg/c", "container", 1024),
        ],
    )
    found = {p.path: p for p in parts(tree, 48, {"system.slice": 1024, "user.slice": 1024, "kube.slice": 1024})}
    assert round(found["/kubepods"].of_level, 2) == 0.91
    assert round(found["/kubepods"].cpus, 1) == 43.6
    assert found["/kubepods/burstable"].of_level == 0.75  # 3072 / (3072 + 1024): nothing runs in BestEffort
    assert found["/kubepods/podg/c"].cpus == pytest.approx(48 * 30720 / 33792 / 4)
    assert found["/system.slice"].cpus == pytest.approx(48 * 1024 / 33792)
    assert sum(p.cpus for p in found.values() if p.depth == 1) == pytest.approx(48)


@pytest.mark.parametrize("version", [1, 2])
def test_the_parts_are_what_the_simulated_kernel_gives_busy_containers(version: int) -> None:
    cluster = Cluster.simulated([{"cpus": 8, "memory": "32Gi"}], cgroup_version=version)
    cluster.apply(
        [
            pod("capped", "cpu=8", requests={"cpu": "1"}, limits={"cpu": "1500m"}),
            pod("two", "cpu=8", requests={"cpu": "2"}),
            pod("fixed", "cpu=8", limits={"cpu": "3", "memory": "1Gi"}),
            pod("best", "cpu=8"),
        ]
    )
    cluster.advance(1)
    node = cluster.node()
    expected = {p.path: p.with_limits for p in parts(node.desired(), 8)}
    for name in ("capped", "two", "fixed", "best"):
        process = node.process(name)
        assert process.rate == pytest.approx(expected[process.cgroup], abs=0.01), name
    frame = shares_frame(node)
    assert (
        frame["CPUs with limits"][frame["cgroup"].str.startswith("/kubepods") & (frame["what"] == "all pods")].sum()
        == 8
    )


def limited(version: int = 2) -> Any:
    cluster = Cluster.simulated([{"cpus": 8, "memory": "32Gi"}], cgroup_version=version)
    cluster.apply(pod("a", "memory=200Mi cache=100Mi", limits={"cpu": "1500m", "memory": "1Gi"}))
    cluster.advance(1)
    return cluster.node()


@pytest.mark.parametrize("version", [1, 2])
def test_without_lxcfs_a_container_sees_the_machine_and_with_it_its_limit(version: int) -> None:
    node = limited(version)
    plain, faked = seen(node, "a"), seen(node, "a", lxcfs=True)
    assert (plain.total, plain.cpus) == (32 * GI, 8)
    assert (faked.total, faked.cpus) == (GI, 2)
    assert faked.free == GI - 300 * 2**20
    assert faked.available == GI - 200 * 2**20
    assert "smallest limit" in faked.why
    assert free(faked).splitlines()[1].split() == ["Mem:", "1024", "200", "724", "0", "100", "824"]
    assert meminfo(plain).splitlines()[0] == "MemTotal:       33554432 kB"


def test_lxcfs_follows_a_limit_that_is_raised_by_hand() -> None:
    node = limited()
    path = node.process("a").cgroup
    node.write(path.rpartition("/")[0], "memory.max", str(2 * GI))
    assert seen(node, "a", lxcfs=True).total == GI
    node.write(path, "memory.max", str(2 * GI))
    assert seen(node, "a", lxcfs=True).total == 2 * GI
    frame = inside_frame(node, "a")
    assert list(frame["with lxcfs"])[:1] == [2 * GI]
    assert list(frame["without lxcfs"])[3] == "0-7"
    with pytest.raises(NotFound):
        seen(node, "nobody")


def test_the_metrics_api_knows_nodes_too() -> None:
    cluster = Cluster.simulated(1)
    cluster.apply(pod("a", "cpu=500m memory=64Mi"))
    cluster.advance(1)
    answer = metrics(cluster, "nodes")
    assert (answer["kind"], answer["items"][0]["usage"]["cpu"]) == ("NodeMetricsList", "500m")


@pytest.mark.parametrize(("version", "shown"), [(1, ["0", "0", "0"]), (2, ["128", "40", "87"])])
def test_free_shows_the_machines_swap_and_lxcfs_that_of_the_container(version: int, shown: list[str]) -> None:
    kubelet = {"cgroupDriver": "systemd", "failSwapOn": False, "memorySwap": {"swapBehavior": "LimitedSwap"}}
    nodes = [{"name": "node-1", "memory": "2Gi", "swap": "1Gi", "kubelet": kubelet}]
    cluster = Cluster.simulated(nodes, cgroup_version=version)
    resources = {"requests": {"memory": "256Mi"}, "limits": {"memory": "300Mi"}}
    container = {"name": "c", "image": "x", "resources": resources}
    notes = {"kitlib.dev/workload.c": "memory=340Mi" if version == 2 else "memory=200Mi"}
    metadata = {"name": "a", "annotations": notes}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}})
    cluster.advance(5)
    node = cluster.node()
    used = node.process("a").swapped
    assert used // 2**20 == (40 if version == 2 else 0)
    left = str((GI - used) // 2**20)
    assert free(seen(node, "a")).splitlines()[2].split() == ["Swap:", "1024", str(used // 2**20), left]
    assert free(seen(node, "a", lxcfs=True)).splitlines()[2].split() == ["Swap:", *shown]
    whole = sum(
        process.swapped for process in node.processes()
    )  # the pod is full before its container: pause gives too
    lines = [f"SwapTotal:       {GI // 1024} kB", f"SwapFree:        {(GI - whole) // 1024:>7} kB"]
    assert meminfo(seen(node, "a")).splitlines()[-2:] == lines
