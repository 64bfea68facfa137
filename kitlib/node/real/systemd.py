"""The systemd driver: the node's cgroups as slices of its systemd, created and changed over D-Bus.

systemd owns the tree, so the kubelet requests every slice and passes every value to it; then the same files are written
directly, as libcontainer does, for values that systemd rounds or does not support. On cgroup v1 systemd creates a slice
in the hierarchies that it uses; in the others (cpuset, hugetlb, freezer) the kubelet creates the directory.

Each call opens its own connection: systemd sends all signals to every connection, and between two calls they would not
be read.

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
"""The agent's unit in system.slice; on a machine that was booted by systemd it is kubelet.service."""
PATIENCE = 100.0
"""Maximum seconds until systemd answers; an emulated machine is slow."""
_NAME, _PATH, _MANAGER = "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"
_PROPERTIES = "org.freedesktop.DBus.Properties"
_EXISTS, _NO_SUCH = f"{_NAME}.UnitExists", f"{_NAME}.NoSuchUnit"
_LOOK = 0.005
_RESET = "memory.oom.group"
"""A file without a property: systemd writes 0 whenever it applies a scope's limits; runc then writes all files again.

Source: systemd cgroup_context_apply; opencontainers/cgroups systemd.UnifiedManager.Set.
"""


class Systemd:
    """The calls of systemd's manager that the kubelet and its runtime make.

    Args:
        place: path of systemd's own socket.
    """

    def __init__(self, place: str = SOCKET) -> None:
        self._place = place

    def wait(self, seconds: float = PATIENCE) -> str:
        """Wait until systemd answers, and return its version.

        Raises:
            KitError: it does not answer in time.
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
        """Start a transient unit and wait for its job; return False if the unit exists.

        Raises:
            KitError: systemd rejects the unit, or the job fails.
        """
        given = [(property_.name, (property_.kind, property_.value)) for property_ in properties]
        try:
            self._job("StartTransientUnit", "ssa(sv)a(sa(sv))", unit, "replace", given, [])
        except BusError as error:
            if error.name != _EXISTS:
                raise
            return False
        return True

    def stop(self, unit: str) -> None:
        """Stop a unit and wait for its job; nothing happens if there is no such unit.

        Raises:
            KitError: systemd rejects the request, or the job fails.
        """
        with suppress(_Missing):
            self._job("StopUnit", "ss", unit, "replace")

    def set(self, unit: str, properties: Sequence[Property]) -> None:
        """Set properties of a unit until the next boot; at the return systemd has applied them.

        systemd answers before it writes the cgroup files. A second call is answered only after that; without it systemd
        would overwrite the files that the kubelet writes next.

        Raises:
            KitError: systemd rejects the properties.
        """
        given = [(property_.name, (property_.kind, property_.value)) for property_ in properties]
        with Bus(self._place) as bus:
            bus.call(_NAME, _PATH, _MANAGER, "SetUnitProperties", "sba(sv)", unit, True, given)
            bus.call(_NAME, _PATH, _MANAGER, "GetUnit", "s", unit)

    def show(self, unit: str) -> dict[str, Any]:
        """Return a unit's own properties, as `systemctl show` prints them.

        Raises:
            KitError: the unit does not exist.
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
            # The reply only says that the job is queued; JobRemoved is sent once the unit has its new state.
            for heard in bus.signals():
                if heard.member == "JobRemoved" and heard.body[1] == job:
                    if heard.body[3] != "done":
                        raise KitError(f"systemd: {member} {arguments[0]}: the job ended with {heard.body[3]!r}")
                    return


class _Missing(BusError):
    """The unit does not exist."""


class SystemdCgroupFS:
    """Cgroups of the systemd driver: slices over D-Bus, all other operations on files.

    Implements `kitlib.kubelet.loop.interfaces.CgroupFS`.

    Args:
        files: the cgroup file systems.
        systemd: client of the node's systemd.

    Attributes:
        places: the cgroups of systemd itself and of the agent.
    """

    places = ("/init.scope", f"/system.slice/{SCOPE}")

    def __init__(self, files: RealCgroupFS, systemd: Systemd) -> None:
        self.files, self.systemd, self.version = files, systemd, files.version

    def prepare(self) -> str:
        """Wait for systemd, move the agent into its own scope, and return systemd's version.

        Raises:
            KitError: systemd does not start.
        """
        version = self.systemd.wait()
        if not os.path.exists("/run/systemd/system"):
            raise KitError("systemd runs, but is not process 1 of this node")
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
        """Return whether the cgroup exists."""
        return self.files.exists(path)

    def children(self, path: str) -> list[str]:
        """Return the paths of the child cgroups."""
        return self.files.children(path)

    def read(self, path: str, file: str) -> str:
        """Return a file's content without the trailing newline."""
        return self.files.read(path, file)

    def write(self, path: str, file: str, value: str) -> None:
        """Write a file."""
        self.files.write(path, file, value)

    def absent(self, path: str) -> Sequence[str]:
        """Return the hierarchies in which the cgroup does not exist."""
        return self.files.absent(path)

    def lacks(self, file: str) -> bool:
        """Return whether no cgroup of this node has such a file."""
        return self.files.lacks(file)

    def tree(self, driver: Driver, like: CgroupTree | None = None) -> CgroupTree:
        """Return the observed cgroup tree; see `RealCgroupFS.tree`."""
        return self.files.tree(driver, like)

    def makedirs(self, path: str) -> None:
        """Create a slice through systemd, with its directories in hierarchies that systemd does not use.

        Any other cgroup is created directly.

        Raises:
            KitError: systemd or the kernel refuses.
        """
        if is_slice(path):
            above, _, name = path.rpartition("/")
            self.systemd.start(name, slice_properties(above.rpartition("/")[2]))
        self.files.makedirs(path)

    def rmdir(self, path: str) -> None:
        """Stop a slice and remove its remaining directories.

        Raises:
            CgroupError: EBUSY if it has processes or children, which systemd would kill.
        """
        if is_slice(path):
            if self.files.children(path) or self.files.procs(path):
                raise CgroupError(errno.EBUSY, path)
            self.systemd.stop(path.rpartition("/")[2])
        self.files.rmdir(path)

    def take_over(self, cgroup: Cgroup) -> None:
        """Pass a scope's settings to systemd: runc does so when it creates the scope, crun only writes files.

        Nothing happens if the scope has already ended.

        Raises:
            KitError: systemd or the kernel refuses.
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
        """Pass settings to systemd before the files of a cgroup are written, if it is a unit.

        Raises:
            KitError: systemd refuses.
        """
        if not (is_slice(cgroup.path) or cgroup.name.endswith(".scope")):
            return
        whole = {file.name: file.value for file in cgroup.values() if file.written}
        properties = unit_properties(whole, self.version, [file.name for file in files])
        if properties:
            self.systemd.set(cgroup.name, properties)
        if properties and _RESET in whole and not self.files.lacks(_RESET):
            self.files.write(cgroup.path, _RESET, whole[_RESET])
