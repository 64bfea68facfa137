"""How fields are merged follows the tags of k8s.io/api, type by type."""

from __future__ import annotations

import typing
from typing import Any

import msgspec
import pytest

from kitlib.api import serialize
from kitlib.api.merge_rules import ATOMIC_TYPES, RULES, merge_field, merge_type
from kitlib.api.meta import KubeStruct
from kitlib.apiserver.http.resources import ResourceTable

CASES: list[tuple[str, str, str, str, tuple[str, ...]]] = [
    ("v1", "Service", "spec.ports", "port", ("port", "protocol")),
    ("v1", "Pod", "spec.containers.ports", "containerPort", ("containerPort", "protocol")),
    ("v1", "Pod", "spec.initContainers.env", "name", ("name",)),
    ("v1", "Pod", "spec.ephemeralContainers.volumeMounts", "mountPath", ("mountPath",)),
    ("v1", "Pod", "spec.topologySpreadConstraints", "topologyKey", ("topologyKey", "whenUnsatisfiable")),
    ("v1", "Pod", "spec.imagePullSecrets", "name", ("name",)),
    ("v1", "Pod", "spec.tolerations", "", ()),
    ("v1", "Pod", "status.conditions", "type", ("type",)),
    ("v1", "ServiceAccount", "imagePullSecrets", "", ()),
    ("v1", "ServiceAccount", "secrets", "name", ("name",)),
    ("v1", "Endpoints", "subsets.ports", "", ()),
    ("v1", "Endpoints", "subsets.addresses", "", ()),
    ("v1", "Node", "status.addresses", "type", ("type",)),
    ("v1", "Node", "spec.taints", "", ()),
    ("batch/v1", "Job", "status.conditions", "type", ()),
    ("discovery.k8s.io/v1", "EndpointSlice", "ports", "", ()),
    ("networking.k8s.io/v1", "NetworkPolicy", "spec.ingress.ports", "", ()),
    ("networking.k8s.io/v1", "NetworkPolicy", "spec.egress.ports", "", ()),
    ("networking.k8s.io/v1", "Ingress", "spec.rules", "", ()),
    ("resource.k8s.io/v1", "ResourceClaim", "status.reservedFor", "uid", ("uid",)),
]


@pytest.mark.parametrize(("version", "kind", "path", "key", "keys"), CASES, ids=[f"{c[1]}.{c[2]}" for c in CASES])
def test_a_list_is_merged_by_its_own_keys(version: str, kind: str, path: str, key: str, keys: tuple[str, ...]) -> None:
    type_: Any = serialize.type_of(version, kind)
    assert type_ is not serialize.KubeObject
    *above, last = path.split(".")
    for name in above:
        type_ = merge_field(type_, name).shape
    rule = merge_field(type_, last).rule
    assert (rule.key, rule.keys) == (key, keys)


def known_types() -> set[type[KubeStruct]]:
    found: set[type[KubeStruct]] = set()
    left: list[Any] = [serialize.type_of(one.group_version, one.kind) for one in ResourceTable([]).resources]
    while left:
        one = left.pop()
        left += typing.get_args(one)
        if isinstance(one, type) and issubclass(one, KubeStruct) and one not in found:
            found.add(one)
            left += typing.get_type_hints(one).values()
    return found


def test_the_first_key_of_every_rule_is_a_field_of_the_items() -> None:
    fields = {t.__name__: {f.encode_name for f in msgspec.structs.fields(t)} for t in known_types()}
    of = {t.__name__: t for t in known_types()}
    checked = 0
    for name, rules in RULES.items():
        for field, rule in rules.items():
            if name not in fields or field not in fields[name]:
                continue  # a type that is read as plain data
            below = merge_field(of[name], field).shape
            if below is not None and (rule.key or rule.keys):  # else its items are plain data
                assert (rule.key or rule.keys[0]) in fields[below.__name__], (name, field)
                checked += 1
    assert checked >= 25
    assert len(ATOMIC_TYPES & set(fields)) >= 20


def test_what_names_no_kind_has_no_type_and_a_resource_of_ones_own_only_metadata() -> None:
    assert merge_type({"spec": {}}) is None
    own = merge_type({"apiVersion": "example.com/v1", "kind": "Own"})
    assert merge_field(own, "metadata").shape is not None
    assert not merge_field(own, "ports").rule.keys
    assert merge_field(None, "conditions").rule.keys == ("type",)
