"""The contents of the files of a new cgroup before the first write.

Sources: Documentation/admin-guide/cgroup-v1, cgroup-v2.rst (the defaults that each file's paragraph names).
"""

from __future__ import annotations

from kitlib.kubelet.cm.cgroup_tree import UNLIMITED_V1, Version
from kitlib.kubelet.config.machine import MachineInfo, huge_page_unit
from kitlib.kubelet.util.cpuset import format_cpus
from kitlib.node.simulated import rules


def memory_nodes(machine: MachineInfo) -> int:
    """Return the number of NUMA nodes."""
    return 1 + max((node for node in (*machine.numa_memory, *(cpu.numa for cpu in machine.topology))), default=0)


def initial_files(version: Version, machine: MachineInfo, *, root: bool) -> dict[str, str]:
    """Return the settings of a new cgroup, or of the root, by file name."""
    sizes = [huge_page_unit(size) for size in machine.huge_page_sizes]
    every = format_cpus(range(machine.cores))
    nodes = format_cpus(range(memory_nodes(machine)))
    if version == 1:
        unlimited = str(UNLIMITED_V1)
        files = {
            "cpu.shares": "1024",
            "cpu.cfs_period_us": "100000",
            "cpu.cfs_quota_us": "-1",
            "memory.limit_in_bytes": unlimited,
            "memory.memsw.limit_in_bytes": unlimited,
            "memory.kmem.limit_in_bytes": unlimited,
            "memory.soft_limit_in_bytes": unlimited,
            "cpuset.cpus": every if root else "",
            "cpuset.mems": nodes if root else "",
            "cpuset.cpu_exclusive": "1" if root else "0",
            "cpuset.sched_load_balance": "1",
            "memory.swappiness": "60",
            "memory.use_hierarchy": "1",
        }
        if not root:
            files["pids.max"] = "max"
        return files | {
            f"hugetlb.{unit}.{kind}limit_in_bytes": rules.hugetlb(f"hugetlb.{unit}.x", "-1", 1)
            for unit in sizes
            for kind in ("", "rsvd.")
        }
    files = {"cgroup.subtree_control": ""}
    if root:
        return files
    return files | {
        "cgroup.freeze": "0",
        "cpu.idle": "0",
        "cpu.weight": "100",
        "cpu.weight.nice": "0",
        "cpu.max": "max 100000",
        "cpu.max.burst": "0",
        "memory.min": "0",
        "memory.low": "0",
        "memory.high": "max",
        "memory.max": "max",
        "memory.swap.max": "max",
        "memory.oom.group": "0",
        "pids.max": "max",
        "cpuset.cpus": "",
        "cpuset.mems": "",
        "cpuset.cpus.partition": "member",
        **{f"hugetlb.{unit}.{kind}max": "max" for unit in sizes for kind in ("", "rsvd.")},
    }
