"""The memory of pods: usage and its parts, swap, pressure, kills by the OOM killer and the scores for it."""

from __future__ import annotations

from typing import Any, NamedTuple

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm.cgroup_levels import running_containers
from kitlib.kubelet.cm.cgroup_tree import UNLIMITED_V1
from kitlib.kubelet.qos.policy import get_container_oom_score_adjust
from kitlib.lab.readings.cgroup_files import file_names, pod_cgroup
from kitlib.lab.tables import folded, short


def memory_used(cluster: Any, name: str) -> int:
    """Return the bytes that a pod's containers use; 0 if none runs."""
    usage = cluster.node(cluster.pod(name).spec.node_name).usages().get(("default", name), {})
    return int(sum(memory for _, memory in usage.values()))


class MemoryWatch(NamedTuple):
    """A pod's memory second by second.

    Attributes:
        seconds: 1, 2, ….
        used: bytes at each of these seconds; None if the container did not run.
        kills: ("second", "killed 137", "end") of each container that the kernel killed, as `usage_chart` marks them.
    """

    seconds: list[int]
    used: list[int | None]
    kills: list[tuple[float, str, str]]


def watch_memory(cluster: Any, name: str, seconds: int = 10) -> MemoryWatch:
    """Let time pass and read the memory of a pod with one container after each second."""
    used: list[int | None] = []
    ends = [_ends(cluster, name)]
    for _ in range(seconds):
        cluster.advance(1)
        used.append(memory_used(cluster, name) or None)
        ends.append(_ends(cluster, name))
    kills = [(float(n), "killed 137", "end") for n in range(1, seconds + 1) if ends[n] > ends[n - 1]]
    return MemoryWatch(list(range(1, seconds + 1)), used, kills)


def _ends(cluster: Any, name: str) -> int:
    """Return how often the OOM killer has ended the pod's container."""
    found = 0
    for status in cluster.pod(name).status.container_statuses:
        last = (status.state.get("terminated") or status.last_state.get("terminated") or {}).get("reason")
        stopped = "running" not in status.state and (status.last_state or "terminated" in status.state)
        found += status.restart_count + bool(stopped) if last == "OOMKilled" else 0
    return found


def kill_log(node: Any, *words: str) -> str:
    """Return what a node's kernel logged about kills by the OOM killer, without an end in the middle of a word.

    Args:
        node: a node of a cluster.
        words: a line is returned if it contains one of them; none = a kill and its reason.
    """
    wanted = words or ("oom-kill", "Killed process", "usage")
    return "\n".join(folded(short(line)) for line in node.kernel_log() if any(word in line for word in wanted))


def memory_parts(cluster: Any, name: str, container: str = "") -> dict[str, int]:
    """Return the usage of a pod's or container's cgroup and its parts in MiB, by one name on both cgroup versions."""
    node, path = cluster.node(cluster.pod(name).spec.node_name), pod_cgroup(cluster, name, container).path
    stat = {key: int(value) for key, value in map(str.split, node.read(path, "memory.stat").splitlines())}
    whole = "total_" if "total_rss" in stat else ""
    usage = int(node.read(path, file_names(node).memory_usage))
    found = {
        "usage": usage,
        "anonymous": stat.get("anon", stat.get("total_rss", 0)),
        "page cache": stat.get("file", stat.get("total_cache", 0)) - stat[f"{whole}shmem"],
        "tmpfs": stat[f"{whole}shmem"],
        "working set": usage - stat[f"{whole}inactive_file"],
    }
    return {part: round(size / 2**20) for part, size in found.items()}


def swap_parts(cluster: Any, name: str, container: str = "main") -> dict[str, int | None]:
    """Return a container's memory, swap, swap limit and memory.high in MiB; None = no limit."""
    node, path = cluster.node(cluster.pod(name).spec.node_name), pod_cgroup(cluster, name, container).path
    memory = _bound(node.read(path, file_names(node).memory_usage))
    if node.cgroupfs.version == 1:  # v1 counts memory and swap together
        both = _bound(node.read(path, "memory.memsw.usage_in_bytes"))
        limits = [_bound(node.read(path, f"memory.{kind}limit_in_bytes")) for kind in ("memsw.", "")]
        bound = None if limits[0] is None else limits[0] - (limits[1] or 0)
        found = {"memory": memory, "swap": (both or 0) - (memory or 0), "swap limit": bound, "high": None}
    else:
        files = {"swap": "memory.swap.current", "swap limit": "memory.swap.max", "high": "memory.high"}
        found = {"memory": memory, **{part: _bound(node.read(path, file)) for part, file in files.items()}}
    return {part: None if size is None else round(size / 2**20) for part, size in found.items()}


def _bound(text: str) -> int | None:
    return None if text == "max" or int(text) >= UNLIMITED_V1 else int(text)


def pressure_of(cluster: Any, name: str, resource: str = "memory", container: str = "main") -> dict[str, float]:
    """Return the line `some` of a container's pressure file (v2): avg10, avg60, avg300 in percent, total in µs."""
    node = cluster.node(cluster.pod(name).spec.node_name)
    line = node.read(pod_cgroup(cluster, name, container).path, f"{resource}.pressure").splitlines()[0]
    return {key: float(value) for key, value in (pair.split("=") for pair in line.split()[1:])}


def adjustment_of(pod: Pod | dict[str, Any], memory: int) -> int:
    """Return the oom_score_adj that the kubelet computes for the first container of a pod, or of its manifest.

    Args:
        pod: the pod, with its defaults, or its manifest.
        memory: memory of the machine in bytes.
    """
    made = set_defaults(from_dict(pod)) if isinstance(pod, dict) else pod
    return get_container_oom_score_adjust(made, made.spec.containers[0], memory)


def oom_scores(cluster: Any) -> list[dict[str, Any]]:
    """Return one row per running container: the kubelet's desired oom_score_adj, the actual one, and its oom_score.

    If the host of a real node refused the desired value, `refused` has the reason.
    """
    rows = []
    for pod in cluster.pods():
        if pod.status.phase != "Running":
            continue
        node = cluster.node(pod.spec.node_name)
        for container in running_containers(pod):
            wanted = get_container_oom_score_adjust(pod, container, node.config.machine.memory, node.config.gates)
            proc = node.proc(pod.name, container.name, pod.namespace)
            name = pod.name if len(running_containers(pod)) == 1 else f"{pod.name}/{container.name}"
            row = {"pod": name, "class": pod.status.qos_class, "desired": wanted}
            row |= {"observed": int(proc["oom_score_adj"]), "oom_score": int(proc["oom_score"])}
            if "refused" in proc:
                row["refused"] = proc["refused"].partition(": ")[2]
            rows.append(row)
    return rows
