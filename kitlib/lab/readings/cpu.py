"""The CPU time of pods: usage, throttling, bursts, masks of processors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kitlib.kubelet.util.cgroup_usage import cpu_seconds
from kitlib.kubelet.util.cpuset import parse_cpus
from kitlib.lab import host
from kitlib.lab.readings.cgroup_files import pod_cgroup


def cpu_used(cluster: Any, node: str = "") -> dict[str, float]:
    """Return the average CPUs that each pod of a node has used since the last call.

    If other processes kept the machine of a real node busy meanwhile, a notice says so.
    """
    machine = cluster.node(node or next(iter(cluster.nodes)).name)
    usage = machine.usages()
    host.measured(cluster, machine)
    return {name: round(sum(cpus for cpus, _ in of.values()), 3) for (_, name), of in usage.items()}


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
