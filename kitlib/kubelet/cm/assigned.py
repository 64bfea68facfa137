"""The CPUs and NUMA nodes that the resource managers assigned to a container.

Source: kubelet cm.internalContainerLifecycle.PreCreateContainer, cpumanager GetCPUAffinity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Assigned(NamedTuple):
    """The assignment of one container.

    Attributes:
        cpus: the CPUs that it may run on, as a list such as `2-3`; "" = any.
        exclusive: whether no other container may run on these CPUs.
        mems: the NUMA nodes that its memory comes from, as a list; "" = any.
        of_pod: whether the CPUs belong to its pod: other containers of the pod may use them, other pods may not.
    """

    cpus: str = ""
    exclusive: bool = False
    mems: str = ""
    of_pod: bool = False


NOTHING_ASSIGNED = Assigned()
Assignments = Mapping[tuple[str, str], Assigned]
"""(pod UID, container) -> its assignment; all containers of the node if a resource manager is active, else empty."""
