"""A deep copy equals its original and shares nothing that can be changed."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kitlib.api.copying import deepcopy, share
from kitlib.api.core import Node, Pod
from kitlib.api.meta import KubeObject, KubeStruct
from kitlib.api.serialize import from_dict, to_dict

POD: dict[str, Any] = {
    "metadata": {"name": "p", "labels": {"a": "b"}, "finalizers": ["f"], "ownerReferences": [{"name": "o"}]},
    "spec": {
        "containers": [
            {"name": "c", "args": ["x"], "resources": {"requests": {"cpu": "1"}}, "ports": [{"containerPort": 80}]}
        ],
        "affinity": {"nodeAffinity": {}},
        "nodeSelector": {"disk": "ssd"},
        "unheardOf": {"deep": [1, {"k": "v"}]},
    },
    "status": {"conditions": [{"type": "Ready", "status": "True"}], "hostIPs": [{"ip": "10.0.0.1"}]},
}
NODE: dict[str, Any] = {
    "metadata": {"name": "n"},
    "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
    "status": {"allocatable": {"cpu": "4"}, "images": [{"names": ["i"], "sizeBytes": 3}]},
}


def changeable(value: Any) -> dict[int, str]:
    """Identity -> where, of every struct, list and mapping in a value."""
    found: dict[int, str] = {}

    def walk(one: Any, where: str) -> None:
        if isinstance(one, KubeStruct):
            found[id(one)] = where
            for name in type(one).__struct_fields__:
                walk(getattr(one, name), f"{where}.{name}")
            walk(one.unknown_fields, f"{where}.unknown_fields") if one.unknown_fields else None
        elif isinstance(one, list | dict):
            found[id(one)] = where
            for key, item in enumerate(one) if isinstance(one, list) else one.items():
                walk(item, f"{where}[{key}]")

    walk(value, "")
    return found


@pytest.mark.parametrize(
    ("data", "kind"), [(POD, Pod), (NODE, Node), ({"apiVersion": "x/v1", "kind": "X"}, KubeObject)]
)
def test_a_copy_is_equal_and_shares_nothing_that_can_be_changed(data: dict[str, Any], kind: type[KubeObject]) -> None:
    original = from_dict(data, kind)
    made = deepcopy(original)
    assert made == original and to_dict(made) == to_dict(original)
    shared = changeable(original).keys() & changeable(made).keys()
    assert not [changeable(original)[one] for one in shared]


def test_fields_that_a_type_does_not_declare_are_copied_too() -> None:
    original = from_dict(POD, Pod)
    made = deepcopy(original)
    made.spec.unknown_fields["unheardOf"]["deep"][1]["k"] = "changed"
    assert original.spec.unknown_fields == {"unheardOf": {"deep": [1, {"k": "v"}]}}


@pytest.mark.parametrize("value", [[1, {"a": [Pod()]}], {"k": [[]]}, "text", 3, None, (1, 2)])
def test_plain_data_is_copied_as_the_standard_library_does(value: Any) -> None:
    assert deepcopy(value) == copy.deepcopy(value)


def test_a_version_shares_with_the_one_before_it_what_is_the_same() -> None:
    old = from_dict(POD, Pod)
    new = deepcopy(old)
    new.metadata.labels["a"] = "c"
    new.spec.containers[0].args.append("y")
    before = to_dict(new)
    share(new, old)
    assert to_dict(new) == before
    assert new.status is old.status and new.metadata.finalizers is old.metadata.finalizers
    assert new.metadata.labels != old.metadata.labels and new.spec.containers != old.spec.containers


def test_what_has_undeclared_fields_is_not_shared() -> None:
    old, new = from_dict(POD, Pod), from_dict(POD, Pod)
    new.spec.unknown_fields["unheardOf"] = "other"
    share(new, old)
    assert to_dict(new)["spec"]["unheardOf"] == "other"
    assert new.spec is not old.spec and new.spec.containers is old.spec.containers
