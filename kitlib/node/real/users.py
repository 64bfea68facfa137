"""As whom containers run on a real node: an unprivileged user, or the one that the manifest asks for; never root."""

from __future__ import annotations

from kitlib.api.core import Container, LinuxContainerUser, Pod
from kitlib.node.real import oci


class CrunUsers:
    """What a runtime that uses crun says of itself and of its containers' users."""

    name = "crun"
    mounts_recursively = False

    def user(self, pod: Pod, container: Container) -> LinuxContainerUser:
        """The user of a container's first process: its group has the same number, and it is in no other."""
        number, _ = oci.user_of(pod, container)
        return LinuxContainerUser(uid=number, gid=number, supplemental_groups=[number])
