"""A pod with two busy threads on an idle node: only the CPU limit decides how long they run and are throttled.

Source: kubelet cm.MilliCPUToQuota; kernel kernel/sched/fair.c (CFS bandwidth: quota, period, throttling).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from kitlib.advisor.first_kill import NODE
from kitlib.api.errors import KitError
from kitlib.kubelet.cm.cgroup_tree import Cgroup

NAME = "api"
THREADS = 2
FIRST = 500
"""Initial CPU limit of the pod in milli-CPU."""
PERIOD_MS = 100
SECONDS = 1.0
"""Duration of a measurement in seconds."""


@dataclass(frozen=True)
class Reading:
    """The measured effect of a limit, read from the container's cgroup.

    Attributes:
        limit: CPU limit, milli-CPU.
        quota: CFS quota in microseconds per period, as the kubelet wrote it.
        periods: number of periods during the measurement.
        throttled: number of periods in which the container was throttled.
        used: average CPUs, from cpu.stat.
        processors: number of the node's processors.
    """

    limit: int
    quota: int
    periods: int
    throttled: int
    used: float
    processors: int

    @property
    def runs_ms(self) -> float:
        """Milliseconds of each period in which the threads run; running in parallel, they share the quota."""
        return min(float(PERIOD_MS), self.quota / 1000 / min(THREADS, self.processors))

    def sentence(self) -> str:
        """Return an explanation with the measured values."""
        busy = min(THREADS, self.processors)
        if not self.throttled:
            return (
                f"Limit {self.limit}m: quota {self.quota} µs in every 100 ms. {busy} threads cannot use more than "
                f"{busy * 100} ms, so nothing stops them: {self.throttled} of {self.periods} periods throttled."
            )
        return (
            f"Limit {self.limit}m: quota {self.quota} µs in every 100 ms. {busy} threads use it up in "
            f"{self.runs_ms:.0f} ms; then both stand still for {PERIOD_MS - self.runs_ms:.0f} ms. Measured: "
            f"{self.throttled} of {self.periods} periods throttled, {self.used:.2f} CPUs used, and the node has "
            f"{self.processors} CPUs with nothing else to do."
        )

    def as_data(self) -> dict[str, Any]:
        """Return the reading as plain values for the page."""
        return {**asdict(self), "runs_ms": self.runs_ms, "sentence": self.sentence()}


def measure(cluster: Any, limit: int) -> Reading:
    """Set the pod's limit (by an in-place resize, once it runs) and measure for one second.

    Raises:
        KitError: the pod does not run.
    """
    if not 10 <= limit <= 64_000:
        raise KitError(f"limit: must be from 10m to 64 CPUs, got {limit}m")
    node = cluster.node(NODE["name"])
    if NAME not in {pod.name for pod in cluster.pods()}:
        for pod in cluster.pods():
            cluster.delete("Pod", pod.name, pod.namespace, grace=0)
        cluster.apply(_manifest(limit))
        cluster.advance(1)
    else:
        cluster.resize(NAME, {"main": {"limits": {"cpu": f"{limit}m"}}})
    cluster.advance(0.3)  # the threads start, a new quota begins with the next period
    own = _cgroup(node)
    before = _stat(node, own)
    cluster.advance(SECONDS)
    after = _stat(node, own)
    passed = {key: after[key] - before[key] for key in after}
    seconds = passed["nr_periods"] * PERIOD_MS / 1000 or SECONDS
    used = passed["used_ns"] / 1e9 / seconds
    processors = node.config.machine.cores
    return Reading(limit, _quota(node, own), int(passed["nr_periods"]), int(passed["nr_throttled"]), used, processors)


def _manifest(limit: int) -> dict[str, Any]:
    amounts = {"requests": {"cpu": "10m"}, "limits": {"cpu": f"{limit}m"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": NAME, "annotations": {"kitlib.dev/workload.main": f"cpu={THREADS}"}},
        "spec": {
            "nodeName": NODE["name"],
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "app", "resources": amounts}],
        },
    }


def _cgroup(node: Any) -> Cgroup:
    for cgroup in node.desired().of_kind("container"):
        if cgroup.pod == f"default/{NAME}":
            return cgroup
    raise KitError(f"pod {NAME} does not run: {'; '.join(p.status.message for p in node.pods() if p.name == NAME)}")


def _stat(node: Any, own: Cgroup) -> dict[str, float]:
    lines = dict(line.split() for line in node.read(own.path, "cpu.stat").splitlines() if line)
    found = {key: float(lines[key]) for key in ("nr_periods", "nr_throttled")}
    if "usage_usec" in lines:
        return {**found, "used_ns": float(lines["usage_usec"]) * 1000}
    return {**found, "used_ns": float(node.read(own.path, "cpuacct.usage"))}


def _quota(node: Any, own: Cgroup) -> int:
    if "cpu.max" in own.files:
        return int(node.read(own.path, "cpu.max").split()[0])
    return int(node.read(own.path, "cpu.cfs_quota_us"))
