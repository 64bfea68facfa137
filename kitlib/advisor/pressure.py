"""Pressure on a node: the pods that the kubelet evicts, the processes that the kernel kills, and their order.

The kubelet's eviction manager (`kitlib.kubelet.loop.eviction`) runs every ten seconds with the figures that remain
after each eviction. The kernel's order is that of `oom_badness`: the kernel decides if memory is exhausted between two
runs of the kubelet, and if a container reaches its own limit.

Not modelled: images and dead containers that the kubelet removes before it evicts (disk), swap, page cache that the
kernel reclaims, and other activity of processes outside the pods.

Source: kubelet eviction managerImpl.synchronize; kernel mm/oom_kill.c (oom_badness), mm/memcontrol.c (mem_cgroup_oom).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kitlib.advisor.pod_usage import processes_of
from kitlib.api.core import TERMINAL_PHASES, Container, Node, Pod
from kitlib.api.errors import KitError
from kitlib.api.podresources import pod_limits
from kitlib.api.release import Release
from kitlib.api.resource import Quantity, QuantityError
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.eviction.ranking import SIGNAL_RESOURCES, PodStats, eviction_message, rank_memory_pressure
from kitlib.kubelet.eviction.thresholds import (
    ALLOCATABLE_MEMORY,
    MEMORY,
    Observation,
    Threshold,
    parse_threshold_config,
)
from kitlib.kubelet.loop.eviction import EVERY, EvictionManager
from kitlib.kubelet.qos.policy import get_container_oom_score_adjust
from kitlib.kubelet.qos.qos_class import is_critical_pod
from kitlib.node.simulated.oom import PAGE, OOMCandidate, badness

SIGNALS = {
    "memory": (MEMORY,),
    "disk": ("nodefs.available", "imagefs.available"),
    "inodes": ("nodefs.inodesFree",),
    "pids": ("pid.available",),
}
"""Word of a question -> its signals; the first one with a threshold counts."""
SHOWN = 12
"""Maximum number of processes listed for the kernel's order."""


@dataclass(frozen=True)
class Evicted:
    """A pod that the kubelet evicts.

    Attributes:
        pod: the pod.
        second: time of the kubelet's check in seconds since the start of the pressure.
        message: message in its status after the eviction.
    """

    pod: Pod
    second: int
    message: str


@dataclass(frozen=True)
class PressureResult:
    """The result of pressure on one node.

    Attributes:
        node: name of the node.
        condition: the node's condition; "" = no threshold is crossed.
        evicted: evicted pods in order.
        killed: containers that reach their own limit, `namespace/pod` -> reason.
        notes: explanations, as sentences.
    """

    node: str
    condition: str = ""
    evicted: tuple[Evicted, ...] = ()
    killed: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodeUnderPressure:
    """A node's memory and its kubelet's settings.

    Attributes:
        node: the Node object.
        settings: settings of the kubelet: thresholds and where they are enforced.
        release: release of the rules.
    """

    node: Node
    settings: KubeletSettings
    release: Release

    @property
    def thresholds(self) -> list[Threshold]:
        """The thresholds of the kubelet."""
        own = self.settings
        return parse_threshold_config(
            own.enforce_node_allocatable,
            own.eviction_hard,
            own.eviction_soft,
            own.eviction_soft_grace_period,
            own.eviction_minimum_reclaim,
        )

    @property
    def capacity(self) -> int:
        """The memory of the machine in bytes.

        Raises:
            KitError: the Node does not report it.
        """
        status = self.node.status
        amount = status.capacity.get("memory") or status.allocatable.get("memory")
        if amount is None or amount.value() <= 0:
            raise KitError(f"whatif pressure: node {self.node.name} does not report memory in status.capacity")
        return amount.value()

    @property
    def for_pods(self) -> int:
        """The limit of the cgroup of all pods in bytes: allocatable plus the hard threshold.

        Source: cm GetNodeAllocatableAbsolute, which subtracts reservations from the capacity but not the eviction
        threshold.
        """
        allocatable = self.node.status.allocatable.get("memory")
        if allocatable is None:
            return self.capacity
        hard = next((t.value.of(self.capacity) for t in self.thresholds if t.signal == MEMORY and t.hard), 0)
        return min(allocatable.value() + hard, self.capacity)


def resource_of(word: str) -> tuple[str, int | None]:
    """Return resource and amount of a question's word: `memory`, or `memory=2Gi`.

    Raises:
        KitError: the word is unknown, or the resource has no amount here.
    """
    name, equals, amount = word.partition("=")
    if name not in SIGNALS:
        raise KitError(
            f"whatif pressure: unsupported signal {word!r}; valid values: {', '.join(SIGNALS)}, memory=AMOUNT"
        )
    if not equals:
        return name, None
    if name != "memory":
        raise KitError(f"whatif pressure: {word!r}: only memory can have an amount; write {name} without an amount")
    try:
        return name, Quantity(amount).value()
    except QuantityError as error:
        raise KitError(f"whatif pressure: {word!r}: {error}") from error


def on_node(
    machine: NodeUnderPressure, pods: Sequence[Pod], stats: Mapping[str, PodStats], resource: str, more: int | None
) -> PressureResult:
    """Return the effects of processes outside the pods that use up a resource.

    Args:
        machine: the node.
        pods: the pods on the node.
        stats: UID -> usage of each pod.
        resource: a key of `SIGNALS`.
        more: bytes of memory that these processes use in addition; None = the pressure lasts until no pod is left.
    """
    signal = next((s for s in SIGNALS[resource] if any(t.signal == s for t in machine.thresholds)), "")
    if not signal:
        said = f"the kubelet of {machine.node.name} has no eviction threshold for {' or '.join(SIGNALS[resource])}"
        return PressureResult(
            machine.node.name, notes=(f"{said}: no pod is evicted.", *_kernel(machine, pods, stats, resource))
        )
    if more is None:
        disk = machine.node.status.capacity.get("ephemeral-storage")
        whole = machine.capacity if resource == "memory" else disk.value() if disk and resource == "disk" else 0
        lasting = {signal: Observation(0, whole or 100)}  # percentages of an unknown total are crossed at 0 too
        found = _evict(machine, pods, stats, lambda _: lasting, resource)
        return found if whole else replace(found, evicted=tuple(_without_amounts(found.evicted, signal, stats)))
    reserved = machine.capacity - machine.for_pods
    return _evict(machine, pods, stats, lambda used: _memory(machine, used, reserved + more), resource)


def _without_amounts(evicted: Iterable[Evicted], signal: str, stats: Mapping[str, PodStats]) -> Iterable[Evicted]:
    for one in evicted:
        message, _ = eviction_message(SIGNAL_RESOURCES[signal], one.pod, stats[one.pod.metadata.uid])
        yield replace(one, message=message.strip())


def grown(machine: NodeUnderPressure, pods: Sequence[Pod], stats: Mapping[str, PodStats], pod: Pod) -> PressureResult:
    """Return the effects of a pod that has grown to the memory in `stats`.

    Args:
        machine: the pod's node.
        pods: all pods on the node, including the grown one.
        stats: UID -> usage of each pod, with the new amount of the grown one.
        pod: the pod that has grown.
    """
    said = _own_limit(pod, stats[pod.metadata.uid], machine.release)
    if said:
        note = "The node is not concerned: a limit keeps the pod's memory within it."
        return PressureResult(machine.node.name, killed={pod.key: said}, notes=(note,))
    reserved = machine.capacity - machine.for_pods
    return _evict(machine, pods, stats, lambda used: _memory(machine, used, reserved), "memory")


def first_to_go(
    machine: NodeUnderPressure, pods: Sequence[Pod], stats: Mapping[str, PodStats], most: int = 3
) -> tuple[list[str], list[str]]:
    """Return the first pods that the kubelet evicts, and the first containers that the kernel kills."""
    groups = rank_memory_pressure(pods, stats, machine.release)
    evicted = [pod.key for group in groups for pod in group if not is_critical_pod(pod)]
    ranked = sorted(_processes(machine, pods, stats), key=lambda pair: -pair[0])
    return evicted[:most], [name for _, name in ranked[:most]]


def _own_limit(pod: Pod, stats: PodStats, release: Release) -> str:
    """Return how a container of a pod reaches its own limit; "" = it does not."""
    limits = {one.name: one.resources.limits.get("memory") for one in processes_of(pod)}
    for container in stats.containers:
        limit = limits.get(container.name)
        if limit is not None and (container.memory or 0) > limit.value():
            return f"container {container.name} reaches its limit of {limit}: OOMKilled, started again with back-off"
    whole = pod_limits(pod, release=release).get("memory")
    if whole is not None and all(limits.values()) and (stats.memory or 0) > whole.value():
        return f"the pod reaches its limit of {whole}: its largest process is killed"
    return ""


def _memory(machine: NodeUnderPressure, used: int, others: int) -> dict[str, Observation]:
    whole, inside = machine.capacity, machine.for_pods
    return {
        MEMORY: Observation(max(0, whole - others - used), whole),
        ALLOCATABLE_MEMORY: Observation(max(0, inside - used), inside),
    }


def _evict(
    machine: NodeUnderPressure,
    pods: Sequence[Pod],
    stats: Mapping[str, PodStats],
    seen: Callable[[int], Mapping[str, Observation]],
    resource: str,
) -> PressureResult:
    """Run the eviction manager every ten seconds until it selects no pod."""
    manager = EvictionManager(machine.settings, machine.release)
    running = [pod for pod in pods if pod.status.phase not in TERMINAL_PHASES]
    gone: list[Evicted] = []
    condition, second, idle = "", 0, 0.0
    soft = max((t.grace_period for t in machine.thresholds), default=0)
    while idle <= soft:  # a soft threshold selects its first pod only after its grace period
        second, idle = second + int(EVERY), idle + EVERY
        used = sum(stats[pod.metadata.uid].memory or 0 for pod in running)
        found = manager.look(second, seen(used), running, lambda: stats)
        condition = condition or next(iter(manager.conditions), "")
        if found is None:
            continue
        idle = 0.0
        gone.append(Evicted(found.pod, second, found.message.strip()))
        running = [pod for pod in running if pod is not found.pod]
    notes = _notes(machine, running, gone, stats, resource, condition)
    return PressureResult(
        machine.node.name, condition, tuple(gone), {}, (*notes, *_kernel(machine, pods, stats, resource))
    )


def _notes(
    machine: NodeUnderPressure,
    left: Sequence[Pod],
    gone: Sequence[Evicted],
    stats: Mapping[str, PodStats],
    resource: str,
    condition: str,
) -> Iterable[str]:
    if not condition:
        free = machine.capacity - sum(stats[pod.metadata.uid].memory or 0 for pod in left)
        yield f"{machine.node.name} crosses no threshold: {Quantity.from_int(free, 'BinarySI')} are not used by pods."
        return
    yield f"{machine.node.name} reports {condition} and gets its taint; the kubelet evicts one pod every {EVERY:g} s."
    spared = sorted(pod.key for pod in left if is_critical_pod(pod))
    if spared:
        yield f"Never evicted, critical: {', '.join(spared[:SHOWN])}."


def _kernel(
    machine: NodeUnderPressure, pods: Sequence[Pod], stats: Mapping[str, PodStats], resource: str
) -> Iterable[str]:
    """Yield the kernel's order as a sentence."""
    if resource != "memory":
        return
    pages = machine.capacity // PAGE
    ranked = sorted(_processes(machine, pods, stats), key=lambda pair: -pair[0])
    shown = [f"{name} ({points})" for points, name in ranked[:SHOWN]]
    if shown:
        rest = f" and {len(ranked) - SHOWN} more" if len(ranked) > SHOWN else ""
        yield (
            f"If memory runs out before the kubelet looks, the kernel kills by badness, in pages of {pages}: "
            f"{', '.join(shown)}{rest}."
        )


def _processes(
    machine: NodeUnderPressure, pods: Sequence[Pod], stats: Mapping[str, PodStats]
) -> Iterable[tuple[int, str]]:
    """Yield badness and name of each container, counted as one process."""
    for pod in pods:
        if pod.status.phase in TERMINAL_PHASES:
            continue
        used = {one.name: one.memory or 0 for one in stats[pod.metadata.uid].containers}
        for container in processes_of(pod):
            if container.name in used:
                yield _badness(machine, pod, container, used[container.name]), f"{pod.key}/{container.name}"


def _badness(machine: NodeUnderPressure, pod: Pod, container: Container, used: int) -> int:
    adjust = get_container_oom_score_adjust(pod, container, machine.capacity, machine.release)
    points = badness(OOMCandidate(0, container.name, "", adjust, used), machine.capacity // PAGE)
    return points if points is not None else 0
