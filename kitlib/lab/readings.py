"""Values that notebooks read from nodes, by one name on both cgroup versions: files, quotas, CPU and memory usage."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from kitlib.kubelet.cm.cgroup_levels import running_containers
from kitlib.kubelet.cm.cgroup_tree import UNLIMITED_V1
from kitlib.kubelet.qos.policy import get_container_oom_score_adjust
from kitlib.kubelet.util.cgroup_usage import cpu_seconds
from kitlib.kubelet.util.cpuset import parse_cpus
from kitlib.lab import host


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


def quota_of(cgroup: Any) -> int | None:
    """Return the CPU quota of a cgroup in microseconds per period; None without a quota."""
    names = _FILES[2 if "cpu.max" in cgroup else 1]
    text = cgroup[names.cpu_quota].value.split()[0]
    return None if text in ("max", "-1") else int(text)


def cpu_used(cluster: Any, node: str = "") -> dict[str, float]:
    """Return the average CPUs that each pod of a node has used since the last call.

    If other processes kept the machine of a real node busy meanwhile, a notice says so.
    """
    machine = cluster.node(node or next(iter(cluster.nodes)).name)
    usage = machine.usages()
    host.measured(cluster, machine)
    return {name: round(sum(cpus for cpus, _ in of.values()), 3) for (_, name), of in usage.items()}


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


def cpu_stat(cluster: Any, name: str, container: str = "main") -> dict[str, int]:
    """Return the counters of a container's `cpu.stat`; the throttled time is `throttled_ms` on both cgroup versions."""
    cgroup = pod_cgroup(cluster, name, container)
    text = cluster.node(cluster.pod(name).spec.node_name).read(cgroup.path, "cpu.stat")
    found = {key: int(value) for key, value in (line.split() for line in text.splitlines())}
    host.remind(cluster)
    stopped = found.pop("throttled_usec", 0) // 1000 or found.pop("throttled_time", 0) // 10**6
    return {key: found[key] for key in ("nr_periods", "nr_throttled") if key in found} | {"throttled_ms": stopped}


def quota_periods(cluster: Any, names: Sequence[str], count: int = 30) -> dict[str, list[tuple[float, float]]]:
    """Let `count` CFS periods of 100 ms pass and return the running and throttled time of the pods in each.

    Args:
        cluster: the pods' cluster.
        names: pods with one container each.
        count: number of periods.

    Returns:
        Pod -> (running, throttled) milliseconds of each period, summed over all processors, for `throttling_chart`.
    """

    def counters(name: str) -> tuple[float, float]:
        found = cluster.pod(name)
        path = pod_cgroup(cluster, name, found.spec.containers[0].name).path
        node = cluster.node(found.spec.node_name)
        stat = dict(line.split() for line in node.read(path, "cpu.stat").splitlines())
        stopped = int(stat.get("throttled_usec", 0)) / 1e3 + int(stat.get("throttled_time", 0)) / 1e6
        return 1e3 * cpu_seconds(lambda file: node.read(path, file), node.cgroupfs.version), stopped

    before = {name: counters(name) for name in names}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for _ in range(count):
        cluster.advance(0.1)
        for name in names:
            now = counters(name)
            found[name].append((round(now[0] - before[name][0], 3), round(now[1] - before[name][1], 3)))
            before[name] = now
    return found


def burst_times(cluster: Any, name: str, container: str = "main") -> list[float]:
    """Return the seconds from due time to completion of each burst of a container's workload so far."""
    from kitlib.cluster.nodes.simulated import SimulatedNode

    node = cluster.node(cluster.pod(name).spec.node_name)
    if isinstance(node, SimulatedNode):
        return [round(seconds, 3) for seconds in node.process(name, container).bursts]
    return [float(seconds) for seconds in re.findall(r"burst took ([0-9.]+) s", node.logs(name, container))]


def cpu_mask(cpus: str) -> str:
    """Return a list of CPUs as in `Cpus_allowed` of /proc/PID/status: one bit per CPU, in hexadecimal words."""
    bits = sum(1 << cpu for cpu in parse_cpus(cpus))
    digits = f"{bits:0{max(8, -(-bits.bit_length() // 32) * 8)}x}"
    return ",".join(digits[i : i + 8] for i in range(0, len(digits), 8))


def wait_until_running(cluster: Any, *names: str, at_most: float = 120.0) -> bool:
    """Let time pass until these pods (default: all) run, and return whether they do."""
    wanted = names or tuple(p.name for p in cluster.pods())
    for _ in range(round(2 * at_most)):
        if all(cluster.pod(name).status.phase == "Running" for name in wanted):
            for node in {cluster.pod(name).spec.node_name for name in wanted}:
                host.begin(cluster.node(node))
            return True
        cluster.advance(0.5)
    return False


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


def phases(cluster: Any) -> dict[str, str]:
    """Return pod -> phase, with its reason if there is one."""
    said = {p.name: (p.status.phase, p.status.reason) for p in cluster.pods()}
    return {name: f"{phase}: {reason}" if reason else phase for name, (phase, reason) in said.items()}


def failed(cluster: Any) -> list[str]:
    """Return the names of the failed pods."""
    return [p.name for p in cluster.pods() if p.status.phase == "Failed"]


def placed(cluster: Any) -> dict[str, str]:
    """Return pod -> node, or "pending"."""
    return {p.name: p.spec.node_name or "pending" for p in cluster.pods()}


def arrival(cluster: Any, manifest: Any, at_most: int = 60) -> list[dict[str, Any]]:
    """Apply a pod and record a row about every second until it runs: nominated node, node, pods with processes."""
    from kitlib.cluster.nodes.metrics import process_rows

    (made,), began = cluster.apply(manifest), cluster.now()
    rows: list[dict[str, Any]] = []
    while len(rows) < at_most:
        pod = cluster.pod(made.name)
        running = {row["pod"] for node in cluster.nodes for row in process_rows(cluster.node(node.name))}
        rows.append(
            {
                "second": round((cluster.now() - began).total_seconds(), 1),
                "nominated": pod.status.nominated_node_name,
                "node": pod.spec.node_name,
                "processes of": ", ".join(sorted(running)),
            }
        )
        if made.name in running:
            break
        cluster.advance(1)
    return rows
