"""CronJobs: when Jobs start, overlap, lateness, history, time zones."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from kitlib.api.cron import parse_standard
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from kitlib.controllers.cronjob import ZonedSchedule
from tests.controllers.builders import told


def cron(schedule: str = "* * * * *", does: str = "sleep 5", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "app:1", "command": ["sh", "-c", does]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    given = {"schedule": schedule, "jobTemplate": {"spec": {"template": template}}, **spec}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"}, "spec": given}


def after(seconds: float, one: dict[str, Any]) -> SimulatedCluster:
    cluster = Cluster.simulated(1)
    cluster.apply([one])
    cluster.advance(seconds)
    assert not cluster.controllers.errors
    return cluster


def reasons(cluster: SimulatedCluster) -> list[str]:
    return [reason for reason, _ in told(cluster, "CronJob")]


def test_a_job_starts_every_minute_and_is_named_after_its_time():
    cluster = after(130, cron())
    minute = int(datetime(2026, 1, 5, 8, 1, tzinfo=UTC).timestamp()) // 60
    assert [one.name for one in cluster.list("Job")] == [f"tick-{minute}", f"tick-{minute + 1}"]
    status = cluster.get("CronJob", "tick").status
    assert status.last_schedule_time == datetime(2026, 1, 5, 8, 2, tzinfo=UTC)
    assert status.active == [] and status.last_successful_time is not None
    assert ("SawCompletedJob", f"Saw completed job: tick-{minute}, condition: Complete") in told(cluster, "CronJob")


@pytest.mark.parametrize(
    ("policy", "running", "said"),
    [("Allow", 3, None), ("Forbid", 1, "JobAlreadyActive"), ("Replace", 1, "SuccessfulDelete")],
)
def test_what_happens_to_a_job_that_still_runs(policy, running, said):
    cluster = after(185, cron(does="sleep 1000", concurrencyPolicy=policy))
    assert len([one for one in cluster.list("Job") if one.status.active]) == running
    assert said is None or said in reasons(cluster)


def test_only_the_last_finished_jobs_are_kept():
    cluster = after(400, cron(successfulJobsHistoryLimit=2))
    assert len(cluster.list("Job")) == 2


def test_a_suspended_cron_job_starts_nothing():
    assert after(150, cron(suspend=True)).list("Job") == []


def test_a_start_that_was_missed_by_more_than_the_deadline_is_left_out():
    cluster = after(30, cron(suspend=True, startingDeadlineSeconds=10))
    cluster.advance(50)  # 08:01:20: the start of 08:01 is 20 s late
    cluster.patch("CronJob", "tick", {"spec": {"suspend": False}})
    assert cluster.list("Job") == []


def test_more_than_a_hundred_missed_starts_are_told_and_the_last_one_starts():
    cluster = after(30, cron(suspend=True))
    cluster.clock.move(101 * 60)
    cluster.patch("CronJob", "tick", {"spec": {"suspend": False}})
    text = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
    assert ("TooManyMissedTimes", text) in told(cluster, "CronJob")
    assert len(cluster.list("Job")) == 1


@pytest.mark.parametrize(("schedule", "last"), [("0 0 1 * *", "2036-01-01"), ("0 0 * * 1", "2036-01-14")])
def test_the_last_of_many_missed_starts_is_found_however_rare_they_are(schedule, last):
    cluster = after(30, cron(schedule, suspend=True))
    cluster.clock.move(3662 * 86400)
    cluster.patch("CronJob", "tick", {"spec": {"suspend": False}})
    (job,) = cluster.list("Job")
    assert job.metadata.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"].startswith(last)


def test_what_a_deleted_cron_job_started_goes_too():
    cluster = after(70, cron(does="sleep 1000"))
    cluster.delete("CronJob", "tick")
    cluster.advance(40)
    assert cluster.list("Job") == [] and cluster.pods() == []


@pytest.mark.parametrize(
    ("schedule", "zone", "start", "following"),
    [
        ("0 9 * * *", "Europe/Berlin", "2026-01-05T07:00", "2026-01-05T08:00"),
        ("0 9 * * *", "Europe/Berlin", "2026-07-05T06:00", "2026-07-05T07:00"),
        ("30 2 * * *", "Europe/Berlin", "2026-03-29T00:00", "2026-03-30T00:30"),  # 02:30 does not exist on the 29th
        ("*/15 * * * *", "UTC", "2026-01-05T08:07", "2026-01-05T08:15"),
        ("0 0 1 * mon", "UTC", "2026-01-02T00:00", "2026-01-05T00:00"),  # the first of a month, or a Monday
    ],
)
def test_the_next_start_in_a_time_zone(schedule, zone, start, following):
    found = ZonedSchedule(parse_standard(schedule), ZoneInfo(zone)).next(datetime.fromisoformat(f"{start}+00:00"))
    assert found == datetime.fromisoformat(f"{following}+00:00")
