"""The version of a watch event is that of its object."""

from __future__ import annotations

import pytest

from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject, ObjectMeta
from kitlib.apiserver.store.watch_events import ResourceExpired, WatchEvent


@pytest.mark.parametrize("version", [1, 10, 2**40])
def test_versions_are_numbers(version: int) -> None:
    before = KubeObject(metadata=ObjectMeta(resource_version=str(version - 1)))
    after = KubeObject(metadata=ObjectMeta(resource_version=str(version)))
    event = WatchEvent("MODIFIED", after, before)
    assert event.version == version
    assert WatchEvent("ADDED", after).previous is None


def test_events_are_ordered_as_numbers() -> None:
    events = [WatchEvent("ADDED", KubeObject(metadata=ObjectMeta(resource_version=text))) for text in ("10", "9")]
    assert [event.version for event in sorted(events, key=lambda event: event.version)] == [9, 10]


def test_an_expired_version_is_an_error_for_the_reader() -> None:
    assert issubclass(ResourceExpired, KitError)
