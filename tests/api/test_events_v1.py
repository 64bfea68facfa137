"""The names of an event's fields in both groups."""

from __future__ import annotations

import msgspec

from kitlib.api.events_v1 import EventV1, served_event, stored_event
from kitlib.api.serialize import to_dict, type_of


def test_every_field_of_one_group_has_a_name_in_the_other() -> None:
    core = {field.encode_name for field in msgspec.structs.fields(type_of("v1", "Event"))}
    other = {field.encode_name for field in msgspec.structs.fields(EventV1)}
    assert set(served_event(dict.fromkeys(core, "x"))) == other
    assert set(stored_event(dict.fromkeys(other, "x"))) == core


def test_an_event_survives_both_ways() -> None:
    sent = to_dict(EventV1(note="n", reporting_controller="c", deprecated_count=3, reason="r"))
    assert served_event(stored_event(sent)) | {"apiVersion": "events.k8s.io/v1"} == sent
