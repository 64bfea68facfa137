"""What an owner may ask a node to show: cgroup files, processes, use, logs, and samples of files many times a second.

Sampled files stay open and are read with pread: at 10 Hz over a thousand files that costs a tenth of opening each time.
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
    """Files that are sampled: the n-th sample is due at `began + n * every`."""

    def __init__(self, places: Sequence[str], every: float, began: float) -> None:
        self.places, self.every, self.next = list(places), every, began
        self._open: dict[str, int] = {}

    def values(self) -> list[str | None]:
        """The content of each file now; None where there is none."""
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
            except OSError:  # the cgroup has gone; another of the same name may stand there
                os.close(self._open.pop(place))
        return None

    def close(self) -> None:
        """Let go of the files."""
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()


class Introspection:
    """Answers an owner's questions about a node.

    Args:
        kubelet, cgroups, runtime: of this node.
        clock: seconds.
    """

    def __init__(
        self, kubelet: Kubelet, cgroups: RealCgroupFS, runtime: CrunRuntime, clock: Callable[[], float]
    ) -> None:
        self.kubelet, self.cgroups, self.runtime, self.clock = kubelet, cgroups, runtime, clock
        self._watched: dict[int, Watched] = {}
        self._kernel_log, self._ring = KernelLog(), RingReader()
        self._ring.new(mounts.kernel_log()[0])  # what stands there already is not this node's
        self._since = time.clock_gettime(time.CLOCK_MONOTONIC)

    def requests(self) -> dict[str, Callable[..., Any]]:
        """What may be asked for, by name."""
        named = (self.read, self.write, self.exists, self.children, self.makedirs, self.rmdir, self.tree, self.desired)
        others = (self.processes, self.usages, self.signal, self.logs, self.kernel_log, self.watch, self.unwatch)
        more = (self.usage, self.total_usage, self.host_time, self.alive, self.timeline, self.checkpoint)
        return {method.__name__: method for method in (*named, *others, *more)}

    # Cgroups.

    def read(self, path: str, file: str) -> str:
        """A file's content."""
        return self.cgroups.read(path, file)

    def write(self, path: str, file: str, value: str) -> None:
        """Write a file by hand."""
        self.cgroups.write(path, file, value)

    def exists(self, path: str) -> bool:
        """Whether there is such a cgroup."""
        return self.cgroups.exists(path)

    def children(self, path: str) -> list[str]:
        """The cgroups below."""
        return self.cgroups.children(path)

    def makedirs(self, path: str) -> None:
        """Make a cgroup by hand."""
        self.cgroups.makedirs(path)

    def rmdir(self, path: str) -> None:
        """Remove a cgroup by hand."""
        self.cgroups.rmdir(path)

    def tree(self) -> dict[str, Any]:
        """What the files say, those that the kubelet has an opinion about."""
        wanted = self.kubelet.wanted
        return protocol.tree_to_data(self.cgroups.tree(wanted.driver, like=wanted))

    def desired(self) -> dict[str, Any]:
        """What the kubelet wants."""
        return protocol.tree_to_data(self.kubelet.wanted)

    # Processes.

    def alive(self) -> float:
        """Seconds on the node's clock."""
        return self.clock()

    def timeline(self) -> list[list[Any]]:
        """What the kubelet did and why: time, actor, action, about, detail, source of each entry."""
        return [list(entry) for entry in self.kubelet.timeline]

    def checkpoint(self) -> str:
        """What the kubelet remembers of the CPUs that it gave out."""
        return self.kubelet.managers.checkpoint()

    def processes(self) -> list[dict[str, Any]]:
        """Every container's processes with what /proc says about them, oldest container first.

        `refused` is the oom_score_adj that the kubelet wanted where the host has refused it, else None.
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
        """A container by its names; without its own it is the first of the pod's own.

        Raises:
            NotFound: where it is not here.
        """
        for worker in self.kubelet.workers:
            if (worker.pod.namespace, worker.pod.name) == (namespace, pod):
                for state in (*worker.mains, *worker.inits, *worker.ephemerals):
                    if container in ("", state.container.name):
                        return state
        raise NotFound("containers", f"{namespace}/{pod}/{container}")

    def usages(self) -> list[Any]:
        """Namespace, pod, container, CPUs and bytes of every container that runs."""
        found = []
        for worker in self.kubelet.workers:
            for state in worker.states:
                if self.runtime.pid(state.id):
                    used = self.runtime.usage(state.id)
                    found.append([worker.pod.namespace, worker.pod.name, state.container.name, used.cpus, used.memory])
        return found

    def usage(self, path: str) -> int:
        """Bytes of memory of a cgroup without inactive page cache."""
        return memory_of(self.cgroups, path)[0]

    def total_usage(self) -> list[float]:
        """Seconds of CPU that the node has used so far, and bytes of memory that it uses now."""
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
        """The last of a container's output."""
        return self.runtime.logs(self.state(namespace, pod, container).id).decode(errors="replace")

    def kernel_log(self) -> dict[str, Any]:
        """What the kernel wrote about the OOM killer since the node began, and why it cannot be read.

        The log is the whole host's: what is about anything else is left out.
        """
        why = self.read_kernel_log()[1]
        return {"lines": self._kernel_log.shown(), "why": why}

    def read_kernel_log(self) -> tuple[list[str], str]:
        """Take over what the kernel has written since the last call, before it is overwritten.

        Returns:
            The new lines about the OOM killer, and why the log cannot be read ("" where it can).
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
        """Begin to send samples of files, at most 50 a second."""
        if not 0 < hz <= MOST_HZ:
            raise KitError(f"watch: {hz} Hz must be greater than 0 and at most {MOST_HZ:g}")
        places = [self.cgroups.location(path, file) for path, file in files]
        self._watched[number] = Watched(places, 1 / hz, self.clock())

    def unwatch(self, number: int) -> None:
        """No more samples."""
        watched = self._watched.pop(number, None)
        if watched is not None:
            watched.close()

    def next_sample(self) -> float:
        """Seconds on the clock: when the next sample is due; infinite where nobody watches."""
        return min((watched.next for watched in self._watched.values()), default=float("inf"))

    def sample(self, send: Callable[[Mapping[str, Any]], None]) -> None:
        """Send the samples that are due; those that were missed are left out, not made up."""
        for number, watched in self._watched.items():
            now = self.clock()
            if now >= watched.next:
                send({"watch": number, "at": now, "values": watched.values()})
                watched.next += watched.every * max(1, int((self.clock() - watched.next) / watched.every) + 1)


def _is_of_oom(line: str, since: float) -> bool:
    """Whether a line, `<6>[  12.345678] text`, is about the OOM killer and not older than that."""
    found = _STAMP.match(line)
    return found is not None and float(found[1]) >= since and any(word in line for word in _OOM_WORDS)


def proc(pid: int) -> dict[str, Any] | None:
    """What /proc says about a process; None where it has gone."""
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
