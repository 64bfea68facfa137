"""The real cgroup file systems, version 1 or 2, as the agent finds them in its own container.

On v1 every controller has its own hierarchy; here they are shown as one tree, and a file's name determines its
hierarchy. On v2 there is one hierarchy. A cgroup that enables controllers for its children must not hold processes, so
the processes of the node's root are moved to a leaf first. The version is read from the mounts, never assumed.

Sources: Documentation/admin-guide/cgroup-v1, cgroup-v2.rst; opencontainers/cgroups fs, fs2.CreateCgroupPath;
kubelet cm.cgroupCommon.
"""

from __future__ import annotations

import errno
import os
import time
from _thread import start_new_thread
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from kitlib.api.errors import KitError
from kitlib.kubelet.cm.cgroup_tree import V1_HIERARCHIES, Cgroup, CgroupFile, CgroupTree, Version, controller_of
from kitlib.kubelet.config.settings import Driver
from kitlib.node.common.errors import CgroupError
from kitlib.node.real import mounts

LEAF = "/agent"
"""On v2: the cgroup of the agent and of the other processes of the node's root; with systemd, of the watchdog."""
SETTINGS = {
    1: (
        *("cpu.shares", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpuset.cpus", "cpuset.mems"),
        *("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.soft_limit_in_bytes", "pids.max"),
    ),
    2: (
        *("cpu.weight", "cpu.max", "cpuset.cpus", "cpuset.mems", "pids.max"),
        *("memory.max", "memory.high", "memory.low", "memory.min", "memory.swap.max", "memory.oom.group"),
    ),
}
"""Writable files by version, shown for cgroups that the kubelet does not manage; limits of huge pages are added."""
NOT_OURS = (
    "the container engine runs without root, or maps users, and cannot delegate a cgroup "
    "(use an engine that root started, or cgroup v2 with a cgroup that is delegated to the engine's user)"
)
_NOT_EVERYWHERE = ("hugetlb.", "memory.memsw.", "memory.swap.")
"""Prefixes of files that depend on the host: sizes of huge pages, swap accounting."""
NO_CGROUP = (
    "the engine cannot create a cgroup for the node (an engine without root: run it in a session of systemd, or "
    "delegate a cgroup to its user and name this cgroup in KITLIB_CGROUP_PARENT)"
)
_LOOKS, _LOOK = 20, 0.01


class RealCgroupFS:
    """The cgroups of the kernel on which this process runs.

    Implements `kitlib.kubelet.loop.interfaces.CgroupFS`.

    Args:
        hierarchies: mount point by controller (v1), or {"": mount point} (v2). None = read this process's mounts.

    Attributes:
        version: 1 or 2.
        controllers: the available controllers, in the kernel's order.
        roots: mount points of the hierarchies.
        foreign: cgroups below the root that something other than the kubelet created; a tree omits them and their
            contents unless the kubelet uses one of them.
    """

    version: Version

    def __init__(self, hierarchies: dict[str, str] | None = None) -> None:
        self.hierarchies = mounts.cgroup_hierarchies() if hierarchies is None else hierarchies
        self.version = 2 if "" in self.hierarchies else 1
        if self.version == 2:
            self.controllers = self._text(f"{self.hierarchies['']}/cgroup.controllers").split()
        else:
            self.controllers = [name for name in self.hierarchies if "=" not in name]
        self.roots = sorted(set(self.hierarchies.values()))
        self.foreign: frozenset[str] = frozenset()
        self._moving = False

    def prepare(self) -> None:
        """Take over the tree: make it writable, and on v2 move all processes to a leaf and enable every controller.

        Raises:
            KitError: the engine or the host does not allow it.
        """
        for root in self.roots:
            mounts.make_writable(root)
            if not os.access(root, os.W_OK):
                raise KitError(f"{root}: this node cannot create cgroups: {NOT_OURS}")
        if self.version == 2:
            self._alone()
            root = self.hierarchies[""]
            os.makedirs(root + LEAF, exist_ok=True)
            for _ in range(10):  # a process may fork while it is moved
                pids = self._text(f"{root}/cgroup.procs").split()
                for pid in pids:
                    with suppress(ProcessLookupError):
                        _write(f"{root}{LEAF}/cgroup.procs", pid)
                if not pids:
                    break
            self._hand_down("/")

    def _alone(self) -> None:
        """Check (v2) that the node's root cgroup holds no processes of the engine.

        An engine without rights to create a cgroup leaves the node in its own one. A process of another pid namespace
        reads as 0.

        Raises:
            KitError: processes of the engine are in the node's root; nothing is created or moved there.
        """
        for _ in range(_LOOKS):  # the process that started the container may be about to leave it
            if "0" not in self._text(f"{self.hierarchies['']}/cgroup.procs").split():
                return
            time.sleep(_LOOK)
        raise KitError(
            f"{self.hierarchies['']}: processes of the container engine run in this node's cgroup: {NO_CGROUP}"
        )

    # Directories.

    def exists(self, path: str) -> bool:
        """Return whether the cgroup exists in any hierarchy."""
        return any(os.path.isdir(root + path) for root in self.roots)

    def absent(self, path: str) -> Sequence[str]:
        """Return the hierarchies in which the cgroup does not exist."""
        mounted = {name: root for name, root in self.hierarchies.items() if name in (*V1_HIERARCHIES, "")}
        return [name for name, root in sorted(mounted.items()) if not os.path.isdir(root + path)]

    def makedirs(self, path: str) -> None:
        """Create a cgroup and its missing parents, with all controllers.

        Raises:
            CgroupError: the kernel's error.
        """
        above = ""
        for part in [part for part in path.split("/") if part]:
            if self.version == 2:
                self._hand_down(above or "/")
            below = f"{above}/{part}"
            for root in self.roots:
                try:
                    os.mkdir(root + below)
                except FileExistsError:
                    continue
                except OSError as error:
                    raise CgroupError(error.errno or errno.EIO, below) from None
            if self.version == 1 and "cpuset" in self.hierarchies:
                self._inherit_cpuset(above, below)
            above = below

    def rmdir(self, path: str) -> None:
        """Remove a cgroup from every hierarchy.

        Raises:
            CgroupError: EBUSY if it has processes or children, or another error of the kernel.
        """
        for root in self.roots:
            try:
                os.rmdir(root + path)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise CgroupError(error.errno or errno.EIO, path) from None

    def children(self, path: str) -> list[str]:
        """Return the paths of the child cgroups in all hierarchies, without the agent's leaf."""
        found: set[str] = set()
        for root in self.roots:
            with suppress(FileNotFoundError), os.scandir(root + path) as entries:
                found |= {entry.name for entry in entries if entry.is_dir(follow_symlinks=False)}
        below = path.rstrip("/")
        return [f"{below}/{name}" for name in sorted(found) if f"{below}/{name}" != LEAF]

    def paths(self) -> Iterator[str]:
        """Yield every cgroup, parents before children, without the agent's leaf."""
        stack = ["/"]
        while stack:
            path = stack.pop()
            yield path
            stack += reversed(self.children(path))

    # Files.

    def location(self, path: str, file: str) -> str:
        """Return the path of a cgroup's file in the file system.

        Raises:
            CgroupError: ENOENT if the node does not have the file's controller.
        """
        if self.version == 2:
            return f"{self.hierarchies['']}{path.rstrip('/')}/{file}"
        controller = controller_of(file)
        root = self.hierarchies.get("memory" if controller in ("cgroup", "tasks") else controller)
        if root is None:
            raise CgroupError(errno.ENOENT, path, file, why=f"this node has no {controller} controller")
        return f"{root}{path.rstrip('/')}/{file}"

    def read(self, path: str, file: str) -> str:
        """Return a file's content without the trailing newline.

        Raises:
            CgroupError: the file cannot be read.
        """
        _check(path, file)
        try:
            return self._text(self.location(path, file)).removesuffix("\n")
        except OSError as error:
            if isinstance(error, CgroupError):
                raise
            raise CgroupError(error.errno or errno.EIO, path, file) from None

    def write(self, path: str, file: str, value: str) -> None:
        """Write a file.

        Raises:
            CgroupError: the kernel's error.
        """
        _check(path, file)
        try:
            _write(self.location(path, file), value)
        except OSError as error:
            if isinstance(error, CgroupError):
                raise
            raise CgroupError(error.errno or errno.EIO, path, file, value.strip()) from None

    def configure(self, cgroup: Cgroup, files: Iterable[CgroupFile]) -> None:
        """Do nothing: with the cgroupfs driver only the kubelet manages its cgroups."""

    def tree(self, driver: Driver, like: CgroupTree | None = None) -> CgroupTree:
        """Return the observed cgroup tree.

        Args:
            driver: the cgroup driver.
            like: a tree whose cgroups are shown with its files only; other cgroups are shown with all writable files.
        """
        values: dict[str, dict[str, str]] = {}
        for path in self.paths():
            wanted = like[path] if like is not None and path in like else None
            if wanted is None and f"/{path.split('/')[1]}" in self.foreign:
                continue
            names = list(wanted) if wanted is not None else self.settings(path)
            found = {}
            for name in names:
                with suppress(CgroupError):  # cgroups are created and removed during the reads
                    found[name] = self.read(path, name)
            values[path] = found
        return CgroupTree.observed(self.version, driver, values)

    def lacks(self, file: str) -> bool:
        """Return whether no cgroup of this node has such a file: it has no such controller, or no swap accounting."""
        if controller_of(file) not in self.controllers:
            return True
        return file.startswith(_NOT_EVERYWHERE) and not os.path.exists(self.location("/", file))

    def settings(self, path: str) -> list[str]:
        """Return the names of a cgroup's writable files."""
        names = []
        for name in SETTINGS[self.version]:
            with suppress(CgroupError):
                if os.path.exists(self.location(path, name)):
                    names.append(name)
        ending = ".limit_in_bytes" if self.version == 1 else ".max"
        where = self.hierarchies.get("" if self.version == 2 else "hugetlb")
        if where is not None:
            with suppress(FileNotFoundError):
                listed = sorted(os.listdir(where + path))
                names += [n for n in listed if n.startswith("hugetlb.") and n.endswith(ending) and ".rsvd" not in n]
        return names

    def procs(self, path: str) -> list[int]:
        """Return the ids of the processes in a cgroup, without those of its children."""
        pids = self.read(path, "cgroup.procs").split()
        return [int(pid) for pid in pids if pid != "0"]  # 0 is one of another pid namespace: the watchdog

    def oom_kills(self, path: str) -> int:
        """Return the number of OOM-killed processes of a cgroup, on v2 including its descendants.

        A kernel may count the kill of a whole group separately (`oom_group_kill`).
        """
        file = "memory.oom_control" if self.version == 1 else "memory.events"
        try:
            fields = dict(line.split() for line in self.read(path, file).splitlines())
        except CgroupError:
            return 0
        return max(int(fields.get("oom_kill", 0)), int(fields.get("oom_group_kill", 0)))

    def attach(self, path: str, pid: int) -> None:
        """Move a process into a cgroup, in every hierarchy.

        Raises:
            CgroupError: the kernel's error.
        """
        for root in self.roots:
            try:
                _write(f"{root}{path.rstrip('/')}/cgroup.procs", str(pid))
            except OSError as error:
                raise CgroupError(error.errno or errno.EIO, path, "cgroup.procs", str(pid)) from None

    def expect_processes(self) -> None:
        """Prepare the kernel for a process that will be moved into a cgroup within milliseconds.

        The first move after a quiet period waits until every processor has passed through the scheduler (8 to 12 ms at
        250 Hz); the following ones do not. Therefore a thread moves this process to its current cgroup, which changes
        nothing but takes that wait, while the runtime starts. No cgroup can be created in the meantime: all cgroups of
        the process must exist.

        Source: kernel cgroup_procs_write_start, percpu_down_write, rcu_sync_enter; cgroup-v2.rst favordynmods.
        """
        if self._moving:
            return
        try:
            descriptor = os.open(self._own_place(), os.O_WRONLY | os.O_CLOEXEC)
        except (OSError, StopIteration):
            return
        self._moving = True
        try:
            start_new_thread(self._move_nowhere, (descriptor,))  # Thread.start would wait until the thread runs
        except RuntimeError:  # the limit of processes is reached
            os.close(descriptor)
            self._moving = False

    def _own_place(self) -> str:
        controller, root = next(iter(self.hierarchies.items()))
        lines = (line.split(":", 2) for line in self._text("/proc/self/cgroup").splitlines())
        path = next(path for _, names, path in lines if controller in names.split(","))
        return f"{root}{path.rstrip('/')}/cgroup.procs"

    def _move_nowhere(self, descriptor: int) -> None:
        try:
            with suppress(OSError):
                os.write(descriptor, str(os.getpid()).encode())
        finally:
            os.close(descriptor)
            self._moving = False

    # What the two versions need.

    def _hand_down(self, path: str) -> None:
        """Enable (v2) every controller of a cgroup for its children."""
        where = f"{self.hierarchies['']}{path.rstrip('/')}"
        have = self._text(f"{where}/cgroup.controllers").split()
        enabled = self._text(f"{where}/cgroup.subtree_control").split()
        missing = " ".join(f"+{name}" for name in have if name not in enabled)
        if missing:
            try:
                _write(f"{where}/cgroup.subtree_control", missing)
            except OSError as error:
                number = error.errno or errno.EIO
                raise CgroupError(number, path, "cgroup.subtree_control", missing) from None

    def _inherit_cpuset(self, above: str, below: str) -> None:
        """Copy (v1) CPUs and memory nodes of the parent: a new cpuset is empty and accepts no process."""
        root = self.hierarchies["cpuset"]
        for file in ("cpuset.cpus", "cpuset.mems"):
            if not self._text(f"{root}{below}/{file}").strip():
                _write(f"{root}{below}/{file}", self._text(f"{root}{above}/{file}").strip())

    @staticmethod
    def _text(path: str) -> str:
        with open(path) as file:
            return file.read()


def _check(path: str, file: str) -> None:
    """Raise an error for a path outside the node's tree."""
    if not path.startswith("/") or ".." in path.split("/") or "/" in file or not file or "\0" in path + file:
        raise KitError(f"{path}/{file}: not a file in the cgroup tree of this node")


def _write(path: str, value: str) -> None:
    """Write a value with one write call, which these files require."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)
