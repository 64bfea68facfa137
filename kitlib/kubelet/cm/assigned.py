"""What the resource managers gave a container: CPUs and NUMA nodes.

Source: kubelet cm.internalContainerLifecycle.PreCreateContainer, cpumanager GetCPUAffinity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Assigned(NamedTuple):
    """What the resource managers gave a container.

    Attributes:
        cpus: where it may run, `2-3`; "" = anywhere.
        exclusive: nobody else may run there.
        mems: NUMA nodes its memory comes from; "" = any.
        of_pod: the CPUs are its pod's: other containers of the pod may run there, other pods may not.
    """

    cpus: str = ""
    exclusive: bool = False
    mems: str = ""
    of_pod: bool = False


NOTHING_ASSIGNED = Assigned()
Assignments = Mapping[tuple[str, str], Assigned]
"""(pod UID, container) -> what it was given; all containers of the node, where a manager is at work."""
