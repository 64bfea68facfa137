"""Eviction thresholds and the eviction order of a node's pods; for simulated nodes and nodes in containers.

Source: kubelet eviction (ParseThresholdConfig, thresholdsMet, makeSignalObservations, rankMemoryPressure).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

from kitlib.api.core import Pod
from kitlib.cluster.nodes.interfaces import KernelNode
from kitlib.kubelet.cm.cgroup_tree import UNLIMITED_V1
from kitlib.kubelet.eviction.ranking import ContainerStats, PodStats, rank_memory_pressure
from kitlib.kubelet.eviction.thresholds import (
    ALLOCATABLE_MEMORY,
    Observation,
    parse_threshold_config,
    thresholds_met,
    without_huge_pages,
)
from kitlib.kubelet.util.memory_files import MEMORY_LIMIT


class ThresholdRow(TypedDict):
    """One eviction threshold with its signal's values, in bytes, inodes or process ids."""

    signal: str
    available: int
    capacity: int
    threshold: int
    met: bool


def observations(node: KernelNode) -> dict[str, Observation]:
    """Return the current values of the eviction signals."""
    seen = without_huge_pages(node.signals(), node.config.machine.huge_page_memory, node.config.gates)
    desired = node.desired()
    for cgroup in desired.of_kind("kubepods"):
        name = MEMORY_LIMIT[desired.version]
        text = node.read(cgroup.path, name) if name in cgroup else "max"
        if text not in ("max", str(UNLIMITED_V1)):
            used = sum(stats.memory or 0 for stats in _by_name(node).values())
            seen[ALLOCATABLE_MEMORY] = Observation(int(text) - used, int(text))
    return seen


def threshold_rows(node: KernelNode) -> list[ThresholdRow]:
    """Return available, capacity, threshold and met for every threshold of the kubelet with a known signal."""
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


def eviction_order(node: KernelNode, pods: Iterable[Pod]) -> list[Pod]:
    """Return the node's pods in the order in which memory pressure evicts them."""
    stats = _by_name(node)
    running = [pod for pod in pods if (pod.namespace, pod.name) in stats]
    known = {pod.metadata.uid: stats[pod.namespace, pod.name] for pod in running}
    return [pod for group in rank_memory_pressure(running, known, node.config.gates) for pod in group]


def _by_name(node: KernelNode) -> Mapping[tuple[str, str], PodStats]:
    found = {}
    for key, used in node.usages().items():
        containers = tuple(ContainerStats(name, memory=memory) for name, (_, memory) in used.items())
        found[key] = PodStats(memory=sum(c.memory or 0 for c in containers), containers=containers)
    return found
