"""One probe of one container: its schedule, and the result of consecutive answers.

    startup     the container has not started until it succeeds; the other two probes wait for it
    readiness   the container is not ready until it succeeds
    liveness    the container is killed when it fails

Source: kubelet prober.worker doProbe, prober.manager AddPod and UpdatePodStatus.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from kitlib.api.core import Container, Probe

ProbeType = Literal["Liveness", "Readiness", "Startup"]
Result = Literal["Unknown", "Success", "Failure"]
Outcome = Literal["success", "warning", "failure", "unknown"]
INITIAL: dict[ProbeType, Result] = {"Liveness": "Success", "Readiness": "Failure", "Startup": "Unknown"}
"""The result until a threshold is reached. Source: prober.newWorker."""


class Answer(NamedTuple):
    """The answer of one run of a probe.

    Attributes:
        outcome: the outcome of the run.
        output: the text for the event.
    """

    outcome: Outcome
    output: str = ""


@dataclass
class ProbeWorker:
    """One probe of one container.

    Attributes:
        kind: the type of the probe.
        spec: the probe in the manifest.
        due: the next tick, in seconds on the node's clock.
        result: the current result, after the thresholds.
        last: the last answer.
        run: the number of consecutive answers equal to the last one; a restart of the container does not reset it.
        on_hold: whether the probe waits for a new container.
        triggered: whether the probe runs immediately, before its next tick.
        asking: whether a run has begun and has no answer yet; a tick in this time is stored.
    """

    kind: ProbeType
    spec: Probe
    due: float
    result: Result
    last: Result = "Success"
    run: int = 0
    on_hold: bool = False
    triggered: bool = False
    asking: bool = False

    @property
    def period(self) -> float:
        """The period in seconds."""
        return float(self.spec.period_seconds or 10)

    def new_container(self) -> None:
        """Reset the result for a container that has started."""
        self.result, self.on_hold = INITIAL[self.kind], False

    def is_due(self, now: float) -> bool:
        """Return whether a tick or a trigger starts the probe now."""
        woken, self.triggered = self.triggered or now >= self.due, False
        while self.due <= now:
            self.due += self.period
        return woken

    def take(self, found: Result) -> bool:
        """Count an answer; return whether the result has changed."""
        self.run = self.run + 1 if self.last == found else 1
        self.last = found
        needed = self.spec.failure_threshold if found == "Failure" else self.spec.success_threshold
        if self.run < needed:
            return False
        changed, self.result = self.result != found, found
        # Upstream stops probing until there is a new container, because a command in a container that is being stopped
        # could corrupt the runtime's state (kubernetes#21751).
        if found == "Failure" and self.kind != "Readiness":
            self.on_hold, self.run = True, 0
        return changed


def probes_of(container: Container) -> dict[ProbeType, Probe]:
    """Return the probes in a container's manifest."""
    found: dict[ProbeType, Probe | None] = {
        "Startup": container.startup_probe,
        "Readiness": container.readiness_probe,
        "Liveness": container.liveness_probe,
    }
    return {kind: probe for kind, probe in found.items() if probe is not None}


def workers_of(container: Container, now: float) -> dict[ProbeType, ProbeWorker]:
    """Return the probes of a container of a pod that was just admitted. Source: prober.manager.AddPod; worker.run."""
    # Upstream's worker also probes at its start, but finds no container yet; so the first probe is one period later.
    return {
        kind: ProbeWorker(kind, probe, now + float(probe.period_seconds or 10), INITIAL[kind])
        for kind, probe in probes_of(container).items()
    }
