"""Tests that nodes, clusters and computed values report the origin of a value alike, with the host's refusals."""

from __future__ import annotations

import pytest

from kitlib.cluster import Cluster
from kitlib.cluster.nodes.origin import (
    COMPUTED,
    CONTROLLERS,
    HostRefusal,
    Origin,
    host_refusals,
    origin_of,
    with_reasons,
)
from kitlib.cluster.nodes.plan import plan
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupFile, CgroupTree
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.views import cgroup_frame, tree_view

REAL = Origin("real", 1, ("node-1",), "6.18")
WHOLE = {"lowest_score": -1000, "cpus": 8, "controllers": CONTROLLERS}


def config(cpus: int = 4, huge_pages: bool = False) -> NodeConfig:
    one = {"name": "node-1", "cpus": cpus, "memory": "1Gi", **({"huge_pages": {"2Mi": 8}} if huge_pages else {})}
    return NodeConfig(machine=plan([one])[0].machine)


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        (REAL, "Values: real node node-1, cgroup v1, Linux 6.18."),
        (Origin("real", 2, ("a", "b"), "6.18"), "Values: 2 real nodes, cgroup v2, Linux 6.18."),
        (Origin("simulated", 2, ("node-1",)), "Values: simulated node node-1, cgroup v2."),
        (Origin("simulated", because="no node has a kernel"), "Values: simulated nodes (no node has a kernel)."),
        (COMPUTED, "Values: computed from Kubernetes' rules."),
        (Origin("computed", 1), "Values: computed from Kubernetes' rules for cgroup v1."),
        (
            Origin("real", 2, ("a",), refusals=(HostRefusal("cpus", "4 CPUs are declared and 2 can be used"),)),
            "Values: real node a, cgroup v2. Refused by the host: 4 CPUs are declared and 2 can be used.",
        ),
    ],
)
def test_the_line_says_kind_version_and_refusals(origin: Origin, said: str) -> None:
    assert str(origin) == said


def test_a_cluster_says_what_its_nodes_are() -> None:
    with Cluster.simulated(2, cgroup_version=1) as cluster:
        assert origin_of(cluster) == Origin("simulated", 1, ("node-1", "node-2"))
        assert origin_of(cluster.node("node-2")).nodes == ("node-2",)
    with Cluster.simulated(1, kubelets=False) as hollow:
        assert origin_of(hollow) == Origin("simulated", because="no node has a kernel")
    assert origin_of(NodeConfig(machine=MachineInfo.declare(1, "1Gi"))) is COMPUTED


@pytest.mark.parametrize(
    ("less", "huge_pages", "subjects"),
    [
        ({}, True, []),
        ({"lowest_score": 0}, False, ["oom_score_adj"]),
        ({"lowest_score": -998}, False, []),
        ({"cpus": 2}, False, ["cpus"]),
        ({"cpus": 2, "controllers": ("cpu", "memory", "pids")}, False, ["cpuset"]),
        ({"controllers": ("cpu", "cpuset", "memory")}, True, ["pids", "hugetlb"]),
        ({"controllers": ("cpu", "cpuset", "memory", "pids")}, False, []),
    ],
)
def test_what_the_kubelet_wants_and_the_host_lacks_is_a_refusal(
    less: dict[str, object], huge_pages: bool, subjects: list[str]
) -> None:
    found = host_refusals(config(huge_pages=huge_pages), **{**WHOLE, **less})
    assert [one.subject for one in found] == subjects


def test_a_missing_file_carries_the_hosts_reason_into_tree_and_table() -> None:
    names = ("hugetlb.2MB.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.limit_in_bytes", "cpu.shares")
    desired = CgroupTree(
        1, "cgroupfs", [Cgroup("/kubepods", "kubepods", files={n: CgroupFile(n, "4096") for n in names})]
    )
    files = {"cpu.shares": CgroupFile("cpu.shares", "4096")}
    observed = CgroupTree(1, "cgroupfs", [Cgroup("/kubepods", "kubepods", files=files)])
    lacking = Origin("real", 1, ("n",), refusals=(HostRefusal("hugetlb", "no hugetlb controller"),))

    known = with_reasons(observed, desired, lacking)

    assert known["/kubepods"].refused == {
        "hugetlb.2MB.limit_in_bytes": "no hugetlb controller",
        "memory.memsw.limit_in_bytes": "the host's kernel does not count swap",
    }
    frame = cgroup_frame(desired, known).set_index("file")
    assert frame.loc["memory.memsw.limit_in_bytes", "refused"] == "the host's kernel does not count swap"
    assert frame.loc["memory.limit_in_bytes", "refused"] == ""  # missing, and the host is not why
    assert "≠  // refused by the host: no hugetlb controller" in str(tree_view(desired, known))
    assert with_reasons(observed, desired, Origin("simulated", 1)) is observed
    assert "refused" not in cgroup_frame(desired, observed)
