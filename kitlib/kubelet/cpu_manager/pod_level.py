"""A pod with resources of its own gets its processors as one set; its containers share them out among themselves.

Within the set a container whose own requests equal its limits and are whole has processors for itself; all others of
the pod share the rest, apart from other pods. Sidecars keep theirs; what an init container had is free again after it.

Source: kubelet cpumanager staticPolicy.AllocatePod, validatePodScopeResources; KEP-5526 (gate
PodLevelResourceManagers, alpha in 1.36).
"""

from __future__ import annotations

from collections.abc import Callable

from kitlib.api.core import Container, Pod
from kitlib.api.podresources import containers_of
from kitlib.kubelet.qos import is_restartable_init

Wanted = Callable[[Container], int]
"""How many processors a container gets for itself."""
Take = Callable[[frozenset[int], int], frozenset[int]]
"""Chooses so many out of a set."""


def partition(pod: Pod, cpus: frozenset[int], wanted: Wanted, take: Take) -> dict[str, frozenset[int]]:
    """Container -> where it may run.

    Args:
        pod: whose. cpus: what it has as a whole. wanted, take: as above.

    Source: staticPolicy.AllocatePod, its step 5.
    """
    own: dict[str, frozenset[int]] = {}
    left = cpus
    for init in pod.spec.init_containers:
        stays = is_restartable_init(init)
        if wanted(init):
            own[init.name] = take(left, wanted(init))
            left -= own[init.name] if stays else frozenset()
        elif not stays:
            own[init.name] = left
    for container in pod.spec.containers:
        if wanted(container):
            own[container.name] = take(left, wanted(container))
            left -= own[container.name]
    return {container.name: own.get(container.name, left) for container in containers_of(pod)}


def pool_problem(pod: Pod, total: int, wanted: Wanted) -> str:
    """Why the pod's own `total` processors leave some of its containers none; "" = they do not.

    Source: staticPolicy.validatePodScopeResources.
    """
    taken, sharing = 0, False
    for init in pod.spec.init_containers:
        count = wanted(init)
        if is_restartable_init(init):
            taken, sharing = taken + count, sharing or not count
        elif count > total - taken:
            return (
                f"pod rejected, largest exclusive init container requests {count} cpus, but only {total - taken} "
                "available"
            )
        elif not count and taken >= total:
            return "pod rejected, pod has shared init containers but no cpus available for them"
    for container in pod.spec.containers:
        taken, sharing = taken + wanted(container), sharing or not wanted(container)
    if sharing and taken >= total:
        return (
            "pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared "
            "containers"
        )
    return ""
