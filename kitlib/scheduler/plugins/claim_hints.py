"""The queueing hints of a pod that waits for its claims; `descriptions.py` has the events.

Source: plugins/dynamicresources isSchedulableAfterClaimChange, isSchedulableAfterPodChange.
"""

from __future__ import annotations

from typing import Any

from kitlib.api.claims import ClaimError, claims_of
from kitlib.api.core import Pod
from kitlib.scheduler.framework.dra_manager import DRAManager
from kitlib.scheduler.framework.events import is_itself


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


def claims_made(claims: DRAManager, pod: Pod, old: Any, new: Any) -> bool:
    """Return whether the change is the pod's own and all of its claims exist. Source: isSchedulableAfterPodChange."""
    if not is_itself(pod, old, new):
        return False
    try:
        list(claims_of(new, claims.find))
    except ClaimError:
        return False
    return True
