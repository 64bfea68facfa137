"""The restart back-off of containers and the back-off of image pulls, with their messages.

    after the 1st end    no wait
    after the 2nd        10 s, then 20 s, 40 s, 1m20s, 2m40s, at most 5 m
    a run of 10 minutes  resets the back-off

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
"""Seconds until a failed start is tried again, without jitter. Source: kubelet backOffPeriod."""
REDUCED_FIRST, REDUCED_LONGEST = 1.0, 60.0
"""Seconds. Source: kubelet reducedInitialCrashLoopBackOff, reducedMaxCrashLoopBackOff."""
BACKOFF_RESET_S = 600.0
"""Seconds of running after which the back-off is reset. Source: backOff's 2 × MaxContainerBackOff."""


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
        failures: the number of ends since the last reset.
        wait: the current back-off in seconds.
        not_before: the end of the back-off, in seconds on the node's clock.
        pulls: the number of consecutive failed pulls of its image.
    """

    failures: int = 0
    wait: float = 0.0
    not_before: float = 0.0
    pulls: int = 0

    def ended(self, started: float, at: float, base: float, longest: float) -> None:
        """Update the back-off after the container has ended by itself.

        Args:
            started: its start, in seconds on the node's clock.
            at: its end, in seconds on the node's clock.
            base: the first back-off in seconds.
            longest: the maximum back-off in seconds.
        """
        if at - started >= BACKOFF_RESET_S:
            self.failures = 0
        self.wait = min(base * 2 ** (self.failures - 1), longest) if self.failures else 0.0
        self.failures += 1
        self.not_before = at + self.wait

    def killed(self, before: float | None, at: float, base: float, longest: float) -> None:
        """Update the back-off after the kubelet has killed the container to restart it.

        Args:
            before: its previous end, in seconds on the node's clock; None = it had not ended before.
            at: its end, in seconds on the node's clock.
            base: the first back-off in seconds.
            longest: the maximum back-off in seconds.

        Source: kuberuntime doBackOff.
        """
        # The kubelet restarts the container in the same sync in which it kills it. Its pod status is from before the
        # kill, so doBackOff measures the back-off from the container's previous end: usually there is no wait.
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
        """Update the back-off after a failed pull: the next try is in 10, 20, 40, … seconds, at most 300."""
        self.wait = min(IMAGE_BACK_OFF * 2**self.pulls, IMAGE_BACK_OFF_MAX)
        self.pulls, self.not_before = self.pulls + 1, now + self.wait

    def start_failed(self, now: float) -> None:
        """Update the back-off after a failed start. Source: podWorkers.completeWork."""
        self.not_before = now + BACKOFF_PERIOD


def format_pod(pod: Pod) -> str:
    """Format a pod as `web_default(UID)`. Source: kubelet format.Pod."""
    return f"{pod.name}_{pod.namespace}({pod.metadata.uid})"


def waiting_message(wait: float, container: str, pod: Pod) -> str:
    """Return `back-off 1m20s restarting failed container=c0 pod=crash_default(UID)`. Source: doBackOff."""
    return f"back-off {go_string(wait)} restarting failed container={container} pod={format_pod(pod)}"


def event_message(container: str, pod: Pod) -> str:
    """Return the message of the event BackOff. Source: doBackOff."""
    return f"Back-off restarting failed container {container} in pod {format_pod(pod)}"
