"""The stop of a pod: its containers get SIGTERM and a grace period, and the sandbox is stopped after the last of them.

Source: kuberuntime killPodWithSyncResult, killContainersWithSyncResult, killContainer; pod_workers.go
calculateEffectiveGracePeriod.
"""

from __future__ import annotations

from math import inf

from kitlib.api.core import Pod
from kitlib.api.podresources import field_path
from kitlib.api.release import Release
from kitlib.kubelet.loop.container_state import ContainerState
from kitlib.kubelet.loop.interfaces import MINIMUM_GRACE, Dependencies
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.qos.qos_class import is_restartable_init


def effective_grace(pod: Pod, override: float, release: Release) -> float:
    """Return the grace period in seconds of a pod that is killed with this override; at least 1.

    Source: pod_workers.go calculateEffectiveGracePeriod; kubernetes#124063.
    """
    # Before 1.31 an override of 0 was handled like none, so an evicted pod got its own grace period.
    if not override and not release.default("immediateEvictionGracePeriodSeconds"):
        override = float(pod.spec.termination_grace_period_seconds or 0)
    return max(override, 1.0)


class PodKiller:
    """Stops containers and sandboxes through the runtime.

    Args:
        node: the runtime, the reports, the timeline and the clock.
    """

    def __init__(self, node: Dependencies) -> None:
        self.runtime, self.reports, self.timeline, self.clock = node.runtime, node.reports, node.timeline, node.clock

    def running(self, worker: PodWorker) -> bool:
        """Return whether a container or the sandbox of a pod still runs."""
        return any(self.runtime.pid(identity) for identity in (worker.sandbox, *(s.id for s in worker.states)))

    def may_start(self, worker: PodWorker) -> bool:
        """Return whether an active pod may start: all pods preempted for it have ended.

        Source: pod_workers.go killPodNow.
        """
        worker.victims = [victim for victim in worker.victims if self.running(victim)]
        return worker.active and not worker.victims

    def tell(self, worker: PodWorker) -> None:
        """Record an event for each container that will be stopped."""
        for state in worker.states:
            if self.runtime.pid(state.id):
                text = f"Stopping container {state.container.name}"
                self.reports.event(worker.pod, "Normal", "Killing", text, field_path(worker.pod, state.container))

    def stop(self, worker: PodWorker, grace: float) -> None:
        """Stop all of a pod's containers and then its sandbox; a further call may only shorten the grace period.

        Source: pod_workers.go calculateEffectiveGracePeriod; kuberuntime killContainersWithSyncResult.
        """
        # calculateEffectiveGracePeriod lets a grace period only decrease: a second
        # deletion with a longer one has no effect.
        given = max(grace, MINIMUM_GRACE)
        if given < worker.given:
            sidecars = any(is_restartable_init(state.container) for state in worker.inits)
            again, worker.given = worker.given != inf, given
            for state in worker.states:
                if self.runtime.pid(state.id):
                    self.stop_container(worker, state, grace, in_turn=sidecars, again=again)
        self.stop_sandbox(worker)

    def stop_container(
        self, worker: PodWorker, state: ContainerState, grace: float, *, in_turn: bool = False, again: bool = False
    ) -> None:
        """Stop one container: after its preStop hook, and in a pod with sidecars after the containers that it serves.

        Args:
            worker: the pod.
            state: the container.
            grace: seconds until SIGKILL; with 0 there is neither a hook nor an order.
            in_turn: whether the whole pod is stopped and has sidecars.
            again: whether it is already being stopped with a longer period.

        Source: kuberuntime killContainer.
        """
        worker.cancel_termination(state)
        lifecycle = state.container.lifecycle
        if grace > 0 and (in_turn or (lifecycle is not None and lifecycle.pre_stop is not None)):
            from kitlib.kubelet.loop.termination import Termination  # loaded with the first hook or sidecar

            termination = Termination(worker, state, grace, self, in_turn)
            if not termination.go_on():
                worker.terminations.append(termination)
        else:
            self.send_signal(worker, state, max(grace, MINIMUM_GRACE), again=again)

    def send_signal(self, worker: PodWorker, state: ContainerState, grace: float, *, again: bool = False) -> None:
        """Send SIGTERM now, and SIGKILL after `grace` seconds."""
        self.runtime.stop(state.id, grace)
        what, source = ("stopping container", "killContainer")
        if again:
            what, source = ("stopping container sooner", "calculateEffectiveGracePeriod")
        text = f"grace {round(grace, 1):g} s" + (" from now" if again else "")
        self.timeline.note("kubelet", what, f"{worker.pod.key}/{state.container.name}", text, source)

    def go_on(self, worker: PodWorker) -> None:
        """Continue the stops that wait for a hook or for other containers."""
        worker.terminations = [termination for termination in worker.terminations if not termination.go_on()]

    def stop_sandbox(self, worker: PodWorker) -> None:
        """Stop the pause container if no container runs. Source: kuberuntime killPodWithSyncResult."""
        # The containers use the sandbox's namespaces until their end.
        if worker.has_sandbox and not any(self.runtime.pid(state.id) for state in worker.states):
            self.runtime.stop(worker.sandbox, 0.0)
            worker.has_sandbox = False
