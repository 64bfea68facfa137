"""Settings of the CPU, memory and topology managers: each is seen to do something."""

from __future__ import annotations

import pytest

from tests.kubelet.config.settings_seen import GUARANTEED, NUMA, Row, check, cpus, file, names, pod, status

ROWS = [
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
]


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_a_setting_changes_what_is_seen(row: Row) -> None:
    check(row)
