"""Rows of webhooks, admission policies, flow control, certificates and API services.

Source: pkg/printers/internalversion/printers.go; kube-aggregator registry/apiservice/etcd.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kitlib.api.duration import human_duration
from kitlib.apiserver.http.printers.text import Object, conditions, created, selector


def _name(obj: Object) -> str:
    return str(obj.get("metadata", {}).get("name", ""))


def print_webhook_configuration(obj: Object, now: datetime) -> list[Any]:
    return [_name(obj), len(obj.get("webhooks") or ()), created(obj, now)]


def print_admission_policy(obj: Object, now: datetime) -> list[Any]:
    spec = obj.get("spec") or {}
    rules = "mutations" if str(obj.get("kind", "")).startswith("Mutating") else "validations"
    kind = spec.get("paramKind")
    shown = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else "<unset>"
    return [_name(obj), len(spec.get(rules) or ()), shown, created(obj, now)]


def print_admission_policy_binding(obj: Object, now: datetime) -> list[Any]:
    spec = obj.get("spec") or {}
    found, shown = spec.get("paramRef"), "<unset>"
    if found:
        place = f"{found['namespace']}/" if found.get("namespace") else ""
        shown = f"{place}{found['name']}" if found.get("name") else selector(found.get("selector"))
    return [_name(obj), spec.get("policyName", ""), shown, created(obj, now)]


def print_flow_schema(obj: Object, now: datetime) -> list[Any]:
    spec = obj.get("spec") or {}
    level = (spec.get("priorityLevelConfiguration") or {}).get("name", "")
    method = (spec.get("distinguisherMethod") or {}).get("type") or "<none>"
    dangling = conditions(obj).get("Dangling", {}).get("status", "?")
    return [_name(obj), level, spec.get("matchingPrecedence", 0), method, created(obj, now), dangling]


def print_priority_level_configuration(obj: Object, now: datetime) -> list[Any]:
    spec = obj.get("spec") or {}
    limited = spec.get("limited")
    shares = limited.get("nominalConcurrencyShares", 0) if limited else "<none>"
    queuing = ((limited or {}).get("limitResponse") or {}).get("queuing")
    fields = ("queues", "handSize", "queueLengthLimit")
    queues = [queuing.get(field, 0) if queuing else "<none>" for field in fields]
    return [_name(obj), spec.get("type", ""), shares, *queues, created(obj, now)]


def print_certificate_signing_request(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    seconds = spec.get("expirationSeconds")
    duration = "<none>" if seconds is None else human_duration(float(seconds))
    known = conditions(obj)
    words = ["Denied" if "Denied" in known else "Approved" if "Approved" in known else "Pending"]
    words += ["Failed"] if "Failed" in known else []
    words += ["Issued"] if status.get("certificate") else []
    signer = spec.get("signerName") or "<none>"
    return [_name(obj), created(obj, now), signer, spec.get("username", ""), duration, ",".join(words)]


def print_service_cidr(obj: Object, now: datetime) -> list[Any]:
    return [_name(obj), ",".join((obj.get("spec") or {}).get("cidrs") or ()), created(obj, now)]


def print_volume_attributes_class(obj: Object, now: datetime) -> list[Any]:
    return [_name(obj), obj.get("driverName", ""), created(obj, now)]


def print_component_status(obj: Object, now: datetime) -> list[Any]:
    found = next((one for one in obj.get("conditions") or () if one.get("type") == "Healthy"), None)
    status = "Unknown" if found is None else "Healthy" if found.get("status") == "True" else "Unhealthy"
    return [_name(obj), status, (found or {}).get("message", ""), (found or {}).get("error", "")]


def print_api_service(obj: Object, now: datetime) -> list[Any]:
    service = (obj.get("spec") or {}).get("service")
    place = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    found = conditions(obj).get("Available", {})
    shown = found.get("status", "Unknown")
    if shown != "True" and found.get("reason"):
        shown = f"{shown} ({found['reason']})"
    return [_name(obj), place, shown, created(obj, now)]
