"""Validation of Events: lenient in the core group, strict in events.k8s.io.

Source: pkg/apis/core/validation/events.go; pkg/registry/core/event eventStrategy.
"""

from __future__ import annotations

from kitlib.api.core import Event
from kitlib.api.field_errors import Errors, invalid, required, validate_immutable_field
from kitlib.api.names import is_dns1123_subdomain, is_qualified_name
from kitlib.apiserver.validation.object_meta import (
    validate_object_meta,
    validate_object_meta_update,
    validate_path_segment_name,
)
from kitlib.apiserver.validation.rules import Rules

CORE, EVENTS = "", "events.k8s.io"
_LIMITS = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
_SINGULAR = ("", "default")
_IMMUTABLE = (
    *("involved_object", "reason", "message", "source", "first_timestamp", "last_timestamp", "count", "reason", "type"),
    *("event_time", "action", "related", "reporting_controller", "reporting_instance"),
)
_ATTRIBUTES = {"reporting_controller": "reporting_component"}
_UNSET = {"firstTimestamp": "first_timestamp", "lastTimestamp": "last_timestamp", "count": "count", "source": "source"}


def validate_event(event: Event, group: str = CORE) -> Errors:
    """Return the errors of a new event. Source: ValidateEventCreate.

    Args:
        event: the event in its stored form.
        group: the API group of the request.
    """
    found = _legacy(event, group)
    if group == CORE:
        return found
    found += _series(event)
    if event.event_time is None:
        found.append(required("eventTime"))
    if event.type not in ("Normal", "Warning"):
        found.append(invalid("type", "", f"has invalid value: {event.type}"))
    return found + [invalid(field, "", "needs to be unset") for field, name in _UNSET.items() if getattr(event, name)]


def validate_event_update(new: Event, old: Event, group: str = CORE) -> Errors:
    """Return the errors of an update: in events.k8s.io only the series may change. Source: ValidateEventUpdate."""
    found = _legacy(new, group)
    if group == CORE:
        return found
    if new.series != old.series:
        found += _series(new)
    for name in _IMMUTABLE:
        first, *others = name.split("_")
        attribute = _ATTRIBUTES.get(name, name)
        field = first + "".join(map(str.capitalize, others))
        found += validate_immutable_field(getattr(new, attribute), getattr(old, attribute), field)
    return found


def _legacy(event: Event, group: str) -> Errors:
    """Source: legacyValidateEvent."""
    found: Errors = []
    namespace, about = event.metadata.namespace, event.involved_object.namespace
    mismatch = invalid("involvedObject.namespace", about, "does not match event.namespace")
    if event.event_time is None:
        if namespace != about if about else namespace not in _SINGULAR:
            found.append(mismatch)
    else:
        if not about and namespace not in ("default", "kube-system"):
            found.append(mismatch)
        controller = "reportingController" if group == EVENTS else "reportingComponent"
        if not event.reporting_component:
            found.append(required(controller))
        wrong = is_qualified_name(event.reporting_component)
        found += [invalid(controller, event.reporting_component, why) for why in wrong]
        for field, value in (
            ("reportingInstance", event.reporting_instance),
            ("action", event.action),
            ("reason", event.reason),
            ("message", event.message),
        ):
            if not value and field != "message":
                found.append(required(field))
            if len(value.encode()) > _LIMITS[field]:
                found.append(invalid(field, "", f"can have at most {_LIMITS[field]} characters"))
    return found + [invalid("namespace", namespace, why) for why in is_dns1123_subdomain(namespace)]


def _series(event: Event) -> Errors:
    """Source: validateV1EventSeries."""
    found: Errors = []
    if event.series is not None:
        if event.series.count < 2:
            found.append(invalid("series.count", "", "should be at least 2"))
        if event.series.last_observed_time is None:
            found.append(required("series.lastObservedTime"))
    return found


def _create(event: Event) -> Errors:
    rule = validate_path_segment_name
    meta = validate_object_meta(event.metadata, namespaced=True, name_rule=rule, known_finalizers=False)
    return validate_event(event) + meta


def _update(new: Event, old: Event) -> Errors:
    return validate_event_update(new, old) + validate_object_meta_update(
        new.metadata, old.metadata, known_finalizers=False
    )


KINDS: Rules = {Event: (_create, _update)}
