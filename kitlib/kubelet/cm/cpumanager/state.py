"""The state of the static CPU policy, and the errors of the CPU manager.

Source: kubelet cm/cpumanager/state (state.go, state_mem.go).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kitlib.api.errors import KitError

NONE: frozenset[int] = frozenset()


class CPUManagerError(KitError):
    """A request for processors that cannot be satisfied, or an invalid state; with the kubelet's message."""


class SMTAlignmentError(CPUManagerError):
    """A request that would use a core in part, which `full-pcpus-only` does not allow."""


@dataclass
class CPUState:
    """The assignment of processors to containers.

    Attributes:
        default: the shared set.
        assignments: pod UID -> container -> its exclusive set, or its pod's shared set.
        pods: UID of a pod with pod-level resources -> the set of all of its containers.
    """

    default: frozenset[int] = NONE
    assignments: dict[str, dict[str, frozenset[int]]] = field(default_factory=dict)
    pods: dict[str, frozenset[int]] = field(default_factory=dict)

    def of(self, uid: str, container: str) -> frozenset[int] | None:
        """Return a container's assigned set; None = it uses the default set."""
        return self.assignments.get(uid, {}).get(container)
