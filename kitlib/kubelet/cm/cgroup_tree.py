"""The cgroup tree as a value: the cgroups, their files, the files' values, and the reason of each value.

`desired_tree` (in `desired.py`) computes one from a node's configuration and its pods; a node builds another from the
files that it reads; `diff` compares the two. A path starts at the mount of the cgroup file system:
`/kubepods.slice/kubepods-burstable.slice`. On cgroup v1 every controller has its own hierarchy with the same
paths in each; here they are one tree, and `location` adds the hierarchy of a file.

Source of the files' rules: Linux Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from kitlib.kubelet.cm.cgroup_names import CgroupName, to_path
from kitlib.kubelet.cm.conversions import MAX_SHARES, MIN_SHARES, QUOTA_PERIOD
from kitlib.kubelet.cm.formula import Formula
from kitlib.kubelet.config.machine import PAGE_SIZE
from kitlib.kubelet.config.settings import Driver

Version = Literal[1, 2]
V1_HIERARCHIES = ("cpu", "cpuacct", "cpuset", "hugetlb", "memory", "pids", "systemd")
"""The hierarchies in which a cgroup must exist for the kubelet. Source: cgroupV1impl.Validate."""
Kind = Literal["root", "kubepods", "qos", "pod", "sandbox", "container", "inner", "reserved", "daemon", "system"]
Path = str | CgroupName

MOUNT = "/sys/fs/cgroup"
UNLIMITED_V1 = 2**63 - PAGE_SIZE
"""The value of v1 for "no memory limit": the largest signed 64-bit number, rounded down to a page."""
_V1_MEMORY = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.soft_limit_in_bytes")
_V2_MEMORY = ("memory.max", "memory.high", "memory.low", "memory.min", "memory.swap.max")


class Reason:
    """The reason of a value: a sentence, its formula, and the Kubernetes function that implements the rule.

    Sentence and formula are formatted only when they are read; a tree of thousands of pods does not spend time on them.
    """

    __slots__ = ("_arguments", "_formula", "_template", "source")

    def __init__(
        self, template: str, *arguments: object, source: str = "", formula: Callable[[], Formula] | None = None
    ) -> None:
        self._template, self._arguments, self.source, self._formula = template, arguments, source, formula

    @property
    def summary(self) -> str:
        """The sentence alone."""
        return self._template.format(*self._arguments) if self._arguments else self._template

    @property
    def formula(self) -> Formula | None:
        """The arithmetic; None if the value is not a number, such as a list of processors or a switch."""
        return self._formula() if self._formula is not None else None

    def __str__(self) -> str:
        return self.summary if self._formula is None else f"{self.summary}: {self._formula()}"

    def __repr__(self) -> str:
        return f"Reason({str(self)!r})"


NO_REASON = Reason("")


class CgroupFile(NamedTuple):
    """One file of one cgroup.

    Attributes:
        name: the file's name, `cpu.shares`.
        value: the value that is written; the kernel's default if the file is not written.
        why: the reason; see also `reason` and `source`.
        written: whether the kubelet or the runtime writes the file; False = the value is the kernel's default.
        page_size: the size of a page in bytes, to which the kernel rounds memory values down.
    """

    name: str
    value: str
    why: Reason = NO_REASON
    written: bool = True
    page_size: int = PAGE_SIZE

    @property
    def reason(self) -> str:
        """The formula in words and figures."""
        return str(self.why)

    @property
    def formula(self) -> Formula | None:
        """The arithmetic; None if there is none."""
        return self.why.formula

    @property
    def source(self) -> str:
        """The function or document that defines the rule."""
        return self.why.source

    @property
    def shown(self) -> str:
        """The content of the file after `value` was written to it."""
        return kernel_shows(self.name, self.value, self.page_size)

    @property
    def controller(self) -> str:
        """`cpu`, `memory`, `pids`, `hugetlb` or `cpuset`."""
        return controller_of(self.name)


@dataclass(frozen=True, slots=True)
class Cgroup(Mapping[str, CgroupFile]):
    """A directory of the tree and the files in it; a mapping from a file's name to the file.

    Attributes:
        path: the path from the mount on, in the driver's spelling.
        kind: the role of the cgroup: the root, all pods, a QoS class, a pod, its pause container ("sandbox"), a
            container, crun's cgroup inside the container's scope ("inner"), a cgroup for reserved resources, a daemon's
            own, or one that the system made.
        title: a description for users: `Burstable pod default/web-0`.
        writer: the component that writes its files: "kubelet" or "runtime"; "" = neither.
        pod: `namespace/name` of the pod; "" = none.
        uid: the pod's UID.
        container: the container's name.
        qos: the QoS class that the cgroup belongs to.
        inner: the cgroup below this one in which the runtime starts the processes; None = they are in this one.
        refused: in an observed tree, desired file -> the reason why a real node's host does not have it.
    """

    path: str
    kind: Kind
    title: str = ""
    writer: str = ""
    files: dict[str, CgroupFile] = field(default_factory=dict)
    pod: str = ""
    uid: str = ""
    container: str = ""
    qos: str = ""
    inner: Cgroup | None = None
    refused: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> CgroupFile:
        return self.files[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    @property
    def name(self) -> str:
        """The directory's own name: the last element of the path."""
        return self.path.rpartition("/")[2] or "/"

    @property
    def parent(self) -> str:
        """The path of the directory above; "" for the root."""
        return (self.path.rpartition("/")[0] or "/") if self.path != "/" else ""

    def values(self) -> Any:
        """Return the files in the order of writing."""
        return self.files.values()


class Difference(NamedTuple):
    """A difference of two trees: one file, or a cgroup that only one of them has.

    Attributes:
        path: the path of the cgroup.
        file: the file's name; "" = the whole cgroup is missing on one side.
        left: the file's content in the left tree; None = missing.
        right: the file's content in the right tree; None = missing.
    """

    path: str
    file: str
    left: str | None
    right: str | None

    def __str__(self) -> str:
        what = f"{self.path}/{self.file}" if self.file else self.path
        return f"{what}: {'missing' if self.left is None else self.left} != " + (
            "missing" if self.right is None else self.right
        )


class CgroupTree(Mapping[str, Cgroup]):
    """The cgroups of a node: a mapping from path to `Cgroup`, parents before children.

    `tree["/kubepods.slice"]["cpu.weight"].value`; a path may also be a tuple of components: `tree[("kubepods",)]`.

    Attributes:
        version: cgroup version, 1 or 2.
        driver: the cgroup driver that determines the spelling of names, "cgroupfs" or "systemd".
    """

    def __init__(self, version: Version, driver: Driver, cgroups: Iterable[Cgroup] = ()) -> None:
        self.version: Version = version
        self.driver: Driver = driver
        self._cgroups: dict[str, Cgroup] = {cgroup.path: cgroup for cgroup in cgroups}

    @classmethod
    def observed(cls, version: Version, driver: Driver, values: Mapping[str, Mapping[str, str]]) -> CgroupTree:
        """Return a tree of the values that were read from files: path -> file -> content."""
        return cls(
            version,
            driver,
            (
                Cgroup(path, "root" if path == "/" else "system", files={f: CgroupFile(f, v) for f, v in files.items()})
                for path, files in values.items()
            ),
        )

    def path(self, path: Path) -> str:
        """Return `path` as a string; components are converted to the spelling of this tree's driver."""
        return path if isinstance(path, str) else to_path(path, self.driver)

    def __getitem__(self, path: Path) -> Cgroup:
        return self._cgroups[self.path(path)]

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str | tuple) and self.path(path) in self._cgroups

    def __iter__(self) -> Iterator[str]:
        return iter(self._cgroups)

    def __len__(self) -> int:
        return len(self._cgroups)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CgroupTree) and self.version == other.version and not self.diff(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"CgroupTree(v{self.version}, {self.driver}, {len(self)} cgroups)"

    def children(self, path: Path) -> list[Cgroup]:
        """Return the cgroups directly below `path`, in the order of the tree."""
        wanted = self.path(path)
        return [cgroup for cgroup in self._cgroups.values() if cgroup.parent == wanted]

    def of_kind(self, kind: Kind) -> list[Cgroup]:
        """Return the cgroups of a kind, in the order of the tree."""
        return [cgroup for cgroup in self._cgroups.values() if cgroup.kind == kind]

    def of_pod(self, uid: str) -> list[Cgroup]:
        """Return the pod's own cgroup, its pause container's and its containers'."""
        return [cgroup for cgroup in self._cgroups.values() if cgroup.uid == uid]

    def only(self, controller: str) -> CgroupTree:
        """Return the tree with the files of one controller only, as in `tree /sys/fs/cgroup/memory` on cgroup v1."""
        return CgroupTree(
            self.version,
            self.driver,
            (
                replace(c, files={name: file for name, file in c.files.items() if file.controller == controller})
                for c in self._cgroups.values()
            ),
        )

    def location(self, path: Path, file: str) -> str:
        """Return the file's absolute path: below its controller's mount on v1, below the only mount on v2."""
        hierarchy = f"/{controller_of(file)}" if self.version == 1 else ""
        below = self.path(path).rstrip("/")
        return f"{MOUNT}{hierarchy}{below}/{file}"

    def diff(self, other: CgroupTree) -> list[Difference]:
        """Compare this tree (left) with `other` (right) as the kernel would show both.

        Returns:
            Differences in the order of this tree, then cgroups that only `other` has. Empty = equal.
        """
        found: list[Difference] = []
        for path, mine in self._cgroups.items():
            theirs = other._cgroups.get(path)
            if theirs is None:
                found.append(Difference(path, "", "present", None))
                continue
            for name, file in mine.files.items():
                twin = theirs.files.get(name)
                if twin is None:
                    found.append(Difference(path, name, file.shown, None))
                elif file.value != twin.value and file.shown != twin.shown:
                    found.append(Difference(path, name, file.shown, twin.shown))
            found += [
                Difference(path, name, None, file.shown)
                for name, file in theirs.files.items()
                if name not in mine.files
            ]
        found += [Difference(path, "", None, "present") for path in other._cgroups if path not in self._cgroups]
        return found

    def to_values(self) -> dict[str, dict[str, str]]:
        """Return path -> file -> value, without reasons."""
        return {path: {n: f.value for n, f in cgroup.files.items()} for path, cgroup in self._cgroups.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as plain data for JSON; values with their reasons and sources."""
        return {
            "version": self.version,
            "driver": self.driver,
            "cgroups": [
                {
                    "path": c.path,
                    "kind": c.kind,
                    **{
                        k: getattr(c, k) for k in ("title", "writer", "pod", "uid", "container", "qos") if getattr(c, k)
                    },
                    "files": {
                        f.name: {
                            "value": f.value,
                            "shown": f.shown,
                            "written": f.written,
                            "reason": f.reason,
                            "source": f.source,
                        }
                        for f in c.files.values()
                    },
                }
                for c in self._cgroups.values()
            ],
        }


def controller_of(file: str) -> str:
    """Return the file's controller: the part of its name before the first dot."""
    return file.partition(".")[0]


def kernel_shows(file: str, value: str, page_size: int = PAGE_SIZE) -> str:
    """Return the file's content after `value` was written to it.

    The kernel stores memory limits in whole pages, rounded down; "no limit" is `max` on v2 and 9223372036854771712 on
    v1. A huge page limit is rounded down to whole huge pages; shares are limited to 2 to 262144; `cpu.max` always shows
    both the quota and the period.

    Args:
        file: the file's name, which also determines the cgroup version.
        value: the written value.
        page_size: bytes of a page.
    """
    if file in _V1_MEMORY:
        number = int(value)
        return str(min(number // page_size * page_size, UNLIMITED_V1)) if number >= 0 else str(UNLIMITED_V1)
    if file in _V2_MEMORY:
        return value if value == "max" else str(int(value) // page_size * page_size)
    if file == "cpu.shares":
        return str(min(max(int(value), MIN_SHARES), MAX_SHARES))
    if file == "cpu.max":
        return value if " " in value else f"{value} {QUOTA_PERIOD}"
    if file.startswith("hugetlb.") and value != "max":
        size = huge_page_size(file.split(".")[1])
        limit = min(int(value), UNLIMITED_V1) // size * size
        return "max" if file.endswith(".max") and limit == UNLIMITED_V1 // size * size else str(limit)
    return value


def huge_page_size(unit: str) -> int:
    """Return the page size in bytes of the unit in the name of a hugetlb file: 2097152 for `2MB`."""
    for power, suffix in enumerate(("KB", "MB", "GB"), start=1):
        if unit.endswith(suffix):
            size: int = int(unit.removesuffix(suffix)) * 1024**power
            return size
    return int(unit)
