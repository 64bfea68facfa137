"""The state of the static CPU policy, and the errors of the CPU manager.

Source: kubelet cm/cpumanager/state (state.go, state_mem.go).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kitlib.api.errors import KitError

NONE: frozenset[int] = frozenset()


class CPUManagerError(KitError):
    """A request for processors that cannot be met, or a state that cannot be; in the kubelet's words."""


class SMTAlignmentError(CPUManagerError):
    """`full-pcpus-only`: the request would leave a core half used."""


@dataclass
class CPUState:
    """The assignment of processors to containers.

    Attributes:
        default: the shared set.
        assignments: pod UID -> container -> its own set, or that of its pod's pool.
        pods: UID of a pod with pod-level resources -> the set of all its containers.
    """

    default: frozenset[int] = NONE
    assignments: dict[str, dict[str, frozenset[int]]] = field(default_factory=dict)
    pods: dict[str, frozenset[int]] = field(default_factory=dict)

    def of(self, uid: str, container: str) -> frozenset[int] | None:
        """Return a container's own set, or None."""
        return self.assignments.get(uid, {}).get(container)
