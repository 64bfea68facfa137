"""Applies the decisions of `cm.system_cgroups` about the system's processes, every minute or every five minutes."""

from __future__ import annotations

from typing import Protocol

from kitlib.api.errors import KitError
from kitlib.kubelet.cm.system_cgroups import (
    EVERY_FIVE_MINUTES,
    EVERY_MINUTE,
    ProcessMove,
    SystemProcess,
    kubelet_step,
    system_steps,
)
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.loop.timeline import KubeletTimeline


class System(Protocol):
    """The machine's own processes."""

    def processes(self) -> list[SystemProcess]:
        """Return the processes that belong to no pod, with the kernel's threads."""
        ...

    def move(self, pid: int, cgroup: str) -> None:
        """Write a process into a cgroup.

        Raises:
            KitError: the kernel rejects it.
        """
        ...

    def adjust(self, pid: int, oom_score_adj: int) -> None:
        """Write a process's oom_score_adj.

        Raises:
            KitError: the kernel rejects it.
        """
        ...


class SystemCgroups:
    """The kubelet's management of processes outside the pods.

    Args:
        settings: the kubelet's settings.
        system: the machine's processes; None = the kubelet does not manage them here.
        timeline: the record of the kubelet's actions.
    """

    def __init__(self, settings: KubeletSettings, system: System | None, timeline: KubeletTimeline) -> None:
        self._settings, self._system, self._timeline = settings, system, timeline
        self._next_minute = self._next_five = 0.0

    def tick(self, now: float) -> None:
        """Run the due rounds. Source: containerManagerImpl.Start."""
        if self._system is None:
            return
        settings, minute, five = self._settings, now >= self._next_minute, now >= self._next_five
        if minute:
            self._next_minute = now + EVERY_MINUTE
            if settings.system_cgroups:
                for step in system_steps(self._system.processes(), settings.system_cgroups):
                    self._do(step, "ensureSystemCgroups")
        if five:
            self._next_five = now + EVERY_FIVE_MINUTES
        if minute if settings.kubelet_cgroups else five:
            own = kubelet_step(self._system.processes(), settings.kubelet_cgroups, settings.oom_score_adj)
            if own is not None:
                self._do(own, "ensureProcessInContainerWithOOMScore")

    def _do(self, step: ProcessMove, source: str) -> None:
        assert self._system is not None
        process, about = step.process, f"{step.process.name}, pid {step.process.pid}"
        if step.to:
            try:
                self._system.move(process.pid, step.to)
                self._note("moving process", about, f"{process.cgroup} -> {step.to}: {step.why}", source)
            except KitError as error:
                self._note("failed to move process", about, str(error), source)
        if step.score is not None and step.score != process.oom_score_adj:
            try:
                self._system.adjust(process.pid, step.score)
                self._note("setting oom_score_adj of", about, str(step.score), source)
            except KitError as error:
                self._note("failed to set oom_score_adj of", about, str(error), source)

    def _note(self, action: str, about: str, detail: str, source: str) -> None:
        self._timeline.note("containerManager", action, about, detail, source)
