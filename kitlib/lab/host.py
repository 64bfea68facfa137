"""Detects other load on the machine of real nodes during a CPU measurement, and reports it beside the figures."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from kitlib.api.errors import KitError
from kitlib.cluster.nodes.host_load import HostLoad, HostMeter
from kitlib.lab.notice import notice

BUSY = "busy host"
_meters: WeakKeyDictionary[Any, HostMeter] = WeakKeyDictionary()
_worst: WeakKeyDictionary[Any, HostLoad] = WeakKeyDictionary()


def begin(node: Any) -> None:
    """Start to count the machine's CPU time; a second call has no effect."""
    if node not in _meters and hasattr(node, "host_time"):  # a hollow node has no kernel
        _meters[node] = HostMeter([node])


def measured(cluster: Any, node: Any) -> None:
    """Warn if other processes disturbed the CPU measurement of a node, and remember the most disturbed one."""
    meter = _meters.get(node)
    if meter is None:
        begin(node)
        return
    load = meter.load()
    if load is None or not load.busy:
        return
    notice(load.sentence, BUSY)
    if cluster not in _worst or load.others > _worst[cluster].others:
        _worst[cluster] = load


def remind(cluster: Any) -> None:
    """Warn again if other processes disturbed a measurement while figures were collected."""
    if cluster in _worst:
        notice(_worst[cluster].sentence, BUSY)


def worst(cluster: Any) -> HostLoad | None:
    """Return the most disturbed measurement on a cluster, else the machine's load since the last call."""
    if cluster is None:
        return None
    if cluster in _worst:
        return _worst[cluster]
    meters = [_meters[node] for node in _nodes(cluster) if node in _meters]
    loads = [load for meter in meters if (load := meter.load()) is not None]
    return max(loads, key=lambda load: load.others, default=None)


def _nodes(cluster: Any) -> list[Any]:
    found = []
    for node in cluster.nodes:
        with suppress(KitError):  # a Node object without a machine
            found.append(cluster.node(node.name))
    return found
