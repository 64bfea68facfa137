"""The file systems in a container, with the sizes and paths that matter for enforcement.

Source: containerd WithDefaultSandboxShm (/dev/shm of 64 MiB for each pod).
"""

from __future__ import annotations

from kitlib.api.core import Container, Pod
from kitlib.kubelet.loop.emptydir import tmpfs_size
from kitlib.node.simulated.programs.recorder import Mount


def mounts_of(pod: Pod, container: Container, allocatable: int | None = None) -> tuple[Mount, ...]:
    """Return the file systems that are mounted in a container."""
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
            found.append(Mount(mount.mount_path, "tmpfs", volume.name, tmpfs_size(pod, volume.empty_dir, allocatable)))
        else:
            found.append(Mount(mount.mount_path, "disk", volume.name))
    return tuple(found)
