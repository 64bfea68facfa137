"""The events that may help a pod that waits for its claims.

Source: plugins/dynamicresources EventsToRegister, isSchedulableAfterClaimChange, isSchedulableAfterPodChange.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from kitlib.api.claims import ClaimError, claims_of
from kitlib.api.core import Pod
from kitlib.scheduler.framework.dra_manager import DRAManager
from kitlib.scheduler.framework.events import (
    DEVICE_CLASS,
    NODE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    ActionType,
    ClusterEvent,
    Registered,
    is_itself,
)

_CHANGED = ActionType.ADD | ActionType.UPDATE


def device_events(claims: DRAManager) -> Sequence[Registered]:
    """Return the events that may help a pod that waits for its claims. Source: DynamicResources.EventsToRegister."""
    return [
        (ClusterEvent(NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE), None),
        (ClusterEvent(RESOURCE_CLAIM, _CHANGED), partial(claim_changed, claims)),
        (ClusterEvent(POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM), partial(_claims_made, claims)),
        (ClusterEvent(DEVICE_CLASS, _CHANGED), None),
        (ClusterEvent(RESOURCE_SLICE, _CHANGED), None),
    ]


def claim_changed(claims: DRAManager, pod: Pod, old: Any, new: Any) -> bool:
    """Return whether devices have become free, or a claim of the pod is new or has another status.

    Source: isSchedulableAfterClaimChange.
    """
    try:
        mine = [claim.metadata.uid for _, claim in claims_of(pod, claims.find)]
    except ClaimError:
        return False
    if old is not None and old.status.allocation is not None and new.status.allocation is None:
        return True
    return new.metadata.uid in mine and (old is None or old.status != new.status)


def _claims_made(claims: DRAManager, pod: Pod, old: Any, new: Any) -> bool:
    """Return whether the change is the pod's own and all of its claims exist. Source: isSchedulableAfterPodChange."""
    if not is_itself(pod, old, new):
        return False
    try:
        list(claims_of(new, claims.find))
    except ClaimError:
        return False
    return True
