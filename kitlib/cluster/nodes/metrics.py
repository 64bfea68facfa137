"""The state of a node at one moment as plain rows: processes by badness, usage and limits.

Counters such as cpu.stat only grow, so a rate needs two readings: a `Meter` keeps the previous one.

Source: kernel Documentation/admin-guide/cgroup-v2.rst (cpu.stat, memory.current), cgroup-v1; mm/oom_kill.c.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple, NotRequired, TypedDict

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.cluster.nodes.container_process import ContainerProcess
from kitlib.cluster.nodes.interfaces import KernelNode
from kitlib.cluster.nodes.origin import SCORE
from kitlib.kubelet.cm.cgroup_tree import UNLIMITED_V1, Cgroup, CgroupTree
from kitlib.kubelet.util.cgroup_usage import cpu_seconds
from kitlib.kubelet.util.memory_files import MEMORY_LIMIT, MEMORY_USAGE
from kitlib.node.simulated import oom

METRICS = {"memory": "bytes", "cpu": "CPUs", "throttled": "% of periods"}
"""The metrics of a meter, with their units."""
NODE = "node"
"""The QoS class shown for processes outside of pods."""


class ProcessRow(TypedDict):
    """A process that runs for a pod."""

    node: str
    namespace: str
    pod: str
    container: str
    pid: int
    command: str


class OomRow(TypedDict):
    """A process in the OOM killer's ranking.

    If the host rejected the kubelet's oom_score_adj, `refused` is that score, `wanted_badness` the points with it, and
    `why` the reason.
    """

    name: str
    qos: str
    memory_bytes: int
    oom_score_adj: int
    badness: int
    cgroup: str
    pid: int
    refused: NotRequired[int]
    wanted_badness: NotRequired[int]
    why: NotRequired[str]


def name_of(cgroup: Cgroup | None, process: str = "") -> str:
    """Return `pod/container` of a container's cgroup, with a namespace other than "default"; else `process`."""
    if cgroup is None or not cgroup.pod:
        return process
    pod = cgroup.pod.removeprefix("default/")
    return f"{pod}/{cgroup.container or 'pause'}" if cgroup.kind in ("container", "sandbox") else pod


def lines_after(log: list[str], last: str) -> list[str]:
    """Return the lines of a log behind the line `last`; all lines if the log does not have it.

    Lines are compared and not counted, because a real kernel drops old ones.
    """
    return log[len(log) - log[::-1].index(last) :] if last in log else log


def name_of_path(path: str, pods: Iterable[Pod], tree: CgroupTree) -> str:
    """Return the name of a cgroup that may be removed already: its container's, or that of the pod in its path."""
    if path in tree:
        return name_of(tree[path], path)
    for pod in pods:
        uid = pod.metadata.uid
        if uid and (uid in path or uid.replace("-", "_") in path):
            known = [c.name for c in pod.spec.containers]
            name = pod.key.removeprefix("default/")
            return f"{name}/{known[0]}" if len(known) == 1 else name
    return path


def process_rows(node: KernelNode) -> list[ProcessRow]:
    """Return the processes of a node's pods, oldest first, without pause containers.

    Returns:
        Rows with node, namespace, pod, container, pid, command.
    """
    owners = node.owners()
    rows: list[ProcessRow] = []
    for process in node.processes():
        if process.pid in owners:
            namespace, pod, container = owners[process.pid]
            rows.append(
                {
                    "node": node.name,
                    "namespace": namespace,
                    "pod": pod,
                    "container": container,
                    "pid": process.pid,
                    "command": process.name,
                }
            )
    return rows


def oom_rows(node: KernelNode, total_pages: int | None = None, *, sandboxes: bool = False) -> list[OomRow]:
    """Return the processes of a node as the OOM killer ranks them, worst first, without those that may not be killed.

    Args:
        node: a simulated or real node.
        total_pages: the number of pages that the adjustment is a share of; None = those of the whole machine.
        sandboxes: whether pause containers are listed.

    Returns:
        Rows with name, qos, memory_bytes, oom_score_adj, badness, cgroup, pid; and `refused`, `wanted_badness`, `why`
        where the host has rejected the oom_score_adj that the kubelet wanted.
    """
    total = total_pages if total_pages is not None else node.config.machine.memory // oom.PAGE
    wanted = node.desired()
    rows: list[OomRow] = []
    for process in node.processes():
        cgroup = wanted.get(process.cgroup)
        if cgroup is not None and cgroup.kind == "sandbox" and not sandboxes:
            continue
        one = oom.OOMCandidate(
            process.pid, process.name, process.cgroup, process.oom_score_adj, process.memory, process.page_tables
        )
        points = oom.badness(one, total)
        if points is not None:
            row = oom_row(one, name_of(cgroup, process.name), cgroup.qos if cgroup else NODE, points)
            if isinstance(process, ContainerProcess) and process.refused is not None:
                mark_refused(row, one, process.refused, total, node.origin.reason(SCORE))
            rows.append(row)
    return sorted(rows, key=lambda row: -row["badness"])


def oom_row(one: oom.OOMCandidate, name: str, qos: str, points: int) -> OomRow:
    """Return one row of the ranking."""
    return {
        "name": name,
        "qos": qos or NODE,
        "memory_bytes": one.memory,
        "oom_score_adj": one.oom_score_adj,
        "badness": points,
        "cgroup": one.cgroup,
        "pid": one.pid,
    }


def mark_refused(row: OomRow, one: oom.OOMCandidate, wanted: int, total_pages: int, why: str) -> None:
    """Add to a row the score that the host rejected, the points with that score, and the reason."""
    row["refused"], row["why"] = wanted, why
    row["wanted_badness"] = oom.badness(one._replace(oom_score_adj=wanted), total_pages) or 0


class MetricReading(NamedTuple):
    """A reading of one cgroup's metric.

    Attributes:
        value: the value in the metric's unit; None = there is no value yet.
        limit: the limit in the same unit; None = no limit.
        parts: the running and the throttled share of the time since the last reading, 0 to 1; None = unknown.
    """

    value: float | None
    limit: float | None = None
    parts: tuple[float, float] | None = None


class Meter:
    """A meter of one metric of several cgroups.

    Args:
        node: a simulated or real node.
        metric: "memory", "cpu" (CPUs used since the last reading) or "throttled" (percent of CFS periods).

    Raises:
        KitError: the metric is unknown.
    """

    def __init__(self, node: KernelNode, metric: str) -> None:
        if metric not in METRICS:
            raise KitError(f"metric: must be one of {', '.join(METRICS)}, got {metric!r}")
        self.node, self.metric = node, metric
        self._before: dict[str, tuple[float, float, float]] = {}
        self._ran: dict[str, tuple[float, float, float]] = {}

    def read(self, cgroups: Sequence[Cgroup], seconds: float) -> dict[str, MetricReading]:
        """Return the metric of each existing cgroup by name.

        Args:
            cgroups: the cgroups of the node's tree.
            seconds: the time of the node's clock, in seconds.
        """
        found = {}
        for cgroup in cgroups:
            try:
                found[name_of(cgroup) or cgroup.path] = self._one(cgroup.path, seconds)
            except (KitError, OSError):
                self._before.pop(cgroup.path, None)
        return found

    def _one(self, path: str, seconds: float) -> MetricReading:
        version = self.node.desired().version
        if self.metric == "memory":
            limit = self._read(path, MEMORY_LIMIT[version]) if path != "/" else "max"
            no_limit = limit in ("max", str(UNLIMITED_V1))
            return MetricReading(float(self._read(path, MEMORY_USAGE[version])), None if no_limit else float(limit))
        if self.metric == "cpu":
            used = cpu_seconds(partial(self._read, path), version)
            return MetricReading(self._rate(path, seconds, used, seconds), self._quota(path, version))
        stat = dict(line.split() for line in self._read(path, "cpu.stat").splitlines())
        periods, throttled = float(stat.get("nr_periods", 0)), float(stat.get("nr_throttled", 0))
        rate = self._rate(path, periods, throttled, seconds)
        return MetricReading(None if rate is None else 100 * rate, None, self._parts(path, seconds, stat, version))

    def _parts(self, path: str, seconds: float, stat: dict[str, str], version: int) -> tuple[float, float] | None:
        """Return the running and the throttled share of the time since the last reading.

        Both counters add up all processors, so with several threads their sum may exceed the elapsed time; then both
        are scaled to it in proportion.
        """
        used = cpu_seconds(partial(self._read, path), version)
        stopped = float(stat.get("throttled_usec", 0)) / 1e6 + float(stat.get("throttled_time", 0)) / 1e9
        before, self._ran[path] = self._ran.get(path), (used, stopped, seconds)
        # A smaller counter belongs to a new cgroup of the same path.
        if before is None or seconds <= before[2] or used < before[0]:
            return None
        ran, stood, passed = used - before[0], stopped - before[1], seconds - before[2]
        whole = max(passed, ran + stood)
        return ran / whole, stood / whole

    def _rate(self, path: str, base: float, count: float, seconds: float) -> float | None:
        """Return the growth of a counter per unit of `base` since the last reading; None for the first reading."""
        before = self._before.get(path)
        self._before[path] = (base, count, seconds)
        if before is None or count < before[1]:
            return None
        return (count - before[1]) / (base - before[0]) if base > before[0] else 0.0

    def _quota(self, path: str, version: int) -> float | None:
        if path == "/":
            return None
        if version == 2:
            quota, period = self._read(path, "cpu.max").split()
        else:
            quota, period = (self._read(path, f"cpu.cfs_{name}_us") for name in ("quota", "period"))
        return None if quota in ("max", "-1") else int(quota) / int(period)

    def _read(self, path: str, file: str) -> str:
        return str(self.node.read(path, file))
