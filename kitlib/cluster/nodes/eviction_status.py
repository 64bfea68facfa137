"""How near a node is to evicting pods, and which pod would go next; for nodes of both kinds.

Source: kubelet eviction (ParseThresholdConfig, thresholdsMet, makeSignalObservations, rankMemoryPressure).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kitlib.api.core import Pod
from kitlib.kubelet.cm.cgroup_tree import UNLIMITED_V1
from kitlib.kubelet.eviction.ranking import ContainerStats, PodStats, rank_memory_pressure
from kitlib.kubelet.eviction.thresholds import (
    ALLOCATABLE_MEMORY,
    MEMORY,
    Observation,
    parse_threshold_config,
    thresholds_met,
)


def observations(node: Any) -> dict[str, Observation]:
    """What the eviction signals show now."""
    runtime = vars(node).get("runtime")  # of a simulated node; a real one is asked for its figures
    whole = node.config.machine.memory
    if runtime is not None:
        seen = dict(runtime.signals())
    else:
        seen = {MEMORY: Observation(whole - node.usage("/"), whole)}
    for cgroup in node.desired().of_kind("kubepods"):
        name = "memory.max" if node.desired().version == 2 else "memory.limit_in_bytes"
        text = node.read(cgroup.path, name) if name in cgroup else "max"
        if text not in ("max", str(UNLIMITED_V1)):
            used = sum(stats.memory or 0 for stats in _by_name(node).values())
            seen[ALLOCATABLE_MEMORY] = Observation(int(text) - used, int(text))
    return seen


def threshold_rows(node: Any) -> list[dict[str, Any]]:
    """Every threshold of the node's kubelet whose signal can be seen: available, capacity, threshold, met."""
    settings, seen = node.config.settings, observations(node)
    thresholds = parse_threshold_config(
        settings.enforce_node_allocatable,
        settings.eviction_hard,
        settings.eviction_soft,
        settings.eviction_soft_grace_period,
        settings.eviction_minimum_reclaim,
    )
    met = thresholds_met(thresholds, seen)
    return [
        {
            "signal": t.signal if t.hard else f"{t.signal} (soft, {t.grace_period:g} s)",
            "available": seen[t.signal].available,
            "capacity": seen[t.signal].capacity,
            "threshold": t.value.of(seen[t.signal].capacity),
            "met": t in met,
        }
        for t in thresholds
        if t.signal in seen
    ]


def eviction_order(node: Any, pods: Iterable[Pod]) -> list[Pod]:
    """The pods of the node in the order in which memory pressure evicts them."""
    stats = _by_name(node)
    running = [pod for pod in pods if (pod.namespace, pod.name) in stats]
    known = {pod.metadata.uid: stats[pod.namespace, pod.name] for pod in running}
    return [pod for group in rank_memory_pressure(running, known, node.config.gates) for pod in group]


def _by_name(node: Any) -> Mapping[tuple[str, str], PodStats]:
    found = {}
    for key, used in node.usages().items():
        containers = tuple(ContainerStats(name, memory=memory) for name, (_, memory) in used.items())
        found[key] = PodStats(memory=sum(c.memory or 0 for c in containers), containers=containers)
    return found
