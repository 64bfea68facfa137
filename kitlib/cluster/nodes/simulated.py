"""A node on the simulated kernel: its kubelet starts processes, which use CPU and memory, are throttled and killed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from signal import SIGKILL
from typing import TYPE_CHECKING, Final

from kitlib.api.clock import EPOCH
from kitlib.api.core import Container, Node, Pod
from kitlib.api.devices import ResourceClaim
from kitlib.api.errors import KitError, NotFound
from kitlib.api.podresources import field_path
from kitlib.api.release import Release
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.cluster.nodes.base import NodeBase
from kitlib.cluster.nodes.bound_pods import BoundPods
from kitlib.cluster.nodes.config import node_config
from kitlib.cluster.nodes.interfaces import Owners, Record, Usages
from kitlib.cluster.nodes.origin import Origin
from kitlib.cluster.nodes.plan import KubeletSource, NodePlan
from kitlib.cluster.nodes.projected_tokens import ProjectedTokens
from kitlib.cluster.nodes.reports import StoreReports
from kitlib.cluster.nodes.simulated_streams import KILLED, SimulatedStreams
from kitlib.kubelet.cm.cgroup_tree import CgroupTree, Version
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.eviction.thresholds import Observation
from kitlib.kubelet.loop.container_state import ContainerState
from kitlib.kubelet.loop.kubelet import Kubelet
from kitlib.kubelet.loop.timeline import TimelineEntry
from kitlib.kubelet.pods.volume_files import Files, mounted
from kitlib.kubelet.util.cpuset import format_cpus
from kitlib.node.common.workload import FOREVER, IDLE_MEMORY, TERMINATED
from kitlib.node.simulated.cgroupfs import SimulatedCgroupFS
from kitlib.node.simulated.commands import ways_out
from kitlib.node.simulated.kernel import Kernel, Process
from kitlib.node.simulated.network import PodNetwork, node_network
from kitlib.node.simulated.pressure import NOTHING
from kitlib.node.simulated.runtime import SimulatedRuntime
from kitlib.node.simulated.system import SimulatedSystem

SIGNALS: Final = (2, 9, 15)
"""That can end a simulated process: SIGINT, SIGKILL, SIGTERM."""

if TYPE_CHECKING:
    from kitlib.node.common.log import Log
    from kitlib.node.simulated.shell.machine import Data


class SimulatedNode(SimulatedStreams, NodeBase):
    """One node of a simulated cluster.

    Args:
        plan: its machine and settings.
        release: whose rules hold.
        version: of its cgroups.
        record_action: called with every write by hand, for the journal.
        number: of the node in its cluster, from which its addresses follow.

    Raises:
        SettingsError: where the kubelet would not start on this machine; with its messages.

    Attributes:
        kernel: the simulated kernel, with its processes and log.
        runtime: the container runtime on it.
        system: the processes of the machine itself.
        kubelet: what runs on it.
    """

    def __init__(
        self, plan: NodePlan, release: Release, version: Version, record_action: Record, number: int = 0
    ) -> None:
        self.plan, self.name, self._record = plan, plan.name, record_action
        self.config = node_config(plan, release)
        self.kernel = Kernel(plan.machine, version)
        self._reports, self._tokens = StoreReports(plan.name, EPOCH), ProjectedTokens()
        self.followed = []
        self.network = node_network(number, self.config.settings.max_pods)
        self._noted: set[tuple[str, str]] = set()
        self.runtime = SimulatedRuntime(self.kernel, plan.images, PodNetwork(self.network.pods), self._note_program)
        self.system = SimulatedSystem(self.kernel, self.config.settings.cgroup_driver)
        self.kubelet = self._make_kubelet(self.config)

    def _make_kubelet(
        self, config: NodeConfig, before: Kubelet | None = None, *, delete_checkpoints: bool = False
    ) -> Kubelet:
        made = Kubelet(
            config,
            self.cgroupfs,
            self.runtime,
            self._reports,
            lambda: self.kernel.now,
            before=before,
            delete_checkpoints=delete_checkpoints,
            system=self.system,
            address=self.network.address if self.network is not None else "",
        )
        self.runtime.allocatable = made.allocatable("memory")  # source: kubeletVolumeHost.GetNodeAllocatable
        return made

    def restart_kubelet(self, kubelet: KubeletSource | None = None, *, delete_checkpoints: bool = False) -> None:
        """Restart the kubelet, with other settings where they are given; containers run on.

        The assignments of the CPU, memory and device managers are kept in their checkpoints. Each pod is admitted anew.

        Args:
            kubelet: flags, a KubeletConfiguration or settings; None = as before.
            delete_checkpoints: remove `cpu_manager_state` and `memory_manager_state` first.

        Raises:
            KitError: the kubelet would not start, with its words; the one that runs goes on then.
        """
        plan = self.plan if kubelet is None else replace(self.plan, kubelet=kubelet)
        config, old = node_config(plan, self.config.release), self.kubelet
        if config.settings.cgroup_driver != self.config.settings.cgroup_driver and old.workers:
            raise KitError(
                f"cgroupDriver: Forbidden: cannot change from {self.config.settings.cgroup_driver} to "
                f"{config.settings.cgroup_driver} while pods are on the node, whose cgroups have other names; drain it"
            )
        self.kubelet = self._make_kubelet(config, old, delete_checkpoints=delete_checkpoints)
        self.plan, self.config = plan, config
        self.kubelet.objects.find = old.objects.find
        self._record("restart_kubelet", node=self.name, kubelet=plan.kubelet, delete_checkpoints=delete_checkpoints)
        api = self._reports.api
        pods = [] if api is None else [p for p in api.store.list(Pod) if p.spec.node_name == self.name]
        self.kubelet.adopt(old, pods)
        if api is not None:
            stored: Node = api.store.get(Node, self.name)
            fresh = self.register(api.store.now()).status
            stored.status.capacity, stored.status.allocatable = fresh.capacity, fresh.allocatable
            api.update_status(stored)
            self.registered(api)

    def sync(self, api: APIServer, pods: BoundPods) -> None:
        """Bring processes, cgroups and statuses in line with the pods that are bound here."""
        self._reports.api = api
        self.kubelet.managers.claims.find = lambda space, name: api.store.find(ResourceClaim, name, space, copy=False)
        self.kubelet.objects.find = self._tokens.finder(api)
        self.kubelet.handle(*pods.take())
        self._report_system_ooms()
        self.end_streams()

    def _note_program(self, pod: Pod, container: Container, text: str) -> None:
        """Say once that a container's program is not known; of an image without a command only the timeline tells."""
        if (pod.metadata.uid, container.name) in self._noted:
            return
        self._noted.add((pod.metadata.uid, container.name))
        self.kubelet.timeline.note("runtime", "not simulating", f"{pod.key}/{container.name}", text, "StartContainer")
        if container.command or container.args:
            message = (
                f"{text}. It uses {IDLE_MEMORY // 2**20}Mi and no CPU until it is stopped; {ways_out(container.name)}"
            )
            self._reports.event(pod, "Warning", "ProgramNotSimulated", message, field_path(pod, container))

    @property
    def cgroupfs(self) -> SimulatedCgroupFS:
        """The kernel's cgroup file system."""
        return self.kernel.cgroups

    @property
    def origin(self) -> Origin:
        """The origin of the node's values."""
        return Origin("simulated", self.cgroupfs.version, (self.name,))

    def host_time(self) -> None:
        """Return None: no machine runs under the node that other processes could keep busy."""

    def _node_info(self) -> dict[str, str]:
        return {
            "kernelVersion": f"simulated, cgroup v{self.cgroupfs.version}",
            "containerRuntimeVersion": "simulated://1",
        }

    def advance(self, seconds: float) -> None:
        """Let the kernel run, then let the kubelet look at what has happened."""
        self.kernel.advance(seconds)
        self.kubelet.tick()
        self._report_system_ooms()
        self.end_streams()

    def _report_system_ooms(self) -> None:
        for process, pid in self.runtime.system_ooms():
            self.kubelet.system_out_of_memory(process, pid)

    def desired(self) -> CgroupTree:
        """The tree that the kubelet wants, with the reason for every value."""
        return self.kubelet.wanted

    # What runs on the machine.

    def kernel_log(self) -> list[str]:
        """What `dmesg` shows."""
        return self.kernel.log.shown()

    def uptime(self) -> float:
        """Seconds since the node's kernel started."""
        return self.kernel.now

    def signals(self) -> dict[str, Observation]:
        """The eviction signals that the machine itself shows."""
        return dict(self.runtime.signals())

    def timeline(self) -> list[TimelineEntry]:
        """What the kubelet did, when and why, oldest first."""
        return list(self.kubelet.timeline)

    def cgroup_changes(self) -> list[tuple[float, str, str]]:
        """When which file of which cgroup was written, by any hand; "" = the cgroup was made or removed."""
        return list(self.kernel.changes)

    def checkpoint(self) -> str:
        """What the kubelet's file `cpu_manager_state` holds: who has which CPUs; "" without a static CPU policy."""
        return self.kubelet.managers.checkpoint()

    def processes(self) -> list[Process]:
        """What `ps` shows, oldest first."""
        return list(self.kernel.processes.values())

    def owners(self) -> Owners:
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

    def _running(self, pod: str, container: str, namespace: str) -> ContainerState:
        for worker in self.kubelet.workers:
            if (worker.pod.name, worker.pod.namespace) == (pod, namespace):
                for state in worker.states:
                    if self.runtime.pid(state.id) and container in ("", state.container.name):
                        return state
        raise NotFound("processes", f"{namespace}/{pod}/{container}")

    def pid(self, namespace: str, pod: str, container: str) -> int:
        """The process of a container; 0 = it does not run."""
        try:
            return self.runtime.pid(self._running(pod, container, namespace).id)
        except NotFound:
            return 0

    def program_exits(self, namespace: str, pod: str, container: str, code: int) -> None:
        """The program of a container with standard input ends; in others nothing happens."""
        try:
            state = self._running(pod, container, namespace)
        except NotFound:
            return
        if state.container.stdin:
            self.kernel.kill(self.runtime.pid(state.id), code)
            self._record(
                "exit", node=self.name, namespace=namespace, pod=pod, container=state.container.name, code=code
            )
            self.kubelet.tick()

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

    def as_exec_node(self) -> SimulatedNode:
        """What a shell in a container needs."""
        return self

    def volume_files(self, pod: str, container: str = "", namespace: str = "default") -> Files:
        """Path in a container -> the file of a ConfigMap, a Secret or the downward API that is mounted there."""
        state = self._running(pod, container, namespace)
        of_pod = next(worker.pod for worker in self.kubelet.workers if state in worker.states)
        env = self.runtime.environment(state.id)
        return mounted(state.container, lambda name: self.runtime.volume(of_pod, name), env)

    def made_files(self, pod: str, container: str = "", namespace: str = "default") -> Mapping[str, Data | None]:
        """Return path -> content of the files that a container's own command has made so far; None = removed."""
        state = self._running(pod, container, namespace)
        of_pod = next(worker.pod for worker in self.kubelet.workers if state in worker.states)
        return self.runtime.made_files(of_pod, state.container, state.id, self.kernel.now - state.since)

    def written_files(self, pod: str, container: str = "", namespace: str = "default") -> dict[str, Data | None]:
        """Return path -> content of the files that commands in a container have written."""
        return self.runtime.written_files(self._running(pod, container, namespace).id)

    def log(self, namespace: str, pod: str, container: str, *, previous: bool = False) -> Callable[[], Log]:
        """Return a function that returns the output of a container's present run so far, or of the one before."""
        from kitlib.node.common.log import Log as NoLog
        from kitlib.node.simulated.output import log_of

        wanted = (namespace, pod, container)
        found = [
            runs
            for runs in self.runtime.runs.values()
            if (runs[-1].pod.namespace, runs[-1].pod.name, runs[-1].container.name) == wanted
        ]
        if not found:
            return lambda: NoLog(lambda: 0.0)
        runs = max(found, key=lambda one: one[-1].began)
        run = runs[0] if previous and runs[-1].ended is None else runs[-1]
        epoch = self._reports.now().timestamp() - self.kernel.now
        return lambda: log_of(run, self.kernel.now, epoch)

    def pressure(self, resource: str) -> str:
        """What /proc/pressure/RESOURCE shows of the whole machine: cpu, memory or io; there on v1 too.

        Raises:
            NotFound: for another resource.
        """
        if resource not in ("cpu", "memory", "io"):
            raise NotFound("pressure", resource)
        found = self.kernel.pressure(resource)
        return found.show(self.kernel.now) if found is not None else NOTHING

    def usages(self) -> Usages:
        """Return (namespace, pod) -> container -> current CPUs, and bytes of memory without inactive page cache."""
        found: Usages = {}
        for worker in self.kubelet.workers:
            running = {s.container.name: self.runtime.usage(s.id) for s in worker.states if self.runtime.pid(s.id)}
            if running:
                key = (worker.pod.namespace, worker.pod.name)
                found[key] = {name: (usage.cpus, usage.memory) for name, usage in running.items()}
        return found

    def total_usage(self) -> tuple[float, int]:
        """Return CPUs and bytes of memory that all processes of the node use now, without inactive page cache."""
        processes = self.kernel.processes.values()
        return sum(p.average() for p in processes), self.kernel.memory.working_set("/")

    def usage(self, path: str) -> int:
        """Bytes of memory that a cgroup and those below it use."""
        return self.kernel.usage(path)

    def close(self) -> None:
        """End the streams; the kernel is an object of this process."""
        for one in self.followed:
            one.stream.container_ended(KILLED)
        self.followed.clear()

    def signal(self, pod: str, container: str, signal: int = 9) -> None:
        """Send a signal to a container's process, as `kill` inside the node does; only those that can end it.

        As process 1 of its PID namespace it ends at SIGTERM and SIGINT by a handler only; see pid_namespaces(7).
        """
        if signal not in SIGNALS:
            raise KitError(f"signal: must be one of {', '.join(map(str, SIGNALS))}, got {signal}")
        process = self.process(pod, container)
        tidying, code = process.workload.tidying, process.workload.tidy_code
        if signal == SIGKILL or not tidying:
            unhandled = signal == SIGKILL or code == TERMINATED
            self.kernel.kill(process.pid, 128 + signal if unhandled else code)
        elif tidying != FOREVER:
            self.kernel.end_in(process.pid, tidying, code)
        self._record("signal", node=self.name, pod=pod, container=container, signal=signal)
        self.kubelet.tick()
