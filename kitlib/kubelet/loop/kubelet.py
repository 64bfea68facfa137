"""The kubelet of one node: admits pods, makes their cgroups, starts and restarts their containers, evicts, reports.

It decides with the pure functions of `kitlib.kubelet` and acts through the interfaces of this room, so it is the same
on a simulated kernel and on a real one. Nothing happens between two calls: `sync` is told which pods are bound to the
node, `tick` is called about once a second and whenever a container has ended.

Source: kubelet syncLoopIteration, HandlePodAdditions, syncPod, HandlePodCleanups; cm.containerManagerImpl.setupNode,
qosContainerManagerImpl.Start and UpdateCgroups, podContainerManagerImpl.EnsureExists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.kubelet.app.node_validation import check_node
from kitlib.kubelet.cm.cgroup_levels import Desired
from kitlib.kubelet.cm.cgroup_tree import CgroupTree
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.cm.resource_managers import ResourceManagers
from kitlib.kubelet.loop.admission import Admission, WaitingStaticPods
from kitlib.kubelet.loop.backoff import restart_back_off
from kitlib.kubelet.loop.cgroups import CgroupManager
from kitlib.kubelet.loop.container_state import ContainerState
from kitlib.kubelet.loop.evicting import Evicting, effective_grace
from kitlib.kubelet.loop.faults import Faults
from kitlib.kubelet.loop.garbage import KubeletGarbageCollector
from kitlib.kubelet.loop.interfaces import CgroupFS, ContainerRuntime, Ended, Reports
from kitlib.kubelet.loop.killing import PodKiller
from kitlib.kubelet.loop.node_conditions import first_events
from kitlib.kubelet.loop.pod_worker import Ending, PodWorker
from kitlib.kubelet.loop.probing import Prober
from kitlib.kubelet.loop.pulling import ImagePuller
from kitlib.kubelet.loop.resize import RETRY
from kitlib.kubelet.loop.resizing import Resizer
from kitlib.kubelet.loop.starter import ContainerStarter
from kitlib.kubelet.loop.system import System, SystemCgroups
from kitlib.kubelet.loop.timeline import KubeletTimeline
from kitlib.kubelet.loop.volumes import VolumeManager
from kitlib.kubelet.loop.watcher import Watcher
from kitlib.kubelet.pods.objects import Objects

QOS_EVERY = 60.0
"""Seconds between two updates of the QoS cgroups. Source: kubelet periodicQOSCgroupUpdateInterval."""
STATUS_PHASE = 5.0
"""Seconds by which the node status comes after the eviction manager's look: each has a loop of its own.

Source: Kubelet.Run; the distance was observed on 1.36.2.
"""
HOUSEKEEPING = 2.0
"""Seconds between two looks for cgroups that nobody owns. Source: kubelet housekeepingPeriod."""
_STARTS = 20
"""Rounds of starting within one sync: a container may die at once, and the next one's turn comes."""


class Kubelet:
    """A node's kubelet. Making it writes the node-level cgroups.

    Args:
        config: the machine and the settings.
        cgroups, runtime: what it drives.
        reports: who hears of it.
        clock: seconds on the node's clock.
        before: the kubelet that ran here before a restart; None = there was none.
        delete_checkpoints: whether those of the CPU and memory managers were deleted since.
        system: the machine's own processes, where the kubelet may touch them.
        address: of the node; "" where it has none.

    Attributes:
        managers: who has which CPUs, memory nodes and devices.
        objects: the ConfigMaps and Secrets that pods refer to; its owner says how they are found.
        watcher: looks after pressure.
        timeline: what it did and why.

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
        before: Kubelet | None = None,
        delete_checkpoints: bool = False,
        system: System | None = None,
        address: str = "",
    ) -> None:
        self._address = address
        self.config, self.cgroups, self.runtime, self.reports, self.clock = config, cgroups, runtime, reports, clock
        check_node(config, cgroups.version)
        self.rules = Desired(config, cgroups.version)
        if before is None:
            self.managers, self.timeline = ResourceManagers(config), KubeletTimeline(clock)
        else:
            self.managers = before.managers.restarted(config, delete_checkpoints=delete_checkpoints)
            self.timeline = before.timeline
        self._faults = Faults(config.name, reports, runtime, self._drop)
        born, *told = first_events(
            config.name, config.settings, cgroups.version
        )  # the API server hears of it with the node
        self.timeline.note("kubelet", "telling", born.reason, born.message, born.source)
        self._workers: dict[str, PodWorker] = {}
        self._rejected: set[str] = set()
        self._static = WaitingStaticPods()
        self._ids: dict[str, tuple[PodWorker, ContainerState]] = {}
        self._dirty: dict[str, PodWorker] = {}
        settings = config.settings
        self._cgroups = CgroupManager(self.rules, self.managers, cgroups, runtime, self.timeline)
        self._images = ImagePuller(config.release, runtime, reports, self.timeline, clock)
        self._killer = PodKiller(runtime, reports, self.timeline, clock)
        known = self._workers, self._ids, clock()
        self._garbage = KubeletGarbageCollector(
            settings, bool(config.machine.image_storage), runtime, reports, self.timeline, *known
        )
        self._prober = Prober(settings, self._killer, self._garbage.died)
        self.watcher = Watcher(config, cgroups, runtime, self._cgroups, reports, self.timeline, self._garbage)
        self._system = SystemCgroups(config.settings, system, self.timeline)
        self._system.tick(clock())
        self.objects = Objects()
        self._admission = Admission(config, self.managers, self.watcher.eviction, self.timeline, reports, self.objects)
        allocatable, asked = self._admission.allocatable, self._admission.asked
        self._volumes = VolumeManager(self.objects, runtime, reports, allocatable, clock)
        self._starter = ContainerStarter(
            config,
            self.rules,
            self.managers,
            self._cgroups,
            self._images,
            self._killer,
            self.objects,
            self._volumes,
            allocatable,
            self._report,
        )
        self._resizer = Resizer(config, self.rules, cgroups, self._killer, allocatable, asked)
        for event in told:
            self.timeline.note("kubelet", "telling", event.reason, event.message, event.source)
        self._next_qos, self._next_cleaning, self._next_retry = QOS_EVERY, HOUSEKEEPING, RETRY
        left = config.release, self._workers, self._killer, self._is_held, self._kill
        self._evicting = Evicting(self.watcher, self._garbage, reports, *left)
        self._next_status = config.settings.node_status_update_frequency + STATUS_PHASE
        self._next_reconcile = clock() + config.settings.cpu_manager_reconcile_period

    def allocatable(self, name: str) -> int:
        """Return what the node offers of a resource to pods: bytes, or a number."""
        return self._admission.allocatable.get(name, 0) // 1000

    @property
    def wanted(self) -> CgroupTree:
        """The cgroups that should be there now: those of the node, the QoS cgroups, the pods, and what runs in them."""
        return self._cgroups.tree()

    @property
    def workers(self) -> Sequence[PodWorker]:
        """The pods that it knows, in the order of their arrival."""
        return list(self._workers.values())

    def adopt(self, before: Kubelet, pods: Iterable[Pod]) -> None:
        """Take over the pods of the kubelet before a restart, in the order of their creation; containers run on.

        Each is admitted anew; one that does not fit any longer is rejected and ended. Of `pods`, all that are bound
        here, those that were rejected before report containers of unknown status.

        Source: Kubelet.HandlePodAdditions, canAdmitPod; status.manager.TerminatePod.
        """
        for worker in sorted(before.workers, key=lambda one: (str(one.pod.metadata.creation_timestamp), one.pod.key)):
            self._workers[worker.pod.metadata.uid] = worker
            self._mark_dirty(worker)
            self._prober.adopt(worker)
            self._ids |= {state.id: (worker, state) for state in worker.states}
            worker.restarted()
            if worker.active:
                self._volumes.ready(worker)
                self._faults.each([worker], self._admit_worker)
        self._rejected = set(before._rejected)
        for pod in pods:
            if pod.metadata.uid in self._rejected:
                self._report(PodWorker.of_rejected(pod, self.reports.now(), self._address))
        self._work()

    def sync(self, pods: Sequence[Pod]) -> None:
        """Bring processes, cgroups and statuses in line with the pods that are bound here.

        Args:
            pods: all of them, defaulted; one with a deletion timestamp is ended, and reported as gone.
        """
        bound = {pod.metadata.uid for pod in pods}
        self.handle(pods, [uid for uid in (*self._workers, *self._rejected) if uid not in bound])

    def handle(self, changed: Sequence[Pod], removed: Sequence[str]) -> None:
        """Handle new and changed pods, and the UIDs of pods that the API server has deleted."""
        self._rejected.difference_update(removed)
        self._static.forget(removed)
        self._faults.each([self._workers[uid] for uid in removed if uid in self._workers], self._remove)
        for pod in changed:
            known = self._workers.get(pod.metadata.uid)
            if known is not None and known.pod is not pod:
                self._faults.each([known], partial(self._update, pod=pod))
        unknown = [pod for pod in changed if pod.metadata.uid not in self._workers]
        new = [p for p in unknown if p.metadata.uid not in self._rejected or p.metadata.deletion_timestamp is not None]
        leaving = [worker for worker in self.workers if worker.leaving] if new else []
        if leaving:  # what has ended makes room before the new ones ask for it
            self._faults.each(leaving, self._killer.stop_sandbox)
            self._faults.together(leaving, self._write)
            self._faults.together(leaving, self._note_killed)
            self._faults.each(leaving, self._forget_terminated)
        for pod in new:
            if pod.metadata.deletion_timestamp is not None:
                self.reports.gone(pod)
            elif pod.status.phase not in TERMINAL_PHASES and not self._static.holds(pod, self.workers):
                self._faults.manifests.run(pod, partial(self._admit, pod))
        self._work()

    def _update(self, worker: PodWorker, pod: Pod) -> None:
        """A pod that is known has another manifest, status or time of deletion than before."""
        if worker.update(pod):
            self._mark_dirty(worker)
            for state in worker.ephemerals:
                self._ids.setdefault(state.id, (worker, state))
            self._volumes.refresh(worker)
        grace = float(pod.metadata.deletion_grace_period_seconds or 0)
        if pod.metadata.deletion_timestamp is not None and (not worker.leaving or grace < worker.given):
            self._killer.tell(worker)
            self._terminate(worker, grace)

    def tick(self) -> None:
        """Look at what has happened since the last call, and at what is due."""
        part, now = self._faults.part, self.clock()
        changed = part("containers", self._collect)
        changed |= part("probes", self._probe)
        part("system", lambda: self._system.tick(now))
        if now >= self._next_qos:
            self._next_qos = now + QOS_EVERY
            again = "writing again, as every minute,"
            part("QoS cgroups", lambda: self._cgroups.update_qos_cgroups(self._workers.values(), again))
        if self.managers.cpu_manager is not None and now >= self._next_reconcile:
            self._next_reconcile += self.config.settings.cpu_manager_reconcile_period
            part("CPU manager", self._reconcile_cpus)
        part("garbage collection", lambda: self._garbage.tick(now))
        part("volumes", lambda: self._volumes.tick(self._workers.values()))
        if part("eviction", lambda: self._evicting.due(now)):
            changed |= part("eviction", lambda: self._evicting.watch(now))
        if now >= self._next_status:
            self._next_status = now + self.config.settings.node_status_update_frequency
            part("node status", self.watcher.report_conditions)
        if now >= self._next_cleaning:
            self._next_cleaning = now + HOUSEKEEPING
            part("orphaned cgroups", self._cgroups.clean_up)
        if now >= self._next_retry:  # resizes that were deferred
            self._next_retry = now + RETRY
            changed |= any(worker.resizing for worker in self._dirty.values())
        if self._dirty:
            changed |= part("images", lambda: self._images.back_off(self._dirty.values()))
        if changed or any(worker.has_work(now) for worker in self._dirty.values()):
            self._work()

    def _reconcile_cpus(self) -> None:
        from kitlib.kubelet.loop.cpu_reconciler import reconcile_cpus

        self._write(reconcile_cpus(self.managers, self._cgroups, self.timeline, self._workers.values()))

    def _probe(self) -> bool:
        changed = self._prober.tick()
        for worker in changed:
            self._mark_dirty(worker)
        return bool(changed)

    def _admit(self, pod: Pod) -> None:
        """Take a pod in, or reject it for good. Source: kubelet canAdmitPod, lifecycle generalFilter."""
        worker = self._workers[pod.metadata.uid] = PodWorker(pod, self.reports.now(), self._address, self.config.gates)
        self._mark_dirty(worker)
        self._prober.add(worker)
        for state in worker.states:
            self._ids[state.id] = (worker, state)
        self._faults.each([worker], self._admit_worker)

    def _admit_worker(self, worker: PodWorker) -> None:
        refused = self._admission.admit(worker, self._workers.values(), self._preempt)
        if refused is not None:
            self._reject(worker, *refused)

    def _preempt(self, worker: PodWorker) -> None:
        """End a pod so that a critical one fits. Source: evictPodsToFreeRequests."""
        from kitlib.kubelet.loop import preemption  # loaded with the first critical pod that lacks room

        grace = float(worker.pod.spec.termination_grace_period_seconds or 0)
        self.reports.event(worker.pod, "Warning", preemption.REASON, preemption.MESSAGE)
        self.timeline.note("preemption", "preempting", worker.pod.key, "", "evictPodsToFreeRequests")
        worker.ending = Ending(preemption.REASON, preemption.MESSAGE, preemption.DISRUPTION, grace)
        self._kill(worker)

    def _mark_dirty(self, worker: PodWorker) -> None:
        """Something has happened to a pod: it is looked at again."""
        self._dirty[worker.pod.metadata.uid] = worker

    def _reject(self, worker: PodWorker, reason: str, message: str) -> None:
        """The pod fails without having started. Source: kubelet rejectPod."""
        self.managers.release(worker.pod)
        worker.rejected = reason, f"Pod was rejected: {message}"
        self._rejected.add(worker.pod.metadata.uid)
        self.reports.event(worker.pod, "Warning", reason, message)
        self.timeline.note("kubelet", "rejecting pod", worker.pod.key, message, "rejectPod")

    def _work(self) -> None:
        """Cgroups first, then containers, then what the API server is told; of the pods to which something happened."""
        touched: dict[str, PodWorker] = {}
        for _ in range(_STARTS):
            touched |= self._dirty
            self._faults.each(self._dirty.values(), self._end_terminal)
            self._faults.together(self._dirty.values(), self._resizer.work)
            self._faults.together(self._dirty.values(), self._write)
            self._faults.together(self._dirty.values(), partial(self._resizer.finish, refused=self._cgroups.refused))
            self._faults.each(filter(self._killer.may_start, self._dirty.values()), self._starter.start)
            if not self._collect() and not self._faults.part("probes", self._probe):
                break
        self._faults.together(touched.values(), self._write)
        self._faults.together(touched.values(), self._note_killed)
        self._faults.each(touched.values(), self._forget_or_report)
        self._dirty = {uid: worker for uid, worker in self._dirty.items() if not worker.settled}
        for pod in self._static.released(self.workers):
            self._faults.manifests.run(pod, partial(self._admit, pod))

    def _end_terminal(self, worker: PodWorker) -> None:
        """Whatever is left of a pod that is being killed, or is over, ends."""
        if worker.terminations:
            self._killer.go_on(worker)
        if worker.terminating:
            self._killer.stop_sandbox(worker)
        if worker.phase() in TERMINAL_PHASES:
            if not worker.terminating:  # sidecars of a finished pod get its whole period
                self._killer.stop(worker, float(worker.pod.spec.termination_grace_period_seconds or 0))
            self.managers.release(worker.pod)
            self._admission.count(worker, -1)

    def _forget_or_report(self, worker: PodWorker) -> None:
        if worker.leaving:
            self._forget_terminated(worker)
        elif worker.starting is None or worker.terminating:  # a postStart hook holds up the worker of its pod
            self._report(worker)
            if worker.pod.metadata.uid in self._rejected:  # only its status is left, and the API server has it
                self._forget(worker)

    def _write(self, touched: Iterable[PodWorker]) -> None:
        self._cgroups.write(self._workers.values(), list(touched))

    def _note_killed(self, workers: Iterable[PodWorker]) -> None:
        """Where all of a pod has ended the QoS cgroups are written again; it still counts then, and not later.

        Source: Kubelet.killPod, filterOutInactivePods.
        """
        killed = [w for w in workers if w.holds_resources and (w.terminating or w.phase() in TERMINAL_PHASES)]
        killed = [worker for worker in killed if not self._killer.running(worker)]
        if killed:
            self._cgroups.update_qos_cgroups(self._workers.values())
        for worker in killed:
            worker.holds_resources = False
            self._volumes.forget(worker)  # an emptyDir's memory too; only logs stay. Source: SyncTerminatedPod
            if worker.terminating:
                worker.ended(self.reports.now(), self.runtime.exit_code)
                self.managers.release(worker.pod)
                self._admission.count(worker, -1)

    def _collect(self) -> bool:
        """Take note of containers that have ended; whether there were any."""
        gone = self.runtime.ended()
        for one in gone:
            found = self._ids.get(one.id)
            if found is not None:
                self._faults.each([found[0]], partial(self._note, state=found[1], gone=one))
        return bool(gone)

    def _note(self, worker: PodWorker, state: ContainerState, gone: Ended) -> None:
        self._mark_dirty(worker)
        self._garbage.died(gone.id)
        state.exited(gone, self.reports.now())
        if not worker.exited(state):  # containers that are removed start without a back-off
            state.back_off.ended(state.since, gone.at, *restart_back_off(self.config.settings, self.config.gates))
        ending = f"exit code {gone.code}" + (", killed: out of memory" if gone.oom else "")
        self.timeline.note("PLEG", "container ended", f"{worker.pod.key}/{state.container.name}", ending, "relist")
        worker.report_back_off(state, self.reports, self.clock())

    def _kill(self, worker: PodWorker) -> None:
        """End a pod that the kubelet evicts or preempts; its containers hear of it first. Source: killPodNow."""
        assert worker.ending is not None
        self._mark_dirty(worker)
        self._killer.tell(worker)
        self._killer.stop(worker, worker.ending.grace)

    def _terminate(self, worker: PodWorker, grace: float) -> None:
        worker.leaving = True
        self._mark_dirty(worker)
        self._killer.stop(worker, grace)

    def _remove(self, worker: PodWorker) -> None:
        """End a pod that the API server has no more; what it held is free for others at once.

        Source: Kubelet.HandlePodRemoves, GetActivePods; staticPolicy and containerMap, removeStaleState.
        """
        self._terminate(worker, effective_grace(worker.pod, 0.0, self.config.release))
        self.managers.release(worker.pod)
        self._admission.count(worker, -1)

    def _forget_terminated(self, worker: PodWorker) -> None:
        """Forget a pod that is to go, once its containers have ended and its cgroup has been removed."""
        if self._is_held(worker):
            return
        self._report(worker)
        self._garbage.remove_containers_of(worker)
        self.managers.release(worker.pod)
        self._admission.count(worker, -1)
        self._volumes.forget(worker)
        self._drop(worker)

    def _drop(self, worker: PodWorker) -> None:
        """Look at a pod no more; one that is to go is gone."""
        self._dirty.pop(worker.pod.metadata.uid, None)
        if worker.leaving:
            self._forget(worker)
            self.reports.gone(worker.pod)

    def _forget(self, worker: PodWorker) -> None:
        self._dirty.pop(worker.pod.metadata.uid, None)
        self._workers.pop(worker.pod.metadata.uid, None)
        self._prober.forget(worker)
        for state in worker.states:
            self._ids.pop(state.id, None)

    def _report(self, worker: PodWorker) -> None:
        resources, release = self.rules.container_resources, self.config.gates
        status = worker.status(self.clock(), self.reports.now(), resources, self.runtime, release)
        if status != worker.standing:
            worker.standing = status
            self.reports.status(worker.pod, status)

    def _is_held(self, worker: PodWorker) -> bool:
        """Return whether a process or the cgroup of a pod is still there."""
        path = self.rules.pod_path(worker.pod)
        return self._killer.running(worker) or bool(path and self.cgroups.exists(path))

    def system_out_of_memory(self, process: str, pid: int) -> None:
        """The machine as a whole ran out of memory and the kernel killed a process. Source: oomwatcher.Start."""
        text = f"System OOM encountered, victim process: {process}, pid: {pid}"
        self.reports.event(None, "Warning", "SystemOOM", text)
        self.timeline.note("oomWatcher", "system OOM killed", process, f"pid {pid}", "oomwatcher.Start")
