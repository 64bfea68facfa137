"""The OOM killer's reaction to a new pod, computed on a copy of the node without an effect on the node.

The copy is a simulated kernel with the cgroups that the kubelet would create, and one process for each running one.
The new pod's containers start in it, and its victims are the forecast. On a simulated node the forecast is exact, on a
real one it follows from the rules.

Source: mm/oom_kill.c, mm/memcontrol.c, by `kitlib.node.simulated`; kubelet EnsureExists, GetContainerOOMScoreAdjust.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kitlib.api.core import Pod
from kitlib.cluster.nodes.container_process import ContainerProcess
from kitlib.cluster.nodes.interfaces import KernelNode
from kitlib.cluster.nodes.metrics import NODE, OomRow, mark_refused, name_of, oom_row
from kitlib.cluster.nodes.origin import SCORE
from kitlib.kubelet.cm.cgroup_levels import running_containers
from kitlib.kubelet.cm.cgroup_tree import CgroupTree
from kitlib.kubelet.cm.desired import desired_tree
from kitlib.kubelet.qos.policy import get_container_oom_score_adjust
from kitlib.node.common.workload import FOREVER, Phase, Workload
from kitlib.node.simulated import oom
from kitlib.node.simulated.commands import workload_of
from kitlib.node.simulated.kernel import Kernel

Ranked = tuple[OomRow, oom.OOMCandidate]
_KILL = re.compile(r"oom-kill:constraint=\w+.*?(?:oom_memcg=(?P<where>[^,]+)|global_oom),task_memcg=(?P<cgroup>[^,]+)")


@dataclass(frozen=True)
class Forecast:
    """The predicted reaction of the OOM killer.

    Attributes:
        rows: all candidates of the OOM killer, including the new processes, worst first (as `metrics.oom_rows`).
        where: the cgroup whose limit is exceeded; "/" = the machine's memory; "" = no limit is exceeded.
        victims: names of the killed processes, in order.
    """

    rows: list[OomRow]
    where: str
    victims: tuple[str, ...]


def forecast(node: KernelNode, pods: Sequence[Pod], coming: Pod) -> Forecast:
    """Return the OOM killer's reaction if `coming` started on `node`.

    Args:
        node: a simulated or real node.
        pods: the pods on it.
        coming: the new pod, defaulted and with a UID.

    Raises:
        KitError: the pod's workload is invalid.
    """
    config, version = node.config, node.desired().version
    kernel = Kernel(config.machine, version)
    tree = desired_tree(config, [*pods, coming], version=version)
    kernel.cgroups.apply(tree)
    places = {(c.uid, c.container): c.path for c in tree.values() if c.writer == "runtime"}
    now = node.desired()
    refused: dict[int, int] = {}
    for process in node.processes():
        there = now.get(process.cgroup)
        path = places.get((there.uid, there.container), "/") if there is not None else "/"
        # The forecast assumes constant use: a running process keeps its present memory, a new one starts at its peak.
        alike = Workload((Phase(FOREVER, memory=process.memory),), name=process.name)
        pid = kernel.spawn(alike, path, process.oom_score_adj)
        if isinstance(process, ContainerProcess) and process.refused is not None:
            refused[pid] = process.refused
    kernel.exits()
    standing = [kernel.candidate(p) for p in kernel.processes.values()]
    arriving, logged = [], len(kernel.log)
    for container in running_containers(coming):
        path = places[coming.metadata.uid, container.name]
        wanted = get_container_oom_score_adjust(coming, container, config.machine.memory, config.gates)
        score = max(wanted, node.origin.lowest_score)  # a real node's runtime applies the lowest score allowed
        workload = workload_of(coming, container)
        most = max(phase.memory for phase in workload.phases)
        tables = (1 + most // (oom.PAGE * 512)) * oom.PAGE
        pid = kernel.spawn(Workload((Phase(FOREVER, memory=most),), name=workload.name), path, score)
        arriving.append(oom.OOMCandidate(pid, workload.name, path, score, most, tables))
        if score != wanted:
            refused[pid] = wanted
    kills = kills_in(kernel.log[logged:])
    where = kills[0][0] if kills else ""
    limit = kernel.limit(where or "/") or config.machine.memory
    pages = min(limit, config.machine.memory) // oom.PAGE
    rows = _ranked([*standing, *arriving], tree, where or "/", pages)
    for row, one in rows:
        if one.pid in refused:
            mark_refused(row, one, refused[one.pid], pages, node.origin.reason(SCORE))
    return Forecast([row for row, _ in rows], where, tuple(name_of(tree.get(cgroup), cgroup) for _, cgroup in kills))


def kills_in(log: Iterable[str]) -> list[tuple[str, str]]:
    """Return (cgroup whose limit was reached, "/" = the machine; cgroup of the victim) of every kill in dmesg lines."""
    found = []
    for line in log:
        hit = _KILL.search(line)
        if hit:
            found.append((hit["where"] or "/", hit["cgroup"]))
    return found


def _ranked(candidates: Sequence[oom.OOMCandidate], tree: CgroupTree, where: str, total: int) -> list[Ranked]:
    rows: list[Ranked] = []
    for candidate in candidates:
        cgroup = tree.get(candidate.cgroup)
        inside = where == "/" or candidate.cgroup == where or candidate.cgroup.startswith(where + "/")
        points = oom.badness(candidate, total)
        if points is None or not inside or (cgroup is not None and cgroup.kind == "sandbox"):
            continue
        known = cgroup is not None and bool(cgroup.pod)
        qos = cgroup.qos if known and cgroup else NODE
        rows.append((oom_row(candidate, name_of(cgroup, candidate.name), qos, points), candidate))
    return sorted(rows, key=lambda ranked: -ranked[0]["badness"])


def cpu_forecast(node: KernelNode, wanted: Mapping[str, float]) -> dict[str, float]:
    """Return the CPUs of each cgroup if these containers were busy and no others.

    Args:
        node: a simulated or real node.
        wanted: path of a container's cgroup -> number of its busy threads.

    Returns:
        Path -> CPUs, by the weights and quotas that the kubelet sets there.
    """
    tree, machine, cpus = node.desired(), node.config.machine, node.origin.cpus
    if cpus is not None:  # the actual CPUs of a real node's host are divided, not the declared ones
        machine = replace(machine, cores=cpus, topology=(), numa_memory={}, numa_distances={})
        tree = tree.only("cpu")  # cpuset files have processor numbers of the host
    kernel = Kernel(machine, tree.version)
    kernel.cgroups.apply(tree)
    pids = {
        path: kernel.spawn(Workload((Phase(FOREVER, cpus=cpus),), name="busy"), path) for path, cpus in wanted.items()
    }
    kernel.advance(0.0)
    return {path: kernel.processes[pid].rate if pid in kernel.processes else 0.0 for path, pid in pids.items()}
