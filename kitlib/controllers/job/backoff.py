"""The back-off before a Job replaces a failed pod: ten seconds, doubled with each failure, at most ten minutes.

Source: pkg/controller/job/backoff_utils.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from typing import NamedTuple

from kitlib.api.core import ContainerStatus, Pod

BACKOFF, MAX_BACKOFF = 10.0, 600.0
"""The back-off after the first failure, which doubles with each one, and its maximum, in seconds."""


class BackoffRecord(NamedTuple):
    """The failures of a Job: their number since the last success, and the time of the last one."""

    failures: int = 0
    last: datetime | None = None

    def followed_by(self, succeeded: Sequence[Pod], failed: Sequence[Pod]) -> BackoffRecord:
        """Return the record updated by newly finished pods. Source: newBackoffRecord."""
        ends = sorted(map(finished_at, failed))
        if not succeeded:
            return BackoffRecord(self.failures + len(ends), ends[-1]) if ends else self
        success = max(map(finished_at, succeeded))
        # A success resets the count: only failures after the last success remain.
        later = list(takewhile(lambda end: end > success, reversed(ends)))
        return BackoffRecord(len(later), later[0] if later else None)

    def left(self, now: datetime) -> float:
        """Return the seconds until a pod may be created. Source: getRemainingTimeForFailuresCount."""
        if not self.failures or self.last is None:
            return 0.0
        wait = min(BACKOFF * 2 ** min(self.failures - 1, 10), MAX_BACKOFF)
        return max(0.0, wait - (now - self.last).total_seconds())


def finished_at(pod: Pod) -> datetime:
    """Return the time at which a pod ended: that of its last container, else of its unreadiness, deletion or creation.

    Source: getFinishedTime.
    """
    stay = {container.name for container in pod.spec.init_containers if container.restart_policy == "Always"}
    sidecars = [status for status in pod.status.init_container_statuses if status.name in stay]
    last = _last_end([*pod.status.container_statuses, *sidecars])
    if last is not None:
        return last
    for ready in pod.status.conditions:
        if ready.type == "Ready" and ready.status == "False" and ready.last_transition_time is not None:
            return ready.last_transition_time
    meta = pod.metadata
    if meta.deletion_timestamp is not None:
        # the time of the deletion request: deletionTimestamp is the end of the grace period
        return meta.deletion_timestamp - timedelta(seconds=meta.deletion_grace_period_seconds or 0)
    assert meta.creation_timestamp is not None, "a stored object has one"
    return meta.creation_timestamp


def _last_end(statuses: Iterable[ContainerStatus]) -> datetime | None:
    """Return the latest end of containers; None while one has not ended. Source: getFinishTimeFromContainers."""
    latest = None
    for status in statuses:
        end = status.state.get("terminated", {}).get("finishedAt")
        if not end:
            return None
        moment = datetime.fromisoformat(end) if isinstance(end, str) else end
        latest = moment if latest is None else max(latest, moment)
    return latest
