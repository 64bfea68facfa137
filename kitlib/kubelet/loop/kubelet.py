"""The kubelet of one node: it admits pods, makes their cgroups, starts and restarts their containers, evicts, reports.

It decides with the pure functions of `kitlib.kubelet` and acts through the interfaces of this package, so it is the
same on a simulated kernel and on a real one. It has no thread of its own: `sync` receives the pods that are bound to
the node, and the node calls `tick` about once a second and whenever a container has ended.

Source: kubelet syncLoopIteration, HandlePodAdditions, syncPod, HandlePodCleanups; cm.containerManagerImpl.setupNode,
qosContainerManagerImpl.Start and UpdateCgroups, podContainerManagerImpl.EnsureExists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

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
from kitlib.kubelet.loop.evicting import Evicting
from kitlib.kubelet.loop.faults import Faults
from kitlib.kubelet.loop.garbage import KubeletGarbageCollector
from kitlib.kubelet.loop.interfaces import CgroupFS, ContainerRuntime, Ended, Reports
from kitlib.kubelet.loop.killing import PodKiller, effective_grace
from kitlib.kubelet.loop.node_conditions import first_events
from kitlib.kubelet.loop.pod_worker import Ending, PodWorker
from kitlib.kubelet.loop.probing import Prober
from kitlib.kubelet.loop.pulling import ImagePuller
from kitlib.kubelet.loop.resize import RETRY
from kitlib.kubelet.loop.resizing import Resizer
from kitlib.kubelet.loop.starter import ContainerStarter
from kitlib.kubelet.loop.system import System, SystemCgroups
from kitlib.kubelet.loop.timeline import KubeletTimeline
from kitlib.kubelet.loop.watcher import Watcher
from kitlib.kubelet.pods.objects import Objects

if TYPE_CHECKING:
    from kitlib.kubelet.loop.node_shutdown import NodeShutdown
    from kitlib.kubelet.loop.volumes import VolumeManager

QOS_EVERY = 60.0
"""Seconds between two updates of the QoS cgroups. Source: kubelet periodicQOSCgroupUpdateInterval."""
HOUSEKEEPING = 2.0
"""Seconds between two cleanups of orphaned cgroups. Source: kubelet housekeepingPeriod."""
SYNC_FREQUENCY = 60.0
"""Seconds between two updates of running pods' files. Source: KubeletConfiguration syncFrequency."""
_STARTS = 20
"""Maximum rounds of starting in one sync: a container may end immediately, so that the next one is due."""


class Kubelet:
    """A node's kubelet; the constructor writes the cgroups of the node level.

    Args:
        config: the node's machine and settings.
        cgroups, runtime: the cgroup file system and the container runtime.
        reports: the receiver of events and statuses.
        clock: returns seconds on the node's clock.
        before: the kubelet before its restart; None = it has not been restarted.
        delete_checkpoints: whether the checkpoints of the CPU and memory managers were deleted before the restart.
        system: the machine's own processes; None = the kubelet does not manage them.
        address: the node's IP address; "" = none.

    Attributes:
        managers: the managers of CPUs, memory and devices.
        objects: the ConfigMaps and Secrets that pods refer to; its owner sets how they are found.
        watcher: the observation of pressure.
        timeline: the record of its actions.
        shutdown: the shutdown of the machine; None = it has not announced one.

    Raises:
        SettingsError: the kubelet would not start on this machine.
        KitError: the kernel rejects a cgroup of the node level.
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
        # The timeline only: the API server records these events when the node registers.
        born, *told = first_events(config.name, config.settings, cgroups.version)
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
        dedicated = bool(config.machine.image_storage)
        self._garbage = KubeletGarbageCollector(
            config.release, settings, dedicated, runtime, reports, self.timeline, *known
        )
        self._prober = Prober(settings, self._killer, self._garbage.died)
        self.watcher = Watcher(config, cgroups, runtime, self._cgroups, reports, self.timeline, self._garbage)
        self._system = SystemCgroups(config.settings, system, self.timeline)
        self._system.tick(clock())
        self.objects = Objects()
        self._admission = Admission(config, self.managers, self.watcher.eviction, self.timeline, reports, self.objects)
        allocatable, asked = self._admission.allocatable, self._admission.asked
        parts = self.rules, self.managers, self._cgroups, self._images, self._killer, self.objects
        self._starter = ContainerStarter(config, *parts, self._volumes_ready, allocatable, self._report)
        self._resizer = Resizer(config, self.rules, cgroups, self._killer, allocatable, asked)
        for event in told:
            self.timeline.note("kubelet", "telling", event.reason, event.message, event.source)
        self._next_qos, self._next_cleaning, self._next_retry = QOS_EVERY, HOUSEKEEPING, RETRY
        self._next_sync = SYNC_FREQUENCY
        left = config.release, self._workers, self._killer, self._is_held, self._kill
        self._evicting = Evicting(self.watcher, self._garbage, reports, *left)
        self._next_reconcile = clock() + config.settings.cpu_manager_reconcile_period
        self.shutdown: NodeShutdown | None = None

    def allocatable(self, name: str) -> int:
        """Return the allocatable amount of a resource: bytes, or a number."""
        return self._admission.allocatable.get(name, 0) // 1000

    @property
    def wanted(self) -> CgroupTree:
        """The desired cgroups: those of the node, the QoS cgroups, the pods, and their running containers."""
        return self._cgroups.tree()

    @property
    def workers(self) -> Sequence[PodWorker]:
        """The known pods in the order of their arrival."""
        return list(self._workers.values())

    def adopt(self, before: Kubelet, pods: Iterable[Pod]) -> None:
        """Take over the pods of the kubelet before a restart, in the order of their creation; containers keep running.

        Each pod is admitted again; one that no longer fits is rejected and stopped. Those of `pods`, the pods bound to
        the node, that were rejected before report containers of unknown status.

        Source: Kubelet.HandlePodAdditions, canAdmitPod; status.manager.TerminatePod.
        """
        for worker in sorted(before.workers, key=lambda one: (str(one.pod.metadata.creation_timestamp), one.pod.key)):
            self._workers[worker.pod.metadata.uid] = worker
            self._mark_dirty(worker)
            self._prober.adopt(worker)
            self._ids |= {state.id: (worker, state) for state in worker.states}
            worker.restarted()
            if worker.active:
                self._volumes_ready(worker)
                self._faults.each([worker], self._admit_worker)
        self._rejected = set(before._rejected)
        for pod in pods:
            if pod.metadata.uid in self._rejected:
                self._report(PodWorker.of_rejected(pod, self.reports.now(), self._address))
        self._work()

    def sync(self, pods: Sequence[Pod]) -> None:
        """Reconcile processes, cgroups and statuses with the pods that are bound to the node.

        Args:
            pods: all bound pods, with API defaults; those with a deletion timestamp are stopped, then deleted.
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
        if leaving:  # ended pods release their resources before new pods are admitted
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
        """Update a known pod with a new manifest, status or deletion timestamp."""
        if worker.update(pod):
            self._mark_dirty(worker)
            for state in worker.ephemerals:
                self._ids.setdefault(state.id, (worker, state))
            self._refresh_volumes([worker])
        grace = float(pod.metadata.deletion_grace_period_seconds or 0)
        if pod.metadata.deletion_timestamp is not None and (not worker.leaving or grace < worker.given):
            self._killer.tell(worker)
            self._terminate(worker, grace)

    def tick(self) -> None:
        """Process the events since the last call, and run the periodic work that is due."""
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
        if now >= self._next_sync:
            self._next_sync = now + SYNC_FREQUENCY
            part("volumes", lambda: self._refresh_volumes(self._workers.values()))
        if part("eviction", lambda: self._evicting.due(now)):
            changed |= part("eviction", lambda: self._evicting.watch(now))
        part("node status", lambda: self.watcher.tick(now))
        if now >= self._next_cleaning:
            self._next_cleaning = now + HOUSEKEEPING
            part("orphaned cgroups", self._cgroups.clean_up)
        if now >= self._next_retry:  # deferred resizes
            self._next_retry = now + RETRY
            changed |= any(worker.resizing for worker in self._dirty.values())
        if self._dirty:
            changed |= part("images", lambda: self._images.back_off(self._dirty.values()))
        if changed or any(worker.has_work(now) for worker in self._dirty.values()):
            self._work()
        if self.shutdown is not None:
            part("node shutdown", self.shutdown.go_on)

    @cached_property
    def _volumes(self) -> VolumeManager:
        from kitlib.kubelet.loop.volumes import VolumeManager  # loaded with the first pod that has volumes

        return VolumeManager(self.objects, self.runtime, self.reports, self._admission.allocatable, self.clock)

    def _volumes_ready(self, worker: PodWorker) -> bool:
        return not worker.pod.spec.volumes or self._volumes.ready(worker)

    def _refresh_volumes(self, workers: Iterable[PodWorker]) -> None:
        for worker in workers:
            if worker.pod.spec.volumes:
                self._volumes.refresh(worker)

    def _forget_volumes(self, worker: PodWorker) -> None:
        """Tear down the volumes of a pod that has ended; its object may still exist. Source: WaitForUnmount."""
        self.runtime.forget(worker.pod)
        if worker.pod.spec.volumes:
            self._volumes.forget(worker)

    def _reconcile_cpus(self) -> None:
        from kitlib.kubelet.loop.cpu_reconciler import reconcile_cpus

        self._write(reconcile_cpus(self.managers, self._cgroups, self.timeline, self._workers.values()))

    def _probe(self) -> bool:
        changed = self._prober.tick()
        for worker in changed:
            self._mark_dirty(worker)
        return bool(changed)

    def _admit(self, pod: Pod) -> None:
        """Admit a pod, or reject it permanently. Source: kubelet canAdmitPod, lifecycle generalFilter."""
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
        """Stop a pod to make room for a critical pod. Source: evictPodsToFreeRequests."""
        from kitlib.kubelet.loop import preemption  # loaded with the first critical pod that lacks room

        grace = float(worker.pod.spec.termination_grace_period_seconds or 0)
        self.reports.event(worker.pod, "Warning", preemption.REASON, preemption.MESSAGE)
        self.timeline.note("preemption", "preempting", worker.pod.key, "", "evictPodsToFreeRequests")
        worker.ending = Ending(preemption.REASON, preemption.MESSAGE, preemption.DISRUPTION, grace)
        self._kill(worker)

    def _mark_dirty(self, worker: PodWorker) -> None:
        """Mark a pod for the next round of work."""
        self._dirty[worker.pod.metadata.uid] = worker

    def _reject(self, worker: PodWorker, reason: str, message: str) -> None:
        """Set a pod to Failed before it has started. Source: kubelet rejectPod."""
        self.managers.release(worker.pod)
        worker.rejected = reason, f"Pod was rejected: {message}"
        self._rejected.add(worker.pod.metadata.uid)
        self.reports.event(worker.pod, "Warning", reason, message)
        self.timeline.note("kubelet", "rejecting pod", worker.pod.key, message, "rejectPod")

    def _work(self) -> None:
        """Work on the marked pods: cgroups first, then containers, then the reports to the API server."""
        touched: dict[str, PodWorker] = {}
        for _ in range(_STARTS):
            # An end that `_collect` finds marks its pod, so the next round may start what was waiting for it.
            touched |= self._dirty
            self._faults.each(self._dirty.values(), self._end_terminal)
            # The cgroups are written before the starts, so that no process runs without its limits, and once more
            # below, to remove those of ended containers.
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
        """Stop the rest of a pod that is being stopped or is in a terminal phase."""
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
        elif worker.starting is None or worker.terminating:  # a postStart hook blocks its pod's worker
            self._report(worker)
            if worker.pod.metadata.uid in self._rejected:  # the API server has its status; nothing else remains
                self._forget(worker)

    def _write(self, touched: Iterable[PodWorker]) -> None:
        self._cgroups.write(self._workers.values(), list(touched))

    def _note_killed(self, workers: Iterable[PodWorker]) -> None:
        """Record the pods whose processes have all ended. Source: Kubelet.killPod, filterOutInactivePods."""
        killed = [w for w in workers if w.holds_resources and (w.terminating or w.phase() in TERMINAL_PHASES)]
        killed = [worker for worker in killed if not self._killer.running(worker)]
        if killed:
            # killPod updates them while the pod is still active, so its requests still count in this update.
            self._cgroups.update_qos_cgroups(self._workers.values())
        for worker in killed:
            worker.holds_resources = False
            self._forget_volumes(worker)  # an emptyDir's memory too; only logs stay. Source: SyncTerminatedPod
            if worker.terminating:
                worker.ended(self.reports.now(), self.runtime.exit_code)
                self.managers.release(worker.pod)
                self._admission.count(worker, -1)

    def _collect(self) -> bool:
        """Record the containers that have ended; return whether there are any."""
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
        if not worker.exited(state):  # removed containers start without a back-off
            state.back_off.ended(state.since, gone.at, *restart_back_off(self.config.settings, self.config.gates))
        ending = f"exit code {gone.code}" + (", killed: out of memory" if gone.oom else "")
        self.timeline.note("PLEG", "container ended", f"{worker.pod.key}/{state.container.name}", ending, "relist")
        worker.report_back_off(state, self.reports, self.clock())

    def _kill(self, worker: PodWorker) -> None:
        """Stop a pod that the kubelet evicts or preempts. Source: killPodNow."""
        assert worker.ending is not None
        self._mark_dirty(worker)
        self._killer.tell(worker)
        self._killer.stop(worker, worker.ending.grace)

    def _terminate(self, worker: PodWorker, grace: float) -> None:
        worker.leaving = True
        self._mark_dirty(worker)
        self._killer.stop(worker, grace)

    def _remove(self, worker: PodWorker) -> None:
        """Stop a pod that was deleted from the API server; its resources are available to other pods immediately.

        Source: Kubelet.HandlePodRemoves, GetActivePods; staticPolicy and containerMap, removeStaleState.
        """
        self._terminate(worker, effective_grace(worker.pod, 0.0, self.config.release))
        self.managers.release(worker.pod)
        self._admission.count(worker, -1)

    def _forget_terminated(self, worker: PodWorker) -> None:
        """Forget a deleted pod after its containers have ended and its cgroup was removed."""
        if self._is_held(worker):
            return
        self._report(worker)
        self._garbage.remove_containers_of(worker)
        self.managers.release(worker.pod)
        self._admission.count(worker, -1)
        self._forget_volumes(worker)
        self._drop(worker)

    def _drop(self, worker: PodWorker) -> None:
        """Stop the work on a pod, and report a deleted pod as gone."""
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
        """Return whether a process or the cgroup of a pod still exists."""
        path = self.rules.pod_path(worker.pod)
        return self._killer.running(worker) or bool(path and self.cgroups.exists(path))

    def shut_down(self) -> None:
        """Handle the machine's announcement of its shutdown. Source: nodeshutdown managerImpl.start."""
        from kitlib.kubelet.loop.node_shutdown import NodeShutdown  # loaded with the first shutdown

        parts = self.reports, self.timeline, self._workers, self._killer, self._kill
        self.shutdown = NodeShutdown(self.config, *parts, self._work)
        self._admission.shutdown = self.watcher.shutdown = self.shutdown
        self.shutdown.announce()
        self.watcher.report_conditions()
        self.shutdown.go_on()
