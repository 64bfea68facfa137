"""The states of containers in a terminated pod whose ends the kubelet does not know.

Source: status.manager.TerminatePod, hasPodInitialized, initializedContainers.
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.kubelet.loop.container_state import ContainerState

UNKNOWN_STATUS = {
    "exitCode": 137,
    "reason": "ContainerStatusUnknown",
    "message": "The container could not be located when the pod was terminated",
}
"""The state of a container without a known end in a terminated pod."""


def mark_unknown(inits: Sequence[ContainerState], mains: Sequence[ContainerState]) -> None:
    """Set the containers of a terminated pod that have no end to `UNKNOWN_STATUS`.

    Regular containers only if the pod was initialized; init containers up to the last one that has started, and at
    least the first one.
    """
    started = [number for number, state in enumerate(inits) if state.started_once or state.last]
    initialized = not inits or any(s.started_once or s.last for s in mains) or inits[-1].succeeded
    for state in (*inits[: 1 + (started[-1] if started else 0)], *(mains if initialized else ())):
        state.ended = state.ended or dict(UNKNOWN_STATUS)
