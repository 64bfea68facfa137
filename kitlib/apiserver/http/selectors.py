"""Label and field selectors in the syntax of a query.

Source: apimachinery pkg/labels (Parse), pkg/fields (ParseSelector), the registries' field label conversions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kitlib.api.label_selectors import parse_label_selector
from kitlib.api.selectors import SelectorError
from kitlib.apiserver.http.status import StatusError

Object = Mapping[str, Any]
Test = Callable[[Object], bool]


def label_selector(text: str) -> Test:
    """Parse a label selector: `app=web,tier in (a,b),!old`.

    Raises:
        StatusError: 400 if the text is not a selector.
    """
    try:
        matches = parse_label_selector(text)
    except SelectorError as error:
        raise StatusError(400, str(error)) from None
    return lambda obj: matches(obj.get("metadata", {}).get("labels") or {})


_FIELDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "pods"): (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    ("", "nodes"): ("spec.unschedulable",),
    ("", "namespaces"): ("status.phase",),
    ("", "secrets"): ("type",),
    ("", "services"): ("spec.clusterIP", "spec.type"),
    ("certificates.k8s.io", "certificatesigningrequests"): ("spec.signerName",),
    ("", "replicationcontrollers"): ("status.replicas",),
    ("apps", "replicasets"): ("status.replicas",),
    ("batch", "jobs"): ("status.successful",),
    ("", "events"): (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    ("resource.k8s.io", "resourceslices"): ("spec.nodeName", "spec.driver"),
}
_FIELDS["events.k8s.io", "events"] = (
    *(f.replace("involvedObject", "regarding") for f in _FIELDS["", "events"] if f.startswith("involvedObject")),
    "reason",
    "reportingController",
    "type",
)


def field_selector(text: str, group: str, plural: str, *, custom: Iterable[str] = ()) -> Test:
    """Parse a field selector: `spec.nodeName=n1,status.phase!=Failed`.

    Raises:
        StatusError: 400 for a field that the resource does not support in selectors.
    """
    known = {"metadata.name", "metadata.namespace", *_FIELDS.get((group, plural), ()), *custom}
    tests: list[tuple[str, bool, str]] = []
    for part in filter(None, text.split(",")):
        negated = "!=" in part
        field, mark, value = part.partition("!=" if negated else "==" if "==" in part else "=")
        if not mark:
            raise StatusError(400, f'invalid selector: "{text[:200]}"; can\'t understand "{part[:80]}"')
        if field not in known:
            raise StatusError(400, f"field label not supported: {field[:80]}")
        tests.append((field, negated, value))

    def matches(obj: Object) -> bool:
        return all((_field(obj, field) == value) != negated for field, negated, value in tests)

    return matches


def _field(obj: Object, path: str) -> str:
    value: Any = obj
    if path == "source":  # Source: registry/core/event ToSelectableFields
        source = obj.get("source")
        component = source.get("component") if isinstance(source, Mapping) else ""
        return str(component or obj.get("reportingComponent") or "")
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    if value is None:
        return {"spec.unschedulable": "false", "spec.hostNetwork": "false"}.get(path, "")
    return str(value).lower() if isinstance(value, bool) else str(value)
