"""Actuates in-place resizes: allocates them, checks memory, restarts containers if their policy requires it, reports.

Source: kubelet allocation manager (handlePodResourcesResize), kuberuntime computePodResizeAction, doPodResizeAction,
status manager (SetPodResizePendingCondition, SetPodResizeInProgressCondition).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kitlib.api.podresources import containers_of, pod_limits, pod_requests
from kitlib.kubelet.cm.cgroup_config import pod_totals
from kitlib.kubelet.cm.cgroup_levels import Desired
from kitlib.kubelet.loop.admission import Admission
from kitlib.kubelet.loop.interfaces import Dependencies
from kitlib.kubelet.loop.killing import PodKiller
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.loop.resize import (
    DEFERRED,
    INFEASIBLE,
    below_usage,
    event_message,
    infeasible,
    restarting,
    same_resources,
)
from kitlib.kubelet.util.memory_files import MEMORY_USAGE


class Resizer:
    """Resizes the pods of one node.

    Args:
        node: the settings, the cgroup file system, the runtime, the reports and the timeline.
        rules: computes the paths of cgroups.
        killer: stops containers that are restarted with other resources.
        admission: the allocatable amounts, and the requested ones, which resizes update.
    """

    def __init__(self, node: Dependencies, rules: Desired, killer: PodKiller, admission: Admission) -> None:
        self._config, self._rules, self._cgroups, self._killer = node.config, rules, node.cgroups, killer
        self._runtime, self._reports, self._timeline = node.runtime, node.reports, node.timeline
        self._allocatable, self._asked = admission.allocatable, admission.asked

    def work(self, workers: Iterable[PodWorker]) -> None:
        """Allocate and actuate the resizes that are possible now, pods with a higher priority first."""
        waiting = [worker for worker in workers if worker.active and worker.resizing]
        for worker in sorted(waiting, key=lambda w: -(w.pod.spec.priority or 0)):
            if worker.allocated is not worker.pod and not self._allocate(worker):
                continue
            self._actuate(worker)

    def _allocate(self, worker: PodWorker) -> bool:
        pod = worker.pod
        if same_resources(pod, worker.allocated):
            # The desired resources were reset to the allocated ones, so only the pending condition is cleared.
            worker.allocate(pod)
            worker.resize_pending = ("", "")
            return True
        message = infeasible(pod, worker.allocated, self._config)
        reason, what = INFEASIBLE, INFEASIBLE
        requests = {
            name: amount.milli_value() for name, amount in pod_requests(pod, release=self._config.gates).items()
        }
        if not message:
            for name, wanted in sorted(requests.items()):
                used = self._asked.get(name, 0) - worker.asked.get(name, 0)
                most = self._allocatable.get(name, 0)
                if used + wanted > most and wanted > worker.asked.get(name, 0):
                    scale = 1 if name == "cpu" else 1000
                    figures = f"requested: {wanted // scale}, used: {used // scale}, capacity: {most // scale}"
                    message = f"Node didn't have enough resource: {name}, {figures}"
                    reason, what = DEFERRED, f"OutOf{name}"
                    break
        if message:
            if worker.resize_pending != (reason, message):
                worker.resize_pending = (reason, message)
                self._reports.event(pod, "Warning", f"Resize{reason}", event_message(what, pod, message))
                self._timeline.note("allocationManager", f"resize {reason}", pod.key, message, "canAdmitPod")
            return False
        for name in {*requests, *worker.asked} - {"pods"}:
            self._asked[name] = self._asked.get(name, 0) + requests.get(name, 0) - worker.asked.get(name, 0)
        worker.asked = {**requests, "pods": worker.asked.get("pods", 1000)}
        worker.allocate(pod)
        worker.resize_pending = ("", "")
        self._reports.event(pod, "Normal", "ResizeStarted", event_message("started", pod))
        self._timeline.note("allocationManager", "allocating resize of", pod.key, "", "handlePodResourcesResize")
        return True

    def _actuate(self, worker: PodWorker) -> None:
        if worker.actual is worker.allocated:
            return
        pod = worker.allocated
        again = set(restarting(pod, worker.actual, self._config.gates))
        error = self._too_low(worker, again)
        if error:
            self._failed(worker, error)
            return
        if not same_resources(pod, worker.actual):
            worker.resized_from = worker.resized_from or worker.actual
        else:
            worker.resize_error = ""
        worker.actuate()
        for state in worker.states:
            if state.container.name in again and state.alive:
                text = f"Container {state.container.name} resize requires restart"
                self._reports.event(pod, "Normal", "Killing", text)
                self._killer.stop_container(worker, state, float(pod.spec.termination_grace_period_seconds or 0))
                state.stopped(self._reports.now(), self._runtime.exit_code(state.id))

    def finish(self, workers: Iterable[PodWorker], refused: Mapping[str, str]) -> None:
        """Report the completed resizes, and those that the kernel has rejected.

        A rejected resize is tried again; its written values remain.

        Args:
            workers: the pods in which anything may have changed.
            refused: pod UID -> the kernel's error.
        """
        for worker in workers:
            if worker.resized_from is None or not worker.active:
                continue
            error = refused.get(worker.pod.metadata.uid, "")
            if error:
                self._failed(worker, error)
                continue
            worker.resized_from, worker.resize_error = None, ""
            pod = worker.allocated
            self._reports.event(pod, "Normal", "ResizeCompleted", event_message("completed", pod))
            self._timeline.note("kubeRuntimeManager", "resizing", pod.key, "", "doPodResizeAction")

    def _failed(self, worker: PodWorker, error: str) -> None:
        """Report a failed resize, each error once. Source: SetPodResizeInProgressCondition."""
        if worker.resize_error == error:
            return
        worker.resize_error, pod = error, worker.allocated
        self._reports.event(pod, "Warning", "ResizeError", event_message("error", pod, error))
        self._timeline.note("kubeRuntimeManager", "cannot resize", pod.key, error, "doPodResizeAction")

    def _too_low(self, worker: PodWorker, again: set[str]) -> str:
        """Return the error if memory limits would fall below the usage; "" = they would not.

        Containers that are restarted are not checked. The pod's own limit is checked only if the pod has one: all of
        its containers are limited, or the pod as a whole.
        """
        pod, gates = worker.allocated, self._config.gates
        whole = self._rules.pod_path(pod) if pod_totals(pod, gates).memory_limits_declared else ""
        where = {worker.pod.name: whole} if whole else {}
        wanted = {worker.pod.name: pod_limits(pod, release=gates).get("memory")} if where else {}
        before = {worker.pod.name: pod_limits(worker.actual, release=gates).get("memory")} if where else {}
        for container in containers_of(pod):
            state = next(s for s in worker.states if s.container.name == container.name)
            if state.alive and container.name not in again:
                where[container.name] = self._rules.container_level(pod, container, state.id).path
                wanted[container.name] = container.resources.limits.get("memory")
        for container in containers_of(worker.actual):
            before[container.name] = container.resources.limits.get("memory")
        limits = {name: amount.value() if amount is not None else None for name, amount in wanted.items()}
        standing = {name: amount.value() if amount is not None else None for name, amount in before.items()}
        file = MEMORY_USAGE[self._cgroups.version]
        falling = [n for n, limit in limits.items() if limit is not None and limit < (standing.get(n) or 2**63)]
        usage = {name: self._usage(where[name], file) for name in falling}
        if worker.pod.name in usage:  # restarted containers release their memory
            gone = [state for state in worker.states if state.container.name in again and state.alive]
            paths = [self._rules.container_level(pod, state.container, state.id).path for state in gone]
            usage[worker.pod.name] -= sum(self._usage(path, file) for path in paths)
        return below_usage(limits, standing, usage, worker.pod.name)

    def _usage(self, path: str, file: str) -> int:
        return int(self._cgroups.read(path, file)) if self._cgroups.exists(path) else 0
