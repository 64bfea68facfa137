"""Events are counted, combined and cut off as by client-go's recorder."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

from kitlib.api.core import Pod
from kitlib.api.meta import ObjectMeta
from kitlib.api.serialize import to_dict
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.store.events import EventCorrelator, expire, record

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


def test_an_event_that_was_deleted_comes_back_with_its_name_first_time_and_count():
    clock = Clock()
    api = APIServer(clock)
    record(api, ABOUT, "Warning", "BackOff", "text", "kubelet")
    (old,) = api.store.list("Event")
    api.store.delete("Event", old.name, old.namespace)
    clock.now += timedelta(seconds=5)
    record(api, ABOUT, "Warning", "BackOff", "text", "kubelet")
    (new,) = api.store.list("Event")
    assert (new.name, new.count, new.first_timestamp) == (old.name, 2, old.first_timestamp)
    assert new.last_timestamp == clock.now and new.metadata.uid != old.metadata.uid


def test_the_count_of_an_event_goes_on_after_an_hour_while_its_object_exists():
    clock = Clock()
    api = APIServer(clock)
    api.store.create(ABOUT)
    record(api, ABOUT, "Normal", "Pulled", "image", "kubelet")
    clock.now += timedelta(hours=1)
    assert expire(api) == 1 and written(api) == []
    record(api, ABOUT, "Normal", "Pulled", "image", "kubelet")
    assert written(api) == [("image", 2)]


def test_what_pods_wrote_that_are_gone_is_forgotten():
    # Scheduled, Pulled, Created, Started of a pod every five seconds for two hours
    clock = Clock()
    api = APIServer(clock)
    held = []
    for i in range(1440):
        pod = Pod(metadata=ObjectMeta(name=f"p{i}", namespace="default", uid=f"u{i}"))
        api.store.create(pod)
        for source, reason in (
            ("", "Scheduled"),
            ("kubelet", "Pulled"),
            ("kubelet", "Created"),
            ("kubelet", "Started"),
        ):
            record(api, pod, "Normal", reason, f"of {i}", source)
        api.store.delete("Pod", pod.name, "default")
        clock.now += timedelta(seconds=5)
        if i % 12 == 11:
            expire(api)
            held.append(api.correlator.size)
    hour = 60
    assert max(held[hour:]) <= max(held[:hour]) + 4 * 12 < 4000


def test_what_is_forgotten_does_not_change_an_answer():
    def replies(forget: bool) -> list[list[tuple[str, int]]]:
        rng, clock = Random(7), Clock()
        api = APIServer(clock)
        pods = [Pod(metadata=ObjectMeta(name=f"p{i}", namespace="default", uid=f"u{i}")) for i in range(3)]
        for pod in pods:
            api.store.create(pod)
        found = []
        for _ in range(600):
            record(
                api,
                rng.choice(pods),
                "Normal",
                rng.choice("AB"),
                f"text {rng.randrange(20)}",
                rng.choice(["", "kubelet"]),
            )
            clock.now += timedelta(seconds=rng.choice([1, 30, 300, 601, 4000]))
            if forget:
                expire(api)
            else:
                api.correlator, kept = EventCorrelator(), api.correlator
                expire(api)
                api.correlator = kept
            found.append(sorted(written(api)))
        return found

    assert replies(forget=True) == replies(forget=False)
