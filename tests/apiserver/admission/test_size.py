"""An object larger than etcd's 1.5 MiB is refused before anything is checked, and nothing has changed then."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import RequestTooLarge, refusal
from kitlib.apiserver.admission.size import MAX_REQUEST, protobuf_size
from kitlib.cluster import Cluster

SMALL = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "small"}, "data": {"k": "v"}}


def pod(**spec: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "x"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "huge"}, "spec": spec}


CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def thing(size: int) -> dict[str, Any]:
    made = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "huge"}}
    return {**made, "spec": {"text": "x" * size}}


@pytest.mark.parametrize(
    "huge",
    [
        pod(containers=[{"name": f"c{i}", "image": "x", "args": ["x" * 1000]} for i in range(2_000)]),
        pod(tolerations=[{"key": f"{'k' * 60}{i:05}", "operator": "Exists"} for i in range(25_000)]),
        thing(MAX_REQUEST),
    ],
    ids=["containers", "tolerations", "a custom resource"],
)
def test_a_huge_object_is_refused_in_etcds_words_and_nothing_changes(huge: dict[str, Any]) -> None:
    cluster = Cluster.simulated(1, kubelets=False)
    cluster.apply(CRD)
    with pytest.raises(RequestTooLarge, match="etcdserver: request is too large") as raised:
        cluster.apply([SMALL, huge])
    assert refusal(raised.value)[:2] == (500, "")
    assert cluster.list("ConfigMap", "default", {"k": "v"}) == [] and cluster.pods() == []


def test_what_etcd_takes_is_taken() -> None:
    cluster = Cluster.simulated(1, kubelets=False)
    cluster.apply([CRD, thing(MAX_REQUEST - 1000), {**SMALL, "data": {"k": "x" * 1_000_000}}])
    cluster.apply(pod(tolerations=[{"key": f"key-{i:06}", "operator": "Exists"} for i in range(5_000)]))
    assert cluster.pod("huge").spec.node_name == "node-1"


def test_an_update_is_bounded_as_well() -> None:
    cluster = Cluster.simulated(1, kubelets=False)
    cluster.apply([CRD, thing(10)])
    before = cluster.api.store.version
    with pytest.raises(RequestTooLarge):
        cluster.apply(thing(2 * MAX_REQUEST))
    assert cluster.api.store.version == before


def test_a_protobuf_is_smaller_than_json_by_the_names_of_fields() -> None:
    assert protobuf_size({"a": "xyz", "b": [1, True], "c": {"d": "é"}}) == 12 + 3 + 8 + 4 + 4 + 2


def test_many_constraints_are_checked_at_once_and_a_repeated_one_is_named() -> None:
    kinds = [*range(5_000), 0]
    rules = [{"maxSkew": 1, "topologyKey": f"k{i}", "whenUnsatisfiable": "DoNotSchedule"} for i in kinds]
    with pytest.raises(Exception, match=r"topologySpreadConstraints\[0\].{topologyKey, whenUnsatisfiable}: Duplicate"):
        Cluster.simulated(1, kubelets=False).apply(pod(topologySpreadConstraints=rules))
