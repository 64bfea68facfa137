"""CronJobs: names, schedules, time zones and limits."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.batch import CronJob
from kitlib.api.defaults import set_defaults
from kitlib.apiserver.validation import cron_job
from tests.apiserver.validation.told import named, told

POD = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}


def cron(name: str = "a", schedule: str = "* * * * *", **spec: Any) -> CronJob:
    job = {"spec": {"template": {"spec": POD}}}
    made = named(CronJob, name, "n", spec={"schedule": schedule, "jobTemplate": job, **spec})
    found: CronJob = set_defaults(made)
    return found


ZONE_IN_SCHEDULE = "spec.schedule Invalid cannot use TZ or CRON_TZ in schedule, use timeZone field instead"


@pytest.mark.parametrize(
    ("obj", "errors"),
    [
        (cron(), []),
        (cron("a" * 52), []),
        (cron("a" * 53), ["metadata.name Invalid must be no more than 52 characters"]),
        (cron(schedule=""), ["spec.schedule Required"]),
        (cron(schedule="x"), ["spec.schedule Invalid expected exactly 5 fields, found 1: [x]"]),
        (cron(schedule="TZ=UTC 0 0 * * *"), [ZONE_IN_SCHEDULE]),
        (cron(schedule="CRON_TZ=UTC 0 0 * * *", timeZone="UTC"), [ZONE_IN_SCHEDULE]),
        (cron(startingDeadlineSeconds=-1), ["spec.startingDeadlineSeconds Invalid must be greater than or equal to 0"]),
        (cron(startingDeadlineSeconds=0), []),
        (
            cron(successfulJobsHistoryLimit=-1, failedJobsHistoryLimit=-1),
            [
                "spec.successfulJobsHistoryLimit Invalid must be greater than or equal to 0",
                "spec.failedJobsHistoryLimit Invalid must be greater than or equal to 0",
            ],
        ),
        (
            cron(concurrencyPolicy="x"),
            ['spec.concurrencyPolicy NotSupported supported values: "Allow", "Forbid", "Replace"'],
        ),
    ],
)
def test_a_new_one(obj: CronJob, errors: list[str]) -> None:
    """Source: ValidateCronJobCreate."""
    assert told(cron_job.validate_cron_job(obj)) == errors


@pytest.mark.parametrize(
    ("zone", "details"),
    [
        ("UTC", []),
        ("Europe/Zurich", []),
        ("", ["timeZone must be nil or non-empty string"]),
        ("../etc", ["unknown time zone ../etc"]),
        ("./x", ["unknown time zone ./x"]),
        ("-x", ["unknown time zone -x"]),
        ("a/-x", ["unknown time zone a/-x"]),
        ("a b", ["unknown time zone a b"]),
        ("/UTC", ["unknown time zone /UTC"]),
        ("abcdefghijklmno", ["unknown time zone abcdefghijklmno"]),
        ("Mars/Olympus", ["unknown time zone Mars/Olympus"]),
        ("Local", ["timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"]),
    ],
)
def test_time_zones(zone: str, details: list[str]) -> None:
    """Source: validateTimeZone."""
    assert [error.detail for error in cron_job.validate_time_zone(zone, "f")] == details


@pytest.mark.parametrize(
    ("old", "new", "errors"),
    [
        (cron(schedule="TZ=UTC 0 0 * * *"), cron(schedule="TZ=UTC 1 0 * * *"), []),
        (
            cron(schedule="TZ=UTC 0 0 * * *"),
            cron(schedule="TZ=UTC 0 0 * * *", timeZone="UTC"),
            ["spec.schedule Invalid cannot use both timeZone field and TZ or CRON_TZ in schedule"],
        ),
        (cron(), cron(schedule="TZ=UTC 0 0 * * *"), [ZONE_IN_SCHEDULE]),
        (cron(timeZone="No/Where"), cron(timeZone="No/Where", suspend=True), []),
        (cron(), cron(timeZone="No/Where"), ["spec.timeZone Invalid unknown time zone No/Where"]),
        (cron("a" * 53), cron("a" * 53), []),
        (cron(), cron("b"), ["metadata.name Invalid field is immutable"]),
    ],
)
def test_an_update_keeps_what_older_releases_allowed(old: CronJob, new: CronJob, errors: list[str]) -> None:
    """Source: ValidateCronJobUpdate."""
    assert told(cron_job.validate_cron_job_update(new, old)) == errors
