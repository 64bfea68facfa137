"""The requests by which an owner inspects a node: cgroup files, processes, usage, logs, and samples of files.

Sampled files stay open and are read with pread: at 10 Hz and a thousand files that costs a tenth of reopening them.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from kitlib.api.errors import KitError, NotFound
from kitlib.kubelet.loop.container_state import ContainerState
from kitlib.kubelet.loop.kubelet import Kubelet
from kitlib.node.common.kernel_log import LOST, KernelLog, RingReader
from kitlib.node.real import mounts, protocol
from kitlib.node.real.cgroupfs import RealCgroupFS
from kitlib.node.real.host_time import host_time
from kitlib.node.real.runtime import CrunRuntime
from kitlib.node.real.usage import cpu_seconds, memory_of

MOST_HZ = 50.0
PROC_FILES = ("cgroup", "oom_score", "oom_score_adj", "status")
_READ = 1 << 16
_STAMP = re.compile(r"<\d+>\[ *(\d+\.\d+)\]")
_OOM_WORDS = ("oom-kill", "oom_reaper", "invoked oom-killer", "out of memory", "Out of memory", "Killed process")


class Watched:
    """Files that are sampled; the n-th sample is due at `began + n * every` seconds."""

    def __init__(self, places: Sequence[str], every: float, began: float) -> None:
        self.places, self.every, self.next = list(places), every, began
        self._open: dict[str, int] = {}

    def values(self) -> list[str | None]:
        """Return the current content of each file; None for a missing one."""
        return [self._value(place) for place in self.places]

    def _value(self, place: str) -> str | None:
        for _ in range(2):
            descriptor = self._open.get(place)
            if descriptor is None:
                try:
                    descriptor = self._open[place] = os.open(place, os.O_RDONLY)
                except OSError:
                    return None
            try:
                return os.pread(descriptor, _READ, 0).decode().removesuffix("\n")
            except OSError:  # the cgroup was removed; a new one may have its name, so the file is opened again
                os.close(self._open.pop(place))
        return None

    def close(self) -> None:
        """Close the files."""
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()


class Introspection:
    """The answers to an owner's requests about a node.

    Args:
        kubelet, cgroups, runtime: those of this node.
        clock: returns seconds.
    """

    def __init__(
        self, kubelet: Kubelet, cgroups: RealCgroupFS, runtime: CrunRuntime, clock: Callable[[], float]
    ) -> None:
        self.kubelet, self.cgroups, self.runtime, self.clock = kubelet, cgroups, runtime, clock
        self._watched: dict[int, Watched] = {}
        self._kernel_log, self._ring = KernelLog(), RingReader()
        self._ring.new(mounts.kernel_log()[0])  # existing lines are older than this node
        self._since = time.clock_gettime(time.CLOCK_MONOTONIC)

    def requests(self) -> dict[str, Callable[..., Any]]:
        """Return the methods that an owner may call, by name."""
        named = (self.read, self.write, self.exists, self.children, self.makedirs, self.rmdir, self.tree, self.desired)
        others = (self.processes, self.usages, self.signal, self.logs, self.kernel_log, self.watch, self.unwatch)
        more = (self.usage, self.total_usage, self.host_time, self.alive, self.timeline, self.checkpoint)
        return {method.__name__: method for method in (*named, *others, *more)}

    def forget_kernel_log(self) -> None:
        """Drop the lines about this node before its reboot."""
        self.read_kernel_log()
        self._kernel_log = KernelLog()

    # Cgroups.

    def read(self, path: str, file: str) -> str:
        """Return a file's content."""
        return self.cgroups.read(path, file)

    def write(self, path: str, file: str, value: str) -> None:
        """Write a file by hand."""
        self.cgroups.write(path, file, value)

    def exists(self, path: str) -> bool:
        """Return whether the cgroup exists."""
        return self.cgroups.exists(path)

    def children(self, path: str) -> list[str]:
        """Return the paths of the child cgroups."""
        return self.cgroups.children(path)

    def makedirs(self, path: str) -> None:
        """Create a cgroup and its missing parents by hand."""
        self.cgroups.makedirs(path)

    def rmdir(self, path: str) -> None:
        """Remove a cgroup by hand."""
        self.cgroups.rmdir(path)

    def tree(self) -> dict[str, Any]:
        """Return the observed cgroup tree, with the files that the kubelet wants."""
        wanted = self.kubelet.wanted
        return protocol.tree_to_data(self.cgroups.tree(wanted.driver, like=wanted))

    def desired(self) -> dict[str, Any]:
        """Return the kubelet's desired cgroup tree."""
        return protocol.tree_to_data(self.kubelet.wanted)

    # Processes.

    def alive(self) -> float:
        """Return the seconds on the node's clock."""
        return self.clock()

    def timeline(self) -> list[list[Any]]:
        """Return the kubelet's actions and reasons: time, actor, action, about, detail, source of each entry."""
        return [list(entry) for entry in self.kubelet.timeline]

    def checkpoint(self) -> str:
        """Return the CPU manager's checkpoint."""
        return self.kubelet.managers.checkpoint()

    def processes(self) -> list[dict[str, Any]]:
        """Return the processes of all containers with data of /proc, oldest container first.

        `refused` is the oom_score_adj that the kubelet wanted and the host rejected, else None.
        """
        found = []
        names = self._names()
        for running in list(self.runtime.containers.values()):
            namespace, pod, container = names.get(running.id, ("", "", running.name))
            with suppress(KitError):
                for pid in self.cgroups.procs(running.cgroup):
                    said = proc(pid)
                    if said is not None:
                        about = {"namespace": namespace, "pod": pod, "container": container, "pid": pid}
                        first, refused = pid == running.pid, self.runtime.refused.get(running.id)
                        found.append({**about, "first": first, "refused": refused, "path": running.cgroup, **said})
        return found

    def _names(self) -> dict[str, tuple[str, str, str]]:
        found: dict[str, tuple[str, str, str]] = {}
        for worker in self.kubelet.workers:
            found[worker.sandbox] = (worker.pod.namespace, worker.pod.name, "")
            for state in worker.states:
                found[state.id] = (worker.pod.namespace, worker.pod.name, state.container.name)
        return found

    def state(self, namespace: str, pod: str, container: str) -> ContainerState:
        """Return a container's state; without a container's name, that of the pod's first container.

        Raises:
            NotFound: the node has no such container.
        """
        for worker in self.kubelet.workers:
            if (worker.pod.namespace, worker.pod.name) == (namespace, pod):
                for state in (*worker.mains, *worker.inits, *worker.ephemerals):
                    if container in ("", state.container.name):
                        return state
        raise NotFound("containers", f"{namespace}/{pod}/{container}")

    def usages(self) -> list[Any]:
        """Return namespace, pod, container, CPUs and memory in bytes of every running container."""
        found = []
        for worker in self.kubelet.workers:
            for state in worker.states:
                if self.runtime.pid(state.id):
                    used = self.runtime.usage(state.id)
                    found.append([worker.pod.namespace, worker.pod.name, state.container.name, used.cpus, used.memory])
        return found

    def usage(self, path: str) -> int:
        """Return the memory usage of a cgroup in bytes, without inactive page cache."""
        return memory_of(self.cgroups, path)[0]

    def total_usage(self) -> list[float]:
        """Return the CPU time that the node has used, in seconds, and its memory usage in bytes."""
        return [cpu_seconds(self.cgroups, "/"), memory_of(self.cgroups, "/")[0]]

    def host_time(self) -> dict[str, Any]:
        """Return the CPU times of the machine's processors and of the node itself."""
        return host_time(cpu_seconds(self.cgroups, "/"), self.clock())

    def signal(self, namespace: str, pod: str, container: str, number: int) -> None:
        """Send a signal to a container's first process."""
        pid = self.runtime.pid(self.state(namespace, pod, container).id)
        if not pid:
            raise NotFound("processes", f"{namespace}/{pod}/{container}")
        os.kill(pid, signal.Signals(number))

    def logs(self, namespace: str, pod: str, container: str) -> str:
        """Return the end of a container's output."""
        return self.runtime.logs(self.state(namespace, pod, container).id).decode(errors="replace")

    def kernel_log(self) -> dict[str, Any]:
        """Return the kernel's lines about the OOM killer since the node's start, and why the log is unreadable.

        The log is the whole host's: lines about anything else are left out.
        """
        why = self.read_kernel_log()[1]
        return {"lines": self._kernel_log.shown(), "why": why}

    def read_kernel_log(self) -> tuple[list[str], str]:
        """Add the kernel's new lines to the record, before the ring overwrites them.

        Returns:
            The new lines about the OOM killer, and why the log cannot be read ("" if it can).
        """
        ring, why = mounts.kernel_log()
        new, overflowed = self._ring.new(ring)
        lines = [line for line in new if _is_of_oom(line, self._since)]
        if overflowed:
            stamp = _STAMP.match(new[0])
            lines.insert(0, f"{stamp[0]} {LOST}" if stamp else LOST)
        self._kernel_log.extend(lines)
        return lines, why

    # Samples.

    def watch(self, number: int, files: list[list[str]], hz: float) -> None:
        """Start sending samples of files, at most 50 a second."""
        if not 0 < hz <= MOST_HZ:
            raise KitError(f"watch: {hz} Hz: must be greater than 0 and at most {MOST_HZ:g}")
        places = [self.cgroups.location(path, file) for path, file in files]
        self._watched[number] = Watched(places, 1 / hz, self.clock())

    def unwatch(self, number: int) -> None:
        """Stop sending samples."""
        watched = self._watched.pop(number, None)
        if watched is not None:
            watched.close()

    def next_sample(self) -> float:
        """Return the time of the next sample on the clock, in seconds; infinite without watches."""
        return min((watched.next for watched in self._watched.values()), default=float("inf"))

    def sample(self, send: Callable[[Mapping[str, Any]], None]) -> None:
        """Send the samples that are due; missed samples are skipped."""
        for number, watched in self._watched.items():
            now = self.clock()
            if now >= watched.next:
                send({"watch": number, "at": now, "values": watched.values()})
                watched.next += watched.every * max(1, int((self.clock() - watched.next) / watched.every) + 1)


def _is_of_oom(line: str, since: float) -> bool:
    """Return whether a line, `<6>[  12.345678] text`, is about the OOM killer and not older than `since` seconds."""
    found = _STAMP.match(line)
    return found is not None and float(found[1]) >= since and any(word in line for word in _OOM_WORDS)


def proc(pid: int) -> dict[str, Any] | None:
    """Return data of /proc about a process; None if it has ended."""
    try:
        said: dict[str, str] = {}
        for name in PROC_FILES:
            with open(f"/proc/{pid}/{name}") as file:
                said[name] = file.read()
        with open(f"/proc/{pid}/cmdline", "rb") as raw:
            words = raw.read().rstrip(b"\0").split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return None
    status = dict(line.split(":", 1) for line in said["status"].splitlines() if ":" in line)
    return {
        "cgroup": said["cgroup"],
        "oom_score": int(said["oom_score"]),
        "oom_score_adj": int(said["oom_score_adj"]),
        "cpus": status.get("Cpus_allowed_list", "").strip(),
        "rss": int(status.get("VmRSS", "0 kB").split()[0]) * 1024,
        "page_tables": int(status.get("VmPTE", "0 kB").split()[0]) * 1024,
        "command": " ".join(word.decode(errors="replace") for word in words)[:200],
    }
