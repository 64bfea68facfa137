"""Rows of workloads and their autoscalers. Source: pkg/printers/internalversion/printers.go."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kitlib.api.autoscaling_v1 import to_v2
from kitlib.api.duration import human_duration
from kitlib.apiserver.http.printers.text import (
    Object,
    age,
    conditions,
    containers,
    created,
    labels,
    parse_time,
    selector,
)


def print_replica_set(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    names, images = containers(spec.get("template") or {})
    chosen = spec.get("selector") or {}
    shown = labels(chosen) if obj.get("kind") == "ReplicationController" else selector(chosen)
    counts = [spec.get("replicas", 1), status.get("replicas", 0), status.get("readyReplicas", 0)]
    return [obj["metadata"].get("name", ""), *counts, created(obj, now), names, images, shown]


def print_deployment(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    names, images = containers(spec.get("template") or {})
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}"
    counts = [status.get("updatedReplicas", 0), status.get("availableReplicas", 0)]
    shown = selector(spec.get("selector"))
    return [obj["metadata"].get("name", ""), ready, *counts, created(obj, now), names, images, shown]


def print_stateful_set(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    names, images = containers(spec.get("template") or {})
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}"
    return [obj["metadata"].get("name", ""), ready, created(obj, now), names, images]


def print_daemon_set(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    template = spec.get("template") or {}
    names, images = containers(template)
    fields = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    return [
        obj["metadata"].get("name", ""),
        *(status.get(field, 0) for field in fields),
        labels((template.get("spec") or {}).get("nodeSelector")),
        created(obj, now),
        names,
        images,
        selector(spec.get("selector")),
    ]


_JOB_STATES = (
    ("Complete", "Complete"),
    ("Failed", "Failed"),
    ("deleted", "Terminating"),
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)


def print_job(obj: Object, now: datetime) -> list[Any]:
    spec, status, meta = obj.get("spec", {}), obj.get("status", {}), obj.get("metadata", {})
    met = {name for name, one in conditions(obj).items() if one.get("status") == "True"}
    if meta.get("deletionTimestamp"):
        met.add("deleted")
    state = next((word for name, word in _JOB_STATES if name in met), "Running")
    succeeded, parallelism = status.get("succeeded", 0), spec.get("parallelism", 0)
    if spec.get("completions") is not None:
        completions = f"{succeeded}/{spec['completions']}"
    else:
        completions = f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"
    start = parse_time(status.get("startTime"))
    end = parse_time(status.get("completionTime")) or now
    duration = human_duration((end - start).total_seconds()) if start is not None else ""
    names, images = containers(spec.get("template") or {})
    shown = selector(spec.get("selector"))
    return [meta.get("name", ""), state, completions, duration, created(obj, now), names, images, shown]


def print_cron_job(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    last = age(status["lastScheduleTime"], now) if status.get("lastScheduleTime") else "<none>"
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    names, images = containers(job.get("template") or {})
    suspend = spec.get("suspend")
    return [
        obj["metadata"].get("name", ""),
        spec.get("schedule", ""),
        spec.get("timeZone") or "<none>",
        "<unset>" if suspend is None else str(suspend),
        len(status.get("active") or ()),
        last,
        created(obj, now),
        names,
        images,
        selector(job.get("selector")),
    ]


def print_horizontal_pod_autoscaler(obj: Object, now: datetime) -> list[Any]:
    if obj.get("apiVersion") == "autoscaling/v1":
        obj = to_v2(obj)
    spec, status = obj.get("spec", {}), obj.get("status", {})
    target = spec.get("scaleTargetRef") or {}
    least = spec.get("minReplicas")
    return [
        obj["metadata"].get("name", ""),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(spec.get("metrics") or [], status.get("currentMetrics") or []),
        "<unset>" if least is None else str(least),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        created(obj, now),
    ]


_SHOWN_METRICS = 2
_METRIC_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")


def _metrics(wanted: list[Any], current: list[Any]) -> str:
    """Return the TARGETS of a HorizontalPodAutoscaler. Source: printers formatHPAMetrics."""
    if not wanted:
        return "<none>"
    shown = [_metric(spec, current[i] if i < len(current) else {}) for i, spec in enumerate(wanted)]
    more = len(shown) - _SHOWN_METRICS
    text = ", ".join(shown[:_SHOWN_METRICS])
    return f"{text} + {more} more..." if more > 0 else text


def _metric(spec: Any, status: Any) -> str:
    kind = spec.get("type", "")
    if kind not in _METRIC_TYPES:
        return "<unknown type>"
    field = kind[:1].lower() + kind[1:]
    wanted = (spec.get(field) or {}).get("target") or {}
    now = (status.get(field) or {}).get("current") or {}
    prefix = f"{(spec.get(field) or {}).get('name', '')}: " if kind in ("Resource", "ContainerResource") else ""
    if wanted.get("averageUtilization") is not None:
        seen = now.get("averageUtilization")
        return f"{prefix}{'<unknown>' if seen is None else f'{seen}%'}/{wanted['averageUtilization']}%"
    if wanted.get("averageValue") is not None:
        average = "" if kind == "Resource" or kind == "ContainerResource" or kind == "Pods" else " (avg)"
        return f"{prefix}{now.get('averageValue') or '<unknown>'}/{wanted['averageValue']}{average}"
    if prefix:
        return f"{prefix}<unknown>/<auto>"
    return f"{now.get('value') or '<unknown>'}/{wanted.get('value', '')}"


def print_controller_revision(obj: Object, now: datetime) -> list[Any]:
    meta = obj.get("metadata", {})
    owner = next((o for o in meta.get("ownerReferences") or () if o.get("controller")), None)
    shown = "<none>"
    if owner is not None:
        group = owner.get("apiVersion", "").rpartition("/")[0]
        shown = f"{owner.get('kind', '').lower()}{f'.{group}' if group else ''}/{owner.get('name', '')}"
    return [meta.get("name", ""), shown, obj.get("revision", 0), created(obj, now)]


def print_pod_disruption_budget(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj.get("spec", {}), obj.get("status", {})
    bounds = [
        str(spec[field]) if spec.get(field) is not None else "N/A" for field in ("minAvailable", "maxUnavailable")
    ]
    return [obj["metadata"].get("name", ""), *bounds, status.get("disruptionsAllowed", 0), created(obj, now)]


def print_pod_template(obj: Object, now: datetime) -> list[Any]:
    template = obj.get("template") or {}
    names, images = containers(template)
    return [obj["metadata"].get("name", ""), names, images, labels((template.get("metadata") or {}).get("labels"))]
