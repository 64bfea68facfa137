"""One container of a pod: whether it runs, how it ended, when it may start again.

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
    """One container.

    Attributes:
        container: which.
        id: its name in the runtime.
        alive: whether it runs.
        since: seconds, when it started.
        restarts: so far.
        back_off: when it may start again.
        running, ended, last: the states as the API shows them; {} = none.
        problem: why it cannot start: reason and message.
        probes: its probes.
        condemned: why the kubelet is ending it: "probe" or "hook", the postStart one, has failed; "" = it is not.
        ended_at: seconds, when it last ended; None = it has not.
        starts_at_once: whether the kubelet has killed it to start it anew in the same sync.
        removed: whether it was removed to restart all containers of the pod, and has not started since.
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
        """Whether it has ended with code 0."""
        return not self.alive and self.ended.get("exitCode") == 0

    @property
    def exit_code(self) -> int:
        """The code of its last end; 1 while it runs, as if it failed."""
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
        """A container that has started and is not ready yet is asked at once. Source: UpdatePodStatus."""
        if self.has_started and not self.is_ready:
            self.probes["Readiness"].triggered = True

    def started(self, seconds: float, now: datetime) -> None:
        """It runs."""
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
        """It has ended. Source: containerd: OOMKilled wherever the kernel killed a process of its cgroup."""
        reason = "OOMKilled" if gone.oom else "Completed" if gone.code == 0 else "Error"
        self.ended = {"exitCode": gone.code, "reason": reason, **self.running, "finishedAt": _text(now)}
        if gone.message:
            self.ended["message"] = gone.message
        self.alive, self.running, self.ended_at = False, {}, gone.at

    def stopped(self, now: datetime, code: int) -> None:
        """The kubelet has ended it; `code`: of the process, 137 where it was killed."""
        reason = "Completed" if code == 0 else "Error"
        self.ended = {"exitCode": code, "reason": reason, **self.running, "finishedAt": _text(now)}
        self.alive, self.running = False, {}


class Waiting(Protocol):
    """A container that ends after its hook, or in its turn."""

    state: ContainerState

    def go_on(self) -> bool:
        """Do what is due; return whether that was all."""
        ...

    def cancel(self) -> None:
        """End its hook, if one runs."""
        ...


class Starting(Protocol):
    """A container that has started, and its postStart hook."""

    def holds(self, state: ContainerState) -> bool:
        """Return whether it is this container."""
        ...

    def done(self) -> bool:
        """Return whether the hook is over."""
        ...


def _text(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")
