"""`kubectl describe` of Jobs and CronJobs.

Source: kubectl describe.go (describeJob, describeCronJob).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from kitlib.api.duration import human_duration
from kitlib.apiserver.http.printers.text import selector
from kitlib.views.describe.containers import date
from kitlib.views.describe.template import Object, Others, controlled_by, labelled, named, pod_template

_MAX_INDEXES = 50
"""Maximum number of characters of a list of indexes. Source: capIndexesListOrNone."""


def describe_job(obj: Object, _others: Others) -> str:
    """Return the description of a Job with the numbers of its pods."""
    spec, status = obj["spec"], obj.get("status") or {}
    text = named(obj) + f"Selector:\t{selector(spec.get('selector'))}\n" + labelled(obj) + controlled_by(obj)
    text += _lines(spec, (("Parallelism", "parallelism"),))
    text += f"Completions:\t{spec.get('completions', '<unset>')}\n"
    text += _lines(
        spec,
        (
            ("Completion Mode", "completionMode"),
            ("Suspend", "suspend"),
            ("Backoff Limit", "backoffLimit"),
            ("TTL Seconds After Finished", "ttlSecondsAfterFinished"),
        ),
    )
    started, ended = status.get("startTime"), status.get("completionTime")
    text += f"Start Time:\t{date(started)}\n" if started else ""
    text += f"Completed At:\t{date(ended)}\n" if ended else ""
    if started and ended:
        text += f"Duration:\t{human_duration((_moment(ended) - _moment(started)).total_seconds())}\n"
    if spec.get("activeDeadlineSeconds") is not None:
        text += f"Active Deadline Seconds:\t{spec['activeDeadlineSeconds']}s\n"
    ready = f" ({status['ready']} Ready)" if status.get("ready") is not None else ""
    text += (
        f"Pods Statuses:\t{status.get('active', 0)} Active{ready} / {status.get('succeeded', 0)} Succeeded / "
        f"{status.get('failed', 0)} Failed\n"
    )
    if spec.get("completionMode") == "Indexed":
        text += f"Completed Indexes:\t{_indexes(status.get('completedIndexes', ''))}\n"
    return text + pod_template(spec["template"])


def _lines(spec: Object, fields: tuple[tuple[str, str], ...]) -> str:
    return "".join(f"{title}:\t{_shown(spec[key])}\n" for title, key in fields if spec.get(key) is not None)


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _indexes(text: str) -> str:
    """Return a list of indexes, truncated after 50 characters and the index there. Source: capIndexesListOrNone."""
    if not text:
        return "<none>"
    comma = text.find(",", _MAX_INDEXES)
    return text if comma < 0 else f"{text[: comma + 1]}..."


def describe_cron_job(obj: Object, _others: Others) -> str:
    """Return the description of a CronJob with its schedule and the template of its Jobs."""
    spec, status = obj["spec"], obj.get("status") or {}
    job: Mapping[str, object] = (spec.get("jobTemplate") or {}).get("spec") or {}
    text = named(obj) + labelled(obj)
    text += f"Schedule:\t{spec.get('schedule', '')}\nConcurrency Policy:\t{spec.get('concurrencyPolicy', '')}\n"
    text += f"Suspend:\t{bool(spec.get('suspend'))}\nTime Zone:\t{spec.get('timeZone', '<unset>')}\n"
    text += f"Successful Job History Limit:\t{spec.get('successfulJobsHistoryLimit', '<unset>')}\n"
    text += f"Failed Job History Limit:\t{spec.get('failedJobsHistoryLimit', '<unset>')}\n"
    deadline = spec.get("startingDeadlineSeconds")
    text += f"Starting Deadline Seconds:\t{f'{deadline}s' if deadline is not None else '<unset>'}\n"
    found = job.get("selector")
    text += f"Selector:\t{selector(found) if isinstance(found, Mapping) else '<unset>'}\n"
    text += f"Parallelism:\t{job.get('parallelism', '<unset>')}\nCompletions:\t{job.get('completions', '<unset>')}\n"
    if job.get("activeDeadlineSeconds") is not None:
        text += f"Active Deadline Seconds:\t{job['activeDeadlineSeconds']}s\n"
    template = job.get("template")
    text += pod_template(template if isinstance(template, Mapping) else {})
    last = status.get("lastScheduleTime")
    text += f"Last Schedule Time:\t{date(last) if last else '<unset>'}\n"
    return text + f"Active Jobs:\t{', '.join(one['name'] for one in status.get('active') or ()) or '<none>'}\n"
