"""Live nodes: the kubelet on the simulated kernel, with processes: they use CPU and memory, are throttled and killed.

Beyond what a still node does: admission, containers started in order and restarted with back-off, OOM kills seen and
reported, the QoS cgroups written again every minute, and eviction when memory runs short.

Source: kubelet syncPod, lifecycle predicate (GeneralPredicates), eviction manager (memory.available), UpdateQOSCgroups.
"""

from __future__ import annotations

from collections.abc import Iterable

from kitlib.api.core import Node, Pod
from kitlib.api.errors import KitError, NotFound
from kitlib.api.meta import Condition
from kitlib.api.podresources import pod_requests
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy
from kitlib.cluster.apiserver import APIServer
from kitlib.cluster.controllers.pods import record
from kitlib.cluster.eviction import EVERY, EvictionManager
from kitlib.cluster.nodes import NodePlan
from kitlib.cluster.pod_worker import PodWorker
from kitlib.cluster.still import Record, StillNode
from kitlib.kubelet.cgroup_tree import Version
from kitlib.kubelet.desired import Desired, container_id
from kitlib.kubelet.eviction_ranking import ContainerStats, PodStats
from kitlib.kubelet.eviction_thresholds import Observation
from kitlib.kubelet.oom_score import container_oom_score_adjust
from kitlib.node.simulated.cgroupfs import SimulatedCgroupFS
from kitlib.node.simulated.kernel import Kernel, Process
from kitlib.node.simulated.workloads import FOREVER, Phase, Workload, WorkloadError, workload_of

QOS_EVERY = 60.0
PAUSE = Workload((Phase(FOREVER, memory=256 * 1024),), name="pause")
PAUSE_SCORE = -998
DAEMONS = {"kubelet": 64 * 2**20, "containerd": 48 * 2**20}
"""What runs beside the pods, and bytes of memory that it needs."""
DAEMON_SCORE = -999


class LiveNode(StillNode):
    """One node of a simulated cluster.

    Attributes:
        machine: the kernel, with its processes and log.
    """

    machine: Kernel

    def __init__(self, plan: NodePlan, release: Release, version: Version, record_action: Record) -> None:
        super().__init__(plan, release, version, record_action)
        self._workers: dict[str, PodWorker] = {}
        self._pauses: dict[str, int] = {}
        self._api: APIServer | None = None
        self._next_qos, self._next_watch = QOS_EVERY, EVERY
        self._eviction = EvictionManager(self.config.settings, self.config.gates)
        for name, memory in DAEMONS.items():
            self.machine.spawn(Workload((Phase(FOREVER, memory=memory),), name=name), "/", DAEMON_SCORE)

    def _cgroups(self, version: Version) -> SimulatedCgroupFS:
        self.machine = Kernel(self.plan.machine, version)
        return self.machine.cgroups

    # The kubelet's loop.

    def sync(self, api: APIServer, pods: list[Pod]) -> None:
        """Bring processes, cgroups and statuses in line with the pods that are bound here."""
        self._api = api
        known = {pod.metadata.uid for pod in pods}
        for uid in [uid for uid in self._workers if uid not in known]:
            self._stop(self._workers.pop(uid))
        for pod in pods:
            worker = self._workers.get(pod.metadata.uid)
            if worker is not None:
                worker.pod = pod
            elif pod.status.phase not in ("Succeeded", "Failed"):
                self._admit(api, pod)
        leaving = [w for w in self._workers.values() if w.pod.metadata.deletion_timestamp is not None]
        for worker in leaving:
            self._event(worker.pod, "Normal", "Killing", f"Stopping container {worker.pod.spec.containers[0].name}")
            self._stop(worker)
            del self._workers[worker.pod.metadata.uid]
        for pod in pods:
            if pod.metadata.deletion_timestamp is not None:
                api.delete(Pod, pod.name, pod.namespace)
        self._work()

    def advance(self, seconds: float) -> None:
        """Let the kernel run, then look at what has happened."""
        self.machine.advance(seconds)
        if self._api is None:
            return
        changed = self._collect()
        if self.machine.now >= self._next_qos:
            self._next_qos += QOS_EVERY
            self._write_qos()
        if self.machine.now >= self._next_watch:
            self._next_watch = self.machine.now + EVERY
            changed |= self._watch_memory()
        if changed or any(worker.to_start(self.machine.now) for worker in self._workers.values()):
            self._work()

    def _admit(self, api: APIServer, pod: Pod) -> None:
        worker = self._workers[pod.metadata.uid] = PodWorker(pod, api.store.now())
        allocatable = self.register(api.store.now()).status.allocatable
        requests = pod_requests(pod, release=self.config.gates)
        worker.asked = {name: amount.milli_value() for name, amount in requests.items()}
        worker.asked["pods"] = 1000
        others = [w for w in self._workers.values() if w is not worker and w.phase() not in ("Succeeded", "Failed")]
        for name, wanted in sorted(worker.asked.items()):
            most = allocatable[name].milli_value() if name in allocatable else 0
            used = sum(other.asked.get(name, 0) for other in others)
            if wanted and used + wanted > most:
                scale = 1 if name == "cpu" else 1000
                figures = f"requested: {wanted // scale}, used: {used // scale}, capacity: {most // scale}"
                text = f"Pod was rejected: Node didn't have enough resource: {name}, {figures}"
                worker.final = ("Failed", f"OutOf{name}", text)
                self._event(pod, "Warning", f"OutOf{name}", text.removeprefix("Pod was rejected: "))
                return

    def _work(self) -> None:
        """Cgroups first, then containers, then what the API server is told."""
        for _ in range(20):  # a container may die at its start: then the next round sees it
            active = [w for w in self._workers.values() if w.phase() not in ("Succeeded", "Failed")]
            for worker in self._workers.values():
                if worker not in active:
                    self._stop(worker)
            self._sync([worker.pod for worker in active])
            for worker in active:
                self._start(worker)
            if not self._collect():
                break
        for worker in self._workers.values():
            self._report(worker)

    def _start(self, worker: PodWorker) -> None:
        pod = worker.pod
        rules = Desired(self.config, self.kernel.version)
        if pod.metadata.uid not in self._pauses:
            path = rules.sandbox_level(pod, container_id(pod.metadata.uid, "")).path
            if self.kernel.exists(path):
                self._pauses[pod.metadata.uid] = self.machine.spawn(PAUSE, path, PAUSE_SCORE)
        for state in worker.to_start(self.machine.now):
            container = state.container
            try:
                workload = workload_of(pod, container)
            except WorkloadError as error:
                state.problem = ("CreateContainerConfigError", str(error))
                self._event(pod, "Warning", "Failed", f"Error: {error}")
                continue
            cgroup = rules.container_level(pod, container, container_id(pod.metadata.uid, container.name))
            if not self.kernel.exists(cgroup.path):
                self.kernel.makedirs(cgroup.path)
                for file in cgroup.values():
                    if file.written:
                        self.kernel.write(cgroup.path, file.name, file.value)
            score = container_oom_score_adjust(pod, container, self.plan.machine.memory, self.config.gates)
            assert self._api is not None
            # known before it starts: it may be killed while it takes its first memory
            state.started(-1, self.machine.now, self._api.store.now())
            state.pid = self.machine.spawn(workload, cgroup.path, score)
            self._event(pod, "Normal", "Created", f"Created container: {container.name}")
            self._event(pod, "Normal", "Started", f"Started container {container.name}")

    def _collect(self) -> bool:
        """Take note of processes that have ended."""
        changed = False
        settings = self.config.settings
        for gone in self.machine.exits():
            for worker in self._workers.values():
                state = worker.of_pid(gone.process.pid)
                if state is None:
                    continue
                assert self._api is not None
                state.exited(gone, self._api.store.now(), settings.back_off_base, settings.crash_loop_back_off_max)
                changed = True
                if worker.may_restart(state) and state.not_before > self.machine.now:
                    name, pod = state.container.name, worker.pod
                    where = f"{pod.name}_{pod.namespace}({pod.metadata.uid})"
                    self._event(
                        pod, "Warning", "BackOff", f"Back-off restarting failed container {name} in pod {where}"
                    )
        return changed

    def _stop(self, worker: PodWorker) -> None:
        """End a pod's processes; its cgroups go with the next sync."""
        for state in worker.states:
            if state.pid:
                self.machine.kill(state.pid)
        self.machine.kill(self._pauses.pop(worker.pod.metadata.uid, 0))
        self._collect()
        path = Desired(self.config, self.kernel.version).pod_path(worker.pod)
        for init in worker.inits:
            own = Desired(self.config, self.kernel.version).container_level(
                worker.pod, init.container, container_id(worker.pod.metadata.uid, init.container.name)
            )
            if path and self.kernel.exists(own.path) and own.path not in self._desired:
                self.kernel.rmdir(own.path)

    def _report(self, worker: PodWorker) -> None:
        assert self._api is not None
        standing = self._api.store.find(Pod, worker.pod.name, worker.pod.namespace, copy=False)
        if standing is None or standing.metadata.uid != worker.pod.metadata.uid:
            return
        status = worker.status(standing.status, self.machine.now, self._api.store.now())
        if status != standing.status:
            changed = deepcopy(standing)
            changed.status = status
            self._api.update_status(changed)

    def _write_qos(self) -> None:
        """Every minute the class cgroups get their values again, whoever has changed them. Source: UpdateCgroups."""
        for cgroup in self._desired.of_kind("qos"):
            for file in cgroup.values():
                if file.written:
                    self.kernel.write(cgroup.path, file.name, file.value)

    # Eviction.

    def _watch_memory(self) -> bool:
        """Let the eviction manager look; whether it evicted a pod."""
        working = sum(process.memory for process in self.machine.processes.values())
        seen = {"memory.available": Observation(self.plan.machine.memory - working, self.plan.machine.memory)}
        kubepods = next(iter(self._desired.of_kind("kubepods")), None)
        limit = self.machine.limit(kubepods.path) if kubepods is not None else None
        running = [w for w in self._workers.values() if any(state.pid for state in w.states)]
        if limit is not None:
            used = sum(self._used(worker) for worker in running)
            seen["allocatableMemory.available"] = Observation(limit - used, limit)
        stats = {w.pod.metadata.uid: self._stats(w) for w in running}
        before = self._eviction.pressure
        found = self._eviction.look(self.machine.now, seen, [w.pod for w in running], stats)
        if self._eviction.pressure != before:
            self._condition("MemoryPressure", self._eviction.pressure)
        if found is None:
            return False
        pod, message = found
        self._workers[pod.metadata.uid].final = ("Failed", "Evicted", message)
        self._event(pod, "Warning", "Evicted", message)
        return True

    def _used(self, worker: PodWorker) -> int:
        return sum(self.machine.processes[state.pid].memory for state in worker.states if state.pid)

    def _stats(self, worker: PodWorker) -> PodStats:
        running = [(state.container.name, self.machine.processes[state.pid]) for state in worker.states if state.pid]
        containers = tuple(ContainerStats(name, memory=process.memory) for name, process in running)
        return PodStats(memory=sum(p.memory for _, p in running), processes=len(running), containers=containers)

    def _condition(self, kind: str, holds: bool) -> None:
        assert self._api is not None
        node: Node = self._api.store.get(Node, self.name)
        reason = f"KubeletHas{'Insufficient' if holds else 'Sufficient'}Memory"
        value = "True" if holds else "False"
        made = Condition(type=kind, status=value, reason=reason, last_transition_time=self._api.store.now())
        node.status.conditions = [*(c for c in node.status.conditions if c.type != kind), made]
        self._api.update_status(node)
        record(self._api, node, "Normal", f"NodeHas{'Insufficient' if holds else 'Sufficient'}Memory", reason)

    # Looking at the machine.

    def kernel_log(self) -> list[str]:
        """What `dmesg` shows."""
        return list(self.machine.log)

    def processes(self) -> list[Process]:
        """What `ps` shows, oldest first."""
        return list(self.machine.processes.values())

    def process(self, pod: str, container: str = "", namespace: str = "default") -> Process:
        """The process of a container.

        Raises:
            NotFound: where it does not run.
        """
        for worker in self._workers.values():
            if (worker.pod.name, worker.pod.namespace) == (pod, namespace):
                for state in worker.states:
                    if state.pid and container in ("", state.container.name):
                        return self.machine.processes[state.pid]
        raise NotFound("processes", f"{namespace}/{pod}/{container}")

    def proc(self, pod: str, container: str = "", namespace: str = "default") -> dict[str, str]:
        """What /proc/PID of a container's process says: cgroup, oom_score, oom_score_adj, Cpus_allowed_list."""
        process = self.process(pod, container, namespace)
        if self.kernel.version == 2:
            cgroups = f"0::{process.cgroup}\n"
        else:
            names = ("memory", "cpuset", "cpu,cpuacct", "pids", "hugetlb")
            cgroups = "".join(f"{len(names) - i}:{name}:{process.cgroup}\n" for i, name in enumerate(names))
        return {
            "cgroup": cgroups,
            "oom_score": str(self.machine.oom_score(process.pid)),
            "oom_score_adj": str(process.oom_score_adj),
            "Cpus_allowed_list": _ranges(self.kernel.effective_cpus(process.cgroup)),
        }

    def usages(self) -> dict[tuple[str, str], dict[str, tuple[float, int]]]:
        """(namespace, pod) -> container -> CPUs that it gets now, and bytes of memory without page cache."""
        found: dict[tuple[str, str], dict[str, tuple[float, int]]] = {}
        for worker in self._workers.values():
            running = {s.container.name: self.machine.processes[s.pid] for s in worker.states if s.pid}
            if running:
                key = (worker.pod.namespace, worker.pod.name)
                found[key] = {name: (process.rate, process.memory) for name, process in running.items()}
        return found

    def total_usage(self) -> tuple[float, int]:
        """CPUs and bytes of memory that all processes of the node use now, without page cache."""
        processes = self.machine.processes.values()
        return sum(p.rate for p in processes), sum(p.memory for p in processes)

    def usage(self, path: str) -> int:
        """Bytes of memory that a cgroup and those below it use."""
        return self.machine.usage(path)

    def signal(self, pod: str, container: str, signal: int = 9) -> None:
        """Send a signal to a container's process, as `kill` inside the node does; only those that end it."""
        if signal not in (2, 9, 15):
            raise KitError(f"signal {signal}: 2, 9 or 15 is expected")
        self.machine.kill(self.process(pod, container).pid, 128 + signal)
        self._record("signal", node=self.name, pod=pod, container=container, signal=signal)
        self._collect()
        self._work()

    def _event(self, pod: Pod, kind: str, reason: str, message: str) -> None:
        if self._api is not None:
            record(self._api, pod, kind, reason, message)


def _ranges(numbers: Iterable[int]) -> str:
    """`0-3,8`: how the kernel writes a set of processors."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
