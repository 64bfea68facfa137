"""The lifecycle hooks of containers: a command or an HTTP request in the container, or a pause of the kubelet.

A postStart hook blocks the start of its pod until it has ended: the pod's status is not written, the container is not
probed, the next container does not start. If the hook fails, the container is killed, and restarted according to its
policy. A hook's output is not part of an event, because it may contain secrets.

Source: kubelet lifecycle handlerRunner.Run; kuberuntime startContainer (step 4), KEP-3960.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kitlib.api.container import LifecycleHandler
from kitlib.api.podresources import field_path
from kitlib.kubelet.loop.container_state import ContainerState
from kitlib.kubelet.loop.interfaces import ContainerRuntime, Reports, RunningHook
from kitlib.kubelet.loop.pod_worker import PodWorker
from kitlib.kubelet.loop.timeline import KubeletTimeline
from kitlib.kubelet.prober.worker import Answer


class Killer(Protocol):
    """The part of `PodKiller` that hooks use."""

    runtime: ContainerRuntime
    reports: Reports
    timeline: KubeletTimeline
    clock: Callable[[], float]

    def stop_container(
        self, worker: PodWorker, state: ContainerState, grace: float, *, in_turn: bool = False, again: bool = False
    ) -> None:
        """Stop a container: after its preStop hook, and with `in_turn` after the containers that it serves."""
        ...

    def send_signal(self, worker: PodWorker, state: ContainerState, grace: float, *, again: bool = False) -> None:
        """Send SIGTERM now, and SIGKILL after `grace` seconds."""
        ...


class Sleeping:
    """A pause of the kubelet; nothing runs in the container. Source: runSleepHandler."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._clock, self._until = clock, clock() + seconds

    def answer(self) -> Answer | None:
        """Return success after the pause, None before."""
        return Answer("success") if self._clock() >= self._until else None

    def cancel(self) -> None:
        """Do nothing: nothing runs in the container."""


class UnsupportedHook:
    """A hook that the kubelet cannot run. Source: handlerRunner.Run, its default case."""

    def answer(self) -> Answer:
        """Return the failure."""
        return Answer("failure", "Cannot run handler: invalid handler")

    def cancel(self) -> None:
        """Do nothing."""


def begin_hook(
    worker: PodWorker,
    state: ContainerState,
    handler: LifecycleHandler,
    runtime: ContainerRuntime,
    clock: Callable[[], float],
) -> RunningHook:
    """Begin a hook of a running container; a tcpSocket hook is deprecated and not supported."""
    if handler.sleep is not None:
        return Sleeping(handler.sleep.seconds, clock)
    if handler.exec is None and handler.http_get is None:
        return UnsupportedHook()
    return runtime.run_hook(state.id, worker.addressed(), state.container, handler)


class PostStart:
    """The postStart hook of a started container.

    Args:
        worker: the pod.
        state: the container.
        handler: the manifest's hook.
        killer: stops the container of a failed hook.
    """

    def __init__(self, worker: PodWorker, state: ContainerState, handler: LifecycleHandler, killer: Killer) -> None:
        self._worker, self._state, self._killer = worker, state, killer
        self._hook = begin_hook(worker, state, handler, killer.runtime, killer.clock)

    def holds(self, state: ContainerState) -> bool:
        """Return whether this is the hook of `state`."""
        return state is self._state

    def done(self) -> bool:
        """Return whether the hook has ended; stop its container if it has failed."""
        state, pod, killer = self._state, self._worker.pod, self._killer
        answer = self._hook.answer() if killer.runtime.pid(state.id) else Answer("failure", "container not running")
        if answer is None:
            return False
        self._hook.cancel()
        killer.timeline.note(
            "kubelet", "PostStart hook", f"{pod.key}/{state.container.name}", answer.outcome, "startContainer"
        )
        if answer.outcome != "success":
            where = field_path(pod, state.container)
            killer.reports.event(pod, "Warning", "FailedPostStartHook", "PostStartHook failed", where)
            if killer.runtime.pid(state.id):
                killer.reports.event(pod, "Normal", "Killing", "FailedPostStartHook", where)
                killer.stop_container(self._worker, state, float(pod.spec.termination_grace_period_seconds or 0))
                state.condemned = "hook"
        return True
