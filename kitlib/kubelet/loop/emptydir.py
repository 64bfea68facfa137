"""The size of memory-backed emptyDirs."""

from __future__ import annotations

from kitlib.api.core import Pod
from kitlib.api.volume import EmptyDirVolumeSource
from kitlib.kubelet.cm.cgroup_config import resource_config_for_pod


def tmpfs_size(pod: Pod, volume: EmptyDirVolumeSource, allocatable: int | None = None) -> int | None:
    """Return the size of a memory-backed emptyDir in bytes: the minimum of its sizeLimit and two memory limits.

    The memory limits are the pod's and the node's allocatable memory; None = none of the three is set.

    Args:
        pod: the pod with the volume.
        volume: the emptyDir; a sizeLimit of 0 = none.
        allocatable: the node's allocatable memory in bytes; None = not known.

    Source: emptydir calculateEmptyDirMemorySize.
    """
    declared = volume.size_limit.value() if volume.size_limit is not None else None
    sizes = [one for one in (declared, resource_config_for_pod(pod).memory, allocatable) if one]
    return min(sizes, default=None)
