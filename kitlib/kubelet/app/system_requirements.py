"""The requirements of the kubelet on a machine with cgroup v1: the controllers cpu, cpuacct, cpuset and memory.

Source: pkg/kubelet/cm/container_manager_linux.go validateSystemRequirements.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kitlib.kubelet.cm.cgroup_tree import Version
from kitlib.kubelet.config.settings import SettingsError

EXPECTED_CGROUPS = ("cpu", "cpuacct", "cpuset", "memory")


class MountPoint(NamedTuple):
    """A line of the output of `mount`.

    Attributes:
        device: the mounted device.
        path: the mount point.
        type: the type of the file system; `cgroup` for a hierarchy of version 1.
        options: the mount options; those of a hierarchy name its controllers.
    """

    device: str
    path: str
    type: str
    options: tuple[str, ...]


def parse_mounts(text: str) -> list[MountPoint]:
    """Return the mount points in the output of `mount`; lines in another format are skipped.

    The format is `cgroup on /sys/fs/cgroup/cpu type cgroup (rw,cpu)`.
    """
    found = []
    for line in text.splitlines():
        device, on, rest = line.strip().partition(" on ")
        path, kind, rest = rest.partition(" type ")
        fs, bracket, options = rest.partition(" (")
        if on and kind and bracket:
            found.append(MountPoint(device, path, fs, tuple(options.rstrip(")").split(","))))
    return found


def validate_system_requirements(mounts: Iterable[MountPoint], version: Version) -> None:
    """Raise an error if a controller is not mounted; cgroup v2 is not checked, as its root has all of them.

    Args:
        mounts: the machine's mount points.
        version: cgroup version of the machine, 1 or 2.

    Raises:
        SettingsError: the message names the controllers that are not mounted.
    """
    if version == 2:
        return
    there = {option for mount in mounts if mount.type == "cgroup" for option in mount.options}
    missing = sorted(set(EXPECTED_CGROUPS) - there)
    if missing:
        text = f"system validation failed - Following Cgroup subsystem not mounted: [{' '.join(missing)}]"
        raise SettingsError([text])
