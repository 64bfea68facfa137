"""A pod with resources of its own gets its memory from one set of NUMA nodes; its containers share it out.

A container whose own requests equal its limits has its part, all others share the rest.

Source: kubelet memorymanager staticPolicy.AllocatePod, validatePodScopeResources; KEP-5526 (gate
PodLevelResourceManagers, alpha in 1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kitlib.api.core import Container, Pod
from kitlib.api.podresources import containers_of
from kitlib.kubelet.qos import is_restartable_init

Sizes = Mapping[str, int]
"""Resource (memory or huge pages) -> bytes."""
Wanted = Callable[[Container], Sizes]
"""What a container gets for itself; {} = it shares."""


def partition(pod: Pod, total: Sizes, wanted: Wanted) -> dict[str, dict[str, int]]:
    """Container -> what it may use. Source: staticPolicy.AllocatePod, its step 4."""
    own: dict[str, Sizes] = {}
    left = dict(total)
    for container in containers_of(pod):
        once = container in pod.spec.init_containers and not is_restartable_init(container)
        mine = wanted(container)
        if mine:
            own[container.name] = mine
            left = left if once else {name: size - mine.get(name, 0) for name, size in left.items()}
        elif once:
            own[container.name] = left
    return {
        container.name: {name: size for name, size in own.get(container.name, left).items() if size > 0}
        for container in containers_of(pod)
    }


def pool_problem(pod: Pod, total: Sizes, wanted: Wanted) -> str:
    """Why the pod's own memory leaves some of its containers none; "" = it does not."""
    taken = dict.fromkeys(total, 0)
    sharing = False
    for container in containers_of(pod):
        mine = wanted(container)
        if container in pod.spec.init_containers and not is_restartable_init(container):
            for name, size in total.items():
                if mine.get(name, 0) > size - taken[name]:
                    return (
                        f"pod rejected, largest exclusive init container requests {mine[name]} {name}, but only "
                        f"{size - taken[name]} available"
                    )
                if not mine and taken[name] >= size:
                    return f"pod rejected, pod has shared init containers but no {name} available for them"
            continue
        sharing = sharing or not mine
        for name, size in mine.items():
            taken[name] = taken.get(name, 0) + size
    for name, size in total.items():
        if sharing and taken[name] >= size:
            return (
                f"pod rejected, sum of exclusive container {name} requests equals pod budget, leaving no memory for "
                "shared containers"
            )
    return ""
