"""A cgroup file system in memory: the directories and files of version 1 or 2, with the kernel's rules.

One tree holds all controllers, also for v1, whose hierarchies have the same paths. On v2 a cgroup has a controller's
files only if its parent's `cgroup.subtree_control` contains it, and a cgroup with processes cannot enable controllers
for its children ("no internal processes").

Sources: Documentation/admin-guide/cgroup-v1, cgroup-v2.rst; kernel/cgroup/cgroup.c.
"""

from __future__ import annotations

import errno
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from kitlib.kubelet.cm.cgroup_files import memory_order
from kitlib.kubelet.cm.cgroup_tree import V1_HIERARCHIES, Cgroup, CgroupFile, CgroupTree, Version, controller_of
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.kubelet.config.settings import Driver
from kitlib.kubelet.util.cpuset import format_cpus
from kitlib.node.common.errors import CgroupError
from kitlib.node.simulated import relations, rules
from kitlib.node.simulated.initial_files import initial_files
from kitlib.node.simulated.rules import Refused

CONTROLLERS = ("cpuset", "cpu", "memory", "hugetlb", "pids")
"""The default controllers of a machine, in the kernel's order."""
READ_ONLY = frozenset(
    {
        "cgroup.controllers",
        "cgroup.events",
        "cpu.pressure",
        "cpu.stat",
        "cpuset.cpus.effective",
        "io.pressure",
        "memory.current",
        "memory.events",
        "memory.events.local",
        "memory.max_usage_in_bytes",
        "memory.memsw.failcnt",
        "memory.memsw.max_usage_in_bytes",
        "memory.memsw.usage_in_bytes",
        "memory.peak",
        "memory.pressure",
        "memory.stat",
        "memory.swap.current",
        "memory.swap.events",
        "memory.swap.peak",
        "memory.usage_in_bytes",
        "memory.failcnt",
        "memory.oom_control",
        "pids.current",
        "pids.events",
        "pids.peak",
        "cpuacct.usage",
    }
)
ALWAYS = frozenset({"cpu.stat", "cpu.pressure", "io.pressure", "memory.pressure"})
"""Files that a cgroup has without their controller. Only v2 has them; reading does not check the version."""
RESET = frozenset({"memory.failcnt", "memory.max_usage_in_bytes", "cpuacct.usage"})
"""Counters of READ_ONLY that any write resets; they cannot be set to a value."""
Statistics = Callable[[str, str], str | None]
"""Returns the content of a read-only file of a cgroup, by path and file, from the model of the kernel."""


@dataclass
class Directory:
    """A cgroup: its settings, its processes, and the paths of its children in order."""

    files: dict[str, str]
    procs: set[int] = field(default_factory=set)
    children: list[str] = field(default_factory=list)


class SimulatedCgroupFS:
    """The cgroup file system of one simulated node.

    Args:
        version: 1 or 2.
        machine: the machine, with its CPUs and sizes of huge pages.
        statistics: source of read-only files; None = they read as 0.
        available: the kernel's controllers.
    """

    def __init__(
        self,
        version: Version,
        machine: MachineInfo,
        statistics: Statistics | None = None,
        available: Sequence[str] = CONTROLLERS,
    ) -> None:
        self.version, self.machine, self.available = version, machine, tuple(available)
        self._statistics = statistics
        self._root_files = initial_files(version, machine, root=True)
        self._new_files = initial_files(version, machine, root=False)
        self._directories: dict[str, Directory] = {"/": Directory(dict(self._root_files))}
        self._place: dict[int, str] = {}
        self._touched: set[str] = set()
        self._effective: dict[str, frozenset[int]] = {}
        self.partial: dict[str, Sequence[str]] = {}
        """Path -> hierarchies of v1 in which the cgroup does not exist; set by `SimulatedSystem` for systemd's."""
        self.on_attach: Callable[[int, str], None] | None = None
        """Called with the id of a moved process and its new cgroup."""
        self.on_remove: Callable[[str], None] | None = None
        """Called with the path of a removed cgroup."""
        self.on_change: Callable[[str, str], None] | None = None
        """Called with the cgroup and the file of a write; the file "" = the cgroup was created or removed."""
        self.on_reset: Callable[[str, str], None] | None = None
        """Called with the cgroup and the file of a counter to reset."""
        self.on_kill: Callable[[str], None] | None = None
        """Called with a cgroup whose processes, including those of its descendants, are to be killed."""
        self.alive: Callable[[int], bool] | None = None
        """Returns whether a process with this id exists; None = any id is accepted."""
        self.on_limit: Callable[[str, str], None] | None = None
        """Called with the cgroup and the file of a written memory limit."""

    def exists(self, path: str) -> bool:
        """Return whether the cgroup exists."""
        return path in self._directories

    def absent(self, path: str) -> Sequence[str]:
        """Return the hierarchies in which the cgroup does not exist."""
        if path in self._directories:
            return self.partial.get(path, ())
        return V1_HIERARCHIES if self.version == 1 else ("",)

    def paths(self) -> Iterator[str]:
        """Yield every cgroup, parents before children."""
        stack = ["/"]
        while stack:
            path = stack.pop()
            yield path
            stack += reversed(self._directories[path].children)

    def children(self, path: str) -> list[str]:
        """Return the paths of the child cgroups."""
        return list(self._at(path).children)

    def mkdir(self, path: str) -> None:
        """Create a cgroup.

        Raises:
            CgroupError: EEXIST; ENOENT if the parent does not exist; EINVAL for an invalid name.
        """
        parent, _, name = path.rpartition("/")
        parent = parent or "/"
        if path in self._directories:
            raise CgroupError(errno.EEXIST, path)
        if not name or "\n" in name or not path.startswith("/"):
            raise CgroupError(errno.EINVAL, path)
        if parent not in self._directories:
            raise CgroupError(errno.ENOENT, path)
        insort(self._directories[parent].children, path)
        self._directories[path] = Directory(dict(self._new_files))
        self._tell(path, "")

    def makedirs(self, path: str) -> None:
        """Create a cgroup and its missing ancestors as a runtime does: controllers enabled (v2), cpusets copied (v1).

        Source: opencontainers/cgroups fs2.CreateCgroupPath.
        """
        parts = [part for part in path.split("/") if part]
        above = "/"
        for part in parts:
            if self.version == 2:
                self.enable(above)
            below = _join(above, part)
            if below not in self._directories:
                self.mkdir(below)
            if self.version == 1:
                self._inherit_cpuset(above, below)
            above = below

    def mkdirs(self, path: str) -> None:
        """Create a cgroup and its missing ancestors as `mkdir -p` does: no controller enabled, cpusets empty."""
        above = "/"
        for part in [part for part in path.split("/") if part]:
            above = _join(above, part)
            if above not in self._directories:
                self.mkdir(above)

    def _inherit_cpuset(self, above: str, below: str) -> None:
        """Copy (v1) the parent's processors into a new, empty cpuset as runtimes do. Source: fs.cpusetCopyIfNeeded."""
        # Written past the rules and the observers: the parent's set always fits, and an empty cpuset has no processes.
        for file in ("cpuset.cpus", "cpuset.mems"):
            if not self._directories[below].files[file]:
                self._directories[below].files[file] = self._directories[above].files[file]
                self._effective.pop(below, None)

    def enable(self, path: str) -> None:
        """Enable (v2) all controllers of a cgroup for its children."""
        have = self.controllers(path)
        enabled = set(self._at(path).files.get("cgroup.subtree_control", "").split())
        missing = [name for name in have if name not in enabled]
        if missing:
            self.write(path, "cgroup.subtree_control", " ".join(f"+{name}" for name in missing))

    def rmdir(self, path: str) -> None:
        """Remove a cgroup.

        Raises:
            CgroupError: ENOENT; EBUSY if it has processes or children, or is the root.
        """
        directory = self._at(path)
        if path == "/" or directory.children or directory.procs:
            why = (
                "it has children" if directory.children else "processes stand in it" if directory.procs else "the root"
            )
            raise CgroupError(errno.EBUSY, path, why=why)
        siblings = self._directories[_parent(path)].children
        del siblings[bisect_left(siblings, path)]
        del self._directories[path]
        self._effective.pop(path, None)
        self._tell(path, "")
        if self.on_remove is not None:
            self.on_remove(path)

    def controllers(self, path: str) -> list[str]:
        """Return the controllers of a cgroup: on v2 those that its parent enables."""
        if self.version == 1 or path == "/":
            return list(self.available)
        handed = self._at(_parent(path)).files["cgroup.subtree_control"].split()
        return [name for name in self.available if name in handed]

    def files(self, path: str) -> list[str]:
        """Return the names of a cgroup's settings."""
        have = set(self.controllers(path))
        return [name for name in self._at(path).files if controller_of(name) in have or name.startswith("cgroup.")]

    def read(self, path: str, file: str) -> str:
        """Return the content of a file without the trailing newline.

        Raises:
            CgroupError: ENOENT.
        """
        directory = self._at(path)
        if file in ("cgroup.procs", "tasks"):
            return "\n".join(map(str, sorted(directory.procs)))
        if file == "cgroup.controllers" and self.version == 2:
            return " ".join(self.controllers(path))
        if file == "cpuset.cpus.effective":  # also without the cpuset controller
            return format_cpus(self.effective_cpus(path))
        if file == "cpu.weight.nice" and self.has(path, file) and path != "/":
            return rules.nice_of_weight(directory.files["cpu.weight"])
        if file in READ_ONLY and (self.has(path, file) or file in ALWAYS):
            found = self._statistics(path, file) if self._statistics else None
            return "0" if found is None else found
        if file not in directory.files or not self.has(path, file):
            raise CgroupError(errno.ENOENT, path, file)
        return directory.files[file]

    def setting(self, path: str, file: str) -> str:
        """Return the value of a setting that the cgroup has."""
        return self._directories[path].files[file]

    def has(self, path: str, file: str) -> bool:
        """Return whether the cgroup has the controller of a setting."""
        if file.startswith("cgroup."):
            return True
        if self.version == 1 or path == "/":
            return controller_of(file) in self.available or file.startswith("cpuacct.")  # comounted with cpu
        return controller_of(file) in self._at(_parent(path)).files["cgroup.subtree_control"].split()

    def write(self, path: str, file: str, value: str) -> None:
        """Write a file.

        Raises:
            CgroupError: ENOENT, or the error of the file's rule (EINVAL, ERANGE, EBUSY, EACCES, ENOSPC, EPERM).
        """
        directory = self._at(path)
        if file in ("cgroup.procs", "tasks"):
            self.attach(path, self._process(path, file, value))
            return
        if file == "cgroup.kill" and self.version == 2 and path != "/":
            self._kill(path, value)
            return
        if file in READ_ONLY:  # EINVAL also for one that this cgroup lacks
            if file not in RESET or self.on_reset is None:
                raise CgroupError(errno.EINVAL, path, file, value, "the file is read-only")
            self.on_reset(path, file)
            return
        if file not in directory.files or not self.has(path, file):
            raise CgroupError(errno.ENOENT, path, file)
        try:
            directory.files[file] = relations.kept(self, path, file, value)
        except Refused as refused:
            raise CgroupError(refused.number, path, file, value.strip(), refused.why) from None
        self._tell(path, file)
        self._touch(path, file)

    def _tell(self, path: str, file: str) -> None:
        if self.on_change is not None:
            self.on_change(path, file)

    def _touch(self, path: str, file: str) -> None:
        """Record the cgroups whose CPUs or weights a write changes, for `drain`; report memory limits to `on_limit`."""
        if file == "cgroup.subtree_control" and not self._at(path).children:
            return  # only children depend on it
        if file in ("cpuset.cpus", "cgroup.subtree_control"):
            self._effective.clear()
            inside = path.rstrip("/") + "/"
            self._touched.update(one for one in self._directories if one == path or one.startswith(inside))
        elif file.startswith("cpu."):
            self._touched.add(path)
        elif file in ("memory.max", "memory.high", "memory.limit_in_bytes") and self.on_limit is not None:
            self.on_limit(path, file)

    def drain(self) -> list[str]:
        """Return, in no fixed order, the cgroups whose weight, quota or cpuset may have changed since the last call."""
        found = [path for path in self._touched if path in self._directories]
        self._touched.clear()
        return found

    def attach(self, path: str, pid: int) -> None:
        """Move a process into a cgroup, regardless of pids.max, which only limits forks.

        Raises:
            CgroupError: EBUSY on v2 if it enables controllers for its children; ENOSPC on v1 without CPUs or memory
                nodes.
        """
        directory = self._at(path)
        try:
            relations.may_hold_processes(self, path)
        except Refused as refused:
            raise CgroupError(refused.number, path, "cgroup.procs", str(pid), refused.why) from None
        self.detach(pid)
        directory.procs.add(pid)
        self._place[pid] = path
        if self.on_attach is not None:
            self.on_attach(pid, path)

    def detach(self, pid: int) -> None:
        """Remove a process from its cgroup, because it has ended or moves to another one."""
        place = self._directories.get(self._place.pop(pid, ""))
        if place is not None:
            place.procs.discard(pid)

    def statistics(self, path: str, name: str) -> str | None:
        """Return a value of the kernel's model; None if it has no such value."""
        return self._statistics(path, name) if self._statistics else None

    def set_weight(self, path: str, weight: str) -> str:
        """Set cpu.weight, as a write to cpu.weight.nice does, and return it."""
        self._at(path).files["cpu.weight"] = weight
        return weight

    def begin_anew(self, path: str, controller: str) -> None:
        """Reset the settings of a disabled controller in a cgroup to those of a new one."""
        fresh = initial_files(self.version, self.machine, root=False)
        files = self._directories[path].files
        files.update({name: value for name, value in fresh.items() if controller_of(name) == controller})
        self._touched.add(path)

    def procs(self, path: str) -> set[int]:
        """Return the ids of the processes in a cgroup, without those of its descendants."""
        return set(self._at(path).procs)

    def effective_cpus(self, path: str) -> frozenset[int]:
        """Return the CPUs of a cgroup's processes; an empty cpuset is the parent's on v2, none on v1."""
        found = self._effective.get(path)
        if found is None:
            found = self._effective[path] = self._compute_cpus(path)
        return found

    def _compute_cpus(self, path: str) -> frozenset[int]:
        if path == "/":
            return frozenset(range(self.machine.cores))
        directory = self._at(path)
        own = rules.cpu_list(directory.files.get("cpuset.cpus", ""), self.machine.cores)[1]
        if self.version == 1:
            return own
        above = self.effective_cpus(_parent(path))
        return (own & above) or above  # v2: without a common CPU the parent's

    def apply(self, tree: CgroupTree) -> None:
        """Create every cgroup of a desired tree and write the files of the kubelet and the runtime, parents first.

        Raises:
            CgroupError: the kernel refuses a write; the later ones are not made.
        """
        for path, cgroup in tree.items():
            self.makedirs(path)
            files = [file for file in cgroup.values() if file.written]
            # The order of the memory files keeps each intermediate state valid: memory <= memory and swap.
            for file in memory_order(files, partial(self.read, path)):
                self.write(path, file.name, file.value)

    def lacks(self, file: str) -> bool:
        """Return whether no cgroup has such a file: its controller, or its size of huge pages, is missing."""
        if file.startswith("cgroup."):
            return False
        if file.startswith("hugetlb."):
            return file not in self._new_files
        return controller_of(file) not in self.available

    def configure(self, cgroup: Cgroup, files: Sequence[CgroupFile]) -> None:
        """Do nothing: no systemd has to be told the settings, unlike on a real node with the systemd driver."""

    def tree(self, driver: Driver, like: CgroupTree | None = None) -> CgroupTree:
        """Return the observed cgroup tree.

        Args:
            driver: the cgroup driver, which determines the names.
            like: a tree to compare with; None = all settings. A cgroup in it shows its files only, another one below
                the same top-level cgroups all settings; other top-level cgroups (services of systemd) are left out.
        """
        values: dict[str, dict[str, str]] = {}
        tops = {path.split("/")[1] for path in like} if like is not None else set()
        for path in self.paths():
            if like is not None and path.split("/")[1] not in tops:
                continue
            wanted = like[path] if like is not None and path in like else None
            names = [f for f in wanted if f in self.files(path)] if wanted is not None else self.files(path)
            values[path] = {name: self.read(path, name) for name in names if not name.startswith("cgroup.")}
        return CgroupTree.observed(self.version, driver, values)

    def _at(self, path: str) -> Directory:
        found = self._directories.get(path)
        if found is None:
            raise CgroupError(errno.ENOENT, path)
        return found

    def _process(self, path: str, file: str, value: str) -> int:
        try:
            pid = rules.signed(value)
        except Refused as refused:
            raise CgroupError(errno.EINVAL, path, file, value, refused.why) from None
        if pid < 0:
            raise CgroupError(errno.EINVAL, path, file, value, "no process id is negative")
        if self.alive is not None and pid not in self._place and not self.alive(pid):  # in a cgroup = alive
            raise CgroupError(errno.ESRCH, path, file, value)
        return pid

    def _kill(self, path: str, value: str) -> None:
        """Kill all processes of a cgroup and its descendants. Source: cgroup_kill_write."""
        if value.strip() != "1":
            raise CgroupError(errno.ERANGE, path, "cgroup.kill", value, "it takes a 1")
        if self.on_kill is not None:
            self.on_kill(path)


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def _join(path: str, name: str) -> str:
    return f"/{name}" if path == "/" else f"{path}/{name}"
