"""Deletion of finished Jobs after their `ttlSecondsAfterFinished`.

Source: pkg/controller/ttlafterfinished/ttlafterfinished_controller.go (processJob, processTTL).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.batch import Job
from kitlib.controllers.controller import Controller, Handler, Key
from kitlib.controllers.informers import Delta
from kitlib.controllers.job import condition_of, is_finished


class TTLAfterFinishedController(Controller):
    """The controller of finished Jobs with a time to live."""

    name: ClassVar[str] = "ttl-after-finished-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {"Job": self._on_job}

    def _on_job(self, change: Delta) -> None:
        job = change.new
        if change.type != "DELETED" and isinstance(job, Job) and _has_ttl(job):
            self.enqueue(job)

    def sync(self, key: Key) -> None:
        """Source: processJob."""
        job: Job | None = self.find(Job, key)
        if job is None or job.metadata.deletion_timestamp is not None or not _has_ttl(job):
            return
        finished = condition_of(job, "Complete") or condition_of(job, "Failed")
        if finished is None or finished.last_transition_time is None:
            return
        left = (job.spec.ttl_seconds_after_finished or 0) - (self.now() - finished.last_transition_time).total_seconds()
        if left > 0:
            self.queue.add_after(key, left)
        else:
            self.api.delete(Job, job.name, job.namespace, propagation="Foreground")


def _has_ttl(job: Job) -> bool:
    """Source: needsCleanup."""
    return job.spec.ttl_seconds_after_finished is not None and is_finished(job)
