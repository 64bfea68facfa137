"""A pod with resources of its own gets its processors and its memory as a whole; its containers share them out.

Within the whole a container whose own requests equal its limits has a part for itself; all others of the pod share the
rest, apart from other pods. Sidecars keep their part; what an init container had is free again after it. The CPU
manager and the memory manager follow the same rule, one with sets of processors, the other with bytes.

Source: kubelet cpumanager and memorymanager, staticPolicy.AllocatePod, validatePodScopeResources; KEP-5526 (gate
PodLevelResourceManagers, alpha in 1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from kitlib.api.core import Container, Pod
from kitlib.api.podresources import containers_of
from kitlib.kubelet.qos.qos_class import is_restartable_init

Amounts = Mapping[str, int]
"""Resource -> how much of it: processors, bytes."""
Wanted = Callable[[Container], Amounts]
"""What a container gets for itself; {} = it shares."""
Whole = TypeVar("Whole")
Split = Callable[[Whole, Amounts], tuple[Whole, Whole]]
"""Divides what is left into a part of that size and the rest."""
_CPUS = {"cpu": "cpus"}


def partition(pod: Pod, whole: Whole, wanted: Wanted, split: Split[Whole]) -> dict[str, Whole]:
    """Container -> what it may use.

    Args:
        pod: whose.
        whole: what it has: processors, or bytes of each resource.
        wanted, split: as above.

    Source: staticPolicy.AllocatePod, from its fourth step on.
    """
    own: dict[str, Whole] = {}
    left = whole
    for container in containers_of(pod):
        once, mine = _runs_once(pod, container), wanted(container)
        if mine:
            own[container.name], rest = split(left, mine)
            left = left if once else rest
        elif once:
            own[container.name] = left
    return {container.name: own.get(container.name, left) for container in containers_of(pod)}


def pool_problem(pod: Pod, total: Amounts, wanted: Wanted) -> str:
    """Why the parts leave nothing for some of the pod's containers; "" = they do not.

    Args:
        pod: whose.
        total: what it has.
        wanted: as above.

    Source: staticPolicy.validatePodScopeResources.
    """
    taken = dict.fromkeys(total, 0)
    sharing = False
    for container in containers_of(pod):
        mine = wanted(container)
        if _runs_once(pod, container):
            for name, size in total.items():
                called, free = _CPUS.get(name, name), size - taken[name]
                if mine.get(name, 0) > free:
                    return (
                        f"pod rejected, largest exclusive init container requests {mine[name]} {called}, but only "
                        f"{free} available"
                    )
                if not mine and free <= 0:
                    return f"pod rejected, pod has shared init containers but no {called} available for them"
            continue
        sharing = sharing or not mine
        for name, size in mine.items():
            taken[name] = taken.get(name, 0) + size
    for name, size in total.items():
        if sharing and taken[name] >= size:
            return (
                f"pod rejected, sum of exclusive container {name} requests equals pod budget, leaving no "
                f"{_CPUS.get(name, 'memory')} for shared containers"
            )
    return ""


def _runs_once(pod: Pod, container: Container) -> bool:
    """Whether it has ended when the pod's other containers begin."""
    return container in pod.spec.init_containers and not is_restartable_init(container)
