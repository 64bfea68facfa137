"""The eviction manager: watches memory, disk and process ids, reports pressure, and picks the pod that has to go.

A hard threshold evicts at once, a soft one when it has been crossed for its grace period; the node's condition stays
for the transition period after the last crossing. One pod goes at a time, memory comes before all else, and critical
pods stay. Beside the thresholds a pod goes when it has written more than its own limits of ephemeral storage allow.
What is decided by rule stands in `kitlib.kubelet`; here is its state.

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
"""Seconds between two looks. Source: kubelet evictionMonitoringPeriod."""
_MEMORY = ("memory.available", "allocatableMemory.available")
_EPHEMERAL = "ephemeral-storage"


@dataclass(frozen=True)
class PodEviction:
    """A pod that has to go.

    Attributes:
        pod: which.
        message: its status shows.
        annotations: of the event.
        grace: the grace period of the eviction manager in seconds; see `evicting.effective_grace`.
        resource: what was short; "" where it only exceeded a limit of its own.
    """

    pod: Pod
    message: str
    grace: float
    annotations: Mapping[str, str] = field(default_factory=dict)
    resource: str = ""


class EvictionManager:
    """Eviction on one node.

    Args:
        settings: the kubelet's.
        release: whose rules hold.
        dedicated: images and containers have a file system of their own.

    Attributes:
        conditions: the pressures that the node reports now.
        reclaiming: what it tried to get more of at the last look; "" = nothing.
        relieved: whether there was enough of it to be had then, without a pod's end.

    Raises:
        ThresholdError: with the kubelet's text.
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
        """One look at the machine.

        Args:
            now: seconds.
            observations: what the signals show.
            pods: that run.
            stats: asked for what they use, by pod UID, where that matters.
            reclaim: frees what it can of what a signal stands for without ending a pod, dead containers and images;
                what the signals show then, or None where there is nothing of that kind.

        Returns:
            The pod to evict, or None. `conditions` are the node's afterwards.
        """
        crossed = thresholds_met(self._thresholds, observations)
        going_on = thresholds_met(self._evicting, observations, min_reclaim=True)
        crossed += [threshold for threshold in going_on if threshold not in crossed]
        self._since = {threshold: self._since.get(threshold, now) for threshold in crossed}
        for threshold in crossed:
            self._last_seen[NODE_CONDITIONS[threshold.signal]] = now
        period = self._settings.eviction_pressure_transition_period
        held = {name for name, last in self._last_seen.items() if last == now or now - last < period}
        self.conditions = tuple(name for name in PRESSURES if name in held)
        self._evicting = [t for t in crossed if now - self._since[t] >= t.grace_period]
        self.reclaiming, self.relieved = "", False
        own = self._over_its_own_limits(pods, stats)
        if own is not None or not self._evicting:
            return own
        threshold = min(self._evicting, key=lambda t: t.signal not in _MEMORY)
        resource = self.reclaiming = SIGNAL_RESOURCES[threshold.signal]
        afterwards = reclaim(threshold.signal)
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
        """Why a new pod is refused while the node is under pressure; "" = it is admitted. Source: Admit."""
        if not self.conditions or is_critical_pod(pod):
            return ""
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
        """Who goes first: of what a pod wrote that counts which lies on the disk that is short."""
        if signal in _MEMORY:
            groups = rank_memory_pressure(pods, stats, self._release)
        elif signal == "pid.available":
            groups = rank_pid_pressure(pods, stats)
        elif signal.endswith("inodesFree"):
            groups = rank_inode_pressure(pods, stats, self._release)
        else:
            images = signal.startswith("imagefs")
            layers, rest = images or not self._dedicated, not images or not self._dedicated
            groups = rank_disk_pressure(pods, stats, rootfs=layers, logs=rest, volumes=rest, release=self._release)
        return [pod for group in groups for pod in group]

    def _over_its_own_limits(
        self, pods: Sequence[Pod], stats: Callable[[], Mapping[str, PodStats]]
    ) -> PodEviction | None:
        """A pod that wrote more than a volume's size limit, its containers' limits together, or one of them.

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
    for container in pod.spec.containers:  # noqa: SIM110 - asked of every pod at every look
        if _EPHEMERAL in container.resources.limits:
            return True
    return False


def _storage_message(pod: Pod, stats: PodStats, release: Release) -> str:
    """What is said of a pod that exceeds its limits of ephemeral storage; "" = it does not."""
    limited = [
        (volume.name, volume.empty_dir.size_limit)
        for volume in pod.spec.volumes
        if volume.empty_dir and volume.empty_dir.size_limit and volume.empty_dir.medium != "Memory"
    ]
    if limited:
        # the volumes' bytes are known together: the first one that they would not fit in is named
        name, size = min(limited, key=lambda pair: pair[1].value())
        if stats.volumes > size.value() > 0:
            return f'Usage of EmptyDir volume "{name}" exceeds the limit "{size}". '
    whole = pod_limits(pod, release=release).get(_EPHEMERAL)
    if whole is not None and stats.disk() > whole.value():
        return f"Pod ephemeral local storage usage exceeds the total limit of containers {whole}. "
    limits = {c.name: c.resources.limits[_EPHEMERAL] for c in pod.spec.containers if _EPHEMERAL in c.resources.limits}
    for one in stats.containers:
        limit = limits.get(one.name)
        if limit is not None and limit.value() and (one.rootfs or 0) + (one.logs or 0) > limit.value():
            return f'Container {one.name} exceeded its local ephemeral storage limit "{limit}". '
    return ""
