"""Rules of events that both groups or one of them have."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from kitlib.api.core import Event, EventSeries, ObjectReference
from kitlib.api.meta import ObjectMeta
from kitlib.apiserver.validation.events import CORE, EVENTS, validate_event, validate_event_update

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GOOD = Event(
    metadata=ObjectMeta(name="e", namespace="default"),
    involved_object=ObjectReference(kind="Pod", name="p", namespace="default"),
    event_time=NOW,
    reporting_component="c",
    reporting_instance="i",
    action="a",
    reason="r",
    type="Normal",
)


def with_fields(**fields: Any) -> Event:
    return msgspec.structs.replace(GOOD, **fields)


@pytest.mark.parametrize("group", [CORE, EVENTS])
def test_a_good_event_has_no_errors(group: str) -> None:
    assert validate_event(GOOD, group) == []
    series = EventSeries(count=2, last_observed_time=NOW)
    assert validate_event_update(with_fields(series=series), GOOD, group) == []


def test_the_core_group_names_the_reporting_component() -> None:
    for group, field in ((CORE, "reportingComponent"), (EVENTS, "reportingController")):
        assert validate_event(with_fields(reporting_component=""), group)[0].field == field


@pytest.mark.parametrize(
    ("about", "namespace", "allowed"),
    [("default", "default", True), ("", "default", True), ("", "other", False), ("x", "other", False)],
)
def test_an_event_without_a_time_is_in_the_namespace_of_its_object(about: str, namespace: str, allowed: bool) -> None:
    reference = ObjectReference(kind="Pod", name="p", namespace=about)
    meta = ObjectMeta(name="e", namespace=namespace)
    errors = validate_event(with_fields(involved_object=reference, metadata=meta, event_time=None))
    assert (errors == []) is allowed


def test_a_change_is_free_in_the_core_group_and_not_in_the_other() -> None:
    changed = with_fields(message="m", event_time=NOW + timedelta(seconds=1), count=2)
    assert validate_event_update(changed, GOOD, CORE) == []
    assert [e.field for e in validate_event_update(changed, GOOD, EVENTS)] == ["message", "count", "eventTime"]


def test_an_old_series_need_not_be_right_where_it_stays() -> None:
    old = with_fields(series=EventSeries(count=1))
    assert validate_event_update(old, old, EVENTS) == []
    assert [error.field for error in validate_event(old, EVENTS)] == ["series.count", "series.lastObservedTime"]
