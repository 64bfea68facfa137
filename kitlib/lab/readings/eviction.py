"""An eviction under memory pressure, watched from the arrival of the pods to the end of one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kitlib.api.errors import KitError
from kitlib.cluster.nodes.eviction_status import eviction_order, observations, threshold_rows
from kitlib.lab.readings.pods import failed

SIGNAL = "memory.available"
LONGEST = 270.0
"""Seconds after which the watch ends without an eviction; a busy machine takes longer than an idle one."""


class EvictionWatch(NamedTuple):
    """An eviction; its times are seconds since the pods came.

    Attributes:
        gone: name of the evicted pod.
        ended: its phase and reason.
        message: the message in its status.
        filled: time at which the available memory was below the bound.
        seen: time at which the kubelet reported the pressure; `acted` if it evicted a pod before.
        acted: time at which the kubelet evicted the pod.
        order: the kubelet's ranking when the memory was full.
        gauge: rows of the thresholds at this time, for `eviction_gauge`.
        seconds: the times of the measurements.
        available: available bytes at these times.
    """

    gone: str
    ended: tuple[str, str]
    message: str
    filled: int
    seen: float
    acted: float
    order: str
    gauge: list[dict[str, Any]]
    seconds: list[int]
    available: list[int]


def watch_eviction(cluster: Any, pods: Sequence[Any], below: int) -> EvictionWatch:
    """Apply pods, and let time pass until the kubelet of the cluster's first node has evicted one of them.

    Args:
        cluster: a cluster whose node has no pods yet.
        pods: manifests.
        below: bytes of available memory; `filled`, `order` and `gauge` are noted when less is available.

    Raises:
        KitError: the kubelet has evicted no pod after 270 s.
    """
    node, began = cluster.node(next(iter(cluster.nodes)).name), cluster.now()
    full: dict[str, Any] = {}
    seconds: list[int] = []
    available: list[int] = []
    cluster.apply(pods)
    while not (gone := failed(cluster)) and (not seconds or seconds[-1] < LONGEST):
        seconds.append(round((cluster.now() - began).total_seconds()))
        available.append(observations(node)[SIGNAL].available)
        if not full and available[-1] < below:
            order = ", ".join(pod.name for pod in eviction_order(node, cluster.pods()))
            full = {"filled": seconds[-1], "gauge": threshold_rows(node), "order": order}
        cluster.advance(0.5)
    if not gone or not full:
        raise KitError(f"{node.name}: no pod was evicted in {seconds[-1]} s; lowest {SIGNAL}: {min(available)} bytes")
    times = {(entry.actor, entry.action): entry.time for entry in reversed(node.timeline())}
    came, acted = times["kubelet", "admitting pod"], times["eviction manager", "evicting"]
    status = cluster.pod(gone[0]).status
    return EvictionWatch(
        gone=gone[0],
        ended=(status.phase, status.reason),
        message=status.message,
        seen=times.get(("kubelet", "reporting"), acted) - came,
        acted=acted - came,
        seconds=seconds,
        available=available,
        **full,
    )
