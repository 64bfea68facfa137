"""The store keeps objects, counts versions, refuses stale writes, tells watchers, and takes back what failed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kitlib.api.core import ContainerStatus, Pod
from kitlib.api.errors import AlreadyExists, Conflict, NotFound
from kitlib.api.meta import LabelSelector, ObjectMeta
from kitlib.apiserver.store import store as store_module
from kitlib.apiserver.store.kinds import UnknownKind, resource
from kitlib.apiserver.store.store import ResourceExpired, Store


def pod(name: str, namespace: str = "default", **labels: str) -> Pod:
    return Pod(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels))


def names(found: list[Pod]) -> list[str]:
    return [p.name for p in found]


def test_an_object_is_found_by_kind_plural_short_name_and_type() -> None:
    store = Store()
    store.create(pod("a"))
    for kind in ("Pod", "pods", "po", Pod):
        assert store.get(kind, "a", "default").name == "a"
    with pytest.raises(UnknownKind, match="doesn't have a resource type 'pdos'"):
        store.get("pdos", "a", "default")


def test_creating_fills_in_uid_version_and_time_and_the_same_seed_gives_the_same() -> None:
    first, second = Store(seed=7).create(pod("a")), Store(seed=7).create(pod("a"))
    assert first.metadata.uid == second.metadata.uid != ""
    assert first.metadata.resource_version == "1" and first.metadata.creation_timestamp is not None
    assert Store(seed=8).create(pod("a")).metadata.uid != first.metadata.uid


def test_a_manifests_uid_is_kept_unless_another_object_has_it() -> None:
    store = Store()
    first = pod("a")
    first.metadata.uid = "3f1c"
    copied = pod("b")
    copied.metadata.uid = store.create(first).metadata.uid
    assert store.get("Pod", "a", "default").metadata.uid == "3f1c" != store.create(copied).metadata.uid
    store.delete("Pod", "a", "default")
    assert store.create(first).metadata.uid == "3f1c", "the only one again"


def test_an_adopted_object_is_stored_itself_and_replaced_by_an_update() -> None:
    store = Store()
    given = pod("a", app="web")
    store.adopt(given)
    assert store.get("Pod", "a", "default", copy=False) is given and given.metadata.resource_version == "1"
    changed = store.get("Pod", "a", "default")
    changed.metadata.labels["app"] = "db"
    store.update(changed)
    assert given.metadata.labels == {"app": "web"}
    with pytest.raises(AlreadyExists):
        store.adopt(pod("a"))


def test_a_name_is_generated_with_five_letters_without_vowels() -> None:
    made = Store().create(Pod(metadata=ObjectMeta(generate_name="web-", namespace="default")))
    suffix = made.name.removeprefix("web-")
    assert len(suffix) == 5 and not set(suffix) & set("aeiouy01368")


def test_a_name_is_taken_once() -> None:
    store = Store()
    store.create(pod("a"))
    store.create(pod("a", "other"))
    with pytest.raises(AlreadyExists, match='pods "a" already exists'):
        store.create(pod("a"))


def test_a_stale_update_is_refused_and_a_fresh_one_counts_the_version_up() -> None:
    store = Store()
    stale = store.create(pod("a"))
    fresh = store.get(Pod, "a", "default")
    fresh.metadata.labels["x"] = "1"
    assert store.update(fresh).metadata.resource_version == "2"
    stale.metadata.labels["x"] = "2"
    with pytest.raises(Conflict, match='Operation cannot be fulfilled on pods "a": the object has been modified'):
        store.update(stale)
    assert store.get(Pod, "a", "default").metadata.labels == {"x": "1"}


def test_an_update_without_a_change_changes_nothing_and_tells_nobody() -> None:
    store = Store()
    store.create(pod("a"))
    watch = store.watch()
    assert store.update(store.get(Pod, "a", "default")).metadata.resource_version == "1"
    assert watch.poll() == []


def test_only_a_change_of_the_specification_counts_the_generation_up() -> None:
    store = Store()
    made = store.create(pod("a"))
    made.metadata.labels["x"] = "1"
    made = store.update(made)
    assert made.metadata.generation == 1
    made.spec.node_name = "n"
    assert store.update(made).metadata.generation == 2


def test_readers_get_copies() -> None:
    store = Store()
    given = pod("a", x="1")
    store.create(given)
    given.metadata.labels["x"] = "changed"
    store.get(Pod, "a", "default").metadata.labels["x"] = "changed"
    assert store.get(Pod, "a", "default").metadata.labels == {"x": "1"}


def test_what_siblings_have_in_common_is_kept_once_when_made_and_when_changed() -> None:
    store = Store()
    for name in ("a", "b"):
        store.create(pod(name, tier="web"))
    for name in ("a", "b"):
        made = store.get(Pod, name, "default")
        made.status.container_statuses = [ContainerStatus(name="c", ready=True)]
        store.update(made)
    one, other = (store.get(Pod, name, "default", copy=False) for name in ("a", "b"))
    assert one.metadata.labels is other.metadata.labels
    assert one.status.container_statuses is other.status.container_statuses
    copied = store.get(Pod, "a", "default")
    copied.status.container_statuses[0].ready = False
    assert other.status.container_statuses[0].ready


def test_listing_follows_creation_and_filters_by_namespace_and_labels() -> None:
    store = Store()
    for made in (pod("b", x="1"), pod("a", x="2"), pod("c", "other", x="1")):
        store.create(made)
    assert names(store.list(Pod)) == ["b", "a", "c"]
    assert names(store.list("pods", "default")) == ["b", "a"]
    assert names(store.list("pods", selector=LabelSelector(match_labels={"x": "1"}))) == ["b", "c"]


def test_a_watch_sees_every_change_once_and_in_order() -> None:
    store = Store()
    watch = store.watch("pods")
    made = store.create(pod("a"))
    made.spec.node_name = "n"
    store.update(made)
    store.delete(Pod, "a", "default")
    assert [(e.type, e.object.metadata.resource_version) for e in watch.poll()] == [
        ("ADDED", "1"),
        ("MODIFIED", "2"),
        ("DELETED", "3"),
    ]
    assert watch.poll() == []
    assert len(store.watch(since=1).poll()) == 2


def test_a_failed_transaction_leaves_objects_versions_names_and_watchers_as_they_were() -> None:
    store = Store()
    for name in ("a", "b", "c"):
        store.create(pod(name, x="1"))
    watch, heard = store.watch(), []
    store.subscribe(heard.append)
    with pytest.raises(AlreadyExists), store.transaction():
        store.delete(Pod, "a", "default")
        changed = store.get(Pod, "b", "default")
        changed.metadata.labels["x"] = "2"
        store.update(changed)
        store.create(pod("new"))
        store.create(pod("c"))
    assert names(store.list(Pod)) == ["a", "b", "c"]
    assert store.get(Pod, "b", "default").metadata.labels == {"x": "1"}
    assert store.version == 3 and watch.poll() == [] and heard == []
    generated = Store()
    generated.create(pod("x"))
    generated.create(pod("y"))
    generated.create(pod("z"))
    assert store.create(pod("n")).metadata.uid == generated.create(pod("n")).metadata.uid


def test_watchers_hear_of_a_transaction_when_it_stands() -> None:
    store, heard = Store(), []
    store.subscribe(heard.append)
    with store.transaction():
        store.create(pod("a"))
        assert heard == []
    assert [e.type for e in heard] == ["ADDED"]


def test_what_is_not_there_cannot_be_read_changed_or_deleted() -> None:
    store = Store()
    for act in (lambda: store.get("po", "a"), lambda: store.update(pod("a")), lambda: store.delete("pod", "a")):
        with pytest.raises(NotFound, match='pods "a" not found'):
            act()
    assert store.find("deploy", "a") is None
    assert resource("deploy").qualified == "deployments.apps"


class Clock:
    def __init__(self) -> None:
        self.at = datetime(2025, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def move(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


def changed(store: Store, times: int) -> None:
    for number in range(times):
        one = store.get("Pod", "a", "default")
        one.metadata.labels = {"n": str(number)}
        store.update(one)


def test_changes_are_forgotten_five_minutes_after_they_were_made() -> None:
    clock = Clock()
    store = Store(clock)
    store.create(pod("a"))
    changed(store, 10)
    for _ in range(6):
        store.compact()
        assert len(store.changes(0)) == 11
        clock.move(50)
    changed(store, 3)
    store.compact()
    with pytest.raises(ResourceExpired, match=r"too old resource version: 0 \(11\)"):
        store.changes(0)
    assert len(store.changes(11)) == 3 and store.changes(14) == []


def test_what_a_watch_has_still_to_read_is_kept_until_it_is_read_or_dropped() -> None:
    clock = Clock()
    store = Store(clock)
    store.create(pod("a"))
    watch = store.watch("Pod")
    changed(store, 5)
    store.compact()
    clock.move(3600)
    store.compact()
    assert len(watch.poll()) == 5
    clock.move(3600)
    store.compact()
    with pytest.raises(ResourceExpired):
        store.changes(1)


def test_a_reader_that_never_reads_does_not_keep_changes_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MAX_BEHIND", 20)
    clock = Clock()
    store = Store(clock)
    store.create(pod("a"))
    watch = store.watch("Pod")
    for _ in range(10):
        changed(store, 10)
        store.compact()
        clock.move(600)
    store.compact()
    assert store.changes(store.version) == []
    with pytest.raises(ResourceExpired):
        watch.poll()
