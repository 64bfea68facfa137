"""CronJobs: a Job at every scheduled time, with limits for overlap, lateness and history.

Source: pkg/controller/cronjob/cronjob_controllerv2.go (syncCronJob, cleanupFinishedJobs), utils.go
(nextScheduleTime, mostRecentScheduleTime, getJobFromTemplate2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import ClassVar, NamedTuple

from kitlib.api.batch import CronJob, Job
from kitlib.api.clock import duration
from kitlib.api.core import ObjectReference
from kitlib.api.cron import Schedule, ScheduleError, parse_standard
from kitlib.api.errors import AlreadyExists, KitError, NotFound
from kitlib.api.meta import ObjectMeta
from kitlib.api.serialize import deepcopy
from kitlib.controllers.controller import Controller, Handler, Key, Retry
from kitlib.controllers.informers import Delta, controller_of
from kitlib.controllers.job import condition_of, is_finished
from kitlib.controllers.pod_control import is_namespace_terminating, owner_reference
from kitlib.controllers.workload_status import rfc3339

SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"
DELTA = 0.1
"""The seconds after a scheduled time at which the controller syncs again (nextScheduleDelta)."""
TOO_MANY_MISSED = 100
HISTORY = (3, 1)
"""The default numbers of successful and of failed Jobs that are kept."""


class ZonedSchedule(NamedTuple):
    """A schedule in a time zone."""

    schedule: Schedule
    zone: tzinfo

    def next(self, after: datetime) -> datetime | None:
        """Return the first time after a moment; times that the zone's clock skips in spring do not count."""
        local: datetime | None = after.astimezone(self.zone)
        while local is not None:
            local = self.schedule.next(local)
            if local is None:
                return None
            shown = local.astimezone(UTC).astimezone(self.zone)
            # A time that the zone skips at the start of daylight saving time changes in the round trip over UTC.
            if (shown.hour, shown.minute) == (local.hour, local.minute):
                return local.astimezone(UTC)
        return None


class CronJobController(Controller):
    """The controller of CronJobs."""

    name: ClassVar[str] = "cronjob-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {"CronJob": self._on_cron_job, "Job": self._on_job}

    def _on_cron_job(self, change: Delta) -> None:
        if change.type != "DELETED":
            self.enqueue(change.new)

    def _on_job(self, change: Delta) -> None:
        self.enqueue_controllers(change, "CronJob")

    def sync(self, key: Key) -> None:
        """Source: sync, syncCronJob."""
        cron_job: CronJob | None = self.find(CronJob, key)
        if cron_job is None:
            return
        cron_job = deepcopy(cron_job)
        before = deepcopy(cron_job.status)
        jobs = [job for job in self.informers.owned(cron_job, "Job") if isinstance(job, Job)]
        self._cleanup(cron_job, jobs)
        self._note_finished(cron_job, jobs)
        try:
            if cron_job.metadata.deletion_timestamp is None and not cron_job.spec.suspend:
                self._start(key, cron_job)
        finally:
            if cron_job.status != before:
                self.api.update_status(cron_job)

    def _note_finished(self, cron_job: CronJob, jobs: Sequence[Job]) -> None:
        """Remove finished and missing Jobs from the list of active ones."""
        listed = {reference.uid for reference in cron_job.status.active}
        for job in jobs:
            if not is_finished(job):
                if job.metadata.uid not in listed:
                    message = f"Saw a job that the controller did not create or forgot: {job.name}"
                    self.event(cron_job, "Warning", "UnexpectedJob", message)
                continue
            if job.metadata.uid in listed:
                cron_job.status.active = [ref for ref in cron_job.status.active if ref.uid != job.metadata.uid]
                kind = "Complete" if condition_of(job, "Complete") is not None else "Failed"
                message = f"Saw completed job: {job.name}, condition: {kind}"
                self.event(cron_job, "Normal", "SawCompletedJob", message)
            if condition_of(job, "Complete") is not None and job.status.completion_time is not None:
                last = cron_job.status.last_successful_time
                if last is None or last < job.status.completion_time:
                    cron_job.status.last_successful_time = job.status.completion_time
        known = {job.metadata.uid for job in jobs}
        for reference in list(cron_job.status.active):
            if reference.uid not in known:
                cron_job.status.active = [ref for ref in cron_job.status.active if ref.uid != reference.uid]
                self.event(cron_job, "Normal", "MissingJob", f"Active job went missing: {reference.name}")

    def _start(self, key: Key, cron_job: CronJob) -> None:
        """Start the Job of the last scheduled time, unless it is too late, and sync again at the next one."""
        now = self.now()
        try:
            zone = _zone(cron_job)
        except KitError:
            message = f'invalid timeZone: "{cron_job.spec.time_zone}"'
            self.event(cron_job, "Warning", "UnknownTimeZone", message)
            return
        try:
            schedule = ZonedSchedule(parse_standard(cron_job.spec.schedule), zone)
        except ScheduleError as error:
            message = f'unparseable schedule: "{cron_job.spec.schedule}" : {error}'
            self.event(cron_job, "Warning", "UnparseableSchedule", message)
            return
        due = self._last_due(cron_job, schedule, now)
        following = schedule.next(now)
        if following is not None:
            self.queue.add_after(key, (following - now).total_seconds() + DELTA)
        if due is None or due == cron_job.status.last_schedule_time:
            return
        deadline = cron_job.spec.starting_deadline_seconds
        if deadline is not None and due + duration(deadline) < now:
            message = f"Missed scheduled time to start a job: {due.strftime('%a, %d %b %Y %H:%M:%S %z')}"
            self.event(cron_job, "Warning", "MissSchedule", message)
            return
        if cron_job.spec.concurrency_policy == "Forbid" and cron_job.status.active:
            message = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self.event(cron_job, "Normal", "JobAlreadyActive", message)
            return
        if cron_job.spec.concurrency_policy == "Replace":
            for reference in list(cron_job.status.active):
                self._delete_job(cron_job, reference.name)
        self._create_job(cron_job, due)

    def _last_due(self, cron_job: CronJob, schedule: ZonedSchedule, now: datetime) -> datetime | None:
        """Return the latest scheduled time up to now for which no Job was started. Source: nextScheduleTime."""
        earliest = cron_job.status.last_schedule_time or cron_job.metadata.creation_timestamp or now
        deadline = cron_job.spec.starting_deadline_seconds
        if deadline is not None:
            earliest = max(earliest, now - duration(deadline))
        latest: datetime | None = None
        missed, moment = 0, schedule.next(earliest)
        while moment is not None and moment <= now:
            latest, missed = moment, missed + 1
            if missed > TOO_MANY_MISSED:
                latest = _latest_due(schedule, latest, now)
                message = (
                    "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
                )
                self.event(cron_job, "Warning", "TooManyMissedTimes", message)
                break
            moment = schedule.next(moment)
        return latest

    def _create_job(self, cron_job: CronJob, due: datetime) -> None:
        """Source: getJobFromTemplate2."""
        template = cron_job.spec.job_template
        local = due.astimezone(_zone(cron_job))
        meta = ObjectMeta(
            # The name follows from the scheduled time, so a second attempt for the same time cannot start another Job.
            name=f"{cron_job.name}-{int(due.timestamp()) // 60}",
            namespace=cron_job.namespace,
            labels=dict(template.metadata.labels),
            annotations={**template.metadata.annotations, SCHEDULED_AT: _timestamp(local)},
            owner_references=[owner_reference(cron_job)],
        )
        try:
            job: Job = self.api.create(Job(metadata=meta, spec=deepcopy(template.spec)))
        except AlreadyExists:
            job = self.api.store.get(Job, meta.name, cron_job.namespace)
            reference = controller_of(job)
            if reference is None or reference.uid != cron_job.metadata.uid:
                raise
        except KitError as error:
            if is_namespace_terminating(error):
                return
            self.event(cron_job, "Warning", "FailedCreate", f"Error creating job: {error}")
            raise Retry(str(error)) from error
        else:
            self.event(cron_job, "Normal", "SuccessfulCreate", f"Created job {job.name}")
        if all(reference.uid != job.metadata.uid for reference in cron_job.status.active) and not is_finished(job):
            made = ObjectReference(
                api_version="batch/v1", kind="Job", namespace=job.namespace, name=job.name, uid=job.metadata.uid
            )
            cron_job.status.active = [*cron_job.status.active, made]
        cron_job.status.last_schedule_time = due

    def _cleanup(self, cron_job: CronJob, jobs: list[Job]) -> None:
        """Delete the oldest finished Jobs beyond the history limits. Source: cleanupFinishedJobs."""
        limits = cron_job.spec.successful_jobs_history_limit, cron_job.spec.failed_jobs_history_limit
        for kind, limit, default in zip(("Complete", "Failed"), limits, HISTORY, strict=True):
            finished = [job for job in jobs if condition_of(job, kind) is not None]
            finished.sort(key=lambda job: (job.status.start_time or datetime.max.replace(tzinfo=UTC), job.name))
            for job in finished[: max(0, len(finished) - (default if limit is None else limit))]:
                # `_note_finished` must not see the deleted Jobs.
                jobs.remove(job)
                self._delete_job(cron_job, job.name)

    def _delete_job(self, cron_job: CronJob, name: str) -> None:
        try:
            self.api.delete(Job, name, cron_job.namespace)
        except NotFound:
            return
        cron_job.status.active = [reference for reference in cron_job.status.active if reference.name != name]
        self.event(cron_job, "Normal", "SuccessfulDelete", f"Deleted job {name}")


def _timestamp(moment: datetime) -> str:
    text = moment.isoformat(timespec="seconds")
    return rfc3339(moment) if moment.utcoffset() == timedelta(0) else text


def _zone(cron_job: CronJob) -> tzinfo:
    """Return the schedule's time zone; UTC by default.

    Raises:
        KitError: the zone does not exist.
    """
    if cron_job.spec.time_zone is None:
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(cron_job.spec.time_zone)
    except (KeyError, ValueError, OSError) as error:
        raise KitError(f"unknown time zone {cron_job.spec.time_zone}") from error


def _latest_due(schedule: ZonedSchedule, since: datetime, now: datetime) -> datetime:
    """Return the latest scheduled time up to now.

    The search starts shortly before now and looks further back only if it finds none, because there may be very many
    times after `since`, which is a scheduled time itself.
    """
    for days in (1, 32, 366, 9 * 366):
        start = now - timedelta(days=days)
        if start <= since:
            break
        moment = schedule.next(start)
        if moment is not None and moment <= now:
            since = moment
            break
    latest, moment = since, schedule.next(since)
    while moment is not None and moment <= now:
        latest, moment = moment, schedule.next(moment)
    return latest
