"""The grace periods of pods when the machine shuts down: their settings, their validation, the groups of pods.

Pods end in groups of rising priority. `shutdownGracePeriod` and `shutdownGracePeriodCriticalPods` make two groups; the
first one gets the difference of both periods. `shutdownGracePeriodByPodPriority` names any number of groups.

Source: kubelet nodeshutdown migrateConfig, groupByPriority; apis/config/validation ValidateKubeletConfiguration.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from kitlib.api.go_durations import go_string
from kitlib.api.release import Release
from kitlib.kubelet.config.settings import KubeletSettings

SYSTEM_CRITICAL = 2_000_000_000
"""The lowest priority of critical pods. Source: scheduling.SystemCriticalPriority."""
_GATE, _BY_PRIORITY_GATE = "GracefulNodeShutdown", "GracefulNodeShutdownBasedOnPodPriority"
_INVALID = "invalid configuration: "
P = TypeVar("P")


class ShutdownPeriod(NamedTuple):
    """The grace period of the pods from a priority up to the next higher one, in whole seconds."""

    priority: int
    seconds: int


def shutdown_periods(settings: KubeletSettings, gates: Release) -> list[ShutdownPeriod]:
    """Return the periods by rising priority; [] = the kubelet does not delay a shutdown."""
    if not gates.enabled(_GATE):
        return []
    if settings.shutdown_grace_period_by_pod_priority and gates.enabled(_BY_PRIORITY_GATE):
        return sorted(ShutdownPeriod(*one) for one in settings.shutdown_grace_period_by_pod_priority)
    whole, critical = settings.shutdown_grace_period, settings.shutdown_grace_period_critical_pods
    if not whole or critical > whole:
        return []
    return [ShutdownPeriod(0, int(whole - critical)), ShutdownPeriod(SYSTEM_CRITICAL, int(critical))]


def group_by_priority(
    periods: list[ShutdownPeriod], pods: Iterable[P], priority_of: Callable[[P], int]
) -> list[tuple[ShutdownPeriod, list[P]]]:
    """Return each period with its pods; a pod below the lowest priority belongs to the first one."""
    groups: list[tuple[ShutdownPeriod, list[P]]] = [(period, []) for period in periods]
    bounds = [period.priority for period in periods]
    for pod in pods:
        groups[max(bisect_right(bounds, priority_of(pod)) - 1, 0)][1].append(pod)
    return groups


def shutdown_problems(settings: KubeletSettings, gates: Release) -> Iterator[str]:
    """Yield the kubelet's messages about the periods."""
    whole, critical = settings.shutdown_grace_period, settings.shutdown_grace_period_critical_pods
    named = (("shutdownGracePeriod", whole), ("shutdownGracePeriodCriticalPods", critical))
    if gates.enabled(_GATE):
        if critical > whole:
            yield (
                f"{_INVALID}shutdownGracePeriodCriticalPods {{{go_string(critical)}}} must be <= shutdownGracePeriod "
                f"{{{go_string(whole)}}}"
            )
        for name, seconds in named:
            if seconds < 0 or 0 < seconds < 1:
                yield f"{_INVALID}{name} {{{go_string(seconds)}}} must be either zero or otherwise >= 1 sec"
    elif whole > 0 or critical > 0:
        yield (
            f"{_INVALID}specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate {_GATE}"
        )
    if not settings.shutdown_grace_period_by_pod_priority:
        return
    if not gates.enabled(_BY_PRIORITY_GATE):
        yield (f"{_INVALID}Specifying shutdownGracePeriodByPodPriority requires feature gate {_BY_PRIORITY_GATE}")
    elif whole > 0 or critical > 0:
        yield (
            f"{_INVALID}Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time"
        )
