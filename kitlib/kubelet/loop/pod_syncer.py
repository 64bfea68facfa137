"""The work on pods: their cgroups are written, containers start and end, statuses are reported, ended pods forgotten.

Source: kubelet SyncPod, SyncTerminatingPod, SyncTerminatedPod (podSyncer); syncLoopIteration, HandlePodCleanups.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial
from typing import TYPE_CHECKING

from kitlib.api.core import TERMINAL_PHASES
from kitlib.kubelet.cm.cgroup_levels import Desired
from kitlib.kubelet.cm.resource_managers import ResourceManagers
from kitlib.kubelet.loop.admission import Admission
from kitlib.kubelet.loop.backoff import restart_back_off
from kitlib.kubelet.loop.cgroups import CgroupManager
from kitlib.kubelet.loop.container_state import ContainerState
from kitlib.kubelet.loop.faults import Faults
from kitlib.kubelet.loop.garbage import KubeletGarbageCollector
from kitlib.kubelet.loop.interfaces import Dependencies, Ended
from kitlib.kubelet.loop.killing import PodKiller, effective_grace
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.loop.pod_workers import PodWorkers
from kitlib.kubelet.loop.probing import Prober
from kitlib.kubelet.loop.pulling import ImagePuller
from kitlib.kubelet.loop.starter import ContainerStarter
from kitlib.kubelet.pods.objects import Objects

if TYPE_CHECKING:
    from kitlib.kubelet.loop.resizing import Resizer

_STARTS = 20
"""Maximum rounds of starting in one call: a container may end immediately, so that the next one is due."""


class PodSyncer:
    """The work on the pods of one node.

    Args:
        node: the machine, the settings and the receivers of the kubelet.
        pods: the pods that the kubelet knows.
        rules: computes the desired content of cgroups.
        managers: the managers of CPUs, memory and devices.
        cgroups: the manager of the node's cgroups.
        garbage: the garbage collector of containers.
        admission: the admission of pods, with the allocatable and the requested amounts.
        objects: the objects that the kubelet may read.

    Attributes:
        faults: the handling of defects.
        killer: stops containers and sandboxes.
        prober: the probes of containers.
        starter: starts containers, with their volumes.
    """

    def __init__(
        self,
        node: Dependencies,
        pods: PodWorkers,
        rules: Desired,
        managers: ResourceManagers,
        cgroups: CgroupManager,
        garbage: KubeletGarbageCollector,
        admission: Admission,
        objects: Objects,
    ) -> None:
        self._node, self._pods, self._rules, self._managers = node, pods, rules, managers
        self._cgroups, self._garbage, self._admission = cgroups, garbage, admission
        self.faults = Faults(node.config.name, node.reports, node.runtime, self._drop)
        self.killer = PodKiller(node)
        self.prober = Prober(node, self.killer, garbage.died)
        self._images = ImagePuller(node)
        amounts = admission.allocatable
        self.starter = ContainerStarter(node, rules, managers, self._images, self.killer, objects, amounts, self.report)

    @cached_property
    def _resizer(self) -> Resizer:
        from kitlib.kubelet.loop.resizing import Resizer  # loaded with the first resize

        return Resizer(self._node, self._rules, self.killer, self._admission)

    def work(self) -> None:
        """Work on the marked pods: cgroups first, then containers, then the reports to the API server."""
        touched: dict[str, PodWorker] = {}
        pods, faults = self._pods, self.faults
        for _ in range(_STARTS):
            # An end that `collect` finds marks its pod, so the next round may start what was waiting for it.
            touched |= pods.dirty
            faults.each(pods.dirty.values(), self._end_terminal)
            # The cgroups are written before the starts, so that no process runs without its limits, and once more
            # below, to remove those of ended containers.
            resizing = [worker for worker in pods.dirty.values() if worker.resizing]
            if resizing:
                faults.together(resizing, self._resizer.work)
            faults.together(pods.dirty.values(), self.write)
            if resizing:
                faults.together(resizing, partial(self._resizer.finish, refused=self._cgroups.refused))
            faults.each(filter(self.killer.may_start, pods.dirty.values()), self.starter.start)
            if not self.collect() and not faults.part("probes", self.probe):
                break
        faults.together(touched.values(), self.write)
        faults.together(touched.values(), self._note_killed)
        faults.each(touched.values(), self._forget_or_report)
        pods.settle()

    def end_leaving(self) -> None:
        """Finish the deleted pods whose processes have ended, which release their resources."""
        leaving = [worker for worker in self._pods if worker.leaving]
        if leaving:
            self.faults.each(leaving, self.killer.stop_sandbox)
            self.faults.together(leaving, self.write)
            self.faults.together(leaving, self._note_killed)
            self.faults.each(leaving, self._forget_terminated)

    def back_off_images(self) -> bool:
        """Report the back-offs of image pulls that have begun; return whether there are any."""
        return self._images.back_off(self._pods.dirty.values())

    def has_work(self) -> bool:
        """Return whether a marked pod has work that is due."""
        now = self._node.clock()
        return any(worker.has_work(now) for worker in self._pods.dirty.values())

    def _end_terminal(self, worker: PodWorker) -> None:
        """Stop the rest of a pod that is being stopped or is in a terminal phase."""
        if worker.terminations:
            self.killer.go_on(worker)
        if worker.terminating:
            self.killer.stop_sandbox(worker)
        if worker.phase() in TERMINAL_PHASES:
            if not worker.terminating:  # sidecars of a finished pod get its whole period
                self.killer.stop(worker, float(worker.pod.spec.termination_grace_period_seconds or 0))
            self._release(worker)

    def _forget_or_report(self, worker: PodWorker) -> None:
        if worker.leaving:
            self._forget_terminated(worker)
        elif worker.starting is None or worker.terminating:  # a postStart hook blocks its pod's worker
            self.report(worker)
            if worker.pod.metadata.uid in self._pods.rejected:  # the API server has its status; nothing else remains
                self._forget(worker)

    def write(self, touched: Iterable[PodWorker]) -> None:
        """Write the cgroups of these pods."""
        self._cgroups.write(self._pods.by_uid.values(), list(touched))

    def _note_killed(self, workers: Iterable[PodWorker]) -> None:
        """Record the pods whose processes have all ended. Source: Kubelet.killPod, filterOutInactivePods."""
        killed = [w for w in workers if w.holds_resources and (w.terminating or w.phase() in TERMINAL_PHASES)]
        killed = [worker for worker in killed if not self.killer.running(worker)]
        if killed:
            # killPod updates them while the pod is still active, so its requests still count in this update.
            self._cgroups.update_qos_cgroups(self._pods.by_uid.values())
        for worker in killed:
            worker.holds_resources = False
            self.starter.forget_volumes(worker)  # an emptyDir's memory too; only logs stay. Source: SyncTerminatedPod
            if worker.terminating:
                worker.ended(self._node.reports.now(), self._node.runtime.exit_code)
                self._release(worker)

    def collect(self) -> bool:
        """Record the containers that have ended; return whether there are any."""
        gone = self._node.runtime.ended()
        for ended in gone:
            found = self._pods.containers.get(ended.id)
            if found is not None:
                self.faults.each([found[0]], partial(self._note, state=found[1], gone=ended))
        return bool(gone)

    def probe(self) -> bool:
        """Run the due probes; return whether the result of any has changed."""
        changed = self.prober.tick()
        for worker in changed:
            self._pods.mark_dirty(worker)
        return bool(changed)

    def _note(self, worker: PodWorker, state: ContainerState, gone: Ended) -> None:
        self._pods.mark_dirty(worker)
        self._garbage.died(gone.id)
        state.exited(gone, self._node.reports.now())
        if not worker.exited(state):  # removed containers start without a back-off
            state.back_off.ended(
                state.since, gone.at, *restart_back_off(self._node.config.settings, self._node.config.gates)
            )
        ending = f"exit code {gone.code}" + (", killed: out of memory" if gone.oom else "")
        self._node.timeline.note(
            "PLEG", "container ended", f"{worker.pod.key}/{state.container.name}", ending, "relist"
        )
        worker.report_back_off(state, self._node.reports, self._node.clock())

    def kill(self, worker: PodWorker) -> None:
        """Stop a pod that the kubelet evicts or preempts. Source: killPodNow."""
        assert worker.ending is not None
        self._pods.mark_dirty(worker)
        self.killer.tell(worker)
        self.killer.stop(worker, worker.ending.grace)

    def delete(self, worker: PodWorker, grace: float) -> None:
        """Stop a pod that the API server is deleting.

        Args:
            worker: the pod.
            grace: the grace period of the deletion in seconds; a further call may only shorten it.
        """
        if not worker.leaving or grace < worker.given:
            self.killer.tell(worker)
            self._terminate(worker, grace)

    def _terminate(self, worker: PodWorker, grace: float) -> None:
        worker.leaving = True
        self._pods.mark_dirty(worker)
        self.killer.stop(worker, grace)

    def remove(self, worker: PodWorker) -> None:
        """Stop a pod that was deleted from the API server; its resources are available to other pods immediately.

        Source: Kubelet.HandlePodRemoves, GetActivePods; staticPolicy and containerMap, removeStaleState.
        """
        self._terminate(worker, effective_grace(worker.pod, 0.0, self._node.config.release))
        self._release(worker)

    def _forget_terminated(self, worker: PodWorker) -> None:
        """Forget a deleted pod after its containers have ended and its cgroup was removed."""
        if self.is_held(worker):
            return
        self.report(worker)
        self._garbage.remove_containers_of(worker)
        self._release(worker)
        self.starter.forget_volumes(worker)
        self._drop(worker)

    def _drop(self, worker: PodWorker) -> None:
        """Stop the work on a pod, and report a deleted pod as gone."""
        self._pods.dirty.pop(worker.pod.metadata.uid, None)
        if worker.leaving:
            self._forget(worker)
            self._node.reports.gone(worker.pod)

    def _forget(self, worker: PodWorker) -> None:
        self._pods.forget(worker)
        self.prober.forget(worker)

    def _release(self, worker: PodWorker) -> None:
        """Make a pod's CPUs, memory, devices and requests available to other pods."""
        self._managers.release(worker.pod)
        self._admission.count(worker, -1)

    def report(self, worker: PodWorker) -> None:
        """Write a pod's status to the API server if it has changed."""
        resources, release = self._rules.container_resources, self._node.config.gates
        status = worker.status(self._node.clock(), self._node.reports.now(), resources, self._node.runtime, release)
        if status != worker.standing:
            worker.standing = status
            self._node.reports.status(worker.pod, status)

    def is_held(self, worker: PodWorker) -> bool:
        """Return whether a process or the cgroup of a pod still exists."""
        path = self._rules.pod_path(worker.pod)
        return self.killer.running(worker) or bool(path and self._node.cgroups.exists(path))
