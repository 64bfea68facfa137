"""The systemd driver: the node's cgroups as slices of the systemd that runs there, made and changed over D-Bus.

systemd owns the tree, so the kubelet asks it for every slice and tells it every value; then the same files are written
directly, as libcontainer does, for what systemd rounds or does not know. On cgroup v1 systemd makes a slice in the
hierarchies that it uses; the others (cpuset, hugetlb, freezer) get the directory from the kubelet.

Each call opens a connection of its own: systemd tells every listener of all that happens, and nobody here would read it
between two calls.

Source: opencontainers/cgroups systemd.LegacyManager and UnifiedManager (Apply, Set, Destroy), startUnit, stopUnit,
setUnitProperties; org.freedesktop.systemd1(5).
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from kitlib.api.errors import KitError
from kitlib.kubelet.cm.cgroup_files import memory_order
from kitlib.kubelet.cm.cgroup_tree import Cgroup, CgroupFile, CgroupTree
from kitlib.kubelet.cm.systemd_properties import Property, is_slice, slice_properties, unit_properties
from kitlib.kubelet.config.settings import Driver
from kitlib.node.common.errors import CgroupError
from kitlib.node.real.cgroupfs import RealCgroupFS
from kitlib.node.real.dbus import Bus, BusError

SOCKET = "/run/systemd/private"
SCOPE = "kubelet.scope"
"""Where the agent stands, in system.slice: on a machine that systemd itself has started, that is kubelet.service."""
PATIENCE = 100.0
"""Seconds that systemd may take until it answers; an emulated machine needs a few."""
_NAME, _PATH, _MANAGER = "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"
_PROPERTIES = "org.freedesktop.DBus.Properties"
_EXISTS, _NO_SUCH = f"{_NAME}.UnitExists", f"{_NAME}.NoSuchUnit"
_LOOK = 0.005
_RESET = "memory.oom.group"
"""systemd has no property for it, and writes 0 whenever it applies a scope's limits; runc writes all files again then.

Source: systemd cgroup_context_apply; opencontainers/cgroups systemd.UnifiedManager.Set.
"""


class Systemd:
    """The calls of systemd's manager that the kubelet and its runtime make.

    Args:
        place: of systemd's own socket.
    """

    def __init__(self, place: str = SOCKET) -> None:
        self._place = place

    def wait(self, seconds: float = PATIENCE) -> str:
        """Wait until systemd answers; its version.

        Raises:
            KitError: where it does not.
        """
        deadline = time.monotonic() + seconds
        while True:
            try:
                with Bus(self._place) as bus:
                    return str(bus.call(_NAME, _PATH, _PROPERTIES, "Get", "ss", _MANAGER, "Version")[0])
            except OSError as error:
                if time.monotonic() > deadline:
                    text = f"systemd does not answer at {self._place}: {error.strerror}"
                    raise KitError(text) from None
            time.sleep(_LOOK)

    def start(self, unit: str, properties: Sequence[Property]) -> bool:
        """StartTransientUnit, and wait for its job; False where there is such a unit already.

        Raises:
            KitError: where systemd refuses or the job fails.
        """
        given = [(one.name, (one.kind, one.value)) for one in properties]
        try:
            self._job("StartTransientUnit", "ssa(sv)a(sa(sv))", unit, "replace", given, [])
        except BusError as error:
            if error.name != _EXISTS:
                raise
            return False
        return True

    def stop(self, unit: str) -> None:
        """StopUnit, and wait for its job; nothing where there is none.

        Raises:
            KitError: where systemd refuses or the job fails.
        """
        with suppress(_Missing):
            self._job("StopUnit", "ss", unit, "replace")

    def set(self, unit: str, properties: Sequence[Property]) -> None:
        """SetUnitProperties until the next boot; when this returns, systemd has written what it makes of them.

        It answers first and writes then. A second question is answered after that: without it systemd would write over
        what the kubelet writes next.

        Raises:
            KitError: where systemd refuses.
        """
        given = [(one.name, (one.kind, one.value)) for one in properties]
        with Bus(self._place) as bus:
            bus.call(_NAME, _PATH, _MANAGER, "SetUnitProperties", "sba(sv)", unit, True, given)
            bus.call(_NAME, _PATH, _MANAGER, "GetUnit", "s", unit)

    def show(self, unit: str) -> dict[str, Any]:
        """A unit's own properties, as `systemctl show` prints them.

        Raises:
            KitError: where there is no such unit.
        """
        kind = unit.rpartition(".")[2].capitalize()
        with Bus(self._place) as bus:
            path = bus.call(_NAME, _PATH, _MANAGER, "GetUnit", "s", unit)[0]
            found = dict[str, Any]()
            for interface in (f"{_NAME}.Unit", f"{_NAME}.{kind}"):
                found |= dict(bus.call(_NAME, path, _PROPERTIES, "GetAll", "s", interface)[0])
        return found

    def _job(self, member: str, signature: str, *arguments: Any) -> None:
        with Bus(self._place) as bus:
            try:
                job = bus.call(_NAME, _PATH, _MANAGER, member, signature, *arguments)[0]
            except BusError as error:
                raise _Missing(error.name, str(error)) if error.name == _NO_SUCH else error from None
            for heard in bus.signals():
                if heard.member == "JobRemoved" and heard.body[1] == job:
                    if heard.body[3] != "done":
                        raise KitError(f"systemd: {member} {arguments[0]}: the job ended with {heard.body[3]!r}")
                    return


class _Missing(BusError):
    """There is no such unit."""


class SystemdCgroupFS:
    """Implements `kitlib.kubelet.loop.interfaces.CgroupFS`: slices over D-Bus, everything else as files.

    Args:
        files: the file systems.
        systemd: that owns them.

    Attributes:
        places: the cgroups in which systemd itself and the agent stand.
    """

    places = ("/init.scope", f"/system.slice/{SCOPE}")

    def __init__(self, files: RealCgroupFS, systemd: Systemd) -> None:
        self.files, self.systemd, self.version = files, systemd, files.version

    def prepare(self) -> str:
        """Wait for systemd and step out of its own scope into one of ours; its version.

        Raises:
            KitError: where it does not come up.
        """
        version = self.systemd.wait()
        if not os.path.exists("/run/systemd/system"):
            raise KitError("systemd answers, but is not process 1 of this node")
        standing = [
            Property("Description", "s", "kubelet of a node of the kit"),
            Property("Slice", "s", "system.slice"),
            Property("PIDs", "au", [os.getpid()]),
            Property("DefaultDependencies", "b", False),
        ]
        self.systemd.start(SCOPE, standing)
        self.files.foreign = frozenset(self.files.children("/"))
        return version

    def exists(self, path: str) -> bool:
        """Whether there is such a cgroup."""
        return self.files.exists(path)

    def children(self, path: str) -> list[str]:
        """The paths of the cgroups directly below."""
        return self.files.children(path)

    def read(self, path: str, file: str) -> str:
        """A file's content without the last line's end."""
        return self.files.read(path, file)

    def write(self, path: str, file: str, value: str) -> None:
        """Write a file."""
        self.files.write(path, file, value)

    def absent(self, path: str) -> Sequence[str]:
        """Return the hierarchies without such a cgroup."""
        return self.files.absent(path)

    def lacks(self, file: str) -> bool:
        """Whether no cgroup of this node has such a file."""
        return self.files.lacks(file)

    def tree(self, driver: Driver, like: CgroupTree | None = None) -> CgroupTree:
        """What the files say; see `RealCgroupFS.tree`."""
        return self.files.tree(driver, like)

    def makedirs(self, path: str) -> None:
        """Have systemd make a slice, and its directory where systemd makes none; another cgroup is made directly.

        Raises:
            KitError: where systemd or the kernel refuses.
        """
        if is_slice(path):
            above, _, name = path.rpartition("/")
            self.systemd.start(name, slice_properties(above.rpartition("/")[2]))
        self.files.makedirs(path)

    def rmdir(self, path: str) -> None:
        """Have systemd end a slice, and remove what is left of its directories.

        Raises:
            CgroupError: EBUSY where it has processes or children: systemd would end them.
        """
        if is_slice(path):
            if self.files.children(path) or self.files.procs(path):
                raise CgroupError(errno.EBUSY, path)
            self.systemd.stop(path.rpartition("/")[2])
        self.files.rmdir(path)

    def take_over(self, cgroup: Cgroup) -> None:
        """Tell systemd of a scope what runc tells it at once; crun writes the files only. One that has ended has none.

        Raises:
            KitError: where systemd or the kernel refuses.
        """
        files = [file for file in cgroup.values() if file.written and not self.files.lacks(file.name)]
        try:
            self.configure(cgroup, files)
            for file in memory_order(files, lambda name: self.files.read(cgroup.path, name)):
                self.files.write(cgroup.path, file.name, file.value)
        except KitError:
            if self.files.exists(cgroup.path):
                raise

    def configure(self, cgroup: Cgroup, files: Iterable[CgroupFile]) -> None:
        """Tell systemd what is about to be written into a cgroup, if it is a unit of it.

        Raises:
            KitError: where systemd refuses.
        """
        if not (is_slice(cgroup.path) or cgroup.name.endswith(".scope")):
            return
        whole = {file.name: file.value for file in cgroup.values() if file.written}
        properties = unit_properties(whole, self.version, [file.name for file in files])
        if properties:
            self.systemd.set(cgroup.name, properties)
        if properties and _RESET in whole and not self.files.lacks(_RESET):
            self.files.write(cgroup.path, _RESET, whole[_RESET])
