"""Large JSON lists give the same objects and errors as the general reader."""

from __future__ import annotations

import json
import random
import typing
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from kitlib.api import boundary, serialize_lists
from kitlib.api.api_groups import type_of
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeStruct
from kitlib.api.serialize import load, to_dict
from kitlib.apiserver.store.kinds import RESOURCES
from tests.api.test_serialize_nulls import CUSTOM, POD, UNKNOWN

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"a": "b"}},
    "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
    "status": {
        "allocatable": {"cpu": "3900m", "memory": 8589934592, "pods": 110},
        "images": [{"names": ["i"], "sizeBytes": 5}],
    },
}
SCALER = {
    "apiVersion": "autoscaling/v1",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "h"},
    "spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50, "scaleTargetRef": {"kind": "X", "name": "x"}},
}
POLICY = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": {}}


def in_list(*items: Any, kind: str = "List", **more: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": kind, "items": items, **more})


def outcome(text: str) -> list[Any] | str:
    """Return the objects of a text with their types, or the error."""
    try:
        return [(type(one), to_dict(one)) for one in load(text)]
    except KitError as error:
        return str(error)


def both(text: str, patch: pytest.MonkeyPatch) -> tuple[list[Any] | str, list[Any] | str]:
    """Return the outcomes of the general and of the quick reader."""
    general = outcome(text)
    with patch.context() as changed:
        changed.setattr(boundary, "LARGE", 0)
        changed.setattr(serialize_lists, "LARGE", 0)
        return general, outcome(text)


@pytest.mark.parametrize(
    "text",
    [
        in_list(NODE, POD, UNKNOWN, CUSTOM, SCALER, POLICY),
        in_list(),
        in_list({"metadata": {"name": "a"}, "spec": {}}, kind="PodList"),
        in_list(json.loads(in_list(NODE, POD)), NODE),
        in_list(NODE, metadata={"resourceVersion": ""}),
        in_list(NODE, "text"),
        in_list(NODE, None),
        in_list({**NODE, "kind": 5}),
        in_list({**NODE, "status": {"allocatable": {"cpu": "many"}}}),
        in_list({**NODE, "spec": {"unschedulable": "yes"}}),
        in_list({**POD, "spec": {"containers": [{"name": "c", "image": "i"}], "priority": 2**40}}),
        json.dumps(NODE),
        json.dumps({"kind": "List", "items": {}}),
        '{"kind": "List", "items": [' + "[" * 200 + "]" * 200 + "]}",
    ],
)
def test_a_large_list_reads_as_a_small_one(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    general, quick = both(text, monkeypatch)
    assert quick == general


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each mapping or list of the data with each of its keys or indexes."""
    for key, value in list(data.items() if isinstance(data, dict) else enumerate(data)):
        yield data, key
        if isinstance(value, dict | list):
            yield from places(value)


@pytest.mark.parametrize("seed", range(6))
def test_a_changed_part_reads_the_same_in_both_ways(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    for _ in range(25):
        item = json.loads(json.dumps(chance.choice([NODE, POD, SCALER])))
        where, key = chance.choice(list(places(item["spec"] if chance.random() < 0.6 else item)))
        where[key] = chance.choice([None, [], {}, "", "text", 7, 1.5, True, [None], {"a": None}, {"newField": 1}])
        if isinstance(where, dict) and chance.random() < 0.3:
            where["newField"] = {"a": [None]}
        general, quick = both(in_list(item, NODE), monkeypatch)
        assert quick == general, item


def test_the_quick_reader_reads_what_kubectl_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects with the usual nulls are read at once, so that a cluster is not read by the general reader."""
    plain = {**POD, "metadata": {"name": "p", "creationTimestamp": None}, "spec": {"nodeName": "n"}}
    monkeypatch.setattr(serialize_lists, "LARGE", 0)
    found = serialize_lists.read(in_list(NODE, plain, UNKNOWN), "", lambda type_, value: type_(value))
    assert found is not None
    assert [type(one).__name__ for one in found] == ["Node", "Pod", "dict"]


def structs(type_: Any, seen: set[Any]) -> None:
    if isinstance(type_, type) and issubclass(type_, KubeStruct) and type_ not in seen:
        seen.add(type_)
        for hint in typing.get_type_hints(type_).values():
            structs(hint, seen)
    for part in typing.get_args(type_):
        structs(part, seen)


def test_every_field_that_may_be_none_is_none_by_default() -> None:
    """Otherwise a null would not equal an absent field, as it does for the API server."""
    seen: set[Any] = set()
    for resource in RESOURCES:
        structs(type_of(f"{resource.group}/v1" if resource.group else "v1", resource.kind), seen)
    assert len(seen) > 100
    wrong = [
        f"{one.__name__}.{field.name}"
        for one in seen
        for field in msgspec.structs.fields(one)
        if type(None) in typing.get_args(typing.get_type_hints(one)[field.name]) and field.default is not None
    ]
    assert not wrong
