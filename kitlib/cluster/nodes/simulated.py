"""A node on the simulated kernel: its kubelet starts processes that use CPU and memory, are throttled and killed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from kitlib.api.clock import EPOCH
from kitlib.api.core import Container, Node, Pod
from kitlib.api.errors import KitError, NotFound
from kitlib.api.podresources import field_path
from kitlib.api.release import Release
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.cluster.nodes.base import NodeBase
from kitlib.cluster.nodes.bound_pods import BoundPods
from kitlib.cluster.nodes.config import node_config
from kitlib.cluster.nodes.interfaces import Owners, Record, Usages
from kitlib.cluster.nodes.node_object import find_object
from kitlib.cluster.nodes.origin import Origin
from kitlib.cluster.nodes.plan import KubeletSource, NodePlan
from kitlib.cluster.nodes.reports import StoreReports
from kitlib.cluster.nodes.simulated_streams import KILLED, SimulatedStreams
from kitlib.kubelet.cm.cgroup_tree import CgroupTree, Version
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.eviction.thresholds import Observation
from kitlib.kubelet.loop.container_state import ContainerState
from kitlib.kubelet.loop.kubelet import Kubelet
from kitlib.kubelet.loop.node_conditions import first_conditions
from kitlib.kubelet.loop.timeline import TimelineEntry
from kitlib.kubelet.util.cpuset import format_cpus
from kitlib.node.common.kernel_log import KernelLog
from kitlib.node.common.network import PodNetwork, node_network
from kitlib.node.common.workload import IDLE_MEMORY
from kitlib.node.simulated.cgroupfs import SimulatedCgroupFS
from kitlib.node.simulated.commands import ways_out
from kitlib.node.simulated.kernel import Kernel, Process
from kitlib.node.simulated.pressure import NOTHING
from kitlib.node.simulated.runtime import SimulatedRuntime
from kitlib.node.simulated.system import SimulatedSystem

SIGNALS: Final = (2, 3, 9, 15)
"""The signals that can end a simulated process: SIGINT, SIGKILL, SIGTERM."""

if TYPE_CHECKING:
    from kitlib.cluster.nodes.projected_tokens import ProjectedTokens
    from kitlib.kubelet.pods.volume_files import Files
    from kitlib.node.common.log import Log
    from kitlib.node.simulated.shell.machine import Data


class SimulatedNode(SimulatedStreams, NodeBase):
    """One node of a simulated cluster.

    Args:
        plan: the node's machine and settings.
        release: the Kubernetes release of the kubelet.
        version: the cgroup version.
        record_action: records a write by hand in the journal.
        number: the node's number in its cluster, which determines its addresses.

    Raises:
        SettingsError: the kubelet would not start on this machine; the error has its messages.

    Attributes:
        kernel: the simulated kernel, with its processes and log.
        runtime: the container runtime on it.
        system: the processes of the machine itself.
        kubelet: the kubelet of the node.
    """

    def __init__(
        self, plan: NodePlan, release: Release, version: Version, record_action: Record, number: int = 0
    ) -> None:
        self.plan, self.name, self._record = plan, plan.name, record_action
        self.config = node_config(plan, release)
        self.kernel = Kernel(plan.machine, version)
        self._reports = StoreReports(plan.name, EPOCH)
        self.followed = []
        self.network = node_network(number, self.config.settings.max_pods)
        self._noted: set[tuple[str, str]] = set()
        pods = PodNetwork(self.network.pods)
        self.runtime = SimulatedRuntime(self.kernel, plan.images, pods, self._note_program, plan.missing_images)
        self.system = SimulatedSystem(self.kernel, self.config.settings.cgroup_driver)
        self.kubelet = self._make_kubelet(self.config)
        self._is_off = False

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
        # The size limit of memory-backed volumes follows from it. Source: kubeletVolumeHost.GetNodeAllocatable.
        self.runtime.allocatable = made.allocatable("memory")
        return made

    def restart_kubelet(self, kubelet: KubeletSource | None = None, *, delete_checkpoints: bool = False) -> None:
        """Restart the kubelet, with new settings if given; containers continue to run.

        The assignments of the CPU, memory and device managers remain in their checkpoints. Each pod is admitted again.

        Args:
            kubelet: flags, a KubeletConfiguration or settings; None = the present ones.
            delete_checkpoints: whether to remove `cpu_manager_state` and `memory_manager_state` first.

        Raises:
            KitError: the new kubelet would not start; the error has its messages, and the present one continues.
        """
        self._check_on()
        plan = self.plan if kubelet is None else replace(self.plan, kubelet=kubelet)
        config, old = node_config(plan, self.config.release), self.kubelet
        if config.settings.cgroup_driver != self.config.settings.cgroup_driver and old.workers:
            raise KitError(
                f"cgroupDriver: Forbidden: cannot change from {self.config.settings.cgroup_driver} to "
                f"{config.settings.cgroup_driver} while pods are on the node, as this renames their cgroups; drain it"
            )
        self._start_again(plan, config, delete_checkpoints=delete_checkpoints)
        self._record("restart_kubelet", node=self.name, kubelet=plan.kubelet, delete_checkpoints=delete_checkpoints)

    def reboot(self) -> None:
        """Reboot the machine: all processes end at once, then the kubelet starts with its checkpoints and settings.

        A machine that is off boots. The seconds of a boot are not simulated. The node's clock continues.
        """
        was_off, self._is_off, api = self._is_off, False, self._reports.api
        from kitlib.kubelet.loop.rebooting import lose_power  # loaded with the first reboot

        lose_power(self.kubelet)
        self.boots += 1
        self.kernel.log = KernelLog()
        self._start_again(self.plan, self.config)
        if was_off and api is not None and (node := api.store.find(Node, self.name, copy=False)) is not None:
            api.leases.keep(node)
            for condition in first_conditions(api.store.now()):
                self._reports.condition(condition)
        self._record("reboot", node=self.name)

    @cached_property
    def _tokens(self) -> ProjectedTokens:
        from kitlib.cluster.nodes.projected_tokens import ProjectedTokens as Tokens  # loaded with the first token

        return Tokens()

    def _start_again(self, plan: NodePlan, config: NodeConfig, *, delete_checkpoints: bool = False) -> None:
        old = self.kubelet
        self.kubelet = self._make_kubelet(config, old, delete_checkpoints=delete_checkpoints)
        self.plan, self.config = plan, config
        self.kubelet.objects.find = old.objects.find
        api = self._reports.api
        pods = [] if api is None else [p for p in api.store.list(Pod) if p.spec.node_name == self.name]
        self.kubelet.adopt(old, pods)
        if api is not None:
            self._post_again(api)

    def registered(self, api: APIServer, boot: str = "") -> None:
        """Record the events of the kubelet's start, and report to this API server from now on."""
        self._reports.api = api
        super().registered(api, boot)

    def shutdown(self) -> None:
        """Shut the machine down: it announces this to the kubelet, and powers off when the kubelet lets it go.

        With `shutdownGracePeriod` or `shutdownGracePeriodByPodPriority` in its settings the kubelet ends the pods
        first. Otherwise the machine powers off at once, and its pods and its node learn of it as of any silent node.

        Raises:
            KitError: the machine is off.
        """
        self._check_on()
        self._record("shutdown", node=self.name)
        from kitlib.cluster.nodes.shutdown_reports import throttle  # loaded with the first shutdown

        throttle(self._reports, self.config.gates)
        self.kubelet.shut_down()
        self._power_off_if_due()

    def cancel_shutdown(self) -> None:
        """Cancel a shutdown before the machine is off; pods that are being stopped end all the same.

        Raises:
            KitError: the machine is off.
        """
        self._check_on()
        self._record("cancel_shutdown", node=self.name)
        if self.kubelet.shutdown is not None:
            self.kubelet.shutdown.cancel()

    def _check_on(self) -> None:
        if self._is_off:
            raise KitError(f"node {self.name}: the machine was shut down; boot it with node.reboot()")

    def _power_off_if_due(self) -> None:
        shutdown = self.kubelet.shutdown
        if self._is_off or shutdown is None or not shutdown.complete:
            return
        self._is_off = True
        self.kubelet.timeline.note("machine", "powering off", self.name)
        for pid in list(self.kernel.processes):
            self.kernel.kill(pid)
        self.runtime.ended()  # the kubelet hears of none of these ends
        from kitlib.cluster.nodes.shutdown_reports import lose  # loaded with the first shutdown

        lose(self._reports, self.kubelet.workers)
        self.close()

    def sync(self, api: APIServer, pods: BoundPods) -> None:
        """Update processes, cgroups and statuses to the pods that are bound to this node."""
        if self._is_off:  # the kubelet learns the changes when the machine boots
            return
        self._reports.api = api
        self.kubelet.managers.find_claim = lambda space, name: api.store.find("ResourceClaim", name, space, copy=False)
        self.kubelet.objects.find = partial(find_object, api, lambda: self._tokens)
        self.kubelet.handle(*pods.take())
        self._report_system_ooms()
        self.end_streams()

    def _note_program(self, pod: Pod, container: Container, text: str) -> None:
        """Report once that a container's program is unknown; for an image without a command, only in the timeline."""
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
        """Run the kernel for these seconds, then let the kubelet react."""
        self.kernel.advance(seconds)
        if self._is_off:
            return
        self.kubelet.tick()
        self._reports.retry()
        self._power_off_if_due()
        self._report_system_ooms()
        self.end_streams()

    def _report_system_ooms(self) -> None:
        for process, pid in self.runtime.system_ooms():
            self.kubelet.watcher.system_out_of_memory(process, pid)

    def desired(self) -> CgroupTree:
        """Return the tree that the kubelet wants, with the reason for every value."""
        return self.kubelet.wanted

    # The state of the machine.

    def kernel_log(self) -> list[str]:
        """Return the lines of `dmesg`."""
        return self.kernel.log.shown()

    def uptime(self) -> float:
        """Return the seconds since the node's kernel started."""
        return self.kernel.now

    def signals(self) -> dict[str, Observation]:
        """Return the eviction signals of the machine itself."""
        return dict(self.runtime.signals())

    def timeline(self) -> list[TimelineEntry]:
        """Return the kubelet's actions with times and reasons, oldest first."""
        return list(self.kubelet.timeline)

    def cgroup_changes(self) -> list[tuple[float, str, str]]:
        """Return (seconds, cgroup, file) of each write by any process; "" as file = made or removed."""
        return list(self.kernel.changes)

    def checkpoint(self) -> str:
        """Return the kubelet's file `cpu_manager_state` with the assigned CPUs; "" without a static CPU policy."""
        return self.kubelet.managers.checkpoint()

    def processes(self) -> list[Process]:
        """Return the processes as `ps` shows them, oldest first."""
        return list(self.kernel.processes.values())

    def owners(self) -> Owners:
        """Return (namespace, pod, container) by process id for the processes of pods, without pause containers."""
        return {
            pid: (worker.pod.namespace, worker.pod.name, state.container.name)
            for worker in self.kubelet.workers
            for state in worker.states
            if (pid := self.runtime.pid(state.id))
        }

    def process(self, pod: str, container: str = "", namespace: str = "default") -> Process:
        """Return the process of a container.

        Raises:
            NotFound: the container does not run.
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
        """Return the process id of a container; 0 = it does not run."""
        try:
            return self.runtime.pid(self._running(pod, container, namespace).id)
        except NotFound:
            return 0

    def program_exits(self, namespace: str, pod: str, container: str, code: int) -> None:
        """End the program of a container with standard input; other containers are not changed."""
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
        """Return /proc/PID values of a container's process: cgroup, oom_score(_adj), Cpus_allowed_list, environ."""
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
        """Return the node as the interface that a container's shell uses."""
        return self

    def volume_files(self, pod: str, container: str = "", namespace: str = "default") -> Files:
        """Return the mounted files of ConfigMaps, Secrets and the downward API by their path in a container."""
        from kitlib.kubelet.pods.volume_files import mounted  # loaded with the first mount

        state = self._running(pod, container, namespace)
        of_pod = next(worker.pod for worker in self.kubelet.workers if state in worker.states)
        env = self.runtime.environment(state.id)
        return mounted(state.container, lambda name: self.runtime.volume(of_pod, name), env)

    def made_files(self, pod: str, container: str = "", namespace: str = "default") -> Mapping[str, Data | None]:
        """Return the content, by path, of its image's files and of those that its own command made; None = removed."""
        from kitlib.node.simulated.programs.images import command_line
        from kitlib.node.simulated.programs.waiting import image_files

        state = self._running(pod, container, namespace)
        of_pod = next(worker.pod for worker in self.kubelet.workers if state in worker.states)
        made = self.runtime.made_files(of_pod, state.container, state.id, self.kernel.now - state.since)
        return {**image_files(command_line(state.container) or [""]), **made}

    def written_files(self, pod: str, container: str = "", namespace: str = "default") -> dict[str, Data | None]:
        """Return the content, by path, of files that commands in a container have written; None = removed."""
        return self.runtime.written_files(self._running(pod, container, namespace).id)

    def log(self, namespace: str, pod: str, container: str, *, previous: bool = False) -> Callable[[], Log]:
        """Return a function that returns the output so far of a container's current run, or of the previous one."""
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
        """Return /proc/pressure/RESOURCE (cpu, memory or io) of the whole machine, which exists with cgroup v1 too.

        Raises:
            NotFound: the resource is unknown.
        """
        if resource not in ("cpu", "memory", "io"):
            raise NotFound("pressure", resource)
        found = self.kernel.pressure(resource)
        return found.show(self.kernel.now) if found is not None else NOTHING

    def usages(self) -> Usages:
        """Return each container's CPUs and bytes of memory without inactive page cache, by (namespace, pod)."""
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
        """Return the bytes of memory of a cgroup and its descendants."""
        return self.kernel.usage(path)

    def close(self) -> None:
        """End the streams; the kernel is an object of this process."""
        for one in self.followed:
            one.stream.container_ended(KILLED)
        self.followed.clear()

    def signal(self, pod: str, container: str, signal: int = 9, namespace: str = "default") -> None:
        """Send a terminating signal to a container's process, as `kill` inside the node does.

        The process is number 1 of its PID namespace, so SIGTERM, SIGINT and SIGQUIT end it only if it has a handler;
        see pid_namespaces(7).
        """
        if signal not in SIGNALS:
            raise KitError(f"signal: must be one of {', '.join(map(str, SIGNALS))}, got {signal}")
        from kitlib.node.simulated.signals import send  # loaded with the first signal

        send(self.kernel, self.process(pod, container, namespace), signal)
        self._record("signal", node=self.name, pod=pod, container=container, signal=signal, namespace=namespace)
        self.kubelet.tick()
