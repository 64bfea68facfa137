"""The store as it stood at an earlier version."""

from __future__ import annotations

import random
from typing import Any

from kitlib.api.core import ConfigMap
from kitlib.api.meta import ObjectMeta
from kitlib.apiserver.store.history import list_at
from kitlib.apiserver.store.store import Store


def state(store: Store, version: int, namespace: str | None = None) -> dict[tuple[str, str], dict[str, Any]]:
    found = list_at(store, store.kinds.named("ConfigMap"), version, namespace)
    return {(obj.metadata.namespace, obj.metadata.name): dict(obj.data) for obj in found}  # type: ignore[attr-defined]


def test_every_earlier_state_is_what_it_was() -> None:
    chance, store = random.Random(1), Store()
    then: list[tuple[int, dict[tuple[str, str], dict[str, Any]]]] = []
    for i in range(200):
        place, name = chance.choice("ab"), chance.choice("xyz")
        made = ConfigMap(metadata=ObjectMeta(name=name, namespace=place), data={"at": str(i)})
        if store.find(ConfigMap, name, place) is None:
            store.create(made)
        elif chance.random() < 0.5:
            store.update(made)
        else:
            store.delete(ConfigMap, name, place)
        found = store.list(ConfigMap, copy=False)
        then.append((store.version, {(o.metadata.namespace, o.metadata.name): dict(o.data) for o in found}))
    for version, objects in then:
        assert state(store, version) == objects
        assert state(store, version, "a") == {key: data for key, data in objects.items() if key[0] == "a"}


def test_a_write_that_was_undone_leaves_no_trace() -> None:
    store = Store()
    store.create(ConfigMap(metadata=ObjectMeta(name="x", namespace="a"), data={"at": "1"}))
    version = store.version
    try:
        with store.transaction():
            store.update(ConfigMap(metadata=ObjectMeta(name="x", namespace="a"), data={"at": "2"}))
            raise KeyError
    except KeyError:
        pass
    with store.transaction():
        store.update(ConfigMap(metadata=ObjectMeta(name="x", namespace="a"), data={"at": "3"}))
        store.delete(ConfigMap, "x", "a")
    assert state(store, version) == {("a", "x"): {"at": "1"}}
    assert state(store, store.version) == {}
