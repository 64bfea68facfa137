"""Detects whether the machine under a real node was busy with other work while a value was measured.

A node's processes share the machine's processors with all other processes, and the weights divide only the rest. While
other processes use much CPU time, a measurement says little about Kubernetes and should be repeated.

    others = (busy time of the node's processors − CPU time of the nodes themselves) / (elapsed time × processors)

Source: proc(5) /proc/stat; kernel admin-guide/cgroup-v2.rst cpu.stat, admin-guide/cgroup-v1/cpuacct.rst.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

BUSY_FROM = 0.10
"""The share of CPU time used by other processes from which a measurement counts as disturbed: the shares that weights
promise on a full node are then off by a tenth."""


@dataclass(frozen=True)
class HostTime:
    """The machine's counters at one moment, as one node reads them.

    Attributes:
        at: the time of the node's clock, in seconds.
        own: the CPU time used by the node's cgroups, in seconds.
        busy: the busy time since boot by processor of the node, in seconds.
        waited: the seconds since boot in which some task waited for a processor (PSI); None = the kernel lacks PSI.
    """

    at: float
    own: float
    busy: Mapping[str, float]
    waited: float | None = None


@dataclass(frozen=True)
class HostLoad:
    """The CPU time that other processes took on the nodes' processors during an interval.

    Attributes:
        seconds: the duration of the measurement in seconds.
        others: the share of these processors' CPU time that other processes used, 0 to 1.
        waited: the share of the time in which some task waited for a processor, 0 to 1; None = unknown.
    """

    seconds: float
    others: float
    waited: float | None = None

    @property
    def busy(self) -> bool:
        """Whether the load disturbs a measurement of these seconds."""
        return self.others >= BUSY_FROM

    @property
    def sentence(self) -> str:
        """The cause of the disturbance, and the remedy; "" = nothing disturbed the measurement."""
        if not self.busy:
            return ""
        waited = "" if self.waited is None else f" (tasks waited for a processor {self.waited:.0%} of the time)"
        return f"The host was busy: other processes used {self.others:.0%} of the CPU time{waited}. Run this again."


class HasHostTime(Protocol):
    """A node with the CPU times of its machine; None for a simulated node, which has no machine."""

    def host_time(self) -> HostTime | None: ...


class HostMeter:
    """A meter of the load on the machine under some nodes since the last reading.

    Args:
        nodes: the nodes of one cluster; their own CPU time does not count as load.
    """

    def __init__(self, nodes: Iterable[HasHostTime]) -> None:
        self._nodes = list(nodes)
        self._before = self._read()

    def load(self) -> HostLoad | None:
        """Return the load since the last call, or since the meter was made; None where no node has a machine."""
        before, self._before = self._before, self._read()
        pairs = [(a, b) for a, b in zip(before, self._before, strict=True) if a is not None and b is not None]
        return between([a for a, _ in pairs], [b for _, b in pairs]) if pairs else None

    def _read(self) -> list[HostTime | None]:
        return [node.host_time() for node in self._nodes]


def between(before: list[HostTime], after: list[HostTime]) -> HostLoad:
    """Return the load between two readings of the same nodes; a processor that several nodes have counts once."""
    seconds = max(b.at - a.at for a, b in zip(before, after, strict=True))
    began, ended = (
        {cpu: spent for host_time in moment for cpu, spent in host_time.busy.items()} for moment in (before, after)
    )
    shared = began.keys() & ended.keys()
    busy = sum(ended[cpu] - began[cpu] for cpu in shared)
    own = sum(b.own - a.own for a, b in zip(before, after, strict=True))
    room = seconds * len(shared)
    # The counters are read one after another and have different resolutions, so the difference may leave 0 to 1.
    others = min(1.0, max(0.0, (busy - own) / room)) if room > 0 else 0.0
    first, last = before[0].waited, after[0].waited
    waited = None if first is None or last is None or seconds <= 0 else min(1.0, max(0.0, (last - first) / seconds))
    return HostLoad(seconds, others, waited)
