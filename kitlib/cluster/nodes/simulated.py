"""Live nodes: the kubelet on the simulated kernel; its processes use CPU and memory, are throttled and killed."""

from __future__ import annotations

from datetime import datetime

from kitlib.api.core import Node, Pod
from kitlib.api.devices import ResourceClaim
from kitlib.api.errors import KitError, NotFound
from kitlib.api.release import Release
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.control_plane.clock import START
from kitlib.cluster.nodes.base import NodeBase, Record
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.cluster.nodes.reports import StoreReports
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.cgroup_tree import CgroupTree, Version
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.loop.kubelet import Kubelet
from kitlib.kubelet.loop.pod_worker import State
from kitlib.kubelet.loop.timeline import Entry
from kitlib.kubelet.util.cpuset import format_cpus
from kitlib.node.simulated.cgroupfs import SimulatedCgroupFS
from kitlib.node.simulated.kernel import Kernel, Process
from kitlib.node.simulated.pressure import NOTHING
from kitlib.node.simulated.runtime import SimulatedRuntime
from kitlib.node.simulated.system import SimulatedSystem


class SimulatedNode(NodeBase):
    """One node of a simulated cluster.

    Args:
        plan: its machine and settings.
        release: whose rules hold.
        version: of its cgroups.
        record_action: called with every write by hand, for the journal.

    Raises:
        SettingsError: where the kubelet would not start on this machine; with its messages.

    Attributes:
        kernel: with its processes and log. cgroupfs: its cgroup file system. kubelet: what runs on it.
    """

    def __init__(self, plan: NodePlan, release: Release, version: Version, record_action: Record) -> None:
        self.plan, self.name, self._record = plan, plan.name, record_action
        self.config = NodeConfig(
            machine=plan.machine,
            settings=read_settings(plan.kubelet, release=release),
            release=release,
            name=plan.name,
            resources=plan.resources,
            devices=plan.plugins,
        )
        self.kernel = Kernel(plan.machine, version)
        self.cgroupfs: SimulatedCgroupFS = self.kernel.cgroups
        self._reports = StoreReports(plan.name, START)
        self.runtime = SimulatedRuntime(self.kernel, plan.images)
        self.system = SimulatedSystem(self.kernel, self.config.settings.cgroup_driver)
        self.kubelet = Kubelet(
            self.config, self.cgroupfs, self.runtime, self._reports, lambda: self.kernel.now, system=self.system
        )

    def sync(self, api: APIServer, pods: list[Pod]) -> None:
        """Bring processes, cgroups and statuses in line with the pods that are bound here."""
        self._reports.api = api
        self.kubelet.managers.claims.find = lambda space, name: api.store.find(ResourceClaim, name, space, copy=False)
        self.kubelet.sync(pods)
        self._report_system_ooms()

    def register(self, now: datetime) -> Node:
        """The Node object with capacity and allocatable as the kubelet publishes them."""
        node = super().register(now)
        node.status.node_info = {
            **(node.status.node_info or {}),
            "kernelVersion": f"simulated, cgroup v{self.cgroupfs.version}",
            "containerRuntimeVersion": "simulated://1",
        }
        return node

    def advance(self, seconds: float) -> None:
        """Let the kernel run, then let the kubelet look at what has happened."""
        self.kernel.advance(seconds)
        self.kubelet.tick()
        self._report_system_ooms()

    def _report_system_ooms(self) -> None:
        for process, pid in self.runtime.system_ooms():
            self.kubelet.system_out_of_memory(process, pid)

    def desired(self) -> CgroupTree:
        """The tree that the kubelet wants, with the reason for every value."""
        return self.kubelet.wanted

    # What runs on the machine.

    def kernel_log(self) -> list[str]:
        """What `dmesg` shows."""
        return list(self.kernel.log)

    def timeline(self) -> list[Entry]:
        """What the kubelet did, when and why, oldest first."""
        return list(self.kubelet.timeline)

    def checkpoint(self) -> str:
        """What the kubelet's file `cpu_manager_state` holds: who has which CPUs; "" without a static CPU policy."""
        return self.kubelet.managers.checkpoint()

    def processes(self) -> list[Process]:
        """What `ps` shows, oldest first."""
        return list(self.kernel.processes.values())

    def owners(self) -> dict[int, tuple[str, str, str]]:
        """Process id -> (namespace, pod, container) of what runs for pods, pause containers left out."""
        return {
            pid: (worker.pod.namespace, worker.pod.name, state.container.name)
            for worker in self.kubelet.workers
            for state in worker.states
            if (pid := self.runtime.pid(state.id))
        }

    def process(self, pod: str, container: str = "", namespace: str = "default") -> Process:
        """The process of a container.

        Raises:
            NotFound: where it does not run.
        """
        return self.kernel.processes[self.runtime.pid(self._running(pod, container, namespace).id)]

    def _running(self, pod: str, container: str, namespace: str) -> State:
        for worker in self.kubelet.workers:
            if (worker.pod.name, worker.pod.namespace) == (pod, namespace):
                for state in worker.states:
                    if self.runtime.pid(state.id) and container in ("", state.container.name):
                        return state
        raise NotFound("processes", f"{namespace}/{pod}/{container}")

    def proc(self, pod: str, container: str = "", namespace: str = "default") -> dict[str, str]:
        """What /proc/PID of a container's process says: cgroup, oom_score(_adj), Cpus_allowed_list, environ."""
        state = self._running(pod, container, namespace)
        process = self.kernel.processes[self.runtime.pid(state.id)]
        if self.cgroupfs.version == 2:
            cgroups = f"0::{process.cgroup}\n"
        else:
            names = ("memory", "cpuset", "cpu,cpuacct", "pids", "hugetlb")
            cgroups = "".join(f"{len(names) - i}:{name}:{process.cgroup}\n" for i, name in enumerate(names))
        return {
            "cgroup": cgroups,
            "oom_score": str(self.kernel.oom_score(process.pid)),
            "oom_score_adj": str(process.oom_score_adj),
            "Cpus_allowed_list": format_cpus(self.cgroupfs.effective_cpus(process.cgroup)),
            "environ": "".join(f"{name}={value}\n" for name, value in self.runtime.environment(state.id).items()),
        }

    def pressure(self, resource: str) -> str:
        """What /proc/pressure/RESOURCE shows of the whole machine: cpu, memory or io; there on v1 too.

        Raises:
            NotFound: for another resource.
        """
        if resource not in ("cpu", "memory", "io"):
            raise NotFound("pressure", resource)
        found = self.kernel.pressure(resource)
        return found.show(self.kernel.now) if found is not None else NOTHING

    def usages(self) -> dict[tuple[str, str], dict[str, tuple[float, int]]]:
        """(namespace, pod) -> container -> CPUs that it gets now, and bytes of memory without page cache."""
        found: dict[tuple[str, str], dict[str, tuple[float, int]]] = {}
        for worker in self.kubelet.workers:
            running = {s.container.name: self.runtime.usage(s.id) for s in worker.states if self.runtime.pid(s.id)}
            if running:
                key = (worker.pod.namespace, worker.pod.name)
                found[key] = {name: (usage.cpus, usage.memory) for name, usage in running.items()}
        return found

    def total_usage(self) -> tuple[float, int]:
        """CPUs and bytes of memory that all processes of the node use now, without page cache."""
        processes = self.kernel.processes.values()
        return sum(p.rate for p in processes), sum(p.memory for p in processes)

    def usage(self, path: str) -> int:
        """Bytes of memory that a cgroup and those below it use."""
        return self.kernel.usage(path)

    def signal(self, pod: str, container: str, signal: int = 9) -> None:
        """Send a signal to a container's process, as `kill` inside the node does; only those that end it."""
        if signal not in (2, 9, 15):
            raise KitError(f"signal {signal}: 2, 9 or 15 is expected")
        self.kernel.kill(self.process(pod, container).pid, 128 + signal)
        self._record("signal", node=self.name, pod=pod, container=container, signal=signal)
        self.kubelet.tick()
