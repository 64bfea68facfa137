"""The eviction manager: watches memory, reports pressure, and picks the pod that has to go.

A hard threshold evicts at once, a soft one when it has been crossed for its grace period; the node's condition stays
for the transition period after the last crossing. What is decided by rule stands in `kitlib.kubelet`; here is only its
state.

Source: kubelet eviction managerImpl.synchronize (nodeConditionsLastObservedAt, thresholdsMetGracePeriod).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.kubelet.eviction_ranking import PodStats, eviction_message, rank_memory_pressure
from kitlib.kubelet.eviction_thresholds import Observation, Threshold, parse_threshold_config, thresholds_met
from kitlib.kubelet.settings import KubeletSettings

EVERY = 10.0
"""Seconds between two looks. Source: kubelet evictionMonitoringPeriod."""
_MEMORY = ("memory.available", "allocatableMemory.available")


class EvictionManager:
    """Memory eviction of one node.

    Args:
        settings: the kubelet's. release: whose rules hold.

    Raises:
        ThresholdError: with the kubelet's text.
    """

    def __init__(self, settings: KubeletSettings, release: Release) -> None:
        found = parse_threshold_config(
            settings.enforce_node_allocatable,
            settings.eviction_hard,
            settings.eviction_soft,
            settings.eviction_soft_grace_period,
            settings.eviction_minimum_reclaim,
        )
        self._thresholds = [threshold for threshold in found if threshold.signal in _MEMORY]
        self._transition, self._release = settings.eviction_pressure_transition_period, release
        self._since: dict[Threshold, float] = {}
        self._last_crossed: float | None = None
        self._evicting: list[Threshold] = []
        self.pressure = False

    def look(
        self, now: float, observations: Mapping[str, Observation], pods: Sequence[Pod], stats: Mapping[str, PodStats]
    ) -> tuple[Pod, str] | None:
        """One look at the machine.

        Args:
            now: seconds. observations: what the memory signals show.
            pods: that run. stats: pod UID -> what it uses.

        Returns:
            The pod to evict and its message, or None. `pressure` is the node's condition afterwards.
        """
        crossed = thresholds_met(self._thresholds, observations)
        going_on = thresholds_met(self._evicting, observations, min_reclaim=True)
        crossed += [threshold for threshold in going_on if threshold not in crossed]
        self._since = {threshold: self._since.get(threshold, now) for threshold in crossed}
        if crossed:
            self._last_crossed = now
        recently = self._last_crossed is not None and now - self._last_crossed < self._transition
        self.pressure = bool(crossed) or recently
        self._evicting = [t for t in crossed if now - self._since[t] >= t.grace_period]
        if not self._evicting or not pods:
            return None
        victim = rank_memory_pressure(pods, dict(stats), self._release)[0][0]
        usage = stats.get(victim.metadata.uid)
        message, _ = eviction_message("memory", victim, usage, self._evicting, dict(observations), self._release)
        return victim, message
