"""What a machine must offer before the kubelet sets up its cgroups: the controllers cpu, cpuacct, cpuset and memory.

Source: pkg/kubelet/cm/container_manager_linux.go validateSystemRequirements.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kitlib.kubelet.cm.cgroup_tree import Version
from kitlib.kubelet.config.settings import SettingsError

EXPECTED_CGROUPS = ("cpu", "cpuacct", "cpuset", "memory")


class MountPoint(NamedTuple):
    """One line of `mount`.

    Attributes:
        device: what is mounted.
        path: where.
        type: of the file system; `cgroup` for a hierarchy of version 1.
        options: a hierarchy's options name its controllers.
    """

    device: str
    path: str
    type: str
    options: tuple[str, ...]


def parse_mounts(text: str) -> list[MountPoint]:
    """The lines that `mount` prints: `cgroup on /sys/fs/cgroup/cpu type cgroup (rw,cpu)`; others are left out."""
    found = []
    for line in text.splitlines():
        device, on, rest = line.strip().partition(" on ")
        path, kind, rest = rest.partition(" type ")
        fs, bracket, options = rest.partition(" (")
        if on and kind and bracket:
            found.append(MountPoint(device, path, fs, tuple(options.rstrip(")").split(","))))
    return found


def validate_system_requirements(mounts: Iterable[MountPoint], version: Version) -> None:
    """Refuse a machine that lacks a controller; on cgroup v2 the root hands all of them down.

    Args:
        mounts: what is mounted.
        version: of the machine's cgroups.

    Raises:
        SettingsError: naming the controllers that are not mounted.
    """
    if version == 2:
        return
    there = {option for mount in mounts if mount.type == "cgroup" for option in mount.options}
    missing = sorted(set(EXPECTED_CGROUPS) - there)
    if missing:
        text = f"system validation failed - Following Cgroup subsystem not mounted: [{' '.join(missing)}]"
        raise SettingsError([text])
