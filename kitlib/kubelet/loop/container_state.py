"""One container of a pod: whether it runs, how it ended, when it may start again.

Source: kubelet kubecontainer.Status, kuberuntime toKubeContainerStatus.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kitlib.api.core import Container
from kitlib.kubelet.loop.backoff import BackOff
from kitlib.kubelet.loop.interfaces import Ended


@dataclass
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

    @property
    def succeeded(self) -> bool:
        """Whether it has ended with code 0."""
        return not self.alive and self.ended.get("exitCode") == 0

    @property
    def started_once(self) -> bool:
        """Whether it runs or has run."""
        return self.alive or bool(self.ended)

    def started(self, seconds: float, now: datetime) -> None:
        """It runs."""
        if self.ended:
            self.last = {"terminated": self.ended}
            self.restarts += 1
        self.alive, self.since, self.ended, self.problem = True, seconds, {}, ("", "")
        self.back_off.pulls = 0
        self.running = {"startedAt": _text(now)}

    def exited(self, gone: Ended, now: datetime) -> None:
        """It has ended. Source: containerd: OOMKilled wherever the kernel killed a process of its cgroup."""
        reason = "OOMKilled" if gone.oom else "Completed" if gone.code == 0 else "Error"
        self.ended = {"exitCode": gone.code, "reason": reason, **self.running, "finishedAt": _text(now)}
        if gone.message:
            self.ended["message"] = gone.message
        self.alive, self.running = False, {}

    def stopped(self, now: datetime, code: int) -> None:
        """The kubelet has ended it; `code`: of the process, 137 where it was killed."""
        reason = "Completed" if code == 0 else "Error"
        self.ended = {"exitCode": code, "reason": reason, **self.running, "finishedAt": _text(now)}
        self.alive, self.running = False, {}


def _text(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")
