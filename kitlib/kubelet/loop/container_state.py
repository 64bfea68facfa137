"""The state of one container of a pod: whether it runs, its last end, and its next start.

Source: kubelet kubecontainer.Status, kuberuntime toKubeContainerStatus.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from kitlib.api.core import Container
from kitlib.kubelet.loop.backoff import BackOff
from kitlib.kubelet.loop.interfaces import Ended
from kitlib.kubelet.prober.worker import ProbeType, ProbeWorker


@dataclass(eq=False)
class ContainerState:
    """The state of one container.

    Attributes:
        container: the container in the manifest.
        id: its id in the runtime.
        alive: whether it runs.
        since: its last start, in seconds on the node's clock.
        restarts: the number of its restarts.
        back_off: its restart back-off.
        running: the current state Running of the API; {} = it does not run.
        ended: the current state Terminated of the API; {} = it has not ended.
        last: the last state of the API; {} = none.
        problem: reason and message of a failed start; ("", "") = none.
        probes: its probes by type.
        condemned: the failure because of which the kubelet is killing it: "probe" or "hook" (postStart); "" = none.
        ended_at: its last end, in seconds on the node's clock; None = it has not ended.
        removed: whether it was removed to restart all containers of the pod, and has not started since.
        starts_at_once: whether the kubelet has killed it to restart it in the same sync.
    """

    container: Container
    id: str
    alive: bool = False
    since: float = 0.0
    restarts: int = 0
    back_off: BackOff = field(default_factory=BackOff)
    running: dict[str, Any] = field(default_factory=dict)
    ended: dict[str, Any] = field(default_factory=dict)
    last: dict[str, Any] = field(default_factory=dict)
    problem: tuple[str, str] = ("", "")
    probes: dict[ProbeType, ProbeWorker] = field(default_factory=dict)
    condemned: Literal["", "probe", "hook"] = ""
    ended_at: float | None = None
    removed: bool = False
    starts_at_once: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether it has ended with exit code 0."""
        return not self.alive and self.ended.get("exitCode") == 0

    @property
    def initialized(self) -> bool:
        """Whether, as an init container, it has succeeded without an OOM kill. Source: isInitContainerFailed."""
        return self.succeeded and self.ended.get("reason") != "OOMKilled"

    @property
    def exit_code(self) -> int:
        """The exit code of its last end; 1 while it runs."""
        return 1 if self.alive else int(self.ended.get("exitCode", 1))

    @property
    def started_once(self) -> bool:
        """Whether it runs or has run."""
        return self.alive or bool(self.ended)

    @property
    def has_started(self) -> bool:
        """Whether it runs, and its startup probe has succeeded. Source: prober.manager.isContainerStarted."""
        startup = self.probes.get("Startup")
        return self.alive and (startup is None or startup.result == "Success")

    @property
    def is_ready(self) -> bool:
        """Whether it has started, and its readiness probe has succeeded. Source: prober.manager.UpdatePodStatus."""
        readiness = self.probes.get("Readiness")
        return self.has_started and (readiness is None or readiness.result == "Success")

    def trigger_readiness(self) -> None:
        """Trigger the readiness probe of a container that has started and is not ready. Source: UpdatePodStatus."""
        if self.has_started and not self.is_ready:
            self.probes["Readiness"].triggered = True

    def started(self, seconds: float, now: datetime) -> None:
        """Record the start of the container.

        Args:
            seconds: the start, in seconds on the node's clock.
            now: the date of the start.
        """
        if self.ended:
            self.last = {"terminated": self.ended}
            self.restarts += 1
        self.alive, self.since, self.ended, self.problem, self.removed = True, seconds, {}, ("", ""), False
        self.back_off.pulls, self.starts_at_once = 0, False
        self.running = {"startedAt": _text(now)}
        for probe in self.probes.values():
            probe.new_container()
        self.trigger_readiness()

    def exited(self, gone: Ended, now: datetime) -> None:
        """Record the end of a container that has ended by itself."""
        # containerd reports OOMKilled if the kernel has killed any process of the cgroup, not only the first one.
        reason = "OOMKilled" if gone.oom else "Completed" if gone.code == 0 else "Error"
        self.ended = {"exitCode": gone.code, "reason": reason, **self.running, "finishedAt": _text(now)}
        if gone.message:
            self.ended["message"] = gone.message
        self.alive, self.running, self.ended_at = False, {}, gone.at

    def stopped(self, now: datetime, code: int) -> None:
        """Record the end of a container that the kubelet has stopped.

        Args:
            now: the date of the end.
            code: the exit code of the process, 0 to 255; 137 if it was killed.
        """
        reason = "Completed" if code == 0 else "Error"
        self.ended = {"exitCode": code, "reason": reason, **self.running, "finishedAt": _text(now)}
        self.alive, self.running = False, {}


class Waiting(Protocol):
    """A container that is stopped after its preStop hook, or after the containers that it serves."""

    state: ContainerState

    def go_on(self) -> bool:
        """Continue the stop; return whether it is complete."""
        ...

    def cancel(self) -> None:
        """End its hook if one runs."""
        ...


class Starting(Protocol):
    """A started container with a running postStart hook."""

    def holds(self, state: ContainerState) -> bool:
        """Return whether this is the hook of `state`."""
        ...

    def done(self) -> bool:
        """Return whether the hook has ended."""
        ...


def _text(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")
