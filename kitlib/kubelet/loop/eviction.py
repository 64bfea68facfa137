"""The eviction manager: it observes memory, disk and process ids, reports pressure, and selects a pod to evict.

A hard threshold evicts immediately, a soft one when it has been met for its grace period. The node's condition remains
for the transition period after the threshold was last met. One pod is evicted at a time, memory has precedence over
other resources, and critical pods are never evicted. Independently of the thresholds a pod is evicted if it has written
more than its own limits of ephemeral storage. This module has the state; `kitlib.kubelet.eviction` has the rules.

Source: kubelet eviction managerImpl.synchronize, evictPod, Admit, localStorageEviction, byEvictionPriority,
buildSignalToRankFunc.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kitlib.api.core import Pod, Taint
from kitlib.api.podresources import pod_limits
from kitlib.api.release import Release
from kitlib.api.selectors import tolerates_all
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.eviction.ranking import (
    SIGNAL_RESOURCES,
    PodStats,
    eviction_message,
    rank_disk_pressure,
    rank_inode_pressure,
    rank_memory_pressure,
    rank_pid_pressure,
)
from kitlib.kubelet.eviction.thresholds import (
    NODE_CONDITIONS,
    Observation,
    Threshold,
    parse_threshold_config,
    thresholds_met,
)
from kitlib.kubelet.loop.node_conditions import PRESSURES
from kitlib.kubelet.qos.qos_class import get_pod_qos, is_critical_pod

EVERY = 10.0
"""Seconds between two checks. Source: kubelet evictionMonitoringPeriod."""
_MEMORY = ("memory.available", "allocatableMemory.available")
_EPHEMERAL = "ephemeral-storage"


@dataclass(frozen=True)
class PodEviction:
    """The decision to evict a pod.

    Attributes:
        pod: the pod to evict.
        message: the message of its status.
        grace: the override of its grace period in seconds; see `killing.effective_grace`.
        annotations: the annotations of the event.
        resource: the resource that is low; "" = the pod exceeded a limit of its own.
    """

    pod: Pod
    message: str
    grace: float
    annotations: Mapping[str, str] = field(default_factory=dict)
    resource: str = ""


class EvictionManager:
    """Eviction on one node.

    Args:
        settings: the kubelet's settings.
        release: the release that determines the rules.
        dedicated: whether images and containers have a separate file system.

    Attributes:
        conditions: the current pressures of the node.
        reclaiming: the resource that the last check tried to reclaim; "" = none.
        relieved: whether it reclaimed enough of it without an eviction.

    Raises:
        ThresholdError: a threshold is invalid; the message is the kubelet's.
    """

    def __init__(self, settings: KubeletSettings, release: Release, *, dedicated: bool = False) -> None:
        self._dedicated = dedicated
        self._thresholds = parse_threshold_config(
            settings.enforce_node_allocatable,
            settings.eviction_hard,
            settings.eviction_soft,
            settings.eviction_soft_grace_period,
            settings.eviction_minimum_reclaim,
        )
        self._settings, self._release = settings, release
        self._since: dict[Threshold, float] = {}
        self._last_seen: dict[str, float] = {}
        self._evicting: list[Threshold] = []
        self.conditions: tuple[str, ...] = ()
        self.reclaiming, self.relieved = "", False

    def look(
        self,
        now: float,
        observations: Mapping[str, Observation],
        pods: Sequence[Pod],
        stats: Callable[[], Mapping[str, PodStats]],
        reclaim: Callable[[str], Mapping[str, Observation] | None] = lambda _: None,
    ) -> PodEviction | None:
        """Check the thresholds once. Source: managerImpl.synchronize.

        Args:
            now: seconds on the node's clock.
            observations: signal -> its observation.
            pods: the running pods.
            stats: returns the pods' usage by UID; called only if it is needed.
            reclaim: reclaims a signal's resource by removing dead containers and images, and returns the observations
                afterwards; None = they do not use this resource.

        Returns:
            The pod to evict, or None. `conditions` is updated.
        """
        crossed = thresholds_met(self._thresholds, observations)
        # A threshold that drives evictions stays met until its minimum reclaim is reached, too.
        going_on = thresholds_met(self._evicting, observations, min_reclaim=True)
        crossed += [threshold for threshold in going_on if threshold not in crossed]
        # A threshold that is not met in one check loses its first observation: its grace period starts again.
        self._since = {threshold: self._since.get(threshold, now) for threshold in crossed}
        for threshold in crossed:
            self._last_seen[NODE_CONDITIONS[threshold.signal]] = now
        period = self._settings.eviction_pressure_transition_period
        held = {name for name, last in self._last_seen.items() if now - last < period}
        self.conditions = tuple(name for name in PRESSURES if name in held)
        self._evicting = [t for t in crossed if now - self._since[t] >= t.grace_period]
        self.reclaiming, self.relieved = "", False
        # Upstream evicts for local storage limits first; then the thresholds have to wait for the next check.
        own = self._over_its_own_limits(pods, stats)
        if own is not None or not self._evicting:
            return own
        threshold = min(self._evicting, key=lambda t: t.signal not in _MEMORY)
        resource = self.reclaiming = SIGNAL_RESOURCES[threshold.signal]
        afterwards = reclaim(threshold.signal)
        # Upstream checks all thresholds here, not only the one to reclaim: if another one is still met, a pod is
        # evicted although the images sufficed.
        if afterwards is not None and not thresholds_met(self._thresholds, afterwards, min_reclaim=True):
            self.relieved = True
            return None
        known = stats()
        for pod in self._ranked(threshold.signal, pods, known):
            if is_critical_pod(pod):
                continue
            message, annotations = eviction_message(
                resource, pod, known.get(pod.metadata.uid), self._evicting, observations, self._release
            )
            return PodEviction(pod, message, self._grace(threshold, pod), annotations, resource)
        return None

    def admit(self, pod: Pod) -> str:
        """Return the message of a pod that is rejected because of pressure; "" = it is admitted. Source: Admit."""
        if not self.conditions or is_critical_pod(pod):
            return ""
        # Pressure on memory alone rejects only BestEffort pods, as the others have requested their memory.
        if self.conditions == ("MemoryPressure",):
            if get_pod_qos(pod, self._release) != "BestEffort":
                return ""
            taint = Taint(key="node.kubernetes.io/memory-pressure", effect="NoSchedule")
            if tolerates_all(pod.spec.tolerations, taint, self._release):
                return ""
        return f"The node had condition: [{' '.join(self.conditions)}]. "

    def _grace(self, threshold: Threshold, pod: Pod) -> float:
        if threshold.hard:
            return self._immediate
        most = float(self._settings.eviction_max_pod_grace_period)
        own = pod.spec.termination_grace_period_seconds
        if own is None or self._release.default("softEvictionGracePeriod") != "smaller":
            return most
        return min(most, float(own))

    @property
    def _immediate(self) -> float:
        seconds = self._release.default("immediateEvictionGracePeriodSeconds")
        return float(seconds) if isinstance(seconds, int | float) else 0.0

    def _ranked(self, signal: str, pods: Sequence[Pod], stats: Mapping[str, PodStats]) -> list[Pod]:
        """Return the pods in the order of eviction for a signal."""
        if signal in _MEMORY:
            groups = rank_memory_pressure(pods, stats, self._release)
        elif signal == "pid.available":
            groups = rank_pid_pressure(pods, stats)
        elif signal.endswith("inodesFree"):
            groups = rank_inode_pressure(pods, stats, self._release)
        else:
            # Only the files on the disk that is low count: on a dedicated disk for
            # images these are the containers' layers.
            images = signal.startswith("imagefs")
            layers, rest = images or not self._dedicated, not images or not self._dedicated
            groups = rank_disk_pressure(pods, stats, rootfs=layers, logs=rest, volumes=rest, release=self._release)
        return [pod for group in groups for pod in group]

    def _over_its_own_limits(
        self, pods: Sequence[Pod], stats: Callable[[], Mapping[str, PodStats]]
    ) -> PodEviction | None:
        """Return the eviction of a pod that exceeds a volume's size limit or its containers' limits, alone or together.

        Source: kubelet emptyDirLimitEviction, podEphemeralStorageLimitEviction, containerEphemeralStorageLimitEviction.
        """
        for pod in pods:
            if not _has_storage_limit(pod):
                continue
            known = stats().get(pod.metadata.uid)
            message = _storage_message(pod, known, self._release) if known is not None else ""
            if message:
                return PodEviction(pod, message, self._immediate)
        return None


def _has_storage_limit(pod: Pod) -> bool:
    for volume in pod.spec.volumes:
        if volume.empty_dir and volume.empty_dir.size_limit:
            return True
    for container in pod.spec.containers:  # noqa: SIM110 - a loop is faster than any(), and each check visits every pod
        if _EPHEMERAL in container.resources.limits:
            return True
    return False


def _storage_message(pod: Pod, stats: PodStats, release: Release) -> str:
    """Return the message of a pod that exceeds its limits of ephemeral storage; "" = it does not."""
    limited = [
        (volume.name, volume.empty_dir.size_limit)
        for volume in pod.spec.volumes
        if volume.empty_dir and volume.empty_dir.size_limit and volume.empty_dir.medium != "Memory"
    ]
    if limited:
        # Only the sum of all volumes is known; the smallest limit is the first one that it exceeds.
        name, size = min(limited, key=lambda pair: pair[1].value())
        if stats.volumes > size.value() > 0:
            return f'Usage of EmptyDir volume "{name}" exceeds the limit "{size}". '
    whole = pod_limits(pod, release=release).get(_EPHEMERAL)
    if whole is not None and stats.disk() > whole.value():
        return f"Pod ephemeral local storage usage exceeds the total limit of containers {whole}. "
    limits = {c.name: c.resources.limits[_EPHEMERAL] for c in pod.spec.containers if _EPHEMERAL in c.resources.limits}
    for container in stats.containers:
        limit = limits.get(container.name)
        if limit is not None and limit.value() and (container.rootfs or 0) + (container.logs or 0) > limit.value():
            return f'Container {container.name} exceeded its local ephemeral storage limit "{limit}". '
    return ""
