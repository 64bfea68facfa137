"""Nodes, Endpoints and the kinds of storage, new and changed: single rules that no recorded case holds."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.apiserver.validation import validate

TAINTS = "scheduler.alpha.kubernetes.io/taints"


def problems(data: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    made, before = (None if one is None else set_defaults(from_dict(one, strict=True)) for one in (data, old))
    assert made is not None
    return list(dict.fromkeys(str(error) for error in validate(made, before)))


def manifest(api_version: str, kind: str, namespace: str = "", **fields: Any) -> dict[str, Any]:
    meta = {"name": "x", "namespace": namespace, **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **fields}


def node(
    annotations: dict[str, str] | None = None, status: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    return manifest("v1", "Node", metadata={"annotations": annotations or {}}, status=status or {}, spec=spec)


ONE_EACH = "may specify no more than one CIDR for each IP family"
NODES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "one network twice is no pair of families": (
        node(podCIDRs=["10.0.0.0/24", "10.0.0.0/24"]),
        [f'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.0.0/24"]: {ONE_EACH}'],
    ),
    "what cannot be read makes no pair either": (
        node(podCIDRs=["10.0.0.0/24", "x"]),
        [
            'spec.podCIDRs[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
            "spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid "
            "CIDR[1]: <nil> (invalid CIDR address: x)",
            f'spec.podCIDRs: Invalid value: ["10.0.0.0/24","x"]: {ONE_EACH}',
        ],
    ),
    "no swap is said by saying nothing": (
        node(status={"nodeInfo": {"swap": {"capacity": 0}}}),
        ["metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero"],
    ),
    "taints in the old annotation are checked too": (
        node({TAINTS: '[{"key": "a"}]'}),
        [f"metadata.annotations.{TAINTS}[0].effect: Required value"],
    ),
}


@pytest.mark.parametrize(("data", "expected"), NODES.values(), ids=NODES.keys())
def test_a_node(data: dict[str, Any], expected: list[str]) -> None:
    assert problems(data) == expected


ADDRESS = {"type": "InternalIP", "address": "1.2.3.4"}
CHANGED_NODES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "one address twice": (
        node(),
        node(status={"addresses": [ADDRESS, ADDRESS]}),
        ['status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"1.2.3.4"}'],
    ),
    "a network is checked when it is set": (
        node(),
        node(podCIDRs=["10.0.0.1/24"]),
        ['spec.podCIDRs[0]: Invalid value: "10.0.0.1/24": must not have bits set beyond the prefix length'],
    ),
    "a network stays": (
        node(podCIDRs=["10.0.0.0/24"]),
        node(podCIDRs=["10.0.1.0/24"]),
        ['spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'],
    ),
}


@pytest.mark.parametrize(("old", "new", "expected"), CHANGED_NODES.values(), ids=CHANGED_NODES.keys())
def test_a_change_of_a_node(old: dict[str, Any], new: dict[str, Any], expected: list[str]) -> None:
    assert problems(new, old) == expected


def endpoints(*addresses: str) -> dict[str, Any]:
    subset = {"addresses": [{"ip": address} for address in addresses], "ports": [{"port": 80}]}
    return manifest("v1", "Endpoints", "default", subsets=[subset])


def test_subsets_that_change_are_checked_all_over_again() -> None:
    assert problems(endpoints("010.0.0.1"), endpoints("010.0.0.1")) == []
    assert problems(endpoints("010.0.0.1", "10.0.0.2"), endpoints("010.0.0.1")) == [
        'subsets[0].addresses[0].ip: Invalid value: "010.0.0.1": must not have leading 0s'
    ]


STORAGE = "storage.k8s.io/v1"


def storage_class(**fields: Any) -> dict[str, Any]:
    return manifest(STORAGE, "StorageClass", **{"provisioner": "example.com/p", **fields})


def csi_node(count: int, keys: list[str]) -> dict[str, Any]:
    driver = {"name": "d.example", "nodeID": "n", "topologyKeys": keys, "allocatable": {"count": count}}
    return manifest(STORAGE, "CSINode", spec={"drivers": [driver]})


def capacity(amount: str) -> dict[str, Any]:
    return manifest(STORAGE, "CSIStorageCapacity", "default", storageClassName="c", capacity=amount)


CHANGED_STORAGE: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "a class is checked as a whole, then what changed": (
        storage_class(),
        storage_class(provisioner="a b", reclaimPolicy="Delete"),
        [
            "provisioner: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', "
            "and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
            "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            "provisioner: Forbidden: updates to provisioner are forbidden.",
        ],
    ),
    "a driver may have room for other numbers of volumes": (csi_node(1, ["k"]), csi_node(2, ["k"]), []),
    "the message leaves that number out": (
        csi_node(1, ["k"]),
        csi_node(2, ["l"]),
        [
            'spec.drivers: Invalid value: {"Name":"d.example","NodeID":"n","TopologyKeys":["l"],"Allocatable":null}: '
            "field is immutable"
        ],
    ),
    "an amount that changes is checked": (
        capacity("1Gi"),
        capacity("-1"),
        ['capacity: Invalid value: "-1": must be greater than or equal to 0'],
    ),
}


@pytest.mark.parametrize(("old", "new", "expected"), CHANGED_STORAGE.values(), ids=CHANGED_STORAGE.keys())
def test_a_change_of_what_describes_storage(old: dict[str, Any], new: dict[str, Any], expected: list[str]) -> None:
    assert problems(new, old) == expected


def test_a_driver_that_wants_tokens_in_secrets_asks_for_tokens() -> None:
    data = manifest(STORAGE, "CSIDriver", spec={"serviceAccountTokenInSecrets": True})
    assert problems(data) == [
        "spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccountTokenInSecrets is set but no "
        "tokenRequests are specified"
    ]
    data["spec"]["tokenRequests"] = [{"audience": "a"}]
    assert problems(data) == []
