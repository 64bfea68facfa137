"""What a kubelet did, when and why: every decision and every file that it wrote, in order.

A real kubelet tells this in its log; here each entry names the function of the kubelet that would have done it, so
that the log can be read beside the source.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

KEPT = 20_000
"""Entries that are kept at most; older ones go."""
KEPT_SECONDS = 3600.0
"""How long an entry is kept at least where there is room, as long as a Kubernetes event."""
KEPT_ALWAYS = 500
"""As many of the last entries are kept however old they are."""


class TimelineEntry(NamedTuple):
    """One thing that happened.

    Attributes:
        time: seconds on the node's clock.
        actor: the part of the kubelet, `cpumanager`.
        action: what it did, `updating container`.
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
        """The files that were written, where the detail tells `memory.max=1, cpu.weight=2`."""
        return [name for name, found, _ in (part.partition("=") for part in self.detail.split(", ")) if found]

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.time:9.1f}  {self.actor:<16} {self.action} {self.about}{detail}".rstrip()


class KubeletTimeline:
    """The entries of one kubelet.

    Args:
        clock: seconds on the node's clock.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: deque[TimelineEntry] = deque(maxlen=KEPT)

    def note(self, actor: str, action: str, about: str = "", detail: str = "", source: str = "") -> None:
        """Something happens now."""
        now, entries = self._clock(), self._entries
        entries.append(TimelineEntry(now, actor, action, about, detail, source))
        while len(entries) > KEPT_ALWAYS and entries[0].time < now - KEPT_SECONDS:
            entries.popleft()

    def __iter__(self) -> Iterator[TimelineEntry]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def of(self, *actors: str) -> list[TimelineEntry]:
        """The entries of some parts of the kubelet."""
        return [entry for entry in self._entries if entry.actor in actors]
