"""Events are counted, combined and cut off as by client-go's recorder."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kitlib.api.core import Pod
from kitlib.api.meta import ObjectMeta
from kitlib.api.serialize import to_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.store.events import record

ABOUT = Pod(metadata=ObjectMeta(name="a", namespace="default", uid="u"))


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 5, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def written(api: APIServer) -> list[tuple[str, int]]:
    return [(event.message, event.count) for event in api.store.list("Event")]


def test_the_same_event_again_is_counted():
    api = APIServer(Clock())
    for _ in range(3):
        record(api, ABOUT, "Normal", "Pulled", "image", "kubelet")
    assert written(api) == [("image", 3)]


def test_type_and_count_are_written_out():
    api = APIServer(Clock())
    record(api, ABOUT, "Normal", "Pulled", "image", "kubelet")
    data = to_dict(api.store.list("Event")[0])
    assert (data["type"], data["count"]) == ("Normal", 1)


def test_the_tenth_similar_event_in_ten_minutes_and_the_next_are_combined():
    api = APIServer(Clock())
    for i in range(12):
        record(api, ABOUT, "Normal", "Created", f"pod {i}", "x-controller")
    assert written(api)[:9] == [(f"pod {i}", 1) for i in range(9)]
    assert written(api)[9:] == [("(combined from similar events): pod 11", 3)]


def test_similar_events_after_ten_minutes_stand_alone_again():
    clock = Clock()
    api = APIServer(clock)
    for i in range(9):
        record(api, ABOUT, "Normal", "Created", f"pod {i}", "x-controller")
    clock.now += timedelta(seconds=601)
    record(api, ABOUT, "Normal", "Created", "pod 9", "x-controller")
    assert written(api)[-1] == ("pod 9", 1)


def test_an_object_writes_25_events_then_one_every_five_minutes():
    clock = Clock()
    api = APIServer(clock)
    for i in range(40):
        record(api, ABOUT, "Normal", f"Reason{i}", "text", "x-controller")
    assert len(written(api)) == 25
    clock.now += timedelta(seconds=301)
    record(api, ABOUT, "Normal", "Later", "text", "x-controller")
    assert len(written(api)) == 26


def test_the_schedulers_events_are_counted_but_neither_combined_nor_cut_off():
    api = APIServer(Clock())
    for i in range(40):
        record(api, ABOUT, "Warning", "FailedScheduling", f"reason {i}")
    assert len(written(api)) == 40
