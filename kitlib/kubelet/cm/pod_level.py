"""The division of the processors and the memory of a pod with pod-level resources among its containers.

A container whose own requests equal its limits has an exclusive part; all other containers of the pod share the rest,
which no other pod uses. Sidecars keep their part; the part of a regular init container is free again after it. The CPU
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
"""Resource -> amount, in processors or bytes."""
Wanted = Callable[[Container], Amounts]
"""Returns a container's exclusive amounts; {} = it uses the shared rest."""
Whole = TypeVar("Whole")
Split = Callable[[Whole, Amounts], tuple[Whole, Whole]]
"""Divides a whole into a part with these amounts and the rest."""
_CPUS = {"cpu": "cpus"}


def partition(pod: Pod, whole: Whole, wanted: Wanted, split: Split[Whole]) -> dict[str, Whole]:
    """Return container -> its part of the whole.

    Args:
        pod: the pod to divide.
        whole: the pod's processors, or its bytes by resource.
        wanted: returns a container's exclusive amounts; {} = it uses the shared rest.
        split: divides a whole into a part with the given amounts and the rest.

    Source: staticPolicy.AllocatePod, from its fourth step on.
    """
    own: dict[str, Whole] = {}
    left = whole
    for container in containers_of(pod):
        once, mine = _runs_once(pod, container), wanted(container)
        if mine:
            own[container.name], rest = split(left, mine)
            # A regular init container has ended when the next container starts, so its part is not subtracted.
            left = left if once else rest
        elif once:
            own[container.name] = left
    return {container.name: own.get(container.name, left) for container in containers_of(pod)}


def pool_problem(pod: Pod, total: Amounts, wanted: Wanted) -> str:
    """Return the reason why the exclusive parts leave nothing for a container of the pod; "" = they do not.

    Args:
        pod: the pod to divide.
        total: the pod's amounts.
        wanted: returns a container's exclusive amounts; {} = it uses the shared rest.

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
    """Return whether a container is a regular init container, which ends before the next container starts."""
    return container in pod.spec.init_containers and not is_restartable_init(container)
