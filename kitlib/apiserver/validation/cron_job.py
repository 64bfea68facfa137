"""Validation of CronJobs.

Source: pkg/apis/batch/validation ValidateCronJobCreate, validateCronJobSpec, validateScheduleFormat, validateTimeZone.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kitlib.api.batch import CronJob, CronJobSpec
from kitlib.api.cron import ScheduleError, parse_standard
from kitlib.api.field_errors import Errors, invalid, required, validate_enum, validate_nonnegative_field
from kitlib.apiserver.validation.batch import validate_job_template_spec
from kitlib.apiserver.validation.object_meta import validate_object_meta, validate_object_meta_update
from kitlib.apiserver.validation.rules import Rules

MAX_CRON_JOB_NAME = 52
_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")
"""One component of a time zone's name. Source: validTimeZoneCharacters."""


def validate_cron_job(obj: CronJob) -> Errors:
    """Source: ValidateCronJobCreate."""
    found = validate_object_meta(obj.metadata, namespaced=True) + validate_cron_job_spec(obj.spec, "spec")
    if len(obj.metadata.name) > MAX_CRON_JOB_NAME:
        detail = f"must be no more than {MAX_CRON_JOB_NAME} characters"
        found.append(invalid("metadata.name", obj.metadata.name, detail))
    return found


def validate_cron_job_update(new: CronJob, old: CronJob) -> Errors:
    """Source: ValidateCronJobUpdate."""
    found = validate_object_meta_update(new.metadata, old.metadata)
    return found + validate_cron_job_spec(new.spec, "spec", old.spec)


def validate_cron_job_spec(spec: CronJobSpec, field: str, old: CronJobSpec | None = None) -> Errors:
    """Source: validateCronJobSpec."""
    zoned = old is not None and "TZ" in old.schedule
    found = validate_schedule_format(spec, f"{field}.schedule", may_have_zone=zoned)
    found += validate_nonnegative_field(spec.starting_deadline_seconds, f"{field}.startingDeadlineSeconds")
    if spec.time_zone is not None and (old is None or old.time_zone != spec.time_zone):
        found += validate_time_zone(spec.time_zone, f"{field}.timeZone")
    found += validate_enum(spec.concurrency_policy, f"{field}.concurrencyPolicy", ("Allow", "Forbid", "Replace"))
    found += validate_job_template_spec(spec.job_template, f"{field}.jobTemplate")
    found += validate_nonnegative_field(spec.successful_jobs_history_limit, f"{field}.successfulJobsHistoryLimit")
    return found + validate_nonnegative_field(spec.failed_jobs_history_limit, f"{field}.failedJobsHistoryLimit")


def validate_schedule_format(spec: CronJobSpec, field: str, *, may_have_zone: bool = False) -> Errors:
    """Source: validateScheduleFormat.

    Args:
        spec: the CronJob's spec.
        field: the path of the schedule.
        may_have_zone: whether the stored schedule has a time zone, as older releases allowed.
    """
    schedule = spec.schedule
    if not schedule:
        return [required(field)]
    found: Errors = []
    try:
        parse_standard(schedule)
    except ScheduleError as error:
        found.append(invalid(field, schedule, str(error)))
    if "TZ" in schedule and may_have_zone and spec.time_zone is not None:
        found.append(invalid(field, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
    elif "TZ" in schedule and not may_have_zone:
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        found.append(invalid(field, schedule, detail))
    return found


def validate_time_zone(zone: str, field: str) -> Errors:
    """Source: validateTimeZone."""
    if not zone:
        return [invalid(field, zone, "timeZone must be nil or non-empty string")]
    parts = zone.split("/")
    if any(part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part) for part in parts):
        return [invalid(field, zone, f"unknown time zone {zone}")]
    found: Errors = []
    if zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        found.append(invalid(field, zone, detail))
    known = _time_zones()
    if known and zone not in known and zone != "Local":
        found.append(invalid(field, zone, f"unknown time zone {zone}"))
    return found


@lru_cache(maxsize=1)
def _time_zones() -> frozenset[str]:
    """Return the names in the time zone database; empty if the system has none: then all names are accepted."""
    import zoneinfo

    return frozenset(zoneinfo.available_timezones())


KINDS: Rules = {
    CronJob: (validate_cron_job, validate_cron_job_update),
}
