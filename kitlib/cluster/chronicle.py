"""The history of a node from four sources on one clock: events, kernel log, kubelet steps, changes of cgroup files.

Files have no history, so all of them are read at every `look` and compared with the previous one. The time of a change
comes from the node: from the simulated kernel, or from the kubelet of a real node. A change that neither has recorded
gets the time of the `look`.
"""

from __future__ import annotations

import re
from typing import Any

from kitlib.cluster.nodes.metrics import lines_after, name_of

SOURCES = ("event", "kernel", "kubelet", "cgroup")
_STAMP = re.compile(r"^(?:<\d+>)?\[\s*(?P<seconds>[\d.]+)\]\s*(?P<text>.*)$")
_COUNTERS = ("memory.current", "memory.usage_in_bytes", "cpu.stat", "cpuacct.usage", "pids.current")


class Chronicle:
    """A collection of entries, each {"seconds", "source", "object", "text"}.

    Args:
        cluster: the cluster with the events.
        node: the node to observe.
    """

    def __init__(self, cluster: Any, node: Any) -> None:
        self._cluster, self._node = cluster, node
        self.entries: list[dict[str, Any]] = []
        self._events: set[tuple[str, int]] = set()
        self._line = ""
        self._last: Any = None
        self._values: dict[str, dict[str, str]] | None = None
        self._names: dict[str, str] = {}
        # The start of virtual time; None for real nodes, which have their own clocks.
        self._start = getattr(cluster.clock, "start", None)
        self._looked = 0.0

    def look(self, seconds: float) -> list[dict[str, Any]]:
        """Collect new entries, add them to `entries` in order of time, and return them.

        Args:
            seconds: the current time of the cluster's virtual clock; ignored for a real node, which has its own clock.
        """
        if self._start is None:
            seconds = self._node.uptime()
        found = [*self._new_events(seconds), *self._new_lines(seconds), *self._new_steps(), *self._changes(seconds)]
        self.entries = sorted([*self.entries, *found], key=lambda entry: entry["seconds"])
        self._looked = seconds
        return found

    def _new_events(self, now: float) -> list[dict[str, Any]]:
        today, found = self._cluster.now(), []
        for event in self._cluster.events():
            key = (event.metadata.uid or event.name, event.count)
            if key in self._events:
                continue
            self._events.add(key)
            at = event.last_timestamp or today
            ago = (today - at).total_seconds()
            seconds = now - ago if self._start is None else (at - self._start).total_seconds()
            about = event.involved_object
            found.append(_entry(seconds, "event", about.name, f"{event.reason}: {event.message}"))
        return found

    def _new_lines(self, now: float) -> list[dict[str, Any]]:
        lines = self._node.kernel_log()
        new = lines_after(lines, self._line)
        self._line = lines[-1] if lines else self._line
        found = []
        for line in new:
            stamp = _STAMP.match(line)
            seconds = float(stamp["seconds"]) if stamp else now
            if self._start is None:  # the kernel's own clock may drift slightly from the node's
                seconds = min(max(seconds - self._node.facts.get("began", 0.0), self._looked), now)
            found.append(_entry(seconds, "kernel", self._node.name, stamp["text"] if stamp else line))
        return found

    def _new_steps(self) -> list[dict[str, Any]]:
        steps = self._node.timeline()
        # The last seen step is searched, because the node drops old steps and a count would be wrong.
        seen = next((i + 1 for i in reversed(range(len(steps))) if steps[i] == self._last), 0)
        new = steps[seen:]
        if new:
            self._last = new[-1]
        return [
            _entry(step.time, "kubelet", step.about, f"{step.actor}: {step.action}" + _behind(step.detail))
            for step in new
        ]

    def _changes(self, now: float) -> list[dict[str, Any]]:
        tree = self._node.tree()
        values = {p: {f: v for f, v in files.items() if f not in _COUNTERS} for p, files in tree.to_values().items()}
        before, self._values = self._values, values
        names, self._names = self._names, {path: name_of(cgroup) or path for path, cgroup in tree.items()}
        if before is None:
            return []
        dates = {(path, file): at for at, path, file in self._node.cgroup_changes() if self._looked <= at <= now}
        found = []

        def tell(path: str, file: str, name: str, text: str) -> None:
            found.append(_entry(dates.get((path, file), now), "cgroup", name, text))

        for path, files in values.items():
            name = self._names[path]
            if path not in before:
                tell(path, "", name, f"made {path}")
                continue
            for file, value in files.items():
                old = before[path].get(file)
                if old != value:
                    tell(path, file, name, f"{file}: {old} is now {value}")
        for path in before:
            if path not in values:
                tell(path, "", names.get(path, path), f"removed {path}")
        return found


def _entry(seconds: float, source: str, about: str, text: str) -> dict[str, Any]:
    return {"seconds": round(seconds, 3), "source": source, "object": about, "text": text}


def _behind(detail: str) -> str:
    return f" ({detail})" if detail else ""
