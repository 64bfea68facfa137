"""The record of a kubelet's actions: every decision and every written file, in order, with its time and reason.

A real kubelet has this information in its log. Here each entry names the function of the real kubelet, so that the
record can be compared with the source.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

KEPT = 20_000
"""The maximum number of entries; the oldest ones are removed."""
KEPT_SECONDS = 3600.0
"""Seconds for which an entry is kept within `KEPT`, equal to the lifetime of a Kubernetes event."""
KEPT_ALWAYS = 500
"""The number of last entries that are kept regardless of their age."""


class TimelineEntry(NamedTuple):
    """One action of the kubelet.

    Attributes:
        time: seconds on the node's clock.
        actor: the component of the kubelet, `cpumanager`.
        action: the action, `updating container`.
        about: the pod, container or cgroup.
        detail: the value, `0,7-32`.
        source: the function of the kubelet.
    """

    time: float
    actor: str
    action: str
    about: str = ""
    detail: str = ""
    source: str = ""

    def files(self) -> list[str]:
        """Return the names of the written files if the detail has the format `memory.max=1, cpu.weight=2`."""
        return [name for name, found, _ in (part.partition("=") for part in self.detail.split(", ")) if found]

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.time:9.1f}  {self.actor:<16} {self.action} {self.about}{detail}".rstrip()


class KubeletTimeline:
    """The entries of one kubelet.

    Args:
        clock: returns seconds on the node's clock.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: deque[TimelineEntry] = deque(maxlen=KEPT)

    def note(self, actor: str, action: str, about: str = "", detail: str = "", source: str = "") -> None:
        """Add an entry with the current time."""
        now, entries = self._clock(), self._entries
        entries.append(TimelineEntry(now, actor, action, about, detail, source))
        while len(entries) > KEPT_ALWAYS and entries[0].time < now - KEPT_SECONDS:
            entries.popleft()

    def __iter__(self) -> Iterator[TimelineEntry]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def of(self, *actors: str) -> list[TimelineEntry]:
        """Return the entries of some components of the kubelet."""
        return [entry for entry in self._entries if entry.actor in actors]
