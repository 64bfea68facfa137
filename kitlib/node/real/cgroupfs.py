"""The real cgroup file systems, version 1 or 2, as the agent finds them in its own container.

On v1 every controller has a hierarchy of its own; here they are one tree, and a file's name says in which hierarchy it
stands. On v2 there is one; a cgroup that hands controllers down may hold no processes, so whatever runs in the node's
root is moved to a leaf first. Which version it is, is read from the mounts, never assumed.

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
"""On v2: where the agent and everything else that stood in the node's root runs; with systemd, the watchdog."""
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
"""The files that can be written, read where no tree says which ones matter; those of huge pages come on top."""
NOT_OURS = (
    "its engine runs without root, or maps users, and has no cgroup to give away "
    "(use one that root has started, or cgroup v2 with a cgroup that was delegated to the engine's user)"
)
_NOT_EVERYWHERE = ("hugetlb.", "memory.memsw.", "memory.swap.")
"""Files that a controller has on some hosts only: sizes of huge pages, swap that is counted."""
NO_CGROUP = (
    "it may make none for the node (an engine without root: run it in a session of systemd, or have a cgroup delegated "
    "to its user and name that in KITLIB_CGROUP_PARENT)"
)
_LOOKS, _LOOK = 20, 0.01


class RealCgroupFS:
    """Implements `kitlib.kubelet.loop.interfaces.CgroupFS` on the kernel that this process runs on.

    Args:
        hierarchies: controller -> where it is mounted (v1); {"": mount} on v2. None = look at this process's mounts.

    Attributes:
        version: 1 or 2.
        controllers: what the node may use, in the kernel's order.
        roots: where hierarchies are mounted.
        foreign: cgroups below the root that another than the kubelet made, and that no tree shows with what is in them
            unless the kubelet wants one of them.
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
        """Make the tree ours: writable, on v2 with every process in a leaf and every controller handed down.

        Raises:
            KitError: where the engine or the host does not let us.
        """
        for root in self.roots:
            mounts.make_writable(root)
            if not os.access(root, os.W_OK):
                raise KitError(f"{root}: this node may not make cgroups there: {NOT_OURS}")
        if self.version == 2:
            self._alone()
            root = self.hierarchies[""]
            os.makedirs(root + LEAF, exist_ok=True)
            for _ in range(10):  # a process may be born while the others are moved
                pids = self._text(f"{root}/cgroup.procs").split()
                for pid in pids:
                    with suppress(ProcessLookupError):
                        _write(f"{root}{LEAF}/cgroup.procs", pid)
                if not pids:
                    break
            self._hand_down("/")

    def _alone(self) -> None:
        """v2: an engine that may make no cgroup leaves the node in its own: nothing is made or moved there.

        Raises:
            KitError: where processes stand in the node's root that are none of the container's; those read as 0.
        """
        for _ in range(_LOOKS):  # who has started the container may just be leaving
            if "0" not in self._text(f"{self.hierarchies['']}/cgroup.procs").split():
                return
            time.sleep(_LOOK)
        raise KitError(f"{self.hierarchies['']}: the engine itself stands in this node's cgroup: {NO_CGROUP}")

    # Directories.

    def exists(self, path: str) -> bool:
        """Whether there is such a cgroup."""
        return any(os.path.isdir(root + path) for root in self.roots)

    def absent(self, path: str) -> Sequence[str]:
        """Return the hierarchies without such a cgroup."""
        mounted = {name: root for name, root in self.hierarchies.items() if name in (*V1_HIERARCHIES, "")}
        return [name for name, root in sorted(mounted.items()) if not os.path.isdir(root + path)]

    def makedirs(self, path: str) -> None:
        """Make a cgroup and those above it, with all controllers.

        Raises:
            CgroupError: as the kernel says it.
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
            CgroupError: EBUSY where it has processes or children.
        """
        for root in self.roots:
            try:
                os.rmdir(root + path)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise CgroupError(error.errno or errno.EIO, path) from None

    def children(self, path: str) -> list[str]:
        """The paths of the cgroups directly below, in any hierarchy."""
        found: set[str] = set()
        for root in self.roots:
            with suppress(FileNotFoundError), os.scandir(root + path) as entries:
                found |= {entry.name for entry in entries if entry.is_dir(follow_symlinks=False)}
        below = path.rstrip("/")
        return [f"{below}/{name}" for name in sorted(found) if f"{below}/{name}" != LEAF]

    def paths(self) -> Iterator[str]:
        """Every cgroup, parents before children; not the agent's own leaf."""
        stack = ["/"]
        while stack:
            path = stack.pop()
            yield path
            stack += reversed(self.children(path))

    # Files.

    def location(self, path: str, file: str) -> str:
        """Where a file really stands.

        Raises:
            CgroupError: ENOENT where the node has no such controller.
        """
        if self.version == 2:
            return f"{self.hierarchies['']}{path.rstrip('/')}/{file}"
        controller = controller_of(file)
        root = self.hierarchies.get("memory" if controller in ("cgroup", "tasks") else controller)
        if root is None:
            raise CgroupError(errno.ENOENT, path, file, why=f"this node has no {controller} controller")
        return f"{root}{path.rstrip('/')}/{file}"

    def read(self, path: str, file: str) -> str:
        """A file's content without the last line's end.

        Raises:
            CgroupError: where there is none.
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
            CgroupError: with the kernel's errno, where it refuses.
        """
        _check(path, file)
        try:
            _write(self.location(path, file), value)
        except OSError as error:
            if isinstance(error, CgroupError):
                raise
            raise CgroupError(error.errno or errno.EIO, path, file, value.strip()) from None

    def configure(self, cgroup: Cgroup, files: Iterable[CgroupFile]) -> None:
        """Nobody but the kubelet manages this cgroup."""

    def tree(self, driver: Driver, like: CgroupTree | None = None) -> CgroupTree:
        """What the files say; with `like`, only its files where they exist, and all settings of other cgroups."""
        values: dict[str, dict[str, str]] = {}
        for path in self.paths():
            wanted = like[path] if like is not None and path in like else None
            if wanted is None and f"/{path.split('/')[1]}" in self.foreign:
                continue
            names = list(wanted) if wanted is not None else self.settings(path)
            found = {}
            for name in names:
                with suppress(CgroupError):  # cgroups come and go while we read
                    found[name] = self.read(path, name)
            values[path] = found
        return CgroupTree.observed(self.version, driver, values)

    def lacks(self, file: str) -> bool:
        """Whether no cgroup of this node has such a file: without its controller, or where the host counts no swap."""
        if controller_of(file) not in self.controllers:
            return True
        return file.startswith(_NOT_EVERYWHERE) and not os.path.exists(self.location("/", file))

    def settings(self, path: str) -> list[str]:
        """The files of a cgroup that can be written."""
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
        """The processes in a cgroup itself."""
        pids = self.read(path, "cgroup.procs").split()
        return [int(pid) for pid in pids if pid != "0"]  # 0 is one of another pid namespace: the watchdog

    def oom_kills(self, path: str) -> int:
        """How many processes of this cgroup the OOM killer has ended; on v2 with those of the cgroups below it.

        A kill of the whole group is counted apart where the kernel does so.
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
            CgroupError: as the kernel says it.
        """
        for root in self.roots:
            try:
                _write(f"{root}{path.rstrip('/')}/cgroup.procs", str(pid))
            except OSError as error:
                raise CgroupError(error.errno or errno.EIO, path, "cgroup.procs", str(pid)) from None

    def expect_processes(self) -> None:
        """A process will be moved into a cgroup in some milliseconds: have the kernel get ready for it meanwhile.

        The first move after a quiet time waits until every processor has passed through the scheduler (8 to 12 ms with
        250 ticks a second), those right after it do not. So a move that changes nothing, of this process to where it
        stands, waits on a thread of its own while the runtime starts. No cgroup can be made meanwhile: all that the
        kubelet makes for the process must be there before.

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
            start_new_thread(self._move_nowhere, (descriptor,))  # unlike a Thread's start it waits for nobody
        except RuntimeError:  # no process id left for it
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
        """v2: every controller that the cgroup has goes to its children."""
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
        """v1: a new cgroup has no CPUs and no memory nodes until they are copied from the cgroup above."""
        root = self.hierarchies["cpuset"]
        for file in ("cpuset.cpus", "cpuset.mems"):
            if not self._text(f"{root}{below}/{file}").strip():
                _write(f"{root}{below}/{file}", self._text(f"{root}{above}/{file}").strip())

    @staticmethod
    def _text(path: str) -> str:
        with open(path) as file:
            return file.read()


def _check(path: str, file: str) -> None:
    """A path stays within the node's tree."""
    if not path.startswith("/") or ".." in path.split("/") or "/" in file or not file or "\0" in path + file:
        raise KitError(f"{path}/{file}: no file of this node's cgroup tree")


def _write(path: str, value: str) -> None:
    """One write call, as the kernel's rules for these files expect."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)
