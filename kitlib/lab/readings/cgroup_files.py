"""The cgroups of pods and their files, by one name on both cgroup versions."""

from __future__ import annotations

from typing import Any, NamedTuple

from kitlib.api.errors import KitError


class FileNames(NamedTuple):
    """The file names of a cgroup version."""

    cpu_weight: str
    cpu_quota: str
    memory_limit: str
    memory_usage: str


_FILES = {
    1: FileNames("cpu.shares", "cpu.cfs_quota_us", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    2: FileNames("cpu.weight", "cpu.max", "memory.max", "memory.current"),
}


def file_names(node: Any) -> FileNames:
    """Return the file names of a node, or of cgroup version 1 or 2."""
    return _FILES[node if isinstance(node, int) else node.cgroupfs.version]


def pod_cgroup(cluster: Any, name: str, container: str = "") -> Any:
    """Return the cgroup of a pod, or of one of its containers, read from the pod's node."""
    found = cluster.pod(name)
    groups = cluster.node(found.spec.node_name).tree().of_pod(found.metadata.uid)
    return next(g for g in groups if (g.container == container if container else g.kind == "pod"))


def try_write(node: Any, path: str, file: str, text: str) -> str:
    """Write a cgroup file of a node by hand, and return the kernel's answer: "accepted", or its error."""
    try:
        node.write(path, file, text)
    except KitError as refused:
        return str(refused)
    return "accepted"


def quota_of(cgroup: Any) -> int | None:
    """Return the CPU quota of a cgroup in microseconds per period; None without a quota."""
    names = _FILES[2 if "cpu.max" in cgroup else 1]
    text = cgroup[names.cpu_quota].value.split()[0]
    return None if text in ("max", "-1") else int(text)
