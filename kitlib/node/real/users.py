"""The users of containers on a real node: an unprivileged one, or the one that the manifest requests; never root."""

from __future__ import annotations

from kitlib.api.core import Container, LinuxContainerUser, Pod
from kitlib.node.real import oci


class CrunUsers:
    """The parts of a crun runtime that describe it and its containers' users."""

    name = "crun"
    mounts_recursively = False

    def user(self, pod: Pod, container: Container) -> LinuxContainerUser:
        """Return the user of a container's first process; its only group has the same number."""
        number, _ = oci.user_of(pod, container)
        return LinuxContainerUser(uid=number, gid=number, supplemental_groups=[number])
