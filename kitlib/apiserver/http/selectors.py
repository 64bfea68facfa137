"""Label and field selectors in the syntax of a query.

Source: apimachinery pkg/labels (Parse), pkg/fields (ParseSelector), the registries' field label conversions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kitlib.apiserver.http.status import StatusError

Object = Mapping[str, Any]
Test = Callable[[Object], bool]

_SET = re.compile(r"^(\S+)\s+(in|notin)\s*\(([^()]*)\)$")
_COMPARE = re.compile(r"^([^\s=!<>]+)\s*(==|=|!=|>|<)\s*([^\s=!<>]*)$")
_EXISTS = re.compile(r"^(!?)\s*([^\s=!<>(),]+)$")
_KEY = re.compile(r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$")
_VALUE = re.compile(r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$")


def label_selector(text: str) -> Test:
    """Parse a label selector: `app=web,tier in (a,b),!old`.

    Raises:
        StatusError: 400 if the text is not a selector.
    """
    tests = [_requirement(part, text) for part in _parts(text)]

    def matches(obj: Object) -> bool:
        labels = obj.get("metadata", {}).get("labels") or {}
        return all(test(labels) for test in tests)

    return matches


def _parts(text: str) -> Iterable[str]:
    depth, start = 0, 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            yield text[start:i].strip()
            start = i + 1
    if text[start:].strip() or start:
        yield text[start:].strip()


def _requirement(part: str, text: str) -> Callable[[Mapping[str, str]], bool]:
    def wrong(why: str) -> StatusError:
        return StatusError(400, f'unable to parse requirement: {why} (label selector "{text[:200]}")')

    found = _SET.match(part)
    if found:
        key, negated = found.group(1), found.group(2) == "notin"
        values = {value.strip() for value in found.group(3).split(",")}
        _check(key, values, wrong)
        return lambda labels: (labels.get(key) in values) != negated if key in labels else negated
    found = _COMPARE.match(part)
    if found:
        key, operator, value = found.groups()
        _check(key, (value,), wrong)
        if operator in ("=", "=="):
            return lambda labels: labels.get(key) == value
        if operator == "!=":
            return lambda labels: labels.get(key) != value
        if not value.lstrip("-").isdigit():
            raise wrong(
                f"values[0]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer"
            )
        return lambda labels: _compared(labels.get(key), operator, int(value))
    found = _EXISTS.match(part)
    if found:
        negated, key = bool(found.group(1)), found.group(2)
        _check(key, (), wrong)
        return lambda labels: (key in labels) != negated
    raise wrong(f"found {part[:80]!r}, expected: a key, `key=value`, `key in (values)` or `!key`")


def _check(key: str, values: Iterable[str], wrong: Callable[[str], StatusError]) -> None:
    if len(key) > 317 or not _KEY.match(key):
        raise wrong(
            f'key: Invalid value: "{key[:80]}": name part must consist of alphanumeric characters, "-", "_" or "."'
        )
    for value in values:
        if len(value) > 63 or not _VALUE.match(value):
            raise wrong(
                f'values: Invalid value: "{value[:80]}": a valid label must be at most 63 characters of its alphabet'
            )


def _compared(value: str | None, operator: str, bound: int) -> bool:
    try:
        number = int(value or "")
    except ValueError:
        return False
    return number > bound if operator == ">" else number < bound


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
