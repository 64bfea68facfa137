"""The file systems in a container, with the sizes and paths that matter for enforcement.

Source: kubelet emptydir.calculateEmptyDirMemorySize; containerd WithDefaultSandboxShm (/dev/shm of 64 MiB for each
    pod).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kitlib.api.core import Container, Pod
from kitlib.kubelet.cm.cgroup_config import resource_config_for_pod

if TYPE_CHECKING:
    from kitlib.node.simulated.programs.recorder import Mount


def memory_size(pod: Pod, declared: int | None, allocatable: int | None = None) -> int | None:
    """Return the size of a memory-backed emptyDir in bytes: the minimum of its sizeLimit and two memory limits.

    The memory limits are the pod's and the node's allocatable memory; None = none of the three is set.

    Args:
        pod: the pod with the volume.
        declared: the volume's sizeLimit in bytes; None or 0 = none.
        allocatable: the node's allocatable memory in bytes; None = not known.
    """
    sizes = [one for one in (declared, resource_config_for_pod(pod).memory, allocatable) if one]
    return min(sizes, default=None)


def mounts_of(pod: Pod, container: Container, allocatable: int | None = None) -> tuple[Mount, ...]:
    """Return the file systems that are mounted in a container."""
    if not container.volume_mounts:
        return ()
    from kitlib.node.simulated.programs.recorder import Mount

    volumes = {volume.name: volume for volume in pod.spec.volumes}
    found: list[Mount] = []
    for mount in container.volume_mounts:
        volume = volumes.get(mount.name)
        if volume is None:
            continue
        if volume.empty_dir is None:
            remote = volume.persistent_volume_claim is not None or volume.ephemeral is not None
            found.append(Mount(mount.mount_path, "remote" if remote else "disk", volume.name))
        elif volume.empty_dir.medium == "Memory":
            declared = volume.empty_dir.size_limit
            size = memory_size(pod, None if declared is None else declared.value(), allocatable)
            found.append(Mount(mount.mount_path, "tmpfs", volume.name, size))
        else:
            found.append(Mount(mount.mount_path, "disk", volume.name))
    return tuple(found)
