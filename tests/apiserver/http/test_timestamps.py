"""Times in the wire format: whole seconds, or six digits for Leases and Events."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.apiserver.http.timestamps import with_served_times

LONG, WHOLE, MICRO = "2024-01-01T00:00:00.123456Z", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000000Z"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"metadata": {"creationTimestamp": LONG}}, {"metadata": {"creationTimestamp": WHOLE}}),
        ({"metadata": {"deletionTimestamp": LONG}}, {"metadata": {"deletionTimestamp": WHOLE}}),
        ({"metadata": {"creationTimestamp": WHOLE}}, {"metadata": {"creationTimestamp": WHOLE}}),
        ({"metadata": {"name": LONG}}, {"metadata": {"name": LONG}}),
        ({"status": {"a": [{"b": LONG}, LONG], "c": "x.Z"}}, {"status": {"a": [{"b": WHOLE}, WHOLE], "c": "x.Z"}}),
        ({"status": LONG}, {"status": LONG}),
        ({"spec": {"t": LONG}}, {"spec": {"t": LONG}}),
        (
            {"kind": "Event", "firstTimestamp": LONG, "lastTimestamp": None, "eventTime": WHOLE},
            {"kind": "Event", "firstTimestamp": WHOLE, "lastTimestamp": None, "eventTime": MICRO},
        ),
        ({"kind": "Event", "eventTime": LONG}, {"kind": "Event", "eventTime": LONG}),
        ({"kind": "Event", "eventTime": None}, {"kind": "Event", "eventTime": None}),
        (
            {"kind": "Event", "series": {"lastObservedTime": WHOLE}},
            {"kind": "Event", "series": {"lastObservedTime": MICRO}},
        ),
        (
            {"kind": "Lease", "spec": {"acquireTime": WHOLE, "renewTime": LONG}},
            {"kind": "Lease", "spec": {"acquireTime": MICRO, "renewTime": LONG}},
        ),
        ({"kind": "Lease"}, {"kind": "Lease"}),
        ({"kind": "Other", "spec": {"renewTime": WHOLE}}, {"kind": "Other", "spec": {"renewTime": WHOLE}}),
    ],
)
def test_times_of_built_in_kinds(data: dict[str, Any], expected: dict[str, Any]) -> None:
    """Source: Time.MarshalJSON, MicroTime.MarshalJSON."""
    assert with_served_times(data) is data
    assert data == expected


def test_a_custom_object_keeps_its_own_times() -> None:
    data = {"metadata": {"creationTimestamp": LONG}, "status": {"at": LONG}, "firstTimestamp": LONG}
    assert with_served_times(data, custom=True) == {
        "metadata": {"creationTimestamp": WHOLE},
        "status": {"at": LONG},
        "firstTimestamp": LONG,
    }
