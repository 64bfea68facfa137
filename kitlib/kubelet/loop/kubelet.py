"""The kubelet of one node: admits pods, makes their cgroups, starts and restarts their containers, evicts, reports.

It decides with the pure functions of `kitlib.kubelet` and acts through the interfaces of this room, so it is the same
on a simulated kernel and on a real one. Nothing happens between two calls: `sync` is told which pods are bound to the
node, `tick` is called about once a second and whenever a container has ended.

Source: kubelet syncLoopIteration, HandlePodAdditions, syncPod, HandlePodCleanups; cm.containerManagerImpl.setupNode,
qosContainerManagerImpl.Start and UpdateCgroups, podContainerManagerImpl.EnsureExists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import Condition
from kitlib.api.podresources import pod_requests
from kitlib.kubelet.cgroup_files import memory_order
from kitlib.kubelet.cgroup_tree import Cgroup, CgroupFile, CgroupTree
from kitlib.kubelet.desired import NOTHING_ASSIGNED, Desired, NodeConfig, container_id, desired_tree
from kitlib.kubelet.eviction_ranking import ContainerStats, PodStats
from kitlib.kubelet.eviction_thresholds import Observation
from kitlib.kubelet.loop.eviction import EVERY, EvictionManager
from kitlib.kubelet.loop.interfaces import CgroupFS, ContainerProblem, ContainerRuntime, Ended, Reports
from kitlib.kubelet.loop.pod_worker import PodWorker, State
from kitlib.kubelet.node_allocatable import node_status
from kitlib.kubelet.node_validation import check_node
from kitlib.kubelet.oom_score import SANDBOX_OOM_SCORE_ADJ, container_oom_score_adjust
from kitlib.kubelet.resource_managers import ResourceManagers
from kitlib.kubelet.timeline import Timeline
from kitlib.kubelet.topology_manager import AdmissionProblem

QOS_EVERY = 60.0
"""Seconds between two writings of the class cgroups. Source: kubelet periodicQOSCgroupUpdateInterval."""
HOUSEKEEPING = 2.0
"""Seconds between two looks for cgroups that nobody owns. Source: kubelet housekeepingPeriod."""
_ENDED = ("Succeeded", "Failed")
_STARTS = 20
"""Rounds of starting within one sync: a container may die at once, and the next one's turn comes."""


class Kubelet:
    """One node's kubelet. Making it writes the node-level cgroups.

    Args:
        config: the machine and the settings.
        cgroups, runtime: what it drives. reports: who hears of it.
        clock: seconds on the node's clock.

    Attributes:
        wanted: the cgroups that it wants now, containers that run included.

    Raises:
        SettingsError: where it would not start on this machine.
        KitError: where the kernel refuses a node-level cgroup.
    """

    def __init__(
        self,
        config: NodeConfig,
        cgroups: CgroupFS,
        runtime: ContainerRuntime,
        reports: Reports,
        clock: Callable[[], float],
        checkpoint: str = "",
    ) -> None:
        self.config, self.cgroups, self.runtime, self.reports, self.clock = config, cgroups, runtime, reports, clock
        check_node(config, cgroups.version)
        self.rules = Desired(config, cgroups.version)
        self.managers = ResourceManagers(config, checkpoint)
        self.timeline = Timeline(clock)
        self.wanted = CgroupTree(cgroups.version, config.settings.cgroup_driver)
        self._workers: dict[str, PodWorker] = {}
        self._sandboxes: set[str] = set()
        self._ids: dict[str, tuple[PodWorker, State]] = {}
        self._written: dict[str, Cgroup] = {}
        self._eviction = EvictionManager(config.settings, config.gates)
        self._next_qos, self._next_watch, self._next_cleaning = QOS_EVERY, EVERY, HOUSEKEEPING
        self._write()

    @property
    def workers(self) -> Sequence[PodWorker]:
        """The pods that it knows, in the order of their arrival."""
        return list(self._workers.values())

    # What comes in.

    def sync(self, pods: Sequence[Pod]) -> None:
        """Bring processes, cgroups and statuses in line with the pods that are bound here.

        Args:
            pods: all of them, defaulted; one with a deletion timestamp is ended, and reported as gone.
        """
        known = {pod.metadata.uid for pod in pods}
        new = [pod for pod in pods if pod.metadata.uid not in self._workers]
        for worker in self.workers:
            if worker.pod.metadata.uid not in known:
                self._leave(worker, grace=0.0)
        for pod in pods:
            if pod.metadata.uid in self._workers:
                self._workers[pod.metadata.uid].update(pod)
        for worker in self.workers:
            if worker.pod.metadata.deletion_timestamp is not None and not worker.leaving:
                names = [state.container.name for state in worker.states if state.alive]
                for name in names:
                    self.reports.event(worker.pod, "Normal", "Killing", f"Stopping container {name}")
                self._leave(worker, grace=float(worker.pod.metadata.deletion_grace_period_seconds or 0))
        leaving = [worker for worker in self.workers if worker.leaving]
        if leaving and new:  # what has ended makes room before the new ones ask for it
            self._write()
            for worker in leaving:
                self._bury(worker)
        for pod in new:
            if pod.metadata.deletion_timestamp is not None:
                self.reports.gone(pod)
            elif pod.status.phase not in _ENDED:
                self._admit(pod)
        self._work()

    def tick(self) -> None:
        """Look at what has happened since the last call, and at what is due."""
        changed = self._collect()
        now = self.clock()
        if now >= self._next_qos:
            self._next_qos = now + QOS_EVERY
            self._write_qos()
        if now >= self._next_watch:
            self._next_watch = now + EVERY
            changed |= self._watch()
        if now >= self._next_cleaning:
            self._next_cleaning = now + HOUSEKEEPING
            self._clean_up()
        waiting = any(worker.leaving or worker.to_start(now) for worker in self._workers.values())
        if changed or waiting:
            self._work()

    def _admit(self, pod: Pod) -> None:
        """Take a pod in, or reject it for good. Source: kubelet canAdmitPod, lifecycle generalFilter."""
        worker = self._workers[pod.metadata.uid] = PodWorker(pod, self.reports.now())
        for state in worker.states:
            self._ids[state.id] = (worker, state)
        try:
            self.managers.admit(pod)
        except AdmissionProblem as problem:
            self._reject(worker, problem.reason, problem.message)
            return
        for container in (*pod.spec.init_containers, *pod.spec.containers):
            given = self.managers.assigned(pod.metadata.uid, container.name)
            if given.exclusive:
                about = f"{pod.name}/{container.name}"
                self.timeline.note("cpumanager", "allocating CPUs to", about, given.cpus, "staticPolicy.Allocate")
        settings = self.config.settings
        offered = node_status(self.config.machine, self.config.reservations, settings.max_pods, settings.pods_per_core)
        requests = pod_requests(pod, release=self.config.gates)
        worker.asked = {name: amount.milli_value() for name, amount in requests.items()}
        worker.asked["pods"] = 1000
        others = [w for w in self._workers.values() if w is not worker and w.phase() not in _ENDED]
        for name, wanted in sorted(worker.asked.items()):
            if name in self.config.offered:
                most = self.config.offered[name] * 1000
            else:
                most = offered.allocatable[name].milli_value() if name in offered.allocatable else 0
            used = sum(other.asked.get(name, 0) for other in others)
            if wanted and used + wanted > most:
                scale = 1 if name == "cpu" else 1000
                figures = f"requested: {wanted // scale}, used: {used // scale}, capacity: {most // scale}"
                self._reject(worker, f"OutOf{name}", f"Node didn't have enough resource: {name}, {figures}")
                return

    def _reject(self, worker: PodWorker, reason: str, message: str) -> None:
        """The pod fails without having started. Source: kubelet rejectPod."""
        self.managers.release(worker.pod)
        worker.final = ("Failed", reason, f"Pod was rejected: {message}")
        self.reports.event(worker.pod, "Warning", reason, message)
        self.timeline.note("kubelet", "rejecting pod", worker.pod.key, message, "rejectPod")

    # What goes out.

    def _work(self) -> None:
        """Cgroups first, then containers, then what the API server is told."""
        for _ in range(_STARTS):
            for worker in self.workers:
                if worker.phase() in _ENDED:
                    self._stop(worker, grace=0.0)
                    self.managers.release(worker.pod)
            self._write()
            for worker in self.workers:
                if not worker.leaving and worker.phase() not in _ENDED:
                    self._start(worker)
            if not self._collect():
                break
        self._write()
        for worker in self.workers:
            if worker.leaving:
                self._bury(worker)
            else:
                self._report(worker)

    def _start(self, worker: PodWorker) -> None:
        """Start what is due: the pause container first. Source: kuberuntime SyncPod."""
        pod = worker.pod
        due = worker.to_start(self.clock())
        if not due:
            return
        if worker.sandbox not in self._sandboxes:
            cgroup = self.rules.sandbox_level(pod, worker.sandbox)
            self.runtime.run_sandbox(pod, worker.sandbox, cgroup, SANDBOX_OOM_SCORE_ADJ)
            self._sandboxes.add(worker.sandbox)
        for state in due:
            container = state.container
            given = self.managers.assigned(pod.metadata.uid, container.name)
            cgroup = self.rules.container_level(pod, container, state.id, given)
            env = self.managers.environment(pod.metadata.uid, container.name)
            score = container_oom_score_adjust(pod, container, self.config.machine.memory, self.config.gates)
            try:
                self.runtime.start(pod, container, state.id, cgroup, score, env)
            except ContainerProblem as error:
                state.problem = (error.reason, error.message)
                self.reports.event(pod, "Warning", "Failed", f"Error: {error.message}")
                continue
            state.started(self.clock(), self.reports.now())
            self.reports.event(pod, "Normal", "Created", f"Created container: {container.name}")
            self.reports.event(pod, "Normal", "Started", f"Started container {container.name}")
            if given.cpus:
                self._note_cpus(pod.name, container.name, given.cpus)

    def _collect(self) -> bool:
        """Take note of containers that have ended; whether there were any."""
        gone = self.runtime.ended()
        for one in gone:
            self._note(one)
        return bool(gone)

    def _note(self, gone: Ended) -> None:
        found = self._ids.get(gone.id)
        if found is None:
            return
        worker, state = found
        settings = self.config.settings
        state.exited(gone, self.reports.now(), settings.back_off_base, settings.crash_loop_back_off_max)
        if worker.may_restart(state) and state.not_before > self.clock():
            pod, name = worker.pod, state.container.name
            where = f"{pod.name}_{pod.namespace}({pod.metadata.uid})"
            text = f"Back-off restarting failed container {name} in pod {where}"
            self.reports.event(pod, "Warning", "BackOff", text)

    def _stop(self, worker: PodWorker, grace: float) -> None:
        """Have all of a pod's containers end."""
        for state in worker.states:
            if state.alive:
                self.runtime.stop(state.id, grace)
                state.alive = False
        if worker.sandbox in self._sandboxes:
            self.runtime.stop(worker.sandbox, 0.0)
            self._sandboxes.discard(worker.sandbox)

    def _leave(self, worker: PodWorker, grace: float) -> None:
        worker.leaving = True
        self._stop(worker, grace)

    def _bury(self, worker: PodWorker) -> None:
        """Forget a pod that is to go, once its containers have ended and its cgroup has been removed."""
        if any(self.runtime.pid(identity) for identity in (worker.sandbox, *(s.id for s in worker.states))):
            return
        path = self.rules.pod_path(worker.pod)
        if path and path in self._written:
            return
        self.managers.release(worker.pod)
        del self._workers[worker.pod.metadata.uid]
        for state in worker.states:
            self._ids.pop(state.id, None)
        self.reports.gone(worker.pod)

    def _report(self, worker: PodWorker) -> None:
        status = worker.status(self.clock(), self.reports.now())
        if status != worker.standing:
            worker.standing = status
            self.reports.status(worker.pod, status)

    # Cgroups.

    def desired(self) -> CgroupTree:
        """The cgroups that should be there now: those of the node, the classes, the pods, and what runs in them."""
        active = [w for w in self._workers.values() if not w.leaving and w.phase() not in _ENDED]
        assigned = self.managers.assignments(w.pod for w in active)
        tree = desired_tree(self.config, [w.pod for w in active], version=self.cgroups.version, assigned=assigned)
        alive = {(w.pod.metadata.uid, "") for w in active if w.sandbox in self._sandboxes}
        alive |= {(w.pod.metadata.uid, s.container.name) for w in active for s in w.states if s.alive}
        cgroups = [c for c in tree.values() if c.writer != "runtime" or (c.uid, c.container) in alive]
        for worker in active:
            for state in worker.inits:
                if not state.alive:
                    continue
                given = assigned.get((worker.pod.metadata.uid, state.container.name), NOTHING_ASSIGNED)
                own = self.rules.container_level(worker.pod, state.container, state.id, given)
                if own.path not in tree:
                    cgroups.append(own)
        return CgroupTree(tree.version, tree.driver, cgroups)

    def _write(self) -> None:
        """Make what is missing, write what has changed, remove what is not wanted any more."""
        self.wanted = self.desired()
        before = self._written
        pods = {path for path, cgroup in self.wanted.items() if cgroup.kind == "pod"}
        others = pods != {path for path, cgroup in before.items() if cgroup.kind == "pod"}
        for path in sorted(set(before) - set(self.wanted), key=len, reverse=True):
            if self._remove(before[path]):
                del before[path]
        later = []
        for path, cgroup in self.wanted.items():
            standing = before.get(path)
            # the classes' values depend on all pods, so they are written whenever a pod comes or goes
            everything = standing is None or (others and cgroup.kind in ("qos", "kubepods"))
            if standing is None and cgroup.writer != "runtime":
                self.cgroups.makedirs(path)
            if standing is not None or cgroup.writer != "runtime":
                files = _changed(cgroup, None if everything else standing)
                # what falls is written from below: v1 lets no child have a larger quota than its parent
                if standing is not None and any(_falls(file, standing) for file in files):
                    later.append((cgroup, files))
                else:
                    self._put(cgroup, files)
            before[path] = cgroup
        for cgroup, files in reversed(later):
            self._put(cgroup, files)

    def _put(self, cgroup: Cgroup, files: Sequence[CgroupFile]) -> None:
        if not files:
            return
        ordered = memory_order(files, lambda name: self.cgroups.read(cgroup.path, name))
        if cgroup.writer == "runtime":
            self.runtime.update(container_id(cgroup.uid, cgroup.container), cgroup, ordered)
            for file in ordered:
                if file.name == "cpuset.cpus":
                    self._note_cpus(cgroup.pod.rpartition("/")[2], cgroup.container, file.value)
            return
        for file in ordered:
            self.cgroups.write(cgroup.path, file.name, file.value)

    def _note_cpus(self, pod: str, container: str, cpus: str) -> None:
        self.timeline.note("cpumanager", "updating container", f"{pod}/{container}", cpus, "reconcileState")

    def _remove(self, cgroup: Cgroup) -> bool:
        """Remove a cgroup; False where it must be tried again because something in it still ends."""
        if cgroup.writer == "runtime" or not self.cgroups.exists(cgroup.path):
            return True
        try:
            self.cgroups.rmdir(cgroup.path)
        except KitError:
            return False
        return True

    def _write_qos(self) -> None:
        """Every minute the class cgroups get their values again, whoever has changed them. Source: UpdateCgroups."""
        for cgroup in self.wanted.values():
            if cgroup.kind == "qos":
                self._put(cgroup, _changed(cgroup, None))

    def _clean_up(self) -> None:
        """Remove pod cgroups that belong to no pod. Source: kubelet cleanupOrphanedPodCgroups."""
        for parent in [c.path for c in self.wanted.values() if c.kind in ("kubepods", "qos")]:
            for path in self.cgroups.children(parent):
                name = path.rpartition("/")[2]
                if path not in self._written and (name.startswith("pod") or "-pod" in name):
                    self._remove_all(path)

    def _remove_all(self, path: str) -> None:
        for child in self.cgroups.children(path):
            self._remove_all(child)
        try:
            self.cgroups.rmdir(path)
        except KitError:
            return  # a process is still in it: the next round tries again

    # Eviction.

    def _watch(self) -> bool:
        """Let the eviction manager look; whether it evicted a pod."""
        seen = dict(self.runtime.signals())
        running = [w for w in self._workers.values() if any(state.alive for state in w.states)]
        stats = {w.pod.metadata.uid: self._stats(w) for w in running}
        limit = self._kubepods_limit()
        if limit is not None:
            used = sum(stat.memory or 0 for stat in stats.values())
            seen["allocatableMemory.available"] = Observation(limit - used, limit)
        before = self._eviction.pressure
        found = self._eviction.look(self.clock(), seen, [w.pod for w in running], stats)
        if self._eviction.pressure != before:
            self._condition("MemoryPressure", self._eviction.pressure)
        if found is None:
            return False
        pod, message = found
        self._workers[pod.metadata.uid].final = ("Failed", "Evicted", message)
        self.reports.event(pod, "Warning", "Evicted", message)
        return True

    def _kubepods_limit(self) -> int | None:
        """Bytes that all pods together may use, as the kernel has it."""
        for cgroup in self.wanted.of_kind("kubepods"):
            name = "memory.max" if self.cgroups.version == 2 else "memory.limit_in_bytes"
            text = self.cgroups.read(cgroup.path, name) if name in cgroup else "max"
            return int(text) if text != "max" and int(text) < 2**62 else None
        return None

    def _stats(self, worker: PodWorker) -> PodStats:
        used = {state.container.name: self.runtime.usage(state.id) for state in worker.states if state.alive}
        containers = tuple(ContainerStats(name, memory=usage.memory) for name, usage in used.items())
        return PodStats(
            memory=sum(usage.memory for usage in used.values()),
            processes=sum(usage.processes for usage in used.values()),
            containers=containers,
        )

    def _condition(self, kind: str, holds: bool) -> None:
        reason = f"KubeletHas{'Insufficient' if holds else 'Sufficient'}Memory"
        now = self.reports.now()
        value = "True" if holds else "False"
        self.reports.condition(Condition(type=kind, status=value, reason=reason, last_transition_time=now))
        self.reports.event(None, "Normal", f"NodeHas{'Insufficient' if holds else 'Sufficient'}Memory", reason)


def _changed(cgroup: Cgroup, before: Cgroup | None) -> list[CgroupFile]:
    """The files of a cgroup that somebody writes and whose value is another than before."""
    files = [file for file in cgroup.values() if file.written]
    if before is None:
        return files
    return [file for file in files if file.name not in before or before[file.name].value != file.value]


def _falls(file: CgroupFile, before: Cgroup) -> bool:
    """Whether a quota becomes smaller."""
    if file.name != "cpu.cfs_quota_us" or file.name not in before:
        return False
    old, new = int(before[file.name].value), int(file.value)
    return new > 0 and (old < 0 or new < old)
