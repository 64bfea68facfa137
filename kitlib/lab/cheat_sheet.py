"""The map and cheat sheet on one printed page: field → file → who enforces it → what you see.

The values belong to one example pod on one example node. They are read from simulated nodes of both cgroup versions
when the page is made.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

CPU, MEMORY, LIMIT_CPU, LIMIT_MEMORY = "250m", "128Mi", "500m", "256Mi"
NODE: dict[str, Any] = {
    "name": "node-1",
    "cpus": 4,
    "memory": "8Gi",
    "swap": "2Gi",
    "kubelet": {
        "cgroupDriver": "systemd",
        "kubeReserved": {"cpu": "500m", "memory": "512Mi"},
        "cpuManagerPolicy": "static",
        "failSwapOn": False,
        "memorySwap": {"swapBehavior": "LimitedSwap"},
        "featureGates": {"MemoryQoS": True},
        "memoryThrottlingFactor": 0.9,
    },
}
STEPS = (
    ("manifest", "requests, limits, priority, selectors"),
    ("API server", "defaults, validation, quota, LimitRange"),
    ("scheduler", "requests only, filters, scores, preemption"),
    ("kubelet", "class, cgroups, managers, eviction"),
    ("cgroup files", "cpu, memory, cpuset, pids"),
    ("kernel", "shares time, throttles, reclaims, kills"),
)
"""The way of a field from the manifest to the kernel."""


@dataclass(frozen=True)
class CheatSheetRow:
    """One line of the sheet.

    Attributes:
        field: field of the manifest or of the kubelet's configuration.
        v2: cgroup v2 file with the example's value; "" = none.
        v1: cgroup v1 file with the example's value; "" = none.
        who: the component that enforces the field.
        see: the effect by which the enforcement is recognized.
    """

    field: str
    v2: str
    v1: str
    who: str
    see: str


def rows() -> list[CheatSheetRow]:
    """Return the rows, with the example's values read from simulated nodes."""
    new, old = _Example(2), _Example(1)
    return [
        CheatSheetRow(
            f"requests.cpu: {CPU}",
            f"cpu.weight {new.of('container', 'cpu.weight')}",
            f"cpu.shares {old.of('container', 'cpu.shares')}",
            "kernel (fair scheduling), only when CPUs are busy",
            "a part of the busy CPUs in proportion to the weights",
        ),
        CheatSheetRow(
            f"limits.cpu: {LIMIT_CPU}",
            f"cpu.max {new.of('container', 'cpu.max')}",
            f"cpu.cfs_quota_us {old.of('container', 'cpu.cfs_quota_us')}",
            "kernel (bandwidth control), always",
            "cpu.stat: nr_throttled grows, on an idle node too",
        ),
        CheatSheetRow(
            f"requests.memory: {MEMORY}",
            f"oom_score_adj {new.score}",
            f"oom_score_adj {old.score}",
            "scheduler (room), kubelet (eviction rank), kernel (who dies first)",
            "Pending: Insufficient memory; evicted first when above it",
        ),
        CheatSheetRow(
            f"limits.memory: {LIMIT_MEMORY}",
            f"memory.max {new.of('container', 'memory.max')}",
            f"memory.limit_in_bytes {old.of('container', 'memory.limit_in_bytes')}",
            "kernel (reclaim, then the OOM killer in that cgroup)",
            "OOMKilled, exit code 137",
        ),
        CheatSheetRow(
            "memorySwap: LimitedSwap",
            f"memory.swap.max {new.of('container', 'memory.swap.max')}",
            f"memory.memsw.limit_in_bytes {old.of('container', 'memory.memsw.limit_in_bytes')} (no swap)",
            "kernel; a share for Burstable containers below their limit",
            "memory.swap.current; slow, but not killed at memory.max",
        ),
        CheatSheetRow(
            "MemoryQoS, memoryThrottlingFactor",
            f"memory.high {new.of('container', 'memory.high')}",
            "",
            "kernel: reclaims, and puts the process to sleep above it",
            "memory.events: high grows; Running and slow",
        ),
        CheatSheetRow(
            "no field: what waits (PSI)",
            "cpu.pressure, memory.pressure, io.pressure",
            "",
            "nothing acts on it; kernel counts, kubelet reports (KubeletPSI)",
            "some avg10: percent of the time in which a task waited",
        ),
        CheatSheetRow(
            "all containers limited",
            f"memory.max of the pod {new.of('pod', 'memory.max')}",
            f"memory.limit_in_bytes of the pod {old.of('pod', 'memory.limit_in_bytes')}",
            "kernel, on the sum of the containers",
            "the lower of container and pod counts",
        ),
        CheatSheetRow(
            "--kube-reserved, --system-reserved",
            f"memory.max of kubepods {new.of('kubepods', 'memory.max')}",
            f"memory.limit_in_bytes of kubepods {old.of('kubepods', 'memory.limit_in_bytes')}",
            "kernel, on all pods together; scheduler by allocatable",
            "allocatable below capacity; a kill in /kubepods",
        ),
        CheatSheetRow(
            "--eviction-hard",
            f"allocatable {new.allocatable}",
            f"allocatable {old.allocatable}",
            "kubelet, every 10 s",
            "Evicted, taint memory-pressure, available memory below the threshold",
        ),
        CheatSheetRow(
            "Guaranteed, whole CPUs, static policy",
            f"cpuset.cpus {new.of('container', 'cpuset.cpus')} (shared pool)",
            f"cpuset.cpus {old.of('container', 'cpuset.cpus')} (shared pool)",
            "kubelet (CPU manager) picks, kernel keeps",
            "Cpus_allowed_list in /proc/PID/status",
        ),
        CheatSheetRow(
            "--pod-max-pids",
            f"pids.max of kubepods {new.of('kubepods', 'pids.max')}",
            f"pids.max of kubepods {old.of('kubepods', 'pids.max')}",
            "kernel",
            "fork: Resource temporarily unavailable",
        ),
        CheatSheetRow(
            "priorityClassName", "", "", "scheduler (queue, preemption), kubelet (eviction rank)", "Preempted, Evicted"
        ),
        CheatSheetRow(
            "topologySpreadConstraints", "", "", "scheduler, when a pod is placed", "didn't match pod topology spread"
        ),
        CheatSheetRow(
            "taints, tolerations", "", "", "scheduler; NoExecute by the taint eviction controller", "untolerated taint"
        ),
        CheatSheetRow("schedulingGates", "", "", "scheduler (PreEnqueue)", "SchedulingGated"),
    ]


class _Example:
    """The example pod on a simulated node of a cgroup version."""

    def __init__(self, version: Any) -> None:
        from kitlib.cluster import Cluster

        cluster = Cluster.simulated(nodes=[NODE], cgroup_version=version)
        amounts = {
            "requests": {"cpu": CPU, "memory": MEMORY},
            "limits": {"cpu": LIMIT_CPU, "memory": LIMIT_MEMORY},
        }
        main = {"name": "main", "image": "example/web:1", "command": ["sleep", "infinity"], "resources": amounts}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [main]}}
        cluster.apply(pod)
        cluster.advance(5)
        node = cluster.node("node-1")
        tree = node.tree()
        own = tree.of_pod(cluster.pod("web").metadata.uid)
        self._found: dict[str, Any] = {cgroup.kind: cgroup for cgroup in own}
        self._found["kubepods"] = tree.of_kind("kubepods")[0]
        self.score = node.proc("web")["oom_score_adj"]
        self.allocatable = str(cluster.nodes[0].status.allocatable["memory"])

    def of(self, kind: str, file: str) -> str:
        """Return the value of a file in the example's cgroup of the given kind."""
        return str(self._found[kind][file].value)


def page() -> str:
    """Return the sheet as a page for A4 landscape."""
    steps = "".join(_box(number, *step) for number, step in enumerate(STEPS))
    lines = "".join(
        "<tr>" + "".join(f"<td>{html.escape(one)}</td>" for one in (r.field, r.v2, r.v1, r.who, r.see)) + "</tr>"
        for r in rows()
    )
    heads = ("field", "cgroup v2", "cgroup v1", "who enforces it", "what you see")
    head = "".join(f'<th scope="col">{one}</th>' for one in heads)
    example = f"one container, requests {CPU} and {MEMORY}, limits {LIMIT_CPU} and {LIMIT_MEMORY}, on 4 CPUs and 8 GiB"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Map and cheat sheet</title><style>'
        "@page{size:A4 landscape;margin:8mm}body{font:11px system-ui;margin:0;color:#111;background:#fff}"
        "h1{font-size:17px;margin:.2em 0}table{border-collapse:collapse;width:100%}th,td{border:1px solid #888;"
        "padding:2px 5px;text-align:left;vertical-align:top}th{background:#eee}svg{width:100%;height:auto}"
        "</style><h1>From a field to the kernel</h1>"
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 72" role="img" aria-label="The way of a field: '
        f'{", ".join(name for name, _ in STEPS)}">{steps}</svg><p>Values: {html.escape(example)}.</p>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></html>\n"
    )


def _box(number: int, name: str, does: str) -> str:
    left = 6 + number * 166
    first, _, rest = does.partition(", ")
    arrow = f'<text x="{left - 15}" y="41" font-size="14">→</text>' if number else ""
    texts = "".join(
        f'<text x="{left + 75}" y="{y}" font-size="{size}" text-anchor="middle">{html.escape(text)}</text>'
        for y, size, text in ((25, 14, name), (43, 9.5, first), (57, 9.5, rest))
    )
    return f'{arrow}<rect x="{left}" y="6" width="150" height="60" rx="6" fill="#e8f1f8" stroke="#0072B2"/>{texts}'


class CheatSheet:
    """The sheet in a notebook."""

    def _repr_html_(self) -> str:
        style = "width:100%;height:560px;border:0"
        return f'<iframe title="Map and cheat sheet" style="{style}" srcdoc="{_quoted()}"></iframe>'

    def __repr__(self) -> str:
        return "\n".join(f"{r.field} → {r.v2 or '-'} → {r.who} → {r.see}" for r in rows())


def _quoted() -> str:
    return html.escape(page(), quote=True)


def show() -> CheatSheet:
    """Return the sheet, for the last line of a cell."""
    return CheatSheet()
