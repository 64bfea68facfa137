"""Restart back-off of containers, and the back-off of image pulls: how long the next try waits, and what is said.

    after the 1st end    no wait
    after the 2nd        10 s, then 20 s, 40 s, 1m20s, 2m40s, at most 5 m
    a run of 10 minutes  forgets the earlier failures

Source: kubelet kuberuntime doBackOff, flowcontrol.Backoff, images imageManager; MaxCrashLoopBackOff.
"""

from __future__ import annotations

from dataclasses import dataclass

from kitlib.api.core import Pod
from kitlib.api.go_durations import go_string
from kitlib.api.release import Release
from kitlib.kubelet.config.settings import KubeletSettings

CRASH_LOOP = "CrashLoopBackOff"
"""Reason of a waiting container. Source: kubecontainer.ErrCrashLoopBackOff."""
IMAGE_BACK_OFF, IMAGE_BACK_OFF_MAX = 10.0, 300.0
"""Seconds. Source: kubelet imageBackOffPeriod, MaxImageBackOff."""
BACKOFF_PERIOD = 10.0
"""Seconds until what could not be started is tried again, without jitter. Source: kubelet backOffPeriod."""
REDUCED_FIRST, REDUCED_LONGEST = 1.0, 60.0
"""Seconds. Source: kubelet reducedInitialCrashLoopBackOff, reducedMaxCrashLoopBackOff."""
BACKOFF_RESET_S = 600.0
"""Seconds of running after which a container's failures are forgotten. Source: backOff's 2 × MaxContainerBackOff."""


def restart_back_off(settings: KubeletSettings, gates: Release) -> tuple[float, float]:
    """Return seconds of the first and of the longest wait between restarts. Source: newCrashLoopBackOff; KEP-4603."""
    first, longest = settings.back_off_base, settings.crash_loop_back_off_max
    if gates.enabled("ReduceDefaultCrashLoopBackOffDecay"):
        first = REDUCED_FIRST
        longest = longest if gates.enabled("KubeletCrashLoopBackOffMax") else REDUCED_LONGEST
    return min(first, longest), longest


@dataclass
class BackOff:
    """The back-off of one container.

    Attributes:
        failures: ends since it last ran for long.
        wait: seconds of the back-off in force.
        not_before: seconds on the node's clock: when it is over.
        pulls: how often its image could not be pulled in a row.
    """

    failures: int = 0
    wait: float = 0.0
    not_before: float = 0.0
    pulls: int = 0

    def ended(self, started: float, at: float, base: float, longest: float) -> None:
        """The container has ended.

        Args:
            started, at: seconds on the node's clock.
            base: seconds of the first back-off.
            longest: seconds at most.
        """
        if at - started >= BACKOFF_RESET_S:
            self.failures = 0
        self.wait = min(base * 2 ** (self.failures - 1), longest) if self.failures else 0.0
        self.failures += 1
        self.not_before = at + self.wait

    def killed(self, before: float | None, at: float, base: float, longest: float) -> None:
        """The kubelet has killed the container to start it anew: it waits only if the end before it was lately.

        Args:
            before: seconds on the node's clock: when it had ended the time before; None = never.
            at: seconds on the node's clock.
            base: seconds of the first back-off.
            longest: seconds at most.

        Source: kuberuntime doBackOff, which still sees the end before this one.
        """
        self.wait, self.not_before = 0.0, at
        if before is None:
            return
        if at - before >= BACKOFF_RESET_S:
            self.failures = 0
        back_off = min(base * 2 ** (self.failures - 1), longest) if self.failures else 0.0
        if at - before < back_off:
            self.wait, self.not_before = back_off, at + back_off
        self.failures += 1

    def pull_failed(self, now: float) -> None:
        """The image could not be pulled: the next try is in 10, 20, 40, … seconds, at most 300."""
        self.wait = min(IMAGE_BACK_OFF * 2**self.pulls, IMAGE_BACK_OFF_MAX)
        self.pulls, self.not_before = self.pulls + 1, now + self.wait

    def start_failed(self, now: float) -> None:
        """The container could not be started: the next try comes soon. Source: podWorkers.completeWork."""
        self.not_before = now + BACKOFF_PERIOD


def format_pod(pod: Pod) -> str:
    """`web_default(UID)`. Source: kubelet format.Pod."""
    return f"{pod.name}_{pod.namespace}({pod.metadata.uid})"


def waiting_message(wait: float, container: str, pod: Pod) -> str:
    """`back-off 1m20s restarting failed container=c0 pod=crash_default(UID)`. Source: doBackOff."""
    return f"back-off {go_string(wait)} restarting failed container={container} pod={format_pod(pod)}"


def event_message(container: str, pod: Pod) -> str:
    """The message of the event BackOff. Source: doBackOff."""
    return f"Back-off restarting failed container {container} in pod {format_pod(pod)}"
