"""Stops a pod: its containers hear of it, get their time, and the sandbox ends after the last of them.

Source: kuberuntime killPodWithSyncResult, killContainersWithSyncResult, killContainer; pod_workers.go
calculateEffectiveGracePeriod.
"""

from __future__ import annotations

from math import inf

from kitlib.api.podresources import field_path
from kitlib.kubelet.loop.interfaces import MINIMUM_GRACE, ContainerRuntime, Reports
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.loop.timeline import KubeletTimeline


class PodKiller:
    """Ends containers and sandboxes through the runtime.

    Args:
        runtime: runs the containers.
        reports: takes the events.
        timeline: takes what was done and why.
    """

    def __init__(self, runtime: ContainerRuntime, reports: Reports, timeline: KubeletTimeline) -> None:
        self._runtime, self._reports, self._timeline = runtime, reports, timeline

    def running(self, worker: PodWorker) -> bool:
        """Whether any process of a pod is still there."""
        return any(self._runtime.pid(identity) for identity in (worker.sandbox, *(s.id for s in worker.states)))

    def tell(self, worker: PodWorker) -> None:
        """Record an event for each container that will be stopped."""
        for state in worker.states:
            if self._runtime.pid(state.id):
                text = f"Stopping container {state.container.name}"
                self._reports.event(worker.pod, "Normal", "Killing", text, field_path(worker.pod, state.container))

    def stop(self, worker: PodWorker, grace: float) -> None:
        """Have all of a pod's containers end; those that are told so again get the time that is given now, if shorter.

        Source: pod_workers.go calculateEffectiveGracePeriod; kuberuntime killContainer.
        """
        grace = max(grace, MINIMUM_GRACE)
        first, shorter = worker.given == inf, grace < worker.given
        worker.given = min(grace, worker.given)
        for state in worker.states:
            if not self._runtime.pid(state.id) or not shorter:
                continue
            about = f"{worker.pod.key}/{state.container.name}"
            self._runtime.stop(state.id, grace)
            if first:
                self._timeline.note("kubelet", "stopping container", about, f"grace {grace:g} s", "killContainer")
            else:
                text, source = f"grace {grace:g} s from now", "calculateEffectiveGracePeriod"
                self._timeline.note("kubelet", "stopping container sooner", about, text, source)
        self.stop_sandbox(worker)

    def stop_sandbox(self, worker: PodWorker) -> None:
        """End the pause container once all containers have gone. Source: kuberuntime killPodWithSyncResult."""
        if worker.has_sandbox and not any(self._runtime.pid(state.id) for state in worker.states):
            self._runtime.stop(worker.sandbox, 0.0)
            worker.has_sandbox = False
