"""The cgroups of one simulated machine and their files, as they are read.

One tree holds all controllers, also for v1, whose hierarchies have the same paths. On v2 a cgroup has a controller's
files only if its parent's `cgroup.subtree_control` contains it. `cgroupfs` adds the operations that change the tree.

Sources: Documentation/admin-guide/cgroup-v1, cgroup-v2.rst; kernel/cgroup/cgroup.c.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from kitlib.kubelet.cm.cgroup_tree import V1_HIERARCHIES, CgroupTree, Version, controller_of
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.kubelet.config.settings import Driver
from kitlib.kubelet.util.cpuset import format_cpus
from kitlib.node.common.errors import CgroupError
from kitlib.node.simulated import rules
from kitlib.node.simulated.initial_files import initial_files

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
WRITE_ONLY = frozenset({"cgroup.kill", "memory.reclaim"})
"""Files of v2 that can only be written: each write is an act. Source: cgroup_base_files, memory_files."""
ALWAYS = frozenset({"cpu.stat", "cpu.pressure", "io.pressure", "memory.pressure"})
"""Files that a cgroup has without their controller. Only v2 has them; reading does not check the version."""
Statistics = Callable[[str, str], str | None]
"""Returns the content of a read-only file of a cgroup, by path and file, from the model of the kernel."""


@dataclass
class Directory:
    """A cgroup: its settings, its processes, and the paths of its children in order."""

    files: dict[str, str]
    procs: set[int] = field(default_factory=set)
    children: list[str] = field(default_factory=list)


class CgroupFiles:
    """The cgroups of one machine and their files.

    Args:
        version: 1 or 2.
        machine: the machine, with its CPUs and sizes of huge pages.
        statistics: source of read-only files; None = they read as 0.
        available: the kernel's controllers.
    """

    on_reclaim: Callable[[str, int], int] | None = None
    """Called with a cgroup and the bytes to reclaim from it and its descendants; returns the reclaimed bytes."""

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
        self._place: dict[int, str] = {}  # process id -> its cgroup
        self._touched: set[str] = set()
        self._effective: dict[str, frozenset[int]] = {}
        self.partial: dict[str, Sequence[str]] = {}
        """Path -> hierarchies of v1 in which the cgroup does not exist; set by `SimulatedSystem` for systemd's."""

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

    def controllers(self, path: str) -> list[str]:
        """Return the controllers of a cgroup: on v2 those that its parent enables."""
        if self.version == 1 or path == "/":
            return list(self.available)
        handed = self._at(parent_of(path)).files["cgroup.subtree_control"].split()
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
        if self.acts(path, file):
            raise CgroupError(errno.EINVAL, path, file, why="the file can only be written")  # cgroup_seqfile_show
        if file not in directory.files or not self.has(path, file):
            raise CgroupError(errno.ENOENT, path, file)
        return directory.files[file]

    def acts(self, path: str, file: str) -> bool:
        """Return whether a cgroup has a file of this name that can only be written; the root has no cgroup.kill."""
        return (
            self.version == 2 and file in WRITE_ONLY and self.has(path, file) and (file, path) != ("cgroup.kill", "/")
        )

    def setting(self, path: str, file: str) -> str:
        """Return the value of a setting that the cgroup has."""
        return self._directories[path].files[file]

    def has(self, path: str, file: str) -> bool:
        """Return whether the cgroup has the controller of a setting."""
        if file.startswith("cgroup."):
            return True
        if self.version == 1 or path == "/":
            return controller_of(file) in self.available or file.startswith("cpuacct.")  # comounted with cpu
        return controller_of(file) in self._at(parent_of(path)).files["cgroup.subtree_control"].split()

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
        above = self.effective_cpus(parent_of(path))
        return (own & above) or above  # v2: without a common CPU the parent's

    def lacks(self, file: str) -> bool:
        """Return whether no cgroup has such a file: its controller, or its size of huge pages, is missing."""
        if file.startswith("cgroup."):
            return False
        if file.startswith("hugetlb."):
            return file not in self._new_files
        return controller_of(file) not in self.available

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


def parent_of(path: str) -> str:
    """Return the path of the cgroup above."""
    return path.rpartition("/")[0] or "/"
