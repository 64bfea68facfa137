"""The changes of a simulated cgroup file system, with the kernel's rules: cgroups are made, written and removed.

On v2 a cgroup with processes cannot enable controllers for its children ("no internal processes").

Sources: Documentation/admin-guide/cgroup-v1, cgroup-v2.rst; kernel/cgroup/cgroup.c.
"""

from __future__ import annotations

import errno
from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from functools import partial

from kitlib.kubelet.cm.cgroup_files import memory_order
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupFile, CgroupTree
from kitlib.node.common.errors import CgroupError
from kitlib.node.simulated import relations, rules
from kitlib.node.simulated.cgroup_files import (
    READ_ONLY,
    CgroupFiles,
    Directory,
    parent_of,
)
from kitlib.node.simulated.rules import Refused

RESET = frozenset({"memory.failcnt", "memory.max_usage_in_bytes", "cpuacct.usage"})
"""Counters of READ_ONLY that any write resets; they cannot be set to a value."""


class SimulatedCgroupFS(CgroupFiles):
    """The cgroup file system of one simulated node; a kernel sets its callbacks."""

    on_attach: Callable[[int, str], None] | None = None
    """Called with the id of a moved process and its new cgroup."""
    on_remove: Callable[[str], None] | None = None
    """Called with the path of a removed cgroup."""
    on_change: Callable[[str, str], None] | None = None
    """Called with the cgroup and the file of a write; the file "" = the cgroup was created or removed."""
    on_reset: Callable[[str, str], None] | None = None
    """Called with the cgroup and the file of a counter to reset."""
    on_kill: Callable[[str], None] | None = None
    """Called with a cgroup whose processes, including those of its descendants, are to be killed."""
    alive: Callable[[int], bool] | None = None
    """Returns whether a process with this id exists; None = any id is accepted."""
    on_limit: Callable[[str, str], None] | None = None
    """Called with the cgroup and the file of a written memory limit."""

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
        siblings = self._directories[parent_of(path)].children
        del siblings[bisect_left(siblings, path)]
        del self._directories[path]
        self._effective.pop(path, None)
        self._tell(path, "")
        if self.on_remove is not None:
            self.on_remove(path)

    def write(self, path: str, file: str, value: str) -> None:
        """Write a file.

        Raises:
            CgroupError: ENOENT, or the error of the file's rule (EINVAL, ERANGE, EBUSY, EACCES, ENOSPC, EPERM).
        """
        directory = self._at(path)
        if file in ("cgroup.procs", "tasks"):
            self.attach(path, self._process(path, file, value))
            return
        if file in READ_ONLY:  # EINVAL also for one that this cgroup lacks
            if file not in RESET or self.on_reset is None:
                raise CgroupError(errno.EINVAL, path, file, value, "the file is read-only")
            self.on_reset(path, file)
            return
        acts = self.acts(path, file)
        if not acts and (file not in directory.files or not self.has(path, file)):
            raise CgroupError(errno.ENOENT, path, file)
        try:
            if acts:
                return (self._kill if file == "cgroup.kill" else self._reclaim)(path, value)
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
            self._touched.update(
                directory for directory in self._directories if directory == path or directory.startswith(inside)
            )
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

    def configure(self, cgroup: Cgroup, files: Sequence[CgroupFile]) -> None:
        """Do nothing: no systemd has to be told the settings, unlike on a real node with the systemd driver."""

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
            raise Refused(errno.ERANGE, "it takes a 1")
        if self.on_kill is not None:
            self.on_kill(path)

    def _reclaim(self, path: str, value: str) -> None:
        """Reclaim whole pages of a cgroup and its descendants. Source: memory_reclaim."""
        wanted = rules.memparse(value) // rules.PAGE_SIZE * rules.PAGE_SIZE
        given = self.on_reclaim(path, wanted) if self.on_reclaim is not None else 0
        if given < wanted:
            raise Refused(errno.EAGAIN, f"{given} bytes were reclaimed, and nothing more can be")


def _join(path: str, name: str) -> str:
    return f"/{name}" if path == "/" else f"{path}/{name}"
