"""Events in both groups: names both ways, series, the rules of each group."""

from __future__ import annotations

from typing import Any

import pytest

CORE = "/api/v1/namespaces/default/events"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
MERGE = {"content_type": "application/merge-patch+json"}
STRATEGIC = {"content_type": "application/strategic-merge-patch+json"}
TIME = "2026-01-01T00:00:00.000000Z"


def event(**fields: Any) -> dict[str, Any]:
    """An event as a scheduler or a controller of today writes it."""
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "eventTime": TIME,
        "reportingController": "example.com/operator",
        "reportingInstance": "operator-0",
        "action": "Reconcile",
        "reason": "Done",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
        "note": "it is done",
        "type": "Normal",
    } | fields


def test_an_event_has_the_names_of_the_group_that_shows_it(call: Any) -> None:
    code, made = call("POST", EVENTS, event(related={"kind": "Node", "name": "node-1"}))
    assert (code, made["reportingController"], made["eventTime"]) == (201, "example.com/operator", TIME)
    assert (made["deprecatedFirstTimestamp"], made["deprecatedSource"]) == (None, {})
    _, core = call("GET", f"{CORE}/e")
    assert (core["apiVersion"], core["message"], core["involvedObject"]["name"]) == ("v1", "it is done", "p")
    assert (core["reportingComponent"], core["related"]["kind"], core["source"]) == ("example.com/operator", "Node", {})
    assert not {"note", "regarding", "reportingController"} & core.keys()
    assert {"f:note", "f:regarding"} <= made["metadata"]["managedFields"][0]["fieldsV1"].keys()


@pytest.mark.parametrize("headers", [MERGE, STRATEGIC])
def test_a_series_is_patched_and_nothing_is_lost(call: Any, headers: dict[str, str]) -> None:
    call("POST", EVENTS, event())
    series = {"count": 2, "lastObservedTime": "2026-01-01T00:00:05.000001Z"}
    code, made = call("PATCH", f"{EVENTS}/e", {"series": series}, **headers)
    assert (code, made["series"], made["reportingController"]) == (200, series, "example.com/operator")
    code, core = call("GET", f"{CORE}/e")
    assert (core["series"], core["reportingComponent"]) == (series, "example.com/operator")
    made["series"] = {"count": 100, "lastObservedTime": "2026-01-01T00:00:09.000000Z"}
    assert call("PUT", f"{EVENTS}/e", made)[1]["series"] == made["series"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"eventTime": None}, "eventTime: Required value"),
        ({"reportingController": ""}, "reportingController: Required value"),
        ({"reportingController": "a b"}, 'reportingController: Invalid value: "a b"'),
        ({"reportingInstance": ""}, "reportingInstance: Required value"),
        ({"action": ""}, "action: Required value"),
        ({"action": "x" * 129}, 'action: Invalid value: "": can have at most 128 characters'),
        ({"reason": ""}, "reason: Required value"),
        ({"note": "x" * 1025}, 'message: Invalid value: "": can have at most 1024 characters'),
        ({"type": "Other"}, 'type: Invalid value: "": has invalid value: Other'),
        ({"deprecatedCount": 1}, 'count: Invalid value: "": needs to be unset'),
        ({"deprecatedFirstTimestamp": "2026-01-01T00:00:00Z"}, 'firstTimestamp: Invalid value: "": needs to be unset'),
        ({"series": {"count": 1, "lastObservedTime": TIME}}, 'series.count: Invalid value: "": should be at least 2'),
        ({"series": {"count": 2}}, "series.lastObservedTime: Required value"),
        ({"regarding": {"kind": "Node", "name": "n"}, "eventTime": None}, "eventTime: Required value"),
    ],
)
def test_events_of_today_are_checked_strictly(call: Any, fields: dict[str, Any], words: str) -> None:
    code, status = call("POST", EVENTS, event(**fields))
    assert (code, status["reason"]) == (422, "Invalid")
    assert words in status["message"]


def test_only_the_series_of_an_event_may_change(call: Any) -> None:
    _, made = call("POST", EVENTS, event())
    code, status = call("PUT", f"{EVENTS}/e", {**made, "note": "other"})
    assert (code, 'message: Invalid value: "other": field is immutable' in status["message"]) == (422, True)
    _, core = call("GET", f"{CORE}/e")
    assert call("PUT", f"{CORE}/e", {**core, "message": "other"})[0] == 200  # the core group's rules are the old ones


def test_names_of_the_other_group_are_unknown_fields(call: Any) -> None:
    code, status = call("POST", f"{EVENTS}?fieldValidation=Strict", event(message="x"))
    assert code == 400
    assert 'strict decoding error: unknown field "message"' in status["message"]


def test_an_old_event_must_be_in_the_namespace_of_its_object(call: Any) -> None:
    old = {"metadata": {"name": "o"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "other"}}
    code, status = call("POST", CORE, old)
    assert (code, "does not match event.namespace" in status["message"]) == (422, True)


def test_leases_have_times_with_six_digits(call: Any) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    body = {"metadata": {"name": "l"}, "spec": {"renewTime": TIME, "holderIdentity": "x", "leaseDurationSeconds": 9}}
    assert call("POST", leases, body)[1]["spec"]["renewTime"] == TIME
