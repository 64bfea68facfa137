"""The kubelet of one node: it admits pods, makes their cgroups, starts and restarts their containers, evicts, reports.

It decides with the pure functions of `kitlib.kubelet` and acts through the interfaces of this package, so it is the
same on a simulated kernel and on a real one. It has no thread of its own: `sync` receives the pods that are bound to
the node, and the node calls `tick` about once a second and whenever a container has ended.

Source: kubelet syncLoopIteration, HandlePodAdditions, syncPod, HandlePodCleanups; cm.containerManagerImpl.setupNode,
qosContainerManagerImpl.Start and UpdateCgroups, podContainerManagerImpl.EnsureExists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.kubelet.app.node_validation import check_node
from kitlib.kubelet.cm.cgroup_levels import Desired
from kitlib.kubelet.cm.cgroup_tree import CgroupTree
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.cm.resource_managers import ResourceManagers
from kitlib.kubelet.loop.admission import Admission, WaitingStaticPods
from kitlib.kubelet.loop.cgroups import CgroupManager
from kitlib.kubelet.loop.garbage import KubeletGarbageCollector
from kitlib.kubelet.loop.housekeeping import Housekeeping
from kitlib.kubelet.loop.interfaces import CgroupFS, ContainerRuntime, Dependencies, Reports
from kitlib.kubelet.loop.node_conditions import first_events
from kitlib.kubelet.loop.pod_syncer import PodSyncer
from kitlib.kubelet.loop.pod_worker import Ending, PodWorker
from kitlib.kubelet.loop.pod_workers import PodWorkers
from kitlib.kubelet.loop.system import System, SystemCgroups
from kitlib.kubelet.loop.timeline import KubeletTimeline
from kitlib.kubelet.loop.watcher import Watcher
from kitlib.kubelet.pods.objects import Objects

if TYPE_CHECKING:
    from kitlib.kubelet.loop.node_shutdown import NodeShutdown


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
        *,
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
        # The timeline only: the API server records these events when the node registers.
        born, *told = first_events(config.name, config.settings, cgroups.version)
        self.timeline.note("kubelet", "telling", born.reason, born.message, born.source)
        node = self._node = Dependencies(config, cgroups, runtime, reports, self.timeline, clock)
        self._pods, self._static, self.objects = PodWorkers(), WaitingStaticPods(), Objects()
        self._cgroups = CgroupManager(self.rules, self.managers, node)
        garbage = KubeletGarbageCollector(node, self._pods)
        self.watcher = Watcher(node, self._cgroups, garbage)
        outside = SystemCgroups(config.settings, system, self.timeline)
        outside.tick(clock())
        self._admission = Admission(node, self.managers, self.watcher.eviction, self.objects)
        parts = node, self._pods, self.rules, self.managers
        self._syncer = PodSyncer(*parts, self._cgroups, garbage, self._admission, self.objects)
        for event in told:
            self.timeline.note("kubelet", "telling", event.reason, event.message, event.source)
        self._housekeeping = Housekeeping(
            node, self._pods, self.managers, self._cgroups, outside, garbage, self.watcher, self._syncer
        )
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
        return list(self._pods)

    def adopt(self, before: Kubelet, pods: Iterable[Pod]) -> None:
        """Take over the pods of the kubelet before a restart, in the order of their creation; containers keep running.

        Each pod is admitted again; one that no longer fits is rejected and stopped. Those of `pods`, the pods bound to
        the node, that were rejected before report containers of unknown status.

        Source: Kubelet.HandlePodAdditions, canAdmitPod; status.manager.TerminatePod.
        """
        for worker in sorted(before.workers, key=lambda one: (str(one.pod.metadata.creation_timestamp), one.pod.key)):
            self._pods.add(worker)
            self._syncer.prober.adopt(worker)
            worker.restarted()
            if worker.active:
                self._syncer.starter.volumes_ready(worker)
                self._syncer.faults.each([worker], self._admit_worker)
        self._pods.rejected |= before._pods.rejected
        for pod in pods:
            if pod.metadata.uid in self._pods.rejected:
                self._syncer.report(PodWorker.of_rejected(pod, self.reports.now(), self._address))
        self._work()

    def sync(self, pods: Sequence[Pod]) -> None:
        """Reconcile processes, cgroups and statuses with the pods that are bound to the node.

        Args:
            pods: all bound pods, with API defaults; those with a deletion timestamp are stopped, then deleted.
        """
        bound = {pod.metadata.uid for pod in pods}
        self.handle(pods, [uid for uid in (*self._pods.by_uid, *self._pods.rejected) if uid not in bound])

    def handle(self, changed: Sequence[Pod], removed: Sequence[str]) -> None:
        """Handle new and changed pods, and the UIDs of pods that the API server has deleted."""
        known = self._pods.by_uid
        self._pods.rejected.difference_update(removed)
        self._static.forget(removed)
        self._syncer.faults.each([known[uid] for uid in removed if uid in known], self._syncer.remove)
        for pod in changed:
            worker = known.get(pod.metadata.uid)
            if worker is not None and worker.pod is not pod:
                self._syncer.faults.each([worker], partial(self._update, pod=pod))
        unknown = [pod for pod in changed if pod.metadata.uid not in known]
        new = [
            p for p in unknown if p.metadata.uid not in self._pods.rejected or p.metadata.deletion_timestamp is not None
        ]
        if new:  # ended pods release their resources before new pods are admitted
            self._syncer.end_leaving()
        for pod in new:
            if pod.metadata.deletion_timestamp is not None:
                self.reports.gone(pod)
            elif pod.status.phase not in TERMINAL_PHASES and not self._static.holds(pod, self.workers):
                self._syncer.faults.manifests.run(pod, partial(self._admit, pod))
        self._work()

    def _update(self, worker: PodWorker, pod: Pod) -> None:
        """Update a known pod with a new manifest, status or deletion timestamp."""
        if worker.update(pod):
            self._pods.mark_dirty(worker)
            self._pods.note_deadline(worker)
            for state in worker.ephemerals:
                self._pods.containers.setdefault(state.id, (worker, state))
            self._syncer.starter.refresh_volumes([worker])
        if pod.metadata.deletion_timestamp is not None:
            self._syncer.delete(worker, float(pod.metadata.deletion_grace_period_seconds or 0))

    def tick(self) -> None:
        """Process the events since the last call, and run the periodic work that is due."""
        syncer = self._syncer
        part = syncer.faults.part
        changed = part("containers", syncer.collect)
        changed |= part("probes", syncer.probe)
        changed |= self._housekeeping.tick()
        if self._pods.dirty:
            changed |= part("images", syncer.back_off_images)
        if changed or syncer.has_work():
            self._work()
        if self.shutdown is not None:
            part("node shutdown", self.shutdown.go_on)

    def _work(self) -> None:
        """Work on the marked pods, then admit the static pods that were waiting for another one to end."""
        self._syncer.work()
        for pod in self._static.released(self.workers):
            self._syncer.faults.manifests.run(pod, partial(self._admit, pod))

    def _admit(self, pod: Pod) -> None:
        """Admit a pod, or reject it permanently. Source: kubelet canAdmitPod, lifecycle generalFilter."""
        worker = PodWorker(pod, self.reports.now(), self._address, self.config.gates)
        self._pods.add(worker)
        self._syncer.prober.add(worker)
        self._syncer.faults.each([worker], self._admit_worker)

    def _admit_worker(self, worker: PodWorker) -> None:
        refused = self._admission.admit(worker, self._pods.by_uid.values(), self._preempt)
        if refused is not None:
            self._reject(worker, *refused)

    def _preempt(self, worker: PodWorker) -> None:
        """Stop a pod to make room for a critical pod. Source: evictPodsToFreeRequests."""
        from kitlib.kubelet.loop import preemption  # loaded with the first critical pod that lacks room

        grace = float(worker.pod.spec.termination_grace_period_seconds or 0)
        self.reports.event(worker.pod, "Warning", preemption.REASON, preemption.MESSAGE)
        self.timeline.note("preemption", "preempting", worker.pod.key, "", "evictPodsToFreeRequests")
        worker.ending = Ending(preemption.REASON, preemption.MESSAGE, preemption.DISRUPTION, grace)
        self._syncer.kill(worker)

    def _reject(self, worker: PodWorker, reason: str, message: str) -> None:
        """Set a pod to Failed before it has started. Source: kubelet rejectPod."""
        self.managers.release(worker.pod)
        worker.rejected = reason, f"Pod was rejected: {message}"
        self._pods.rejected.add(worker.pod.metadata.uid)
        self.reports.event(worker.pod, "Warning", reason, message)
        self.timeline.note("kubelet", "rejecting pod", worker.pod.key, message, "rejectPod")

    def shut_down(self) -> None:
        """Handle the machine's announcement of its shutdown. Source: nodeshutdown managerImpl.start."""
        from kitlib.kubelet.loop.node_shutdown import NodeShutdown  # loaded with the first shutdown

        self.shutdown = NodeShutdown(self._node, self._pods, self._syncer.killer, self._syncer.kill, self._work)
        self._admission.shutdown = self.watcher.shutdown = self.shutdown
        self.shutdown.announce()
        self.watcher.report_conditions()
        self.shutdown.go_on()
