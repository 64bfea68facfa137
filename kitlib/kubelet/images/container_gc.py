"""Garbage collection of dead containers: all instances of a container except the last one are removed.

A restarted container leaves its old instance behind, with its writable layer and its log, so that
`kubectl logs --previous` works. Once a minute older instances are removed, and all instances of evicted or deleted
pods; under disk pressure also those of pods in a terminal phase.

Source: kubelet kuberuntime containerGC.evictContainers, ContainerGCPolicy; Kubelet.cleanUpContainersInPod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from kitlib.kubelet.config.settings import KubeletSettings

EVERY = 60.0
"""Seconds between two collections. Source: kubelet ContainerGCPeriod."""


class DeadContainer(NamedTuple):
    """An instance of a container that has ended.

    Attributes:
        id: the id of this instance.
        container: the id of the container, which is the same for all of its instances.
        created: its creation, in seconds on the node's clock.
        image: the name of its image.
        layer, logs: bytes of its writable layer and of its log.
        inodes: the number of files of both.
    """

    id: str
    container: str
    created: float
    image: str = ""
    layer: int = 0
    logs: int = 0
    inodes: int = 0


def evictable(
    dead: Iterable[DeadContainer],
    settings: KubeletSettings,
    now: float,
    pod_of: Callable[[str], str],
    removable: Callable[[str], bool],
) -> list[DeadContainer]:
    """Return the instances to remove, oldest first.

    Args:
        dead: all dead instances.
        settings: the kubelet's settings, with the numbers of instances to keep.
        now: seconds on the node's clock.
        pod_of: container -> the UID of its pod.
        removable: pod UID -> whether all of the pod's instances may be removed.

    Source: containerGC.evictContainers, enforceMaxContainersPerEvictUnit.
    """
    units: dict[str, list[DeadContainer]] = {}
    for one in sorted(dead, key=lambda one: -one.created):
        if now - one.created >= settings.minimum_container_ttl_duration:
            units.setdefault(one.container, []).append(one)
    gone: list[DeadContainer] = []
    for container in list(units):
        if removable(pod_of(container)):
            gone += units.pop(container)
    gone += _beyond(units, settings.maximum_dead_containers_per_container)
    most = settings.maximum_dead_containers
    if 0 <= most < sum(map(len, units.values())):
        gone += _beyond(units, max(most // max(len(units), 1), 1))
        rest = sorted((one for unit in units.values() for one in unit), key=lambda one: -one.created)
        gone += rest[most:]
    return sorted(gone, key=lambda one: one.created)


def _beyond(units: dict[str, list[DeadContainer]], most: int) -> list[DeadContainer]:
    """Remove and return the instances of each container beyond the first `most`; a negative number is no limit."""
    gone: list[DeadContainer] = []
    for container, unit in units.items():
        if most >= 0:
            gone += unit[most:]
            units[container] = unit[:most]
    return gone
