"""The processes of a node in a container: their /proc values and their usage."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

from kitlib.api.errors import KitError, NotFound
from kitlib.cluster.nodes.container_process import ContainerProcess
from kitlib.cluster.nodes.host_load import HostTime
from kitlib.cluster.nodes.interfaces import Owners, Record, Usages
from kitlib.cluster.nodes.origin import SCORE, Origin
from kitlib.node.real.link import Conversation

RATE_WINDOW = 0.5
"""The minimum interval in seconds over which a rate of CPU usage is computed."""
SIGNALS = range(1, 65)


class ContainerProcesses(ABC):
    """The requests about processes that a node's agent answers."""

    name: str
    _record: Record

    def __init__(self) -> None:
        self._used: tuple[float, float] = (0.0, 0.0)
        self._rate = 0.0

    @property
    @abstractmethod
    def link(self) -> Conversation:
        """The connection to the node."""

    @property
    @abstractmethod
    def origin(self) -> Origin:
        """The origin of the node's values, and the refusals of its host."""

    def processes(self) -> list[ContainerProcess]:
        """Return the processes of containers as `ps` shows them, oldest first."""
        rates = {(n, p, c): cpus for n, p, c, cpus, _ in self.link.ask("usages")}
        return [
            ContainerProcess(
                pid=one["pid"],
                name=one["command"],
                cgroup=one["path"],
                memory=one["rss"],
                page_tables=one["page_tables"],
                oom_score=one["oom_score"],
                oom_score_adj=one["oom_score_adj"],
                cpus=one["cpus"],
                namespace=one["namespace"],
                pod=one["pod"],
                container=one["container"],
                first=one["first"],
                refused=one["refused"],
                rate=rates.get((one["namespace"], one["pod"], one["container"]), 0.0) if one["first"] else 0.0,
            )
            for one in self.link.ask("processes")
        ]

    def owners(self) -> Owners:
        """Return (namespace, pod, container) by process id for the processes of pods, without pause containers."""
        listed = self.link.ask("processes")
        return {one["pid"]: (one["namespace"], one["pod"], one["container"]) for one in listed if one["container"]}

    def process(self, pod: str, container: str = "", namespace: str = "default") -> ContainerProcess:
        """Return the first process of a container.

        Raises:
            NotFound: the container does not run.
        """
        for process in self.processes():
            ours = (process.pod, process.namespace) == (pod, namespace) and process.first and process.container
            if ours and container in ("", process.container):
                return process
        raise NotFound("processes", f"{namespace}/{pod}/{container}")

    def proc(self, pod: str, container: str = "", namespace: str = "default") -> dict[str, str]:
        """Return the /proc/PID values of a container's process: cgroup, oom_score, oom_score_adj, Cpus_allowed_list.

        If the host rejected the kubelet's oom_score_adj, `refused` has that score and the reason.
        """
        pid = self.process(pod, container, namespace).pid
        for one in self.link.ask("processes"):
            if one["pid"] == pid:
                refused = one["refused"]
                said = {} if refused is None else {"refused": f"{refused}: {self.origin.reason(SCORE)}"}
                return {
                    **said,
                    "cgroup": one["cgroup"],
                    "oom_score": str(one["oom_score"]),
                    "oom_score_adj": str(one["oom_score_adj"]),
                    "Cpus_allowed_list": one["cpus"],
                }
        raise NotFound("processes", f"{namespace}/{pod}/{container}")

    def refused_scores(self) -> dict[tuple[str, str, str], int]:
        """Return the oom_score_adj that the kubelet wanted and the host rejected, by (namespace, pod, container)."""
        found = self.link.ask("processes")
        return {(o["namespace"], o["pod"], o["container"]): o["refused"] for o in found if o["refused"] is not None}

    def usages(self) -> Usages:
        """Return the current CPUs and bytes of memory of each container, by (namespace, pod) and container."""
        found: Usages = {}
        for namespace, pod, container, cpus, memory in self.link.ask("usages"):
            found.setdefault((namespace, pod), {})[container] = (cpus, memory)
        return found

    def total_usage(self) -> tuple[float, int]:
        """Return the CPUs that the node has used since the last call, and the bytes of memory that it uses now.

        The first call takes half a second. A call soon after another returns the same rate.
        """
        seconds, memory = self.link.ask("total_usage")
        if not self._used[0]:
            self._used = (time.monotonic(), seconds)
            time.sleep(RATE_WINDOW)
            seconds, memory = self.link.ask("total_usage")
        now, (then, before) = time.monotonic(), self._used
        # Over shorter intervals the resolution of the counters would dominate, so the last rate is returned again.
        if now - then >= RATE_WINDOW:
            self._rate = max(0.0, (seconds - before) / (now - then))
            self._used = (now, seconds)
        return self._rate, int(memory)

    def host_time(self) -> HostTime:
        """Return the CPU times of the processors under the node, and of the node itself."""
        return HostTime(**self.link.ask("host_time"))

    def usage(self, path: str) -> int:
        """Return the bytes of memory of a cgroup and its descendants, without inactive page cache."""
        return int(self.link.ask("usage", path=path))

    def logs(self, pod: str, container: str = "", namespace: str = "default") -> str:
        """Return the last lines of a container's output."""
        return str(self.link.ask("logs", namespace=namespace, pod=pod, container=container))

    def signal(self, pod: str, container: str, signal: int = 9, namespace: str = "default") -> None:
        """Send a signal to a container's first process, as `kill` inside the node does."""
        if signal not in SIGNALS:
            raise KitError(f"signal: must be a number from 1 to 64, got {signal}")
        self.link.ask("signal", namespace=namespace, pod=pod, container=container, number=signal)
        self._record("signal", node=self.name, pod=pod, container=container, signal=signal, namespace=namespace)

    def program_exits(self, namespace: str, pod: str, container: str, code: int) -> None:
        """End a container's program; the exit code of a real program cannot be set."""
        self.signal(pod, container, namespace=namespace)
