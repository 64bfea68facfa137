"""One probe of one container: when it is asked, and what its answers in a row amount to.

    startup     not started until it succeeds; the other two wait for it
    readiness   not ready until it succeeds
    liveness    alive until it fails; then the container is killed

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
"""The result before the first one counts. Source: prober.newWorker."""


class Answer(NamedTuple):
    """What one probe found.

    Attributes:
        outcome: of it.
        output: what the event says about it.
    """

    outcome: Outcome
    output: str = ""


@dataclass
class ProbeWorker:
    """One probe of one container.

    Attributes:
        kind: what it is for.
        spec: the manifest's.
        due: seconds on the node's clock: when it is asked next.
        result: that counts.
        last, run: the last answer, and how often in a row it was given; a restart does not forget them.
        on_hold: whether it waits for a new container.
        triggered: whether it is asked at once, its period notwithstanding.
        asking: whether it has been asked and its answer is not there yet; a tick that comes meanwhile is kept.
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
        """Seconds."""
        return float(self.spec.period_seconds or 10)

    def new_container(self) -> None:
        """The container has started."""
        self.result, self.on_hold = INITIAL[self.kind], False

    def is_due(self, now: float) -> bool:
        """Whether its ticker or a trigger wakes it now; the ticker goes on from its own last time."""
        woken, self.triggered = self.triggered or now >= self.due, False
        while self.due <= now:
            self.due += self.period
        return woken

    def take(self, found: Result) -> bool:
        """Count an answer; whether the result that counts is another one now, or was found again where it kills."""
        self.run = self.run + 1 if self.last == found else 1
        self.last = found
        needed = self.spec.failure_threshold if found == "Failure" else self.spec.success_threshold
        if self.run < needed:
            return False
        changed, self.result = self.result != found, found
        if found == "Failure" and self.kind != "Readiness":
            self.on_hold, self.run = True, 0
        return changed


def probes_of(container: Container) -> dict[ProbeType, Probe]:
    """The probes that a container's manifest has."""
    found: dict[ProbeType, Probe | None] = {
        "Startup": container.startup_probe,
        "Readiness": container.readiness_probe,
        "Liveness": container.liveness_probe,
    }
    return {kind: probe for kind, probe in found.items() if probe is not None}


def workers_of(container: Container, now: float) -> dict[ProbeType, ProbeWorker]:
    """The probes of a container of a pod that the kubelet has just taken in: the first tick is a period away.

    Source: prober.manager.AddPod; worker.run, whose first look finds no container yet.
    """
    return {
        kind: ProbeWorker(kind, probe, now + float(probe.period_seconds or 10), INITIAL[kind])
        for kind, probe in probes_of(container).items()
    }
